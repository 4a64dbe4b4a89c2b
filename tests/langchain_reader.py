"""Add up the chunks of messages as LangChain does; run by the Python that has it. A JSON line in, one out.

Of a list of chunks comes the sum, as a message; of a finished message the same.
"""

import json
import sys

from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message


def main() -> None:
    for line in sys.stdin:
        given = json.loads(line)
        if isinstance(given, dict):
            message = AIMessage(**given)
        else:
            first, *rest = [AIMessageChunk(**chunk) for chunk in given]
            for chunk in rest:
                first += chunk
            message = message_chunk_to_message(first)
        shown = {"id": message.id, "text": message.text, "blocks": message.content_blocks, "type": message.type}
        sys.stdout.write(json.dumps({**shown, "metadata": message.response_metadata}) + "\n")


main()
