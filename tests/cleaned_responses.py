"""What cleaned responses must be, wherever their texts stand, said slowly and obviously."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from streamcite import Event, parse
from tests import responses_streams as rs
from tests.responses_streams import (
    Item,
    Json,
    cited,
    size,
)

KEY = tuple[int, int, str]


def moved(annotation: Json, events: Iterable[Event], unit: str) -> Json:
    """Move an annotation of the API, unit by unit of the text that the model wrote."""
    places: list[int] = []
    shown = ""
    for event in events:
        if isinstance(event, str):
            for each in event:
                places += range(size(shown, unit), size(shown + each, unit))
                shown += each
        else:
            places += [size(shown, unit)] * size(event.raw, unit)
            shown += str(event)
    places.append(size(shown, unit))
    names = {"file_path": [], "file_citation": ["index"]}.get(annotation["type"], ["start_index", "end_index"])
    return annotation | {name: places[annotation[name]] for name in names}


def kinds(events: Iterable[Json]) -> list[str]:
    return [event["type"] for event in events]


def emptied(events: Iterable[Json]) -> int:
    return sum(event.get("delta") == "" for event in events)


def texts_of(response: Json, items: Sequence[Item]) -> dict[KEY, tuple[str, list[Json]]]:
    """Give the texts of a response, and their annotations."""
    found = {}
    for (index, _), item in zip(rs.indexed(items), response["output"], strict=True):
        for name in ("content", "summary"):
            for number, part in enumerate(item.get(name) or []):
                text = part["refusal"] if part["type"] == "refusal" else part["text"]
                found[index, number, part["type"]] = (text, part.get("annotations") or [])
    return found


def key_of(event: Json, field: str) -> Any:
    return event["output_index"], event.get("content_index", event.get("summary_index", 0)), field


FIELDS = {"response.output_text": "output_text", "response.refusal": "refusal",
          "response.reasoning_text": "reasoning_text", "response.reasoning_summary_text": "summary_text"}  # fmt: skip


def places_of(events: Iterable[Json], items: Sequence[Item]) -> dict[str, dict[KEY, Any]]:
    """Collect what stands in each kind of place: of which the last four, and the joined deltas, must agree."""
    found: dict[str, dict[KEY, Any]] = defaultdict(dict)
    for event in events:
        stem, _, last = event["type"].rpartition(".")
        if last == "delta":
            key = key_of(event, FIELDS[stem])
            found["deltas"][key] = found["deltas"].get(key, "") + event["delta"]
        elif stem in FIELDS and last == "done":
            found["done"][key_of(event, FIELDS[stem])] = event.get("text", event.get("refusal"))
        elif stem.endswith("_part") and last == "done":
            part = event["part"]
            text = part["refusal"] if part["type"] == "refusal" else part["text"]
            found["part"][key_of(event, part["type"])] = (text, part.get("annotations") or [])
        elif event["type"] == "response.output_item.done":
            item = Item(items[0].parts, index=event["output_index"])
            found["item"] |= texts_of({"output": [event["item"]]}, [item])
        elif event["type"] in rs.ENDS:
            found["response"] = texts_of(event["response"], items)
        elif event["type"].endswith("annotation.added"):
            announced = found["announced"].setdefault(key_of(event, "output_text"), [])
            assert event["annotation_index"] == len(announced)
            assert event["item_id"] == f"item_{event['output_index']}"
            announced.append(event["annotation"])
    return found


def check_numbers(raw: list[Json], cleaned: list[Json]) -> None:
    """Check that numbers rise, and that those of events that were there move only as far as those put in need."""
    changed = ("delta", "annotation.added")
    own = [event["sequence_number"] for event in raw if not event["type"].endswith(changed)]
    before = -1
    for event in cleaned:
        number = event["sequence_number"]
        assert number > before
        if not event["type"].endswith(changed):
            assert number == max(own.pop(0), before + 1)
        before = number


def check_stream(raw: list[Json], cleaned: list[Json], items: Sequence[Item], expect: dict[KEY, Any]) -> None:
    check_numbers(raw, cleaned)
    changed = ("delta", "annotation.added")
    assert [k for k in kinds(cleaned) if not k.endswith(changed)] == [k for k in kinds(raw) if not k.endswith(changed)]
    assert emptied(cleaned) == emptied(raw)  # what came empty passes, but nothing becomes so
    places = places_of(cleaned, items)
    shown = {key: text for key, (text, _) in expect.items()}
    assert {key: text for key, text in places["deltas"].items() if text} == {
        k: text for k, text in shown.items() if text
    }
    assert places["done"] == shown
    assert places["part"] == places["item"] == places["response"] == expect
    assert places["announced"] == {key: annotations for key, (_, annotations) in expect.items() if annotations}


def expected(
    items: Sequence[Item], sources: Any = None, unit: str = "codepoint", *, complete: bool = True
) -> dict[KEY, tuple[str, list[Json]]]:
    found: dict[KEY, tuple[str, list[Json]]] = {}
    for index, item in rs.indexed(items):
        numbers: dict[bool, int] = defaultdict(int)
        for part in item.parts:
            events = parse(part.text, complete=complete)
            own = cited(events, sources or {}, unit) if part.field == "output_text" else []
            hosted = [moved(annotation, events, unit) for annotation in part.hosted]
            in_summary = part.field == "summary_text"
            found[index, numbers[in_summary], part.field] = ("".join(map(str, events)), own + hosted)
            numbers[in_summary] += 1
    return found
