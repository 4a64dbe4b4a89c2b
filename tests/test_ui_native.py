"""Our own protocol, read back: by a reader of server-sent events, by what the parts give, and by TypeScript."""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from streamcite import Cited, ResolvedEvent, resolve
from streamcite.links import from_dict, to_dict
from streamcite.render.live import BlockPatch, LiveHtml
from streamcite.sse import SSEDecoder
from streamcite.ui.assets import asset
from streamcite.ui.native import VERSION, NativeEncoder
from streamcite.ui.protocol import EncoderClosed
from tests.markers import cite
from tests.node import NODE
from tests.processes import ENVIRONMENT, PATIENCE
from tests.rendering import SOURCES, answers, cuts, feeds
from tests.upstreams import INSTALLED

OPTIONAL = ("keep", "error")
Sent = tuple[str | None, Any]

# An answer with events of every kind, and links with and without each of their parts.
ANSWER = (
    f"A{cite('t1')} b{cite('t1', 'L2-L3')}{cite('t2', 'L99')} c{cite('none')}{cite('x')} 🎉\n\n- d\n"
    '\ue200entity\ue202["a","Ada"]\ue201 \ue201 \ue200cite\ue201 e\u2028\x85f'
)


def sent(fed: Sequence[Sequence[ResolvedEvent]], **options: bool) -> list[Sent]:
    """Send events, and read them back; the numbers are right."""
    encoder, decoder = NativeEncoder(**options), SSEDecoder()
    frames = [*(frame for events in fed for frame in encoder.feed(events)), *encoder.close()]
    received = [event for frame in frames for event in decoder.feed(frame)]
    assert len(received) == len(frames)
    assert [event.id for event in received] == [str(number) for number in range(len(received))]
    return [(event.event, json.loads(event.data)) for event in received]


@given(answers, cuts)
def test_the_events_and_the_patches_are_those_of_the_parts(text: str, cuts: list[int]) -> None:
    fed, live = feeds(text, cuts), LiveHtml()
    received = sent(fed)
    assert received[0] == ("start", {"version": VERSION})
    assert received[-1] == ("end", {"complete": True})
    forms = [to_dict(event) for events in fed for event in events]
    assert [data for name, data in received if name == data.get("type")] == json.loads(json.dumps(forms))
    patches = [patch.to_dict() for events in fed for patch in live.feed(events)]
    patches += [patch.to_dict() for patch in live.close()]
    assert [data for name, data in received if name == "patch"] == json.loads(json.dumps(patches))


def test_what_is_sent_can_be_read_back_as_events() -> None:
    fed = feeds(ANSWER, [])
    received = [from_dict(data) for name, data in sent(fed) if name == data.get("type")]
    assert list(map(to_dict, received)) == [to_dict(event) for events in fed for event in events]


def test_the_events_or_the_patches_may_be_left_out() -> None:
    fed = feeds(ANSWER, [9])
    names = {name for name, _ in sent(fed)}
    assert {name for name, _ in sent(fed, events=False)} == {"start", "patch", "end"}
    assert {name for name, _ in sent(fed, patches=False)} == names - {"patch"}


def test_the_patches_stand_after_what_they_show() -> None:
    names = [name for name, _ in sent([["a"], [" b"], []])]
    assert names == ["start", "text", "patch", "text", "patch", "end"]


def test_an_answer_may_break_off() -> None:
    encoder = NativeEncoder()
    assert encoder.close(complete=False) == [
        b'event: start\nid: 0\ndata: {"version":1}\n\n',
        b'event: end\nid: 1\ndata: {"complete":false}\n\n',
    ]
    assert encoder.close() == encoder.fail("late") == []
    with pytest.raises(EncoderClosed):
        encoder.feed([])


def test_an_error_may_end_an_answer() -> None:
    encoder = NativeEncoder()
    *_, patch, end = [*encoder.feed(["a"]), *encoder.fail("No more.")]
    assert patch.startswith(b"event: patch")
    assert end == b'event: end\nid: 3\ndata: {"complete":false,"error":"No more."}\n\n'
    assert encoder.close() == []


def test_nothing_on_the_way_keeps_an_event_back() -> None:
    assert dict(NativeEncoder.headers) == {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-cache",
        "x-accel-buffering": "no",
    }


def test_the_page_names_each_event() -> None:
    page = asset("native.md").read_text("utf-8")
    table = re.findall(r"^\| (`.*?) \|", page, re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(table)) == names_of_the_types()


def names_of_the_types() -> list[str]:
    types = asset("native.d.ts").read_text("utf-8")
    return re.findall(r"^  (\w+):", types.partition("interface NativeEvents {")[2].partition("}\n\n")[0], re.MULTILINE)


def test_typescript_takes_what_is_sent_and_nothing_else(tmp_path: Path) -> None:
    """Each event as a literal is of its type; without any one of its keys, or with one more, it is of none."""
    fed = [*feeds(ANSWER, [7, 31]), *feeds(f"{cite('x')} a", [])]
    encoder, decoder = NativeEncoder(), SSEDecoder()
    late: dict[str, Any] = {}
    frames = [*(frame for events in fed for frame in encoder.feed(events)), *encoder.fail("e")]
    received = [event for frame in frames for event in decoder.feed(frame)]
    lines = ['import type {NativeEvent} from "./native";']
    for number, event in enumerate(received):
        data = json.loads(event.data)
        late[str(event.event)] = data
        lines.append(f"export const _{number}: NativeEvent = {literal(event.event, data)};")
    assert sorted(late) == sorted(names_of_the_types())
    for name, data in late.items():
        for number, wrong in enumerate(spoiled(data)):
            lines += ["// @ts-expect-error", f"export const {name}_{number}: NativeEvent = {literal(name, wrong)};"]
    assert len(lines) > 100
    (tmp_path / "native.d.ts").write_text(asset("native.d.ts").read_text("utf-8"), "utf-8")
    (tmp_path / "sent.ts").write_text("\n".join(lines), "utf-8")
    command = [NODE, INSTALLED / "node_modules" / "typescript" / "bin" / "tsc"]
    options = ["--noEmit", "--strict", "--lib", "es2022", "--module", "es2022", "sent.ts"]
    done = subprocess.run(
        [*command, *options], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout == done.stderr == ""
    assert done.returncode == 0


def literal(name: str | None, data: object) -> str:
    return json.dumps({"event": name, "data": data})


def spoiled(data: object) -> list[Any]:
    """Give JSON that is the same except for one key left out, or one more, at any depth of its objects."""
    if isinstance(data, Mapping):
        kept = [
            {**data, "more": 1},
            *({k: v for k, v in data.items() if k != key} for key in data if key not in OPTIONAL),
        ]
        return kept + [{**data, key: wrong} for key, value in data.items() for wrong in spoiled(value)]
    if isinstance(data, list):
        return [
            [*data[:index], wrong, *data[index + 1 :]] for index, value in enumerate(data) for wrong in spoiled(value)
        ]
    return [{}] if isinstance(data, str | int | bool) or data is None else []


def test_the_answer_of_the_types_has_all_kinds() -> None:
    events = resolve_all(ANSWER)
    links = [link for event in events if isinstance(event, Cited) for link in event.links]
    assert {link.problem for link in links} >= {None, "unknown-lines", "unknown-source"}
    assert BlockPatch(0, "a", 1).to_dict().keys() == {"block", "html", "keep"}


def resolve_all(text: str) -> list[ResolvedEvent]:
    return resolve.resolve(text, SOURCES)
