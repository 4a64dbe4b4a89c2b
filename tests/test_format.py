"""What a marker looks like, as a value (semantics, section 1)."""

import copy
import dataclasses
import json
import pickle
import re
from typing import Any

import pytest
from hypothesis import given

from streamcite import OtherMarker, Reference, parse
from streamcite.format import CHATGPT, OPENAI, CitationFormat
from tests import strategies as sc

BRACKETS = CitationFormat(**sc.BRACKETS)
SPACED = CitationFormat(**sc.SPACED)
FIELDS = {
    "start": "\ue200",
    "delimiter": "\ue202",
    "stop": "\ue201",
    "families": ("cite", "filecite"),
    "source_id": r"(?!L[0-9]+(?:[-‐-―]|\Z))[A-Za-z0-9_-]+",
    "locator": r"L[0-9]+(?:[-‐-―]L?[0-9]+)?",
    "field_chars": "[!-~‐-―]",
    "spaces_in_fields": False,
    "ignored": frozenset(),
}


def test_the_defaults_are_the_guides() -> None:
    assert {name: getattr(OPENAI, name) for name in FIELDS} == FIELDS
    assert set(OPENAI.display) == {"entity", "url"}
    assert CitationFormat() == OPENAI
    assert OPENAI.tokens == ("\ue200", "\ue202", "\ue201")
    assert {field.name for field in dataclasses.fields(CitationFormat)} == {*FIELDS, "display"}


def test_chatgpt_ignores_highlight_marks() -> None:
    assert dataclasses.replace(OPENAI, ignored=frozenset("\ue203\ue204\ue206")) == CHATGPT
    assert parse("\ue203a\ue204\ue206", format=CHATGPT)[1] == "a"


@pytest.mark.parametrize("id", ["turn0file1", "block5", "a", "7", "L", "L8x", "l8", "_", "-", "L8_9", "xL1-L2"])
def test_what_is_a_source_id(id: str) -> None:
    assert re.fullmatch(OPENAI.source_id, id)
    assert not re.fullmatch(OPENAI.locator, id)


@pytest.mark.parametrize("locator", ["L1", "L8-L13", "L8-13", *(f"L8{dash}L9" for dash in "‐‑‒–—―"), "L007"])
def test_what_is_a_locator(locator: str) -> None:
    assert re.fullmatch(OPENAI.locator, locator)
    assert not re.fullmatch(OPENAI.source_id, locator)


@pytest.mark.parametrize(
    "text", ["", "a b", "a.b", "é", "L1-", "L1-L", "L1-L2-L3", "L\u0663", "L1\u2212L2", "L1\n", "a\n"]
)
def test_what_is_neither(text: str) -> None:
    assert not re.fullmatch(OPENAI.source_id, text)
    assert not re.fullmatch(OPENAI.locator, text)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (('["turn0entity1","Ada Lovelace",1]', ""), "Ada Lovelace"),
        (('["a","b"]',), "b"),
        (('[1,"b"]',), "b"),
        ((' ["a", "b"] ',), "b"),
        (('["a",1]',), ""),
        (('["a",null]',), ""),
        (('["a"]',), ""),
        (('"ab"',), ""),
        (('{"1":"b"}',), ""),
        (("no JSON",), ""),
        (("[" * 20_000,), ""),
        (("",), ""),
    ],
)
def test_an_entity_shows_its_name(fields: tuple[str, ...], text: str) -> None:
    (event,) = parse("\ue200entity\ue202" + "\ue202".join(fields) + "\ue201")
    assert isinstance(event, OtherMarker)
    assert (event.fields, event.text) == (fields, text)


@pytest.mark.parametrize(
    ("fields", "text"), [(("label", "https://a.example"), "label"), ((" a ",), " a "), (("",), "")]
)
def test_a_url_shows_its_label(fields: tuple[str, ...], text: str) -> None:
    (event,) = parse("\ue200url\ue202" + "\ue202".join(fields) + "\ue201")
    assert isinstance(event, OtherMarker)
    assert (event.fields, event.text) == (fields, text)


# A format is a value.


def test_a_format_is_made_by_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional"):
        CitationFormat("[[")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="other"):
        CitationFormat(other=1)  # type: ignore[call-arg]


