"""Markers of OpenAI's format as the tests write them."""

MARKER = "\ue200cite\ue202turn0file1\ue202L8-L13\ue201"
SENTENCE = f"It lasts.{MARKER} And \U0001f680 so on."
OPEN = "\ue200cite\ue202"  # whatever follows belongs to its first field


def cite(*fields: str) -> str:
    """Build a marker with these fields, whether they make it well formed or not."""
    return "\ue202".join(["\ue200cite", *fields]) + "\ue201"
