"""Give the answer of a LangChain model its citations: as it streams, and as annotations of the finished message.

    pip install langchain-core .
    python examples/langchain_message.py

The model is a fake one that says what it was told to; any chat model, such as `ChatOpenAI`, streams in the same way.
"""

import asyncio
import os
import sys

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from streamcite import Cited, Source, aiter_events
from streamcite.ui.langchain import ai_message

SOURCES = {"turn0file1": Source("turn0file1", "Three days a week.\nAsk first.", title="Handbook")}
ANSWER = "We meet three days a week.\ue200cite\ue202turn0file1\ue202L1\ue201 Ask the lead first."


async def answer(model: BaseChatModel, question: str) -> AIMessage:
    """Print an answer as it comes, and give it as a message with annotations."""
    received = []
    async with aiter_events(model.astream(question), text=lambda chunk: chunk.text, sources=SOURCES) as events:
        async for event in events:
            received.append(event)
            print(event, end="", flush=True)
            for link in event.links if isinstance(event, Cited) else ():
                print(f"[{link.number or link.problem}]", end="")
    print()
    return AIMessage(**ai_message(received))


def main() -> None:
    """Ask a model that answers at once, and print what its message holds."""
    message = asyncio.run(answer(GenericFakeChatModel(messages=iter([AIMessage(ANSWER)])), "How often do we meet?"))
    for block in message.content_blocks:
        print(block)


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads the output has gone, as `| head` does
        os._exit(141)
