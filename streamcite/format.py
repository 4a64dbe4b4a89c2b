"""What a marker looks like: the tokens, the families, and what a field may hold (semantics, section 1)."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from .events import Reference
from .grammar import FAMILY, grammar_for

Display: TypeAlias = Callable[[tuple[str, ...]], str]

# A token is found at every part of it that ends the input, by a regular expression that nests as deep as it is long.
MAX_TOKEN = 64
# The limits of a parser with default options, in code points: that on citations is also the one `write` keeps.
DEFAULT_MAX_MARKER = 4096
DEFAULT_MAX_PAYLOAD = 65536


def show_entity(fields: tuple[str, ...]) -> str:
    """Show the name of an entity: the second item of the JSON array in the first field; else nothing."""
    items = json.loads(fields[0])
    return items[1] if isinstance(items, list) and isinstance(items[1], str) else ""


def show_url(fields: tuple[str, ...]) -> str:
    """Show the label of a link: the first field."""
    return fields[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationFormat:
    """Say what a marker looks like.

    ``start family delimiter field (delimiter field)* stop``, by default the marker of OpenAI's citation guide, section
    "Citation format". Values are immutable and hashable; lists are taken for ``families`` and kept as tuples, any
    iterable of characters for ``ignored``.

    Attributes:
        start, delimiter, stop: the three tokens: non-empty, without whitespace, distinct, none a prefix of another, of
            at most 64 code points.
        families: the families that are citations, each ``[A-Za-z][A-Za-z0-9_-]{0,31}``.
        source_id: a regular expression that one source id matches as a whole.
        locator: a regular expression that one locator matches as a whole.
        field_chars: a regular expression that one non-whitespace character matches if a field may hold it.
        spaces_in_fields: whether a field may hold spaces, as in ``Paragraph 21``.
        ignored: single characters that are removed wherever they stand in text: no letter, digit, ``-``, ``_``, nor
            part of a token.
        display: for a family that is not a citation, a function from the fields of a marker, as written, to the text to
            show. If it raises or returns no ``str``, nothing is shown.

    Raises:
        ValueError: a field cannot be used; the message begins with its name.
    """

    start: str = "\ue200"
    delimiter: str = "\ue202"
    stop: str = "\ue201"
    families: tuple[str, ...] = ("cite", "filecite")
    source_id: str = r"(?!L[0-9]+(?:[-‐-―]|\Z))[A-Za-z0-9_-]+"
    locator: str = r"L[0-9]+(?:[-‐-―]L?[0-9]+)?"
    field_chars: str = r"[!-~‐-―]"
    spaces_in_fields: bool = False
    ignored: frozenset[str] = frozenset()
    # No part of the hash, since a mapping has none; of equality it is.
    display: Mapping[str, Display] = field(default_factory=lambda: {"entity": show_entity, "url": show_url}, hash=False)

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "families", _families(self.families))
        set_field(self, "ignored", _ignored(self.ignored))
        set_field(self, "display", _display(self.display))
        self._check_tokens()
        for name in ("source_id", "locator", "field_chars"):
            _check_pattern(name, getattr(self, name))
        if not isinstance(self.spaces_in_fields, bool):
            raise ValueError(f"spaces_in_fields: must be True or False, not {self.spaces_in_fields!r}")
        for character in self.ignored:
            if any(character in token for token in self.tokens):
                raise ValueError(f"ignored: {character!r} is part of a token")

    def __repr__(self) -> str:
        # Most formats share most with OpenAI's, and signatures show them: only what differs is written.
        changed = {item.name: value for item in fields(self) if (value := getattr(self, item.name)) != item.default}
        if "ignored" in changed:
            changed["ignored"] = "".join(sorted(self.ignored))
        if self.display == OPENAI.display:
            del changed["display"]
        else:
            changed["display"] = dict(self.display)
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __reduce__(self) -> tuple[Callable[..., CitationFormat], tuple[dict[str, Any]]]:
        # A read-only view cannot be pickled; the mapping behind it can.
        return _build, (self.to_dict() | {"display": dict(self.display)},)

    @property
    def tokens(self) -> tuple[str, str, str]:
        """Give start, delimiter and stop."""
        return self.start, self.delimiter, self.stop

    def write(self, references: Iterable[Reference], family: str = "cite") -> str:
        """Build the marker that cites these references.

        Args:
            references: one or more references, in order.
            family: one of ``families``.

        Returns:
            A marker that ``parse(text, format=self)`` reads back as one `Citation` of just these references.

        Raises:
            ValueError: there is no such marker: no reference, a family that is not a citation, an id or a locator that
                the format does not read as one, or more than 4096 code points.
            TypeError: something other than `Reference`s of strings was given, or a family that is not a string.
        """
        if isinstance(references, Reference | str) or not isinstance(references, Iterable):
            raise TypeError(f"references: must be a list of References, not {references!r}")
        if not (given := tuple(references)):
            raise ValueError("references: must hold at least one, not none")
        for reference in given:
            if not _is_of_strings(reference):
                raise TypeError(f"references: must be References of strings, not {reference!r}")
        if not isinstance(family, str):
            raise TypeError(f"family: must be a string, not {family!r}")
        return write_marker(self, given, family, limit=DEFAULT_MAX_MARKER)

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready dict of every field but ``display``, which holds functions."""
        values = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "display"}
        return values | {"families": list(self.families), "ignored": sorted(self.ignored)}

    @classmethod
    def from_dict(cls, obj: Mapping[str, Any]) -> CitationFormat:
        """Build a format from what `to_dict` gave; a field left out has its default.

        Raises:
            ValueError: a key is not a field, or a field cannot be used.
        """
        if not isinstance(obj, Mapping):
            raise ValueError(f"a citation format must be a mapping of its fields, not {type(obj).__name__}")
        known = {item.name for item in fields(cls)} - {"display"}
        for name in obj:
            if name not in known:
                names = ", ".join(sorted(known))
                raise ValueError(f"{name}: is not a field of a citation format; its fields are {names}")
        return cls(**obj)

    def _check_tokens(self) -> None:
        named = dict(zip(("start", "delimiter", "stop"), self.tokens, strict=True))
        for name, token in named.items():
            if not isinstance(token, str) or not token or any(character.isspace() for character in token):
                raise ValueError(f"{name}: must be a non-empty string without whitespace, not {token!r}")
            if len(token) > MAX_TOKEN:
                raise ValueError(f"{name}: must have at most {MAX_TOKEN} code points, not {len(token)}")
        for name, token in named.items():
            for other_name, other in named.items():
                if name != other_name and other.startswith(token):
                    raise ValueError(f"{name}: {token!r} is {other_name} {other!r} or a prefix of it")


