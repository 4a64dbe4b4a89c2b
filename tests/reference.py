"""Read a finished text exactly as sections 1 to 3 of the semantics are written.

This is the oracle of the tests: naive, one character after the other, over the whole text, with
nothing carried over from one delta to the next. It shares no code with the package. Words in
quotation marks below are those of the semantics.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Display = Callable[[tuple[str, ...]], Any]
# One event in the JSON form of section 5; text events are bare strings.
ReadEvent = str | dict[str, Any]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_LONGEST_SPACED_FIELD = 64


def show_entity(fields: tuple[str, ...]) -> Any:
    """Return the second item of the JSON array in the first field."""
    array = json.loads(fields[0])
    return array[1] if isinstance(array, list) else None


def show_url(fields: tuple[str, ...]) -> Any:
    """Return the first field."""
    return fields[0]


@dataclass(frozen=True)
class Fmt:
    """The fields of section 1, unchecked."""

    start: str = "\ue200"
    delimiter: str = "\ue202"
    stop: str = "\ue201"
    families: Sequence[str] = ("cite", "filecite")
    source_id: str = r"(?!L[0-9]+(?:[-‐-―]|\Z))[A-Za-z0-9_-]+"
    locator: str = r"L[0-9]+(?:[-‐-―]L?[0-9]+)?"
    field_chars: str = r"[!-~‐-―]"
    spaces_in_fields: bool = False
    ignored: Sequence[str] = ()
    display: Mapping[str, Display] = field(default_factory=lambda: {"entity": show_entity, "url": show_url})

    @property
    def tokens(self) -> tuple[str, str, str]:
        return (self.start, self.delimiter, self.stop)


OPENAI = Fmt()
CHATGPT = Fmt(ignored=("\ue203", "\ue204", "\ue206"))


def named(format: str | Mapping[str, Any]) -> Fmt:
    """Return the format that a case names: "openai", "chatgpt" or keyword arguments."""
    if isinstance(format, str):
        return {"openai": OPENAI, "chatgpt": CHATGPT}[format]
    return Fmt(**format)


def read(
    text: str,
    fmt: Fmt = OPENAI,
    *,
    malformed: Literal["drop", "keep"] = "drop",
    repair: bool = True,
    max_marker: int = 4096,
    max_payload: int | None = None,
    complete: bool = False,
) -> list[ReadEvent]:
    """Return the events of `text`, fed and closed, adjacent strings joined."""
    reader = _Reader(text, fmt, malformed, repair, max_marker, max_payload)
    reader.closed = True
    reader.complete = complete
    reader.run()
    return reader.events


def fed(
    prefix: str,
    fmt: Fmt = OPENAI,
    *,
    malformed: Literal["drop", "keep"] = "drop",
    repair: bool = True,
    max_marker: int = 4096,
    max_payload: int | None = None,
) -> tuple[list[ReadEvent], str]:
    """Return the events handed out after `prefix` was fed, and what is held then."""
    reader = _Reader(prefix, fmt, malformed, repair, max_marker, max_payload)
    held_from = reader.run()
    return reader.events, prefix[held_from:]


def held_after(prefix: str, fmt: Fmt = OPENAI, **options: Any) -> str:
    """Return what is held after `prefix` was fed; anything more waits longer than it must."""
    return fed(prefix, fmt, **options)[1]


def source_text(events: Sequence[ReadEvent]) -> str:
    """Return the input that `events` were read from."""
    return "".join(e if isinstance(e, str) else e["raw"] for e in events)


def shown(events: Sequence[ReadEvent]) -> str:
    """Return the clean text of `events`."""
    return "".join(e if isinstance(e, str) else e["text"] for e in events)


class _Reader:
    closed = False
    complete = False

    def __init__(
        self,
        text: str,
        fmt: Fmt,
        malformed: str,
        repair: bool,
        max_marker: int,
        max_payload: int | None,
    ) -> None:
        self.text = text
        self.fmt = fmt
        self.malformed = malformed
        self.repair = repair
        self.max_marker = max_marker
        self.max_payload = max(65536, max_marker) if max_payload is None else max_payload
        self.events: list[ReadEvent] = []
        private = all(unicodedata.category(c) == "Co" for c in "".join(fmt.tokens))
        self.text_tokens = fmt.tokens if private else (fmt.start,)

    # Reading one token or character.

    def token_at(self, i: int, tokens: Sequence[str]) -> str:
        """Return the longest of the recognised tokens that stands there, or ""."""
        standing = [t for t in tokens if self.text.startswith(t, i)]
        return max(standing, key=len, default="")

    def waits_at(self, i: int, tokens: Sequence[str]) -> bool:
        """Whether the input so far does not say what stands at `i`."""
        if self.closed:
            return False
        rest = self.text[i:]
        return any(t.startswith(rest) and t != rest for t in tokens)

    # Handing out.

    def say(self, text: str) -> None:
        if self.events and isinstance(self.events[-1], str):
            self.events[-1] += text
        elif text:
            self.events.append(text)

    def mark(self, type_: str, start: int, end: int, text: str, **values: Any) -> int:
        place = {"start": start, "end": end, "position": len(shown(self.events))}
        raw = self.text[start:end]
        self.events.append({"type": type_, **values, "raw": raw, "text": text, **place})
        return end

    def report(self, reason: str, start: int, end: int) -> int:
        text = self.text[start:end] if self.malformed == "keep" else ""
        return self.mark("malformed", start, end, text, reason=reason)

    def cite(self, start: int, end: int, family: str, tokens: list[str], repaired: bool) -> int:
        references, _ = self.references(tokens)
        values = {"family": family, "references": references, "repaired": repaired}
        return self.mark("citation", start, end, "", **values)

    # TEXT.

    def run(self) -> int:
        """Read everything; return where that which is held begins."""
        i = 0
        while i < len(self.text):
            if self.waits_at(i, self.text_tokens):
                return i
            token = self.token_at(i, self.text_tokens)
            if token == self.fmt.start:
                after = self.read_family(i)
                if after is None:
                    return i
                i = after
            elif token == self.fmt.delimiter:
                i = self.report("stray_delimiter", i, i + len(token))
            elif token == self.fmt.stop:
                i = self.report("stray_stop", i, i + len(token))
            elif self.text[i] in tuple(self.fmt.ignored):
                i = self.mark("other", i, i + 1, "", family="", fields=[])
            else:
                self.say(self.text[i])
                i += 1
        return i

    # FAMILY: returns where TEXT goes on, or None while the marker is held.

    def read_family(self, at: int) -> int | None:
        i = behind_start = at + len(self.fmt.start)
        while True:
            if self.waits_at(i, self.fmt.tokens):
                return None
            if i == len(self.text):
                return self.report("truncated", at, i)
            letters = self.text[behind_start:i]
            token = self.token_at(i, self.fmt.tokens)
            if token == self.fmt.delimiter:
                return self.read_body(at, letters, i + len(token))
            if token == self.fmt.stop:
                return self.report("no_delimiter", at, i + len(token))
            if token == self.fmt.start or not _NAME.fullmatch(letters + self.text[i]):
                reason = "unclosed" if token else "bad_family"
                self.report(reason, at, behind_start)
                self.say(letters)
                return i
            i += 1

    # BODY: returns where TEXT goes on, or None while the marker is held.

    def read_body(self, at: int, family: str, body: int) -> int | None:
        cited = family == "" or family in tuple(self.fmt.families)
        limit = self.max_marker if cited else self.max_payload
        fields = [""]
        i = body
        while True:
            if self.waits_at(i, self.fmt.tokens):
                return None
            mode = self.body_mode(cited, body)
            if i == len(self.text):
                if cited and self.complete:
                    return self.violated("unclosed", at, family, body, fields, True)
                if mode in ("strict", "json"):
                    return self.report("truncated", at, i)
                end, _ = self.head(mode, body, fields, False)
                return self.report("truncated", at, end)
            token = self.token_at(i, self.fmt.tokens)
            item = token or self.text[i]
            if token == self.fmt.start:
                return self.violated("unclosed", at, family, body, fields, True)
            if not token and self.is_prose(mode, body, i, fields[-1]):
                # Both kinds of prose finish a strict field: a character that it lacks does, and the
                # other kind stands after whitespace, which did.
                finished = mode == "strict" or item == "\n"
                return self.violated("unclosed", at, family, body, fields, finished)
            if i + len(item) - at > limit:
                finished = mode == "strict" and self.has_ended(fields[-1])
                return self.violated("too_long", at, family, body, fields, finished)
            i += len(item)
            if token == self.fmt.stop:
                return self.stopped(at, i, family, cited, fields)
            if token == self.fmt.delimiter:
                fields.append("")
            else:
                fields[-1] += item

    def body_mode(self, cited: bool, body: int) -> str:
        if cited:
            return "spaced" if self.fmt.spaces_in_fields else "strict"
        if self.token_at(body, self.fmt.tokens):
            return "plain"
        return "json" if self.text[body : body + 1] in ("{", "[") else "plain"

    def is_prose(self, mode: str, body: int, i: int, field_so_far: str) -> bool:
        char = self.text[i]
        if mode == "strict":
            if char.isspace():
                return False
            return not re.fullmatch(self.fmt.field_chars, char) or self.has_ended(field_so_far)
        if mode == "spaced":
            return char == "\n" or len(field_so_far) == _LONGEST_SPACED_FIELD
        if mode == "plain":
            return char == "\n"
        return char == "\n" and self.text[body:i].removesuffix("\r").endswith("\n")

    @staticmethod
    def has_ended(field_so_far: str) -> bool:
        """Whether whitespace follows the token of a field."""
        return field_so_far.strip() != "" and field_so_far[-1].isspace()

    # The stop.

    def stopped(self, at: int, end: int, family: str, cited: bool, fields: list[str]) -> int:
        if not cited:
            text = self.display(family, fields)
            return self.mark("other", at, end, text, family=family, fields=fields)
        tokens = [f.strip() for f in fields if f.strip()]
        references, reason = self.references(tokens)
        if not tokens:
            reason = "empty"
        if family == "":
            reason = "bad_family"
        if reason == "":
            return self.cite(at, end, family, tokens, False)
        if self.repair and family and references:
            return self.cite(at, end, family, tokens, True)
        return self.report(reason, at, end)

    def role(self, token: str) -> str:
        if re.fullmatch(self.fmt.locator, token):
            return "locator"
        return "source_id" if re.fullmatch(self.fmt.source_id, token) else ""

    def references(self, tokens: Sequence[str]) -> tuple[list[dict[str, Any]], str]:
        """Return the references before the first bad token, and why it is bad ("" if none is)."""
        found: list[dict[str, Any]] = []
        for token in tokens:
            role = self.role(token)
            if role == "source_id":
                found.append({"source_id": token, "locator": None})
            elif role == "":
                return found, "bad_source_id"
            elif not found:
                return found, "no_source"
            elif found[-1]["locator"] is None:
                found[-1]["locator"] = token
            else:
                found.append({"source_id": found[-1]["source_id"], "locator": token})
        return found, ""

    def display(self, family: str, fields: list[str]) -> str:
        if family not in self.fmt.display:
            return ""
        try:
            text = self.fmt.display[family](tuple(fields))
        except Exception:  # noqa: BLE001 - whatever a display function raises, nothing is shown
            return ""
        if not isinstance(text, str):
            return ""
        text = "".join(c for c in text if c not in tuple(self.fmt.ignored) and unicodedata.category(c) != "Cs")
        text = self.without_tokens(text)
        # The pieces that are left can make a new token: the one that ends first goes first, of two the longer.
        while made := [(text.find(t) + len(t), -len(t)) for t in self.fmt.tokens if t in text]:
            end, length = min(made)
            text = text[: end + length] + text[end:]
        return text

    def without_tokens(self, text: str) -> str:
        kept = ""
        while text:
            token = next((t for t in self.fmt.tokens if text.startswith(t)), "")
            kept += "" if token else text[0]
            text = text[len(token) or 1 :]
        return kept

    # A violation.

    def violated(self, reason: str, at: int, family: str, body: int, fields: list[str], finished: bool) -> int:
        cited = family == "" or family in tuple(self.fmt.families)
        end, tokens = self.head(self.body_mode(cited, body), body, fields, finished)
        references, _ = self.references(tokens)
        if self.repair and family in tuple(self.fmt.families) and references:
            return self.cite(at, end, family, tokens, True)
        return self.report(reason, at, end)

    def head(self, mode: str, body: int, fields: list[str], last_finished: bool) -> tuple[int, list[str]]:
        """Return where the head ends, and its tokens."""
        end, tokens = body, list[str]()
        if mode in ("plain", "json"):
            return end, tokens
        place = body
        for written in fields if last_finished else fields[:-1]:
            token = written.strip()
            if token:
                if written[0].isspace():
                    break
                if self.counts(token, tokens):
                    tokens.append(token)
                    end = place + len(token)
                else:
                    cut = self.before_punctuation(token)
                    if mode == "strict" and self.counts(cut, tokens):
                        tokens.append(cut)
                        end = place + len(cut)
                    break
            place += len(written) + len(self.fmt.delimiter)
        return end, tokens

    def counts(self, token: str, before: Sequence[str]) -> bool:
        if not any(c in "0123456789" for c in token):
            return False
        role = self.role(token)
        return role == "source_id" or (role == "locator" and len(before) > 0)

    @staticmethod
    def before_punctuation(token: str) -> str:
        for i, char in enumerate(token):
            if unicodedata.category(char) in ("Po", "Pe", "Pf"):
                return token[:i]
        return token
