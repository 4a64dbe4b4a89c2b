import ast
from pathlib import Path
from typing import TypeGuard

import pytest

import streamcite

# The public names. A name is added here with its docstring and its line in the changelog; none is taken away lightly.
NAMES = [
    "CHATGPT",
    "OPENAI",
    "AsyncEventStream",
    "AsyncResolvedStream",
    "Citation",
    "CitationDict",
    "CitationFormat",
    "CitationParser",
    "Cited",
    "Event",
    "EventStream",
    "Link",
    "Malformed",
    "Material",
    "OtherMarker",
    "ParserClosed",
    "ParserOptions",
    "Passage",
    "Reference",
    "Resolved",
    "ResolvedEvent",
    "ResolvedStream",
    "Resolver",
    "Source",
    "Sources",
    "aiter_events",
    "clean",
    "extract_citations",
    "from_dict",
    "instructions",
    "iter_events",
    "parse",
    "read_material",
    "render_blocks",
    "render_messages",
    "render_tool_result",
    "split_blocks",
    "strip_citations",
    "to_dict",
]


def test_the_public_names() -> None:
    assert sorted(streamcite.__all__) == sorted(NAMES)
    assert [name for name in NAMES if not hasattr(streamcite, name)] == []


def test_nothing_public_is_left_out() -> None:
    rooms = {name for name in vars(streamcite) if getattr(streamcite, name).__class__.__name__ == "module"}
    assert {name for name in vars(streamcite) if not name.startswith("_")} - rooms == set(NAMES)


@pytest.mark.parametrize(
    ("room", "names"),
    [
        (
            "openai",
            [
                *("AsyncEventView", "AsyncObjectView", "AsyncRawView", "Channel", "EventView", "ObjectView", "Part"),
                *("PartResult", "RawView", "StreamResult", "chat_events", "clean_chat", "clean_completion"),
                *("clean_response", "clean_responses", "responses_events", "stream_chat", "stream_responses"),
            ],
        ),
        ("lint", ["Finding", "Linter", "LinterClosed", "LocatorRule", "MAX_ANSWER", "Rule", "Severity", "lint"]),
        (
            "material",
            ["Change", "Material", "read_material", "render_blocks", "render_messages", "render_tool_result"],
        ),
        ("relay", ["CleanSSE", "Found", "Splice", "SpliceClosed", "StreamTooLong"]),
        ("sse", ["DecoderClosed", "LineTooLong", "SSEDecoder", "ServerSentEvent", "encode", "encode_json"]),
        ("testing", ["RecordedAnswer", "Server", "recorded_answers", "serve", "token_deltas"]),
    ],
)
def test_the_public_names_of_a_room(room: str, names: list[str]) -> None:
    source = (Path(streamcite.__file__).parent / room / "__init__.py").read_text("utf-8")
    listed = [ast.literal_eval(node.value) for node in ast.walk(ast.parse(source)) if is_list_of_names(node)]
    assert [sorted(found) for found in listed] == [names]


def is_list_of_names(node: ast.AST) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"


def test_the_changelog_names_all_that_is_public() -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")
    assert [name for name in NAMES if f"`{name}" not in changelog] == []
