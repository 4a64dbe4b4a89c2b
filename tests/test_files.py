"""Files of every kind as documents: real PDF, HTML in the wild's ways, and what is not text."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import files
from streamcite.files import CannotRead, Document, find_files, read_file
from tests.pdfs import make_pdf

PAGES = 300


def only(path: Path) -> Document:
    (document,) = read_file(path)
    return document


def why(path: Path) -> str:
    with pytest.raises(CannotRead) as caught:
        list(read_file(path))
    return str(caught.value)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.txt"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"Three days.\r\nAsk.\n", "Three days.\r\nAsk.\n"),
        ("\ufeffKäse, 梅, 🚀".encode(), "Käse, 梅, 🚀"),
        ("Käse, 梅, 🚀".encode("utf-16"), "Käse, 梅, 🚀"),
        ("Käse für alle – ja".encode("cp1252"), "Käse für alle – ja"),
        (
            "Le café est à côté de l'hôtel où j'ai mangé".encode("latin-1"),
            "Le café est à côté de l'hôtel où j'ai mangé",
        ),
        ("Käse, 梅, 🚀".encode() + b"\xff, \xf0\x9f", "Käse, 梅, 🚀\ufffd, \ufffd"),
        (b"A log of a machine. " * 50 + b"\x81\x8d", "A log of a machine. " * 50 + "\ufffd\ufffd"),
        (b"\x1b[1mbold\x1b[0m\x0c", "\x1b[1mbold\x1b[0m\x0c"),
    ],
    ids=["utf-8", "mark", "utf-16", "windows", "latin-1", "damaged", "log", "terminal"],
)
def test_text(file: Path, data: bytes, text: str) -> None:
    file.write_bytes(data)
    assert only(file) == Document(file.as_posix(), str(file), text)


def test_markdown_is_read_as_such(tmp_path: Path) -> None:
    path = tmp_path / "READ ME.MD"
    path.write_text("# Head\n\nText\n")
    assert only(path) == Document(path.as_posix(), str(path), "# Head\n\nText\n", markdown=True)


HTML = """<!DOCTYPE html><html><head><title> Office
 days </title><style>p {}</style></head><body><nav>Home</nav><script>alert(1)</script>
