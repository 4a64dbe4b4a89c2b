"""``streamcite ask``: from files to a checked answer, in a pipe, in a terminal, and as a document."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from streamcite.testing import RecordedAnswer, serve
from tests import asking
from tests.asking import INVENTED, MEETING, SHOWN, Ask, Done, Page
from tests.pdfs import make_pdf
from tests.processes import run, terminal
from tests.screen import Screen

ask, folder = pytest.fixture(asking.ask), pytest.fixture(asking.folder)

ROOT = Path(__file__).parents[1]


def test_without_a_key_sentences_are_quoted(ask: Ask, folder: Path) -> None:
    assert ask("How often do we meet?", "notes.txt") == (0, SHOWN, "")
    assert ask("How often do we meet?", "notes.txt", "--offline", OPENAI_API_KEY="any") == (0, SHOWN, "")


@pytest.mark.parametrize("unit", ["block", "lines", "document"])
def test_a_source_is_listed_with_its_passage(ask: Ask, folder: Path, unit: str) -> None:
    sources = ask("How often do we meet?", "notes.txt", "--unit", unit).out.partition("Sources:\n")[2]
    assert re.fullmatch(r"1\. notes\.txt(, line 1)?\n   (L1: )?We meet three days a week\.( .*)?\n", sources)


def test_through_a_pipe(folder: Path) -> None:
    done = run("ask", "How often do we meet?", folder / "notes.txt")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (
        0,
        SHOWN.replace("1. notes.txt", f"1. {folder / 'notes.txt'}"),
        b"",
    )


def test_in_a_terminal(folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"\0")
    with terminal("ask", "How often do we meet?", str(folder), "--unit", "lines", columns=100) as opened:
        assert opened.end() == 0
    screen = Screen(opened.output, columns=100, rows=24)
    bar = opened.output.index(b"Reading")
    assert b"100%" in opened.output[bar:]
    assert not any("Reading" in line for line in screen.lines)  # it goes when all is read
    lines = [line.strip() for line in screen.lines if line.strip()]
    assert f"streamcite: {folder}/a.bin is skipped: it is binary" in lines
    assert "> How often do we meet?" in lines
    assert "no model, but sentences of your files" in lines
    assert "• “We meet three days a week.”[1]" in lines
    assert lines[-3:-1] == [f"Sources {'─' * 92}", f"[1] {folder}/notes.txt"]
    assert lines[-1] == "L1 We meet three days a week."


def test_a_model_that_invents_a_source(ask: Ask, folder: Path) -> None:
    def asked(*more: str) -> Done:
        return ask("Why?", "notes.txt", "--model", "mine", "--base-url", server.base_url, *more, OPENAI_API_KEY="any")

    with serve([RecordedAnswer(id="mine", text=INVENTED)]) as server:
        plain, strict, document = asked(), asked("--strict"), asked("--strict", "--json")
    assert (plain.status, strict.status, document.status) == (0, 1, 1)
    assert plain.out == strict.out
    answer, _, findings = plain.out.partition("\nFindings:\n")
    assert answer.startswith("Three days. (source 1) Or four.\n\nSources:\n1. notes.txt\n")
    assert findings.startswith("answer:1:35: error: Cite a source that was given: none that may be cited has the id")
    [finding] = json.loads(document.out)["findings"]
    assert (finding["rule"], finding["position"]) == ("unknown-source", 21)


def test_a_source_that_the_model_was_not_shown_is_invented(ask: Ask, folder: Path) -> None:
    (folder / "notes.txt").write_text("Zebras live here.\n\n" + "Plums are blue. " * 20)
    answer = "Here.\ue200cite\ue202block1\ue201 Blue.\ue200cite\ue202block2\ue201"
    with serve([RecordedAnswer(id="mine", text=answer)]) as server:
        asked = ["Where are zebras?", "notes.txt", "--size", "20", "--budget", "30"]
        done = ask(*asked, "--json", "--strict", "--model", "mine", "--base-url", server.base_url, OPENAI_API_KEY="any")
    document = json.loads(done.out)
    assert (done.status, document["shown"]) == (1, ["block1"])
    assert [citation["links"][0]["problem"] for citation in document["citations"]] == [None, "unknown-source"]
    assert [finding["rule"] for finding in document["findings"]] == ["unknown-source"]


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("unit", ["block", "lines", "document"])
def test_every_way_of_asking_gives_the_same_quote(ask: Ask, folder: Path, api: str, unit: str) -> None:
    done = ask("How often do we meet?", "notes.txt", "--api", api, "--unit", unit, "--json")
    document = json.loads(done.out)
    [citation] = document["citations"]
    [link] = citation["links"]
    assert document["answer"][: citation["position"]].endswith("“We meet three days a week.”")
    assert document["raw"].count("\ue200") == 1
    assert (link["title"], link["path"], link["number"], link["problem"]) == ("notes.txt", "notes.txt", 1, None)
    passage = (
        {"text": MEETING.split("\n")[0], "lines": [1, 1]} if unit == "lines" else {"text": MEETING, "lines": [1, 3]}
    )
    assert link["passage"] == passage
    assert (document["complete"], document["findings"], document["skipped"]) == (True, [], [])
    assert document["shown"] == [link["source_id"]]


def test_the_document_has_the_same_ids_in_every_run(ask: Ask) -> None:
    def asked(*names: str) -> Any:
        return json.loads(ask("What is lost?", *names, "--json", "--size", "500", "--budget", "4000").out)

    first, second = (asked(str(ROOT / "README.md"), str(ROOT / "CHANGELOG.md"), str(ROOT / "docs")) for _ in range(2))
    assert first == second
    assert len(first["shown"]) > 3
    for citation in first["citations"]:
        for link in citation["links"]:
            begin, end = link["passage"]["lines"]
            lines = Path(link["path"]).read_text("utf-8").split("\n")[begin - 1 : end]
            assert "\n".join(lines).strip() == link["passage"]["text"].strip()


def test_a_large_pdf(ask: Ask, folder: Path) -> None:
    pages = [[f"Chapter {number} is about plums."] for number in range(1, 301)]
    pages[211].append("Zebras live in Africa.")
    (folder / "book.pdf").write_bytes(make_pdf(pages))
    done = ask("Where do zebras live?", "book.pdf", "--budget", "1000")
    assert (done.status, done.err) == (
        0,
        "streamcite: the model is shown 1 of 300 blocks, the closest to the question\n",
    )
    assert done.out.endswith("1. book.pdf, page 212\n   Chapter 212 is about plums. Zebras live in Africa.\n")


def test_ten_thousand_files(ask: Ask, folder: Path) -> None:
    for number in range(10_000):
        (folder / f"{number}.txt").write_text(f"File {number} is about word{number}.")
    done = ask("What is word4711?", ".", "--budget", "100")
    assert (done.status, done.out.count("4711.txt")) == (0, 1)
    assert "“File 4711 is about word4711.” (source 1)" in done.out


def test_what_cannot_be_read_is_named_and_skipped(ask: Ask, folder: Path) -> None:
    (folder / "empty.txt").touch()
    (folder / "gone.txt").symlink_to(folder / "nothing")
    os.mkfifo(folder / "line.txt")
    for number in range(10):
        (folder / f"picture{number}.png").write_bytes(b"\x89PNG\0")
    done = ask("How often do we meet?", ".")
    lines = done.err.splitlines()
    assert (done.status, done.out) == (0, SHOWN)
    assert lines[:4] == [
        "streamcite: empty.txt is skipped: there is no text in it",
        "streamcite: gone.txt is skipped: no such file or directory",
        "streamcite: line.txt is skipped: it is not a regular file",
        "streamcite: picture0.png is skipped: it is binary",
    ]
    assert lines[10:] == ["streamcite: 3 more files are skipped"]
    skipped = json.loads(ask("How often do we meet?", ".", "--json").out)["skipped"]
    assert len(skipped) == 13
    assert skipped[0] == {"file": "empty.txt", "reason": "there is no text in it"}


def test_an_answer_is_saved(ask: Ask, folder: Path) -> None:
    question = "How often <script>do</script> *we* meet?"
    for name in ("answer.md", "answer.HTML"):
        (folder / name).write_text("old")
        assert ask(question, "notes.txt", "--save", name) == (0, SHOWN, "")
    markdown = (folder / "answer.md").read_text("utf-8")
    assert markdown.startswith("# How often &lt;script\\>do&lt;/script\\> \\*we\\* meet?\n\nNo model was asked.")
    assert "“We meet three days a week.”[^1]" in markdown
    page = Page((folder / "answer.HTML").read_text("utf-8"))
    assert page.tags.count("script") == 0
    assert f"{question}\n\nNo model was asked." in page.text.replace("\n\n\n", "\n\n")
    assert sorted(path.name for path in folder.iterdir()) == ["answer.HTML", "answer.md", "notes.txt"]


def test_the_help_teaches(ask: Ask) -> None:
    done = ask("--help")
    assert done.status == 0
    assert "How often do we meet?" in done.out