def test_a_format_is_immutable() -> None:
    for name in [*FIELDS, "display", "tokens", "other"]:
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError, TypeError)):
            setattr(OPENAI, name, "x")
    with pytest.raises(TypeError):
        OPENAI.display["url"] = sc.show_all  # type: ignore[index]
    assert not hasattr(OPENAI, "__dict__")


def test_what_was_given_can_change_without_changing_the_format() -> None:
    families: Any = ["a"]
    ignored: Any = {"*"}
    display = {"g": sc.show_all}
    format = CitationFormat(families=families, ignored=ignored, display=display)
    families.append("b")
    ignored.add("+")
    display["h"] = sc.show_all
    assert format.families == ("a",)
    assert format.ignored == {"*"}
    assert format.display == {"g": sc.show_all}


@pytest.mark.parametrize("families", [["cite", "ref"], ("cite", "ref"), iter(["cite", "ref"]), {"cite": 1, "ref": 2}])
def test_families_are_kept_as_a_tuple(families: Any) -> None:
    assert CitationFormat(families=families).families == ("cite", "ref")


@pytest.mark.parametrize("ignored", ["*\ue203", ["*", "\ue203"], {"\ue203", "*"}, iter("*\ue203*")])
def test_ignored_characters_are_kept_as_a_set(ignored: Any) -> None:
    assert CitationFormat(ignored=ignored).ignored == frozenset("*\ue203")


CHANGES: list[dict[str, Any]] = [
    {"start": "["},
    {"delimiter": "|"},
    {"stop": "]"},
    {"families": ("cite",)},
    {"families": ("filecite", "cite")},
    {"source_id": "a+"},
    {"locator": "b+"},
    {"field_chars": r"\S"},
    {"spaces_in_fields": True},
    {"ignored": "*"},
    {"display": {}},
    {"display": {"url": sc.show_all}},
]


def test_formats_are_equal_by_value_and_hashable() -> None:
    different = [OPENAI, *(dataclasses.replace(OPENAI, **change) for change in CHANGES)]
    again = [CitationFormat(), *(CitationFormat(**change) for change in CHANGES)]
    assert different == again
    assert list(map(hash, different)) == list(map(hash, again))
    assert len(set(different)) == len({*different, *again}) == len(different)
    assert OPENAI not in list[object](different[1:])


@given(sc.formats())
def test_a_format_can_be_copied_and_pickled(args: sc.FormatArgs) -> None:
    format = CitationFormat(**args)
    for twin in (copy.copy(format), copy.deepcopy(format), pickle.loads(pickle.dumps(format))):  # noqa: S301
        assert twin == format
        assert hash(twin) == hash(format)
        assert dict(twin.display) == dict(format.display)
    assert dataclasses.replace(format) == format


@given(sc.formats())
def test_to_dict_and_from_dict_are_inverse_but_for_display(args: sc.FormatArgs) -> None:
    format = CitationFormat(**args)
    given = format.to_dict()
    assert given.keys() == FIELDS.keys()
    twin = CitationFormat.from_dict(json.loads(json.dumps(given)))
    assert twin == dataclasses.replace(format, display=OPENAI.display)
    assert twin.to_dict() == given
    given["families"].clear()
    assert format.to_dict() != given or not format.families


def test_a_field_left_out_has_its_default() -> None:
    assert CitationFormat.from_dict({}) == OPENAI
    assert CitationFormat.from_dict({"families": ["cite"]}) == CitationFormat(families=("cite",))


# Bad configurations.