<h1>Days</h1><p>We meet <b>three</b> days, <a href="javascript:x">see</a>&nbsp;there &amp; ask.</p>
<ul><li>one<li>two</ul><table><tr><th>a</th></tr><tr><td>1</td></tr></table><form><button>Go</button></form>"""


@pytest.mark.parametrize("name", ["page.html", "page.HTM", "page"])
def test_html_is_text_with_its_structure(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(HTML, encoding="utf-8")
    document = only(path)
    assert (document.title, document.markdown, document.as_in_file) == ("Office days", True, False)
    for gone in ("Home", "alert", "Go", "p {}", "javascript", "<"):
        assert gone not in document.text
    assert "# Days\n" in document.text
    assert "We meet **three** days, see" in document.text
    assert "* one\n* two\n" in document.text


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        (
            "<form><p>All of it</p><input value=no><select><option>no</select><textarea>no</textarea></form>",
            "",
            "All of it",
        ),
        ("<p hidden>no</p><div hidden=''><p>no</p></div><p>Text</p>", "", "Text"),
        ("<body hidden><p>Text</p>", "", "Text"),
        ("<svg><title>no</title></svg><p>Text</p>", "", "Text"),
        ("<title>One\n two</title><svg><title>no</title></svg><p>Text</p>", "One two", "Text"),
    ],
)
def test_html_as_it_is_found(tmp_path: Path, html: str, title: str, text: str) -> None:
    path = tmp_path / "page.html"
    path.write_text(html)
    assert (only(path).title, only(path).text) == (title or str(path), f"{text}\n")


@pytest.mark.parametrize("space", ["", " ", "\n"])
def test_comments_before_what_is_not_html_are_looked_at_once(file: Path, space: str) -> None:
    # Whatever looked at them in every way in which they could be parted would not come to an end.
    text = f"<!-- a -->{space}" * 500
    file.write_text(f"{text}Text", newline="")
    assert only(file).text == f"{text}Text"
    file.write_text(f"{text}<html><p>Text", newline="")
    assert only(file).text == "Text\n"


@pytest.mark.parametrize("name", ["page.html", "page.xhtml"])
def test_html_that_means_harm(tmp_path: Path, name: str) -> None:
    path, secret = tmp_path / name, tmp_path / "secret"
    secret.write_text("secret words")
    entities = f'<!ENTITY file SYSTEM "{secret.as_uri()}"><!ENTITY e0 "aaaaaaaaaa">' + "".join(
        f'<!ENTITY e{number + 1} "{f"&e{number};" * 10}">' for number in range(9)
    )
    path.write_text(f"<!DOCTYPE html [{entities}]><html><body><p>&file; &e9; &#xD800; &#0; &#x110000; Text</p>")
    text = only(path).text
    assert "Text" in text
    assert "secret words" not in text
    assert len(text.encode()) < 5000


def test_xhtml_is_html(tmp_path: Path) -> None:
    path = tmp_path / "page.xhtml"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><!-- no --><body><?php no ?>'
        "<p>Text<br/>more</p></body></html>"
    )
    assert only(path).text.split() == ["Text", "more"]


def test_html_says_its_own_encoding(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes('<html><meta charset="shift_jis"><p>東京</p>'.encode("shift_jis"))
    assert only(path).text == "東京\n"


def test_html_without_a_title_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>Text</p>")
    assert only(path).title == str(path)


def test_a_pdf_is_read_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "book"  # its first bytes say what it is
    path.write_bytes(make_pdf([[f"Page {number} (of many).", "It ends here."] for number in range(1, PAGES + 1)]))
    documents = list(read_file(path))
    assert [document.text for document in documents] == [
        f"Page {number} (of many).\nIt ends here." for number in range(1, PAGES + 1)
    ]
    assert documents[11].key == f"{path.as_posix()}#page=12"
    assert documents[11].title == f"{path}, page 12"
    assert not documents[11].as_in_file


def test_pages_without_text_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(make_pdf([[], ["Text"], []]))
    assert [document.key for document in read_file(path)] == [f"{path.as_posix()}#page=2"]
    path.write_bytes(make_pdf([[], []]))
    assert why(path) == "there is no text in it"


def test_pages_that_are_not_there_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "book.pdf"
    path.write_bytes(make_pdf([["One"], ["Two"]]).replace(b"/Count 2", b"/Count 9"))
    assert [document.text for document in read_file(path)] == ["One", "Two"]
    path.write_bytes(make_pdf([["One"]]).replace(b"/Kids[5 0 R]", b"/Kids[2 0 R]"))
    assert why(path) == "there is no text in it"


@given(st.data())
def test_a_damaged_pdf_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(make_pdf([["One", "two"], ["Three"]]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.pdf"
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with suppress(CannotRead):
        for document in read_file(path):
            assert document.text.strip()


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.txt", b"", "there is no text in it"),
        ("blank.md", b" \n\t\n", "there is no text in it"),
        ("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is binary"),
        ("picture.html", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is binary"),
        ("controls.txt", b"a\x01b", "it is binary"),
        ("controls.txt", b"caf\xe9\x01", "it is binary"),
        (
            "tokyo.txt",
            "東京は、首都です。".encode("shift_jis"),
            "its encoding is not UTF-8, UTF-16 or Windows-1252",
        ),
        ("broken.pdf", b"%PDF-1.7 and no more", "it is damaged"),
        ("deep.html", b"<div>" * 50_000 + b"x", "its elements are nested too deeply"),
        ("scripts.html", b"<html><script>1</script>", "there is no text in it"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert why(path) == reason


def test_an_encrypted_pdf_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.pdf"
    path.write_bytes(make_pdf([["Text"]], encrypted=True))
    assert why(path) == "it is encrypted"


def test_what_is_not_a_regular_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert why(pipe) == why(tmp_path) == "it is not a regular file"
    assert why(tmp_path / "missing") == "no such file or directory"


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "locked.txt"
    path.write_text("text")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # who tests may be root, whom no mode keeps out
    assert why(path) == "permission denied"
    assert stat.S_ISREG(path.stat().st_mode)


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str | Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", refuse)  # who tests may be root, whom no mode keeps out
    locked = tmp_path / "locked"
    locked.mkdir()
    (tmp_path / "open.txt").write_text("text")
    assert find_files([tmp_path]) == [tmp_path / "open.txt", locked]
    assert find_files([locked]) == [locked]
    assert why(locked) == "permission denied"


def test_a_file_that_is_too_large(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE", 4)
    file.write_text("four")
    assert only(file).text == "four"
    file.write_text("fives")
    assert why(file) == "it is larger than 4 bytes"


def test_a_page_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_HTML", 8)
    path = tmp_path / "page.html"
    path.write_text("<p>Text!")
    assert only(path).text == "Text!\n"
    path.write_text("<p>Text!!")
    assert why(path) == "it is HTML of more than 8 bytes"


@pytest.mark.parametrize("kind", ["text", "html", "pdf"])
def test_a_name_that_is_not_text(tmp_path: Path, kind: str) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    path.write_bytes({"text": b"Text", "html": b"<html>Text", "pdf": make_pdf([["Text"]])}[kind])
    document = only(path)
    assert document.title.startswith(f"{tmp_path}/caf\ufffd")
    assert Path(document.key.removesuffix("#page=1")).read_bytes()


def test_what_names_stand_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "b.txt",
        "a.md",
        ".hidden",
        "sub/c.txt",
        ".git/d",
        "node_modules/e.js",
        "sub/__pycache__/f",
        "[x].txt",
    ):
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    monkeypatch.chdir(tmp_path)
    every = [Path("docs/[x].txt"), Path("docs/a.md"), Path("docs/b.txt"), Path("docs/sub/c.txt")]
    assert find_files(["docs"]) == every
    assert find_files(["docs/b.txt", "docs", tmp_path / "docs/a.md"]) == [every[2], every[0], every[1], every[3]]
    assert find_files(["docs/**/*.txt"]) == [every[0], every[2], every[3]]
    assert find_files(["docs/[x].txt"]) == every[:1]
    (tmp_path / "nothing").mkdir()
    assert find_files(["nothing"]) == []
    with pytest.raises(FileNotFoundError) as caught:
        find_files(["docs", "docs/*.pdf"])
    assert caught.value.filename == "docs/*.pdf"


@pytest.mark.parametrize("name", ["docs", Path("docs")], ids=repr)
def test_names_of_files_are_more_than_one(name: Any) -> None:
    with pytest.raises(TypeError, match=r"^names: must be an iterable of them, such as \['docs'\]$"):
        find_files(name)


def test_a_folder_that_holds_itself_is_walked_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert find_files([tmp_path]) == [tmp_path / "a.txt"]
