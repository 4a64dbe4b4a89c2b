"""From sources to citations: what a model is shown and told, what it streams, and the passages that it cites.

    python examples/sources_to_citations.py

A server that this program starts streams the answer; a real one is asked in just this way.
"""

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageFunctionToolCallParam, ChatCompletionMessageParam

from streamcite import Citation, Sources, instructions, render_tool_result
from streamcite.openai import chat_events
from streamcite.testing import serve

CALL: ChatCompletionMessageFunctionToolCallParam = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "search", "arguments": "{}"},
}
ANSWER = (
    "It closes at nine.\ue200cite\ue202turn0file0\ue202L2\ue201 "
    "Members may bring a guest on Sundays.\ue200cite\ue202turn0file0\ue202L3-L4\ue201\ue200cite\ue202turn0file1\ue201"
)


def main() -> None:
    """Find sources, show them, ask, and print the answer with what it cites."""
    sources = Sources()
    found = sources.tool_call()
    found.add("Opens at eight.\nCloses at nine.\nEntry is free\non Sundays.\n", title="Hours")
    found.add("Each member may bring one guest.", title="Rules", unit="document")
    material = render_tool_result(found.results)
    messages: list[ChatCompletionMessageParam] = [
        {"role": "system", "content": instructions(material="tool_lines", tool="search")},
        {"role": "user", "content": "When can I use the reading room?"},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": str(material)},
    ]
    with (
        serve(ANSWER) as server,
        OpenAI(base_url=server.base_url, api_key="any") as client,
        chat_events(client.chat.completions.create(model="answer", messages=messages, stream=True)) as events,
    ):
        for event in events:
            print(event, end="", flush=True)  # a citation prints as nothing
            for id, locator in event.references if isinstance(event, Citation) else ():
                passage = sources[id].passage(locator) if id in sources else None
                print(f" [{sources[id].title}: {passage.text!r}]" if passage else f" [{id}?]", end="")
    print()


if __name__ == "__main__":
    main()
