"""Read the citations of an agent of the OpenAI Agents SDK while it answers.

    pip install openai-agents ".[testing]"
    python examples/openai_agent.py

It streams a recorded answer from a server of its own; with a key in OPENAI_API_KEY a model's.
"""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

from agents import Agent, OpenAIResponsesModel, Runner, RunResultStreaming, set_tracing_disabled
from openai import AsyncOpenAI

from streamcite import Cited, Source, instructions, render_blocks
from streamcite.openai import responses_events
from streamcite.testing import recorded_answers, serve

RECORDED = recorded_answers()["english"]


async def responses(result: RunResultStreaming) -> AsyncIterator[Any]:
    """Give what the model sends among all that an agent's run streams."""
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            yield event.data


async def answer(agent: Agent[Any], question: str, sources: Mapping[str, Source]) -> None:
    """Print an answer as it comes, with the sources that it cites."""
    cited: dict[int, str] = {}
    async with responses_events(responses(Runner.run_streamed(agent, question)), sources=sources) as events:
        async for event in events:
            print(event, end="", flush=True)
            for link in event.links if isinstance(event, Cited) else ():
                if link.source and link.number:
                    cited[link.number] = link.source.title or link.source.id
                print(f"[{link.number or link.problem}]", end="")
    print("\n", *(f"[{number}] {title}" for number, title in sorted(cited.items())), sep="\n")


async def main() -> None:
    """Ask an agent that was shown the sources."""
    set_tracing_disabled(True)
    with serve(pace=0.005) as server:
        if os.environ.get("OPENAI_API_KEY"):
            model = OpenAIResponsesModel("gpt-5", AsyncOpenAI())
        else:
            model = OpenAIResponsesModel(RECORDED.id, AsyncOpenAI(base_url=server.base_url, api_key="any"))
        system = f"{instructions(material='blocks')}\n\n{render_blocks(RECORDED.sources.values())}"
        await answer(Agent("Librarian", instructions=system, model=model), RECORDED.question, RECORDED.sources)


if __name__ == "__main__":
    try:
        asyncio.run(main())
        sys.stdout.flush()
    except (BrokenPipeError, KeyboardInterrupt) as error:  # who reads the output has gone, as `| head` does; or Ctrl-C
        os._exit(141 if isinstance(error, BrokenPipeError) else 130)
