"""Stream a chat completion, and print its clean text with numbered citations.

A recorded answer, from a server that this program starts:

    python examples/chat.py

A real one: the model and the question; the key is in OPENAI_API_KEY, another server's URL in OPENAI_BASE_URL.

    python examples/chat.py MODEL "How long may I stay?"
"""

import asyncio
import os
import sys

from openai import AsyncOpenAI

from streamcite import Citation
from streamcite.openai import chat_events
from streamcite.testing import serve


async def chat(client: AsyncOpenAI, model: str, question: str) -> None:
    """Ask, and print what comes, when it comes."""
    numbers: dict[str, int] = {}
    stream = await client.chat.completions.create(
        model=model, messages=[{"role": "user", "content": question}], stream=True
    )
    async with chat_events(stream) as events:
        async for event in events:
            print(event, end="", flush=True)  # a citation prints as nothing
            if isinstance(event, Citation):
                for source_id in dict.fromkeys(event.source_ids):
                    print(f"[{numbers.setdefault(source_id, len(numbers) + 1)}]", end="", flush=True)
    print("\n")
    for source_id, number in numbers.items():
        print(f"[{number}] {source_id}")


def main() -> None:
    """Ask the server that the arguments name, or one of our own."""
    if len(sys.argv) == 3:
        asyncio.run(chat(AsyncOpenAI(), sys.argv[1], sys.argv[2]))
    elif len(sys.argv) == 1:
        with serve(pace=0.005) as server:
            asyncio.run(chat(AsyncOpenAI(base_url=server.base_url, api_key="any"), "english", "May I work abroad?"))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except (BrokenPipeError, KeyboardInterrupt) as error:  # who reads the output has gone, as `| head` does; or Ctrl-C
        os._exit(141 if isinstance(error, BrokenPipeError) else 130)
