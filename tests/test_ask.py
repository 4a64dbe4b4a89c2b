"""From documents and a question to what a model is asked."""

import json
from typing import Any, get_args

import pytest

from streamcite import Source, Sources, instructions, read_material
from streamcite.ask import Asked, prepare
from streamcite.files import Document
from streamcite.prompt import MaterialForm
from streamcite.source import SourceUnit

HANDBOOK = Document("handbook.md", "handbook.md", "# Days\n\nThree days a week.\n\nAsk first.\n", markdown=True)
RULES = Document("rules.pdf#page=2", "rules.pdf, page 2", "One guest.\nOn Sundays.\n", as_in_file=False)
BOTH = [HANDBOOK, RULES]
POSSIBLE = [
    (unit, form)
    for unit in get_args(SourceUnit)
    for form in (None, *get_args(MaterialForm))
    if (unit, form) != ("lines", "blocks")
]


def shown_to_the_model(asked: Asked) -> list[Source]:
    """Read the sources back from the messages, as an application would that sees nothing else."""
    return list(read_material(asked.messages).values())


def test_blocks_with_titles_that_say_where_they_are() -> None:
    asked = prepare("Why?", BOTH, size=30)
    assert [(source.id, source.title, source.metadata["line"]) for source in asked.shown] == [
        ("block1", "handbook.md, lines 1\N{EN DASH}3", 1),
        ("block2", "handbook.md, line 5", 5),
        ("block3", "rules.pdf, page 2", 1),
    ]
    assert "".join(source.text for source in asked.shown) == HANDBOOK.text + RULES.text
    assert prepare("Why?", [RULES], size=12).shown[1].title == "rules.pdf, page 2, line 2 of its text"


def test_lines_of_a_part_are_told_from_lines_of_the_file() -> None:
    asked = prepare("Why?", [HANDBOOK, Document("a.txt", "a.txt", "Whole.")], unit="lines", size=30)
    assert [(source.title, source.text) for source in asked.shown] == [
        ("handbook.md, part 1 (lines 1\N{EN DASH}3)", "# Days\n\nThree days a week.\n\n"),
        ("handbook.md, part 2 (line 5)", "Ask first.\n"),
        ("a.txt", "Whole."),
    ]


def test_a_question_that_is_not_text() -> None:
    asked = prepare("Wh\udcffy \ud83c\udf4e?", BOTH, unit="document")
    assert json.dumps([asked.messages, asked.input], ensure_ascii=False).encode()
    assert asked.question == "Wh\ufffdy \N{RED APPLE}?"


@pytest.mark.parametrize(("unit", "form"), POSSIBLE)
def test_the_model_is_shown_what_is_to_be_cited(unit: SourceUnit, form: MaterialForm | None) -> None:
    asked = prepare("Why?", BOTH, unit=unit, material=form)
    read = shown_to_the_model(asked)
    assert [(source.id, source.title, source.text) for source in read] == [
        (source.id, source.title, source.text) for source in asked.shown
    ]
    if form != "blocks" and unit == "lines":
        assert {source.unit for source in read} == {"lines"}
    assert asked.sources.shown == tuple(source.id for source in asked.shown)
    assert asked.messages[1] == {"role": "user", "content": "Why?"}


@pytest.mark.parametrize(
    ("unit", "told"),
    [
        ("block", instructions(material="blocks")),
        ("lines", instructions(material="tool_lines", lines="optional")),
        ("document", instructions(material="tool")),
    ],
)
def test_it_is_told_how_to_cite_that(unit: SourceUnit, told: str) -> None:
    system = prepare("Why?", BOTH, unit=unit).system
    assert system.partition("\n\n<BLOCK")[0] == told


@pytest.mark.parametrize(("unit", "form"), POSSIBLE)
def test_both_apis_are_told_the_same(unit: SourceUnit, form: MaterialForm | None) -> None:
    asked = prepare("Why?", BOTH, unit=unit, material=form)
    calls: list[Any] = [call for message in asked.messages for call in message.get("tool_calls", ())]
    results = [message for message in asked.messages if message["role"] == "tool"]
    assert [call["id"] for call in calls] == [result["tool_call_id"] for result in results]
    assert asked.input == [
        *asked.messages[:2],
        *({"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls),
        *(
            {"type": "function_call_output", "call_id": result["tool_call_id"], "output": result["content"]}
            for result in results
        ),
    ]
    for call in calls:
        assert json.loads(call["function"]["arguments"]) == {"query": "Why?"}


def test_ids_do_not_depend_on_the_question_or_the_budget() -> None:
    every = prepare("Why?", BOTH, size=30)
    some = prepare("May I bring a guest?", BOTH, size=30, budget=30)
    assert [source.id for source in some.shown] == ["block3"]
    assert dict(some.sources) == dict(every.sources)


def test_a_registry_keeps_ids_where_documents_come_and_go() -> None:
    sources = Sources()
    before = prepare("Why?", BOTH, sources=sources).shown
    new = Document("a.txt", "a.txt", "New.")
    after = prepare("Why?", [new, *BOTH], sources=Sources.from_dict(json.loads(json.dumps(sources.to_dict())))).shown
    assert after[1:] == before
    assert after[0].id not in {source.id for source in before}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "page"}, "unit: must be one of 'document', 'block', 'lines', not 'page'"),
        ({"unit": "lines", "material": "blocks"}, "material: 'blocks' have no numbered lines"),
        ({"material": "text"}, "material: must be one of 'tool', 'tool_lines', 'blocks', not 'text'"),
        ({"budget": 0}, "budget: must be at least 1"),
        ({"size": 1}, "size: must be at least 2"),
    ],
)
def test_misuse(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        prepare("Why?", BOTH, **options)


@pytest.mark.parametrize("documents", ["handbook.md", ["handbook.md"], [None]], ids=repr)
def test_names_of_files_are_not_documents(documents: Any) -> None:
    with pytest.raises(TypeError, match=r"^documents: must be what read_file gives, not "):
        prepare("Why?", documents)
