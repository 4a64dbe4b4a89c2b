"""Read citations in the stream of any provider, here JSON lines, with markers of one's own.

Chunks such as `{"message": {"content": "Yes."}}` come from standard input, as some local servers send them, and the
prompt has asked for markers such as `[[cite|doc1|L4]]`:

    python examples/any_provider.py <examples/chunks.jsonl
"""

import json
import os
import sys

from streamcite import Citation, CitationFormat, Malformed, iter_events

FORMAT = CitationFormat(start="[[", delimiter="|", stop="]]")


def delta(line: str) -> str | None:
    """Pick the text out of a chunk; the last one has none."""
    content = json.loads(line).get("message", {}).get("content")
    return content if isinstance(content, str) else None


def main() -> None:
    """Print the text as it comes, and below it where it cites what."""
    notes = []
    with iter_events(sys.stdin, text=delta, format=FORMAT) as events:
        for event in events:
            match event:
                case Citation(references=references, position=position):
                    cited = ", ".join(" ".join(filter(None, reference)) for reference in references)
                    notes.append(f"at code point {position}: {cited}")
                case Malformed(reason=reason, raw=raw):
                    notes.append(f"unreadable ({reason}): {raw}")
            print(event, end="", flush=True)
    print("\n", *notes, sep="\n")


if __name__ == "__main__":
    try:
        main()
        sys.stdout.flush()
    except (BrokenPipeError, KeyboardInterrupt) as error:  # who reads the output has gone, as `| head` does; or Ctrl-C
        os._exit(141 if isinstance(error, BrokenPipeError) else 130)