def check_format(format: object) -> None:
    """Require a `CitationFormat`.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(format, CitationFormat):
        raise TypeError(f"format: must be a CitationFormat, not {type(format).__name__}")


def write_marker(format: CitationFormat, references: tuple[Reference, ...], family: str, *, limit: int | None) -> str:
    """Build a marker as `CitationFormat.write` does, of at most that many code points, or of any length."""
    words = [family, *(word for reference in references for word in reference if word is not None)]
    marker = format.start + format.delimiter.join(words) + format.stop
    if (limit is not None and len(marker) > limit) or not grammar_for(format).reads(marker, words, references):
        wrong = _wrong_word(format, references)
        raise ValueError(wrong or f"no marker of this format reads back as family {family!r}, {references!r}")
    return marker


def may_be_id(word: str, format: CitationFormat) -> bool:
    """Say whether a word has the form of a format's source ids; a marker may have no place for it yet."""
    return re.fullmatch(format.source_id, word) is not None


def ids_of(format: CitationFormat) -> str:
    """Say what the source ids of a format are, for a message."""
    if format.source_id == OPENAI.source_id:
        return "whose ids are ASCII letters, digits, _ and -, and nothing like L8"
    return f"whose ids match {format.source_id}"


def _is_of_strings(value: object) -> bool:
    return isinstance(value, Reference) and isinstance(value.source_id, str) and isinstance(value.locator, str | None)


def _wrong_word(format: CitationFormat, references: tuple[Reference, ...]) -> str | None:
    """Say which id or locator the format does not know, if it is for its pattern."""
    for source_id, locator in references:
        if not may_be_id(source_id, format):
            return f"source_id: {source_id!r} is not an id of this format, {ids_of(format)}"
        if locator is not None and not re.fullmatch(format.locator, locator):
            return f"locator: {locator!r} is not a locator of this format, whose locators match {format.locator}"
    return None


def _build(values: dict[str, Any]) -> CitationFormat:
    return CitationFormat(**values)


def _families(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise ValueError(f"families: must be a sequence of names, not the string {value!r}")
    for name in (names := _items("families", value)):
        if not isinstance(name, str) or not re.fullmatch(FAMILY, name):
            raise ValueError(f"families: {name!r} is not a family name ({FAMILY})")
    return names


def _ignored(value: Iterable[str]) -> frozenset[str]:
    for character in (characters := _items("ignored", value)):
        if not isinstance(character, str) or len(character) != 1 or character.isalnum() or character in "-_":
            raise ValueError(f"ignored: {character!r} is not one character other than a letter, a digit, '-' and '_'")
    return frozenset(characters)


def _display(value: Mapping[str, Display]) -> Mapping[str, Display]:
    if not isinstance(value, Mapping):
        raise ValueError(f"display: must map families to functions, not {value!r}")
    for name, function in value.items():
        if not isinstance(name, str) or not re.fullmatch(FAMILY, name):
            raise ValueError(f"display: {name!r} is not a family name ({FAMILY})")
        if not callable(function):
            raise ValueError(f"display: {function!r} of family {name!r} is not callable")
    return MappingProxyType(dict(value))


def _items(name: str, value: Iterable[str]) -> tuple[str, ...]:
    try:
        return tuple(value)
    except TypeError:
        raise ValueError(f"{name}: must be a sequence of strings, not {value!r}") from None


def _check_pattern(name: str, pattern: str) -> None:
    if not isinstance(pattern, str):
        raise ValueError(f"{name}: must be a regular expression as a string, not {pattern!r}")
    try:
        with warnings.catch_warnings():  # what `re` only warns of, such as "[[a]", is not what was meant
            warnings.simplefilter("error")
            re.compile(pattern)
    except (re.error, RecursionError, OverflowError, Warning) as error:
        raise ValueError(f"{name}: {pattern!r} is not a regular expression: {error}") from None


OPENAI = CitationFormat()
"""The format of OpenAI's citation guide, as its models write it."""

CHATGPT = replace(OPENAI, ignored=frozenset("\ue203\ue204\ue206"))
"""`OPENAI`, without the marks that ChatGPT sets round highlighted prose."""
