"""Markers of OpenAI's format as the tests write them."""


def cite(*fields: str) -> str:
    """Build a marker with these fields, whether they make it well formed or not."""
    return "\ue202".join(["\ue200cite", *fields]) + "\ue201"
