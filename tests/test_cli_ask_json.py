"""What ``streamcite ask --json`` prints, against its schema."""

import json
from pathlib import Path
from typing import get_args

import pytest

from streamcite.links import MAX_PASSAGE, Problem
from streamcite.lint.findings import Rule
from streamcite.testing import RecordedAnswer, serve
from tests import asking
from tests.asking import INVENTED, Ask
from tests.json_schema import fields, wrong

ask, folder = pytest.fixture(asking.ask), pytest.fixture(asking.folder)

TEXT, NUMBER = {"type": "string"}, {"type": "integer", "minimum": 0}
NONE = {"type": "null"}
PASSAGE = fields(text={"anyOf": [TEXT, NONE]}, lines={"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2})
LINK = fields(
    source_id=TEXT,
    locator={"anyOf": [TEXT, NONE]},
    title={"anyOf": [TEXT, NONE]},
    path={"anyOf": [TEXT, NONE]},
    number={"anyOf": [NUMBER, NONE]},
    problem={"enum": [None, *get_args(Problem)]},
    passage={"anyOf": [PASSAGE, NONE]},
)
FINDING = fields(
    rule={"enum": [*get_args(Rule)]},
    severity={"enum": ["error", "warning"]},
    message=TEXT,
    start=NUMBER,
    end=NUMBER,
    position=NUMBER,
)
# JSON Schema of what `--json` prints.
DOCUMENT = fields(
    question=TEXT,
    model=TEXT,
    complete={"type": "boolean"},
    answer=TEXT,
    raw=TEXT,
    citations={"type": "array", "items": fields(position=NUMBER, links={"type": "array", "items": LINK})},
    findings={"type": "array", "items": FINDING},
    shown={"type": "array", "items": TEXT},
    skipped={"type": "array", "items": fields(file=TEXT, reason=TEXT)},
)


def test_the_document_has_the_form_that_it_says(ask: Ask, folder: Path) -> None:
    (folder / "empty.txt").touch()
    asked = ["Why?", "notes.txt", "empty.txt", "--json", "--strict"]
    with serve([RecordedAnswer(id="mine", text=f"{INVENTED} And \ue200cite")]) as server:
        documents = [
            ask(*asked, "--model", "mine", "--base-url", server.base_url, "--api", api, OPENAI_API_KEY="any").out
            for api in ("chat", "responses")
        ]
    documents += [ask(*asked, "--unit", unit).out for unit in ("block", "lines", "document")]
    for printed in documents:
        assert wrong(json.loads(printed), DOCUMENT) == []
        assert printed.isascii()
    problems = {link["problem"] for cited in json.loads(documents[0])["citations"] for link in cited["links"]}
    assert problems == {None, "unknown-source"}


def test_a_long_passage_is_in_its_file(ask: Ask, folder: Path) -> None:
    (folder / "long.txt").write_text("We meet three days a week.\n" + "x" * MAX_PASSAGE)
    told = json.loads(ask("How often do we meet?", "long.txt", "--unit", "document", "--json").out)
    assert told["citations"][0]["links"][0]["passage"] == {"text": None, "lines": [1, 2]}
