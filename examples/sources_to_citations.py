"""From sources to citations: show sources to a model, and print its answer with the passages that it cites.

python examples/sources_to_citations.py  # starts a server that streams a recorded answer
"""

import os
import sys

from openai import OpenAI

from streamcite import Cited, Sources, instructions, render_tool_result
from streamcite.openai import chat_events
from streamcite.testing import serve

ANSWER = (
    "It closes at nine.\ue200cite\ue202turn0file0\ue202L2\ue201 "
    "Members may bring a guest on Sundays.\ue200cite\ue202turn0file0\ue202L3-L4\ue201\ue200cite\ue202turn0file1\ue201"
)


def answer(client: OpenAI, sources: Sources, shown: str) -> None:
    """Ask, and print the answer with the passages that it cites."""
    stream = client.chat.completions.create(
        stream=True,
        model="answer",
        messages=[
            {"role": "system", "content": instructions(material="tool_lines", tool="search")},
            {"role": "user", "content": "When can I use the reading room?"},
            {
                "role": "assistant",
                "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": shown},
        ],
    )
    with chat_events(stream, sources=sources) as events:
        for event in events:
            print(event, end="", flush=True)  # a citation prints as nothing
            for link in event.links if isinstance(event, Cited) else ():
                said = f"{link.source.title}: {link.passage.text!r}" if link.source and link.passage else link.problem
                print(f" [{said}]", end="")
    print()


def main() -> None:
    """Find sources, show them to a server of our own, and ask it."""
    sources = Sources()
    found = sources.tool_call()
    found.add("Opens at eight.\nCloses at nine.\nEntry is free\non Sundays.", title="Hours")
    found.add("Each member may bring one guest.", title="Rules", unit="document")
    with serve(ANSWER) as server, OpenAI(base_url=server.base_url, api_key="any") as client:
        answer(client, sources, render_tool_result(found.results).text)


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # who reads the output has gone, as `| head` does
        os._exit(141)
