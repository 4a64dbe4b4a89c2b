import streamcite

# The public names. A name is added here with its docstring and its line in the changelog; none is taken away lightly.
NAMES = [
    "CHATGPT",
    "OPENAI",
    "AsyncEventStream",
    "Citation",
    "CitationDict",
    "CitationFormat",
    "CitationParser",
    "Event",
    "EventStream",
    "Malformed",
    "OtherMarker",
    "ParserClosed",
    "ParserOptions",
    "Reference",
    "Source",
    "aiter_events",
    "clean",
    "extract_citations",
    "from_dict",
    "iter_events",
    "parse",
    "strip_citations",
    "to_dict",
]


def test_the_public_names() -> None:
    assert sorted(streamcite.__all__) == sorted(NAMES)
    assert [name for name in NAMES if not hasattr(streamcite, name)] == []


def test_nothing_public_is_left_out() -> None:
    rooms = {name for name in vars(streamcite) if getattr(streamcite, name).__class__.__name__ == "module"}
    assert {name for name in vars(streamcite) if not name.startswith("_")} - rooms == set(NAMES)


def test_what_is_public_says_what_it_does() -> None:
    documented = [getattr(streamcite, name) for name in NAMES if name not in {"CHATGPT", "OPENAI", "Event"}]
    assert [thing for thing in documented if not thing.__doc__] == []
