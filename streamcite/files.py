"""Files as documents: text, Markdown, HTML and PDF, each as text that can be cut into citable units.

The extra ``ask`` brings what it needs for HTML (beautifulsoup4, lxml and markdownify) and PDF (pypdfium2).
"""

from __future__ import annotations

import errno
import glob
import io
import os
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .surrogates import replace_surrogates

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

MAX_FILE = 2**26
"""How large a file is read, in bytes: far more than a person wrote, so that a dump or a disk image meets an error."""
MAX_HTML = 2**24
"""How large a file of HTML is read, in bytes: read, it takes some twenty times as much memory."""

_MARKDOWN = {".md", ".markdown", ".mdx", ".mdown"}
_HTML = {".html", ".htm", ".xhtml"}
_STARTS_HTML = re.compile(rb"\s*+(?:(?><!--.*?-->)\s*+)*+<(?:!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
# What no text holds: control characters except for tab, line ends, form feed and escape.
_BINARY = re.compile("[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# As much of a file as is looked at to tell what it is.
_HEAD = 2**13
# Folders that hold copies of what others wrote.
_NOT_WALKED = {"__pycache__", "node_modules"}
# A page's text ends its lines as Windows does, and has a sign where a word was broken at the end of one.
_PAGE = str.maketrans(dict.fromkeys("\r\ufffe\x02"))
# What of a page of HTML is not part of its text. A form may be all of the page, so that only its fields are left out.
_NO_TEXT = {
    *("script", "style", "noscript", "template", "head", "nav", "svg", "iframe"),
    *("button", "select", "textarea", "datalist"),
}


class CannotRead(Exception):
    """Raised for a file that cannot be read as text; the message says why, without the file's name."""


@dataclass(frozen=True, slots=True)
class Document:
    """A file, or a page of one, as text.

    Attributes:
        key: what stands for it from run to run: the path as it was given, with ``/`` between folders, and for a page of
            a PDF ``#page=`` and its number from 1.
        title: what a reader knows it by: the title of an HTML page, else the path, with the page of a PDF. Bytes of a
            path that no character stands for are U+FFFD in it.
        text: what it says.
        markdown: whether that is Markdown, which `split_blocks` can read the structure of.
        as_in_file: whether its lines are those of the file; not so of HTML, nor of a page of a PDF.
    """

    key: str
    title: str
    text: str
    markdown: bool = False
    as_in_file: bool = True

    def lines(self, first: int, last: int) -> str:
        """Say where in the document these lines of its text are, such as ``lines 8–13``.

        Args:
            first: the number of the first line, from 1.
            last: the number of the last one.
        """
        shown = f"line {first}" if first == last else f"lines {first}\N{EN DASH}{last}"
        return shown if self.as_in_file else f"{shown} of its text"


def find_files(names: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Find the files that names stand for, each once, in the order of the names.

    Args:
        names: paths of files; of folders, which are walked, in the order of names, except for hidden files and folders,
            ``__pycache__`` and ``node_modules``; or patterns such as ``docs/**/*.md``, where no file has that name.

    Returns:
        The paths; none of a folder without files. A folder that cannot be opened stands for itself, so that `read_file`
        says why.

    Raises:
        FileNotFoundError: a name stands for nothing; ``filename`` is it.
        TypeError: ``names`` is a single one.
    """
    if isinstance(names, str | os.PathLike):
        raise TypeError(f"names: must be an iterable of them, such as [{os.fspath(names)!r}]")
    found: dict[Path, Path] = {}
    for name in names:
        if not (paths := _stands_for(os.fspath(name))):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(name))
        for path in paths:
            for file in _walk(path) if path.is_dir() else [path]:
                found.setdefault(file.absolute(), file)
    return list(found.values())


def _stands_for(name: str) -> list[Path]:
    if os.path.lexists(name):
        return [Path(name)]
    return [Path(path) for path in sorted(glob.glob(name, recursive=True))]  # noqa: PTH207  # Path's takes none with a root


def _walk(folder: Path) -> Iterator[Path]:
    closed: list[OSError] = []
    for path, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_WALKED)
        yield from (Path(path, name) for name in sorted(files) if not name.startswith("."))
    yield from (Path(error.filename) for error in closed)


def read_file(path: str | os.PathLike[str]) -> Iterator[Document]:
    """Read a file: a PDF page by page, any other as one document.

    What a file is, its first bytes and its suffix say. Text is UTF-8, UTF-16 with a byte order mark, or else
    Windows-1252; a few invalid bytes are U+FFFD. A page of HTML says its encoding itself, and is given as
    Markdown, without scripts, fields of forms, navigation and what is marked as hidden. PDFium, which is C++, reads a
    PDF within this process: one that was made to do harm can take its memory.

    Args:
        path: the file's.

    Returns:
        An iterator over documents with text in them; pages without are left out.

    Raises:
        CannotRead: while iterating: there is no text in it, it is binary, of an unknown encoding, damaged or encrypted,
            larger than `MAX_FILE` bytes (HTML: `MAX_HTML`), or the system does not let it be read.
        ModuleNotFoundError: while iterating: it takes a library that is missing; the extra ``ask`` brings it.
    """
    path = Path(path)
    data = _read(path)
    if data.startswith(b"%PDF-"):
        documents = _read_pdf(path, data)
    elif path.suffix.lower() in _HTML or _STARTS_HTML.match(data[:_HEAD]):
        documents = _read_html(path, data)
    else:
        documents = iter([Document(path.as_posix(), _name(path), _decode(data), path.suffix.lower() in _MARKDOWN)])
    empty = True
    for document in documents:
        if document.text.strip():
            empty = False
            yield document
    if empty:
        raise CannotRead("there is no text in it")


def _name(path: Path) -> str:
    return replace_surrogates(str(path))[0]


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():  # a pipe or a device may never end
            if path.is_dir():
                os.scandir(path).close()
            path.stat()
            raise CannotRead("it is not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_FILE + 1)
    except OSError as error:
        raise CannotRead((error.strerror or str(error)).lower()) from None
    if len(data) > MAX_FILE:
        raise CannotRead(f"it is larger than {MAX_FILE} bytes")
    return data


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        if _BINARY.search(data[:_HEAD].decode("latin-1")):
            raise CannotRead("it is binary") from None
        text = _decode_damaged(data)
    if _BINARY.search(text[:_HEAD]):
        raise CannotRead("it is binary")
    return text


def _decode_damaged(data: bytes) -> str:
    """Decode what is not all UTF-8. Nothing is guessed beyond that: libraries that do take short French for Hebrew."""
    text = data.decode("utf-8", "replace")
    lost = text.count("\ufffd")
    others = len(text) - len(text.encode("ascii", "ignore")) - lost
    if lost < others:  # what is not meant as UTF-8 is hardly ever any
        return text
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:
        if lost * 100 < len(text):  # a log into which a program wrote a few bytes
            return text
        raise CannotRead("its encoding is not UTF-8, UTF-16 or Windows-1252") from None


def _read_html(path: Path, data: bytes) -> Iterator[Document]:
    import lxml  # noqa: F401  # named where it is missing, as the others are; Beautiful Soup would only say that it needs it
    from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
    from bs4.element import PreformattedString
    from markdownify import MarkdownConverter

    if b"\0" in data[:_HEAD] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise CannotRead("it is binary")
    if len(data) > MAX_HTML:
        raise CannotRead(f"it is HTML of more than {MAX_HTML} bytes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)  # XHTML is read just as well
            soup = BeautifulSoup(data, "lxml")
        heading = soup.head and soup.head.find("title")  # drawings have titles too
        title = " ".join(heading.get_text().split()) if heading else ""
        for element in soup(lambda tag: tag.name in _NO_TEXT or (tag.name != "body" and tag.has_attr("hidden"))):
            element.decompose()
        # Comments, and what begins a page; not every markdownify leaves that out.
        for node in [node for node in soup.descendants if isinstance(node, PreformattedString)]:
            node.extract()
        text = MarkdownConverter(heading_style="ATX", strip=["a", "img"]).convert_soup(soup)
    except RecursionError:
        raise CannotRead("its elements are nested too deeply") from None
    yield Document(path.as_posix(), title or _name(path), text.strip() + "\n", markdown=True, as_in_file=False)


def _read_pdf(path: Path, data: bytes) -> Iterator[Document]:
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        pdf = PdfDocument(io.BytesIO(data))
    except PdfiumError as error:
        raise CannotRead("it is encrypted" if "password" in str(error).lower() else "it is damaged") from None
    try:
        for number in range(len(pdf)):
            key, title = f"{path.as_posix()}#page={number + 1}", f"{_name(path)}, page {number + 1}"
            yield Document(key, title, _page_text(pdf, number), as_in_file=False)
    finally:
        pdf.close()


def _page_text(pdf: PdfDocument, number: int) -> str:
    """Give the text of a page; nothing for one that is damaged: the others may be read."""
    from pypdfium2 import PdfiumError

    try:
        page = pdf[number]
        text: str = page.get_textpage().get_text_bounded()
        page.close()
    except PdfiumError:
        return ""
    return text.translate(_PAGE)