TOO_LONG = "a" * 33
NO_REGEX = ["(", "[", "*", "(" * 5_000, None, 1, b"a"]
BAD: dict[str, list[Any]] = {
    "start": ["", " ", "a b", "a\u3000", "\n", None, 1, b"[", ["["]],
    "delimiter": ["", "\t|", None, 1, b"|"],
    "stop": ["", "] ", None, 1, b"]"],
    "families": [
        *("cite", "", None, 1, b"cite"),
        *(["cite", ""], ["1a"], ["-a"], ["é"], ["a b"], ["a\n"], ["\ue200"], [TOO_LONG], [1], [None], [["a"]], [b"a"]),
    ],
    "source_id": NO_REGEX,
    "locator": NO_REGEX,
    "field_chars": NO_REGEX,
    "spaces_in_fields": [None, 0, 1, "yes", []],
    "ignored": [
        *("a", "Z", "é", "7", "٣", "文", "-", "_", "\ue200", "*\ue201", None, 1),
        *(["\ue202"], ["ab"], ["**"], [""], [1], ["*", b"*"], [["*"]]),
    ],
    "display": [
        *(None, 1, "url", [("url", sc.show_all)], {"url": "label"}, {"url": None}),
        *({name: sc.show_all} for name in ("", "1", "a b", TOO_LONG, None, 1)),
    ],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param(name, value, id=f"{name}-{value!r:.30}") for name, values in BAD.items() for value in values],
)
def test_a_bad_configuration_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: "):
        CitationFormat(**{name: value})
    with pytest.raises(ValueError, match=rf"^{name}: "):
        dataclasses.replace(OPENAI, **{name: value})
    with pytest.raises(ValueError, match=rf"^{name}: "):
        CitationFormat.from_dict({name: value})


@pytest.mark.parametrize(
    ("tokens", "name"),
    [
        (("[", "[", "]"), "start"),
        (("[", "|", "["), "start"),
        (("[", "|", "|"), "delimiter"),
        (("[", "[|", "]"), "start"),
        (("[[", "[", "]"), "delimiter"),
        (("<", "|", "</"), "start"),
        (("</", "|", "<"), "stop"),
        (("[", "|]", "|"), "stop"),
        (("[", "|", "|]"), "delimiter"),
    ],
)
def test_a_token_that_is_another_or_begins_it_is_refused(tokens: tuple[str, str, str], name: str) -> None:
    start, delimiter, stop = tokens
    with pytest.raises(ValueError, match=rf"^{name}: "):
        CitationFormat(start=start, delimiter=delimiter, stop=stop)


def test_a_pattern_that_re_warns_of_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^source_id: .*Possible nested set"):
        CitationFormat(source_id="[[a]")


@pytest.mark.parametrize(
    ("references", "family", "name"),
    [
        ([Reference(5)], "cite", "references"),  # type: ignore[arg-type]
        ([Reference("a1", 5)], "cite", "references"),  # type: ignore[arg-type]
        ([("a1", None)], "cite", "references"),
        (["a1"], "cite", "references"),
        ([Reference("a1")], None, "family"),
        ([Reference("a1")], ["cite"], "family"),
    ],
)
def test_what_cannot_be_written_is_refused_by_name(references: Any, family: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: must be "):
        OPENAI.write(references, family)


@pytest.mark.parametrize("name", ["start", "delimiter", "stop"])
def test_a_token_has_a_bounded_length(name: str) -> None:
    long = "<" * 64
    text = f"a {long if name == 'start' else OPENAI.start}cite"
    assert parse(text[:-5], format=CitationFormat(**{name: long}))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=f"^{name}: must have at most 64 code points, not 65"):
        CitationFormat(**{name: long + "<"})  # type: ignore[arg-type]


def test_a_token_may_stand_inside_another_or_at_its_end() -> None:
    assert CitationFormat(start="<|cite|>", delimiter="|", stop="cite").tokens == ("<|cite|>", "|", "cite")
    assert CitationFormat(start="[[", delimiter="x[[", stop="]").tokens == ("[[", "x[[", "]")


@pytest.mark.parametrize("key", ["display", "other", "Start", ""])
def test_a_key_that_is_not_a_field_is_refused_by_name(key: str) -> None:
    with pytest.raises(ValueError, match=rf"^{key}: "):
        CitationFormat.from_dict({key: {}})


@pytest.mark.parametrize("value", [None, 1, "start", [("start", "[")], OPENAI])
def test_what_is_not_a_mapping_is_not_a_format(value: Any) -> None:
    with pytest.raises(ValueError, match="a citation format must be a mapping"):
        CitationFormat.from_dict(value)


def test_a_format_shows_what_is_not_the_default() -> None:
    assert repr(OPENAI) == "CitationFormat()"
    assert repr(CHATGPT) == "CitationFormat(ignored='\\ue203\\ue204\\ue206')"
    for format in (CHATGPT, BRACKETS, SPACED, CitationFormat(display={}), CitationFormat(spaces_in_fields=True)):
        assert eval(repr(format), {"CitationFormat": CitationFormat}) == format  # noqa: S307 - what it wrote itself
