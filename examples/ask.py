"""Ask a question of your own files: what `streamcite ask` does, without its options, to be copied.

python examples/ask.py "How often do we meet?" handbook.pdf notes/  # with a key in OPENAI_API_KEY a model is asked
"""

import os
import sys
from contextlib import nullcontext

from openai import OpenAI

from streamcite import Cited, Sources, instructions, render_blocks, split_blocks
from streamcite.choose import choose
from streamcite.files import CannotRead, find_files, read_file
from streamcite.lint import lint
from streamcite.openai import chat_events
from streamcite.testing import serve
from streamcite.testing.quotes import compose


def main(question: str, *names: str) -> None:
    """Print the answer to a question as it comes, then what it cites of files, and what is wrong with that."""
    sources = Sources()
    for file in find_files(names):
        try:
            for document in read_file(file):
                for number, block in enumerate(split_blocks(document.text, markdown=document.markdown)):
                    sources.add_block(block.text, title=document.title, key=f"{document.key}#{number}")
        except CannotRead as error:
            print(f"{file} is skipped: {error}", file=sys.stderr)
    shown = choose(sources.values(), question, budget=60_000)
    # What the model was not shown it cannot cite.
    citable = {source.id: source for source in shown}
    system = f"{instructions(material='blocks')}\n\n{render_blocks(shown)}"
    cited: dict[int, str] = {}
    with nullcontext() if os.environ.get("OPENAI_API_KEY") else serve(compose(question, shown)) as server:
        client = OpenAI(base_url=server.base_url, api_key="any") if server else OpenAI()
        stream = client.chat.completions.create(
            model="answer" if server else "gpt-5",
            messages=[{"role": "system", "content": system}, {"role": "user", "content": question}],
            stream=True,
        )
        with chat_events(stream, sources=citable) as events:
            for event in events:
                print(event, end="", flush=True)
                for link in event.links if isinstance(event, Cited) else ():
                    if link.source and link.number and link.passage:
                        cited[link.number] = f"{link.source.title}: {link.passage.text[:200]!r}"
                    print(f"[{link.number or link.problem}]", end="")
    print("", *(f"[{number}] {passage}" for number, passage in sorted(cited.items())), sep="\n", flush=True)
    for finding in lint("".join(part.raw for part in events.result.answer), citable, complete=True):
        print(f"{finding.severity}: {finding.message}", flush=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
    except (BrokenPipeError, KeyboardInterrupt) as error:  # who reads the output has gone, as `| head` does; or Ctrl-C
        os._exit(141 if isinstance(error, BrokenPipeError) else 130)
