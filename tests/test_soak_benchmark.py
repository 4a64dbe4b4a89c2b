"""The soak finds nothing wrong in a few seconds, and notices what is wrong, in a relay and in what a reader has got."""

import asyncio
import json
import math
import selectors
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from random import Random
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from benchmarks import soak
from benchmarks.left_running import judge, load
from benchmarks.left_running import plan as plans
from benchmarks.left_running.clients import Clients
from benchmarks.left_running.http import CutError, request
from benchmarks.left_running.judge import Read, Seen
from benchmarks.left_running.load import Found, Sample
from benchmarks.left_running.plan import FAULTS, SOURCES, Plan
from benchmarks.report import Figure, Table
from streamcite import Resolver, Source, clean, parse
from streamcite.relay import Splice
from streamcite.sse import ServerSentEvent, SSEDecoder, encode
from streamcite.ui.native import NativeEncoder

# `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
with_redis = pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis-server is not installed")

# No upstream is silent among its first streams, as nobody waits for long here.
SEED = 215


@with_redis
def test_a_short_soak_finds_nothing_wrong() -> None:
    results = [*soak.figures(seconds=3, seed=SEED, relayed=4, answers=3, outage=0.8, silence=60, lease=15)]
    figures = [each for each in results if isinstance(each, Figure)]
    assert [str(figure) for figure in figures if figure.missed] == []
    assert len({figure.name for figure in figures}) == len(figures) == 18
    table, _ = (each for each in results if isinstance(each, Table))
    *_, relayed, answers = (int(cell) for cell in table.rows[-1] if cell.isdigit())
    assert min(relayed, answers) > 0
    assert "started again 0 times" not in table.note


@with_redis
def test_a_relay_that_loses_doubles_and_leaks_and_a_producer_that_gives_up_are_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(soak, "RELAY", "tests.broken_relay")
    monkeypatch.setattr(soak, "ANSWERS", "tests.impatient_answers")
    monkeypatch.setattr(load, "_SETTLING", 5)
    results = soak.figures(seconds=1, seed=SEED, relayed=8, answers=6, silence=60, lease=15)
    wrong = {each.name for each in results if isinstance(each, Figure) and each.missed}
    assert {"relayed streams: the clean text is not the parser's", "tasks that stay: relay"} <= wrong
    assert "descriptors that stay: relay" in wrong
    assert wrong & {f"answers that survive a reload: {judge.WRONG[each]}" for each in ("end", "failed")}
    assert not any("server" in name for name in wrong)
    assert "relay, stream " in capsys.readouterr().err


# Streams


made = cache(partial(plans.make, 1))


def planned(fault: str, *, least: int = 0, api: str = "chat") -> Plan:
    """Give a stream that has this fault, and a marker before."""
    return next(each for each in plans_of(fault, api) if each.number >= least and is_marked(each))


def plans_of(fault: str, api: str) -> Iterator[Plan]:
    return (each for each in map(made, range(10_000)) if (each.fault, each.api) == (fault, api))


def is_marked(plan: Plan) -> bool:
    text, _ = judge.shown(plan, plan.body)
    return plan.fault in ("5xx", "no answer") or clean(text) != text


def test_plans_are_the_same_whoever_makes_them_and_have_every_fault() -> None:
    first = [made(number) for number in range(60)]
    assert {plan.fault for plan in first} == {*FAULTS}
    for plan in first[:10]:
        again = plans.make(1, plan.number)
        assert judge.shown(again, again.body) == judge.shown(plan, plan.body)
        text, _ = judge.shown(plan, b"".join(plan.frames))
        assert text.startswith(f"Answer {plan.number}: ")
        assert clean(text).endswith("That is all.")


def cleaned(plan: Plan) -> Seen:
    """What a client gets of a plan, in one delta."""
    text, _ = judge.shown(plan, plan.body)
    frames = [frame for frame in plan.body.split(b"\n\n") if b'"content":"' not in frame or b'"role"' in frame]
    delta = encode(json.dumps({"choices": [{"delta": {"content": clean(text)}, "finish_reason": None}]}))
    body = frames[0] + b"\n\n" + delta + b"\n\n".join(frames[1:])
    return Seen(200, bytearray(body), ended=plan.fault in plans.ENDED)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("5xx", "no answer")])
def test_a_stream_is_right_or_what_is_wrong_is_reported(fault: str) -> None:
    plan = planned(fault)
    assert judge.relayed(plan, cleaned(plan)) == []
    assert judge.relayed(plan, Seen(200, bytearray(plan.body), ended=fault in plans.ENDED)) == ["text"]
    assert judge.relayed(plan, replace(cleaned(plan), ended=fault not in plans.ENDED)) == ["end"]
    assert judge.relayed(plan, cleaned(planned(fault, least=plan.number + 1))) == ["text"]
    assert judge.relayed(plan, Seen()) == judge.relayed(plan, Seen(502)) == ["failed"]
    assert judge.relayed(plan, replace(cleaned(plan), left=True)) == judge.relayed(plan, Seen(left=True)) == []
    assert judge.relayed(plan, Seen(200, bytearray(plan.body), left=True)) == ["text"]


@pytest.mark.parametrize("api", get_args(plans.Api))
@pytest.mark.parametrize("fault", ["none", "cut"])
def test_annotations_are_those_of_the_whole_text_or_that_is_reported(api: str, fault: str) -> None:
    plan = next(each for each in plans_of(fault, api) if b"/turn0file" in annotated(each))
    given, ended = annotated(plan), fault in plans.ENDED
    assert judge.relayed(plan, Seen(200, bytearray(given), ended=ended, shown=True)) == []
    assert judge.relayed(plan, Seen(200, bytearray(given), ended=ended)) == ["annotations"]
    assert judge.relayed(plan, Seen(200, bytearray(annotated(plan, {})), ended=ended, shown=True)) == ["annotations"]
    half = Seen(200, bytearray(given[: len(given) * 2 // 3]), left=True, shown=True)
    assert judge.relayed(plan, half) == []
    assert judge.relayed(plan, replace(half, shown=False)) == ["annotations"]
    for one, other in ((b"/turn0file", b"/turn1file"), (b'"end_index":', b'"end_index":1')):
        wrong = bytearray(given.replace(one, other, 1))
        assert judge.relayed(plan, Seen(200, wrong, ended=ended, shown=True)) == ["annotations"]


def annotated(plan: Plan, sources: Mapping[str, Source] = SOURCES) -> bytes:
    splice = Splice(sources=sources)
    return splice.feed(plan.body) + splice.close(stopped=not plan.whole)


def test_an_end_that_is_invented_is_reported() -> None:
    plan, seen = planned("no end"), cleaned(planned("no end"))
    seen.body += plans.DONE
    assert judge.relayed(plan, seen) == ["end"]


@pytest.mark.parametrize(("fault", "status"), [("5xx", 503), ("no answer", 502)])
def test_a_refusal_counts_as_one(fault: str, status: int) -> None:
    assert judge.relayed(planned(fault), Seen(status)) == []
    assert judge.relayed(planned(fault), Seen(200)) == judge.relayed(planned(fault), Seen()) == ["failed"]


@pytest.mark.parametrize(
    ("event", "error"), [(b'{"choices":[', "Expecting value"), (b'{"id":"a","serves":[]}', "has no 'choices'")]
)
def test_what_is_left_of_two_events_is_an_error(event: bytes, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        judge.relayed(planned("none"), Seen(200, bytearray(b"data: " + event + b"\n\n")))


# Answers that survive a reload


def events(plan: Plan, *, complete: bool | None = None) -> list[ServerSentEvent]:
    text, _ = judge.shown(plan, plan.body)
    encoder, resolver = NativeEncoder(), Resolver(SOURCES)
    frames = encoder.feed([])
    for event in parse(text):
        frames += encoder.feed(resolver.feed([event]))
    return SSEDecoder().feed(b"".join([*frames, *encoder.close(complete=plan.whole if complete is None else complete)]))


def swapped(events: list[ServerSentEvent]) -> list[ServerSentEvent]:
    return [*events[:2], events[3], events[2], *events[4:]]


Tampering = Callable[[list[ServerSentEvent]], Sequence[ServerSentEvent]]


@pytest.mark.parametrize(
    ("tampered", "wrong"),
    [
        (lambda events: events, []),
        (lambda events: [*events[:3], *events[4:]], ["lost"]),
        (lambda events: [*events[:3], *events[2:]], ["doubled"]),
        (swapped, ["disorder"]),
        (lambda events: [*events[:3], events[3]._replace(data=b"{}"), *events[4:]], ["disorder"]),
    ],
)
def test_what_a_reader_lacks_or_has_twice_is_reported(tampered: Tampering, wrong: list[str]) -> None:
    for fault in ("none", "cut"):
        plan = planned(fault)
        got = [Read([*tampered(events(plan))], ended=True), Read(events(plan), ended=True)]
        assert set(wrong) <= set(judge.read(plan, got, away=False))
        assert bool(wrong) == bool(judge.read(plan, got, away=False))


def test_an_answer_is_the_one_that_was_sent() -> None:
    plan, other = planned("none"), planned("none", least=planned("none").number + 1)
    assert judge.read(plan, [Read(events(other), ended=True)], away=False) == ["text"]
    assert judge.read(plan, [Read(events(plan)[:-1])], away=False) == ["failed"]
    assert judge.read(plan, [Read(events(plan, complete=False), ended=True)], away=False) == ["end"]
    assert judge.read(plan, [Read(events(plan), ended=True, stopped=True)], away=False) == ["end"]
    cut = planned("reset")
    assert judge.read(cut, [Read(events(cut, complete=True), ended=True)], away=False) == ["end"]


def test_what_is_lost_or_doubled_before_it_is_numbered_is_reported() -> None:
    plan = planned("none")
    text, _ = judge.shown(plan, plan.body)
    given = parse(text, complete=True)
    (first, *_) = (place for place, event in enumerate(given) if not isinstance(event, str))
    for tampered, wrong in (
        (given, []),
        ([*given[:first], *given[first + 1 :]], ["lost"]),
        ([*given[: first + 1], *given[first:]], ["doubled"]),
    ):
        encoder = NativeEncoder()
        resolver = Resolver(SOURCES)
        frames = [*encoder.feed(resolver.feed(tampered)), *encoder.close()]
        got = Read(SSEDecoder().feed(b"".join(frames)), ended=True)
        assert judge.read(plan, [got], away=False) == wrong


def test_an_answer_may_break_off_while_redis_is_away() -> None:
    plan = planned("none")
    half = replace(plan, sent=20)
    broken = Read(events(half, complete=False), ended=True)
    assert judge.read(plan, [broken], away=True) == judge.read(plan, [Read(missing=True)], away=True) == []
    assert set(judge.read(plan, [broken], away=False)) == {"end", "text"}
    assert judge.read(plan, [Read(events(half, complete=True), ended=True)], away=True) == ["text"]


# Patience


class Waits(selectors.SelectSelector):
    """Waits for no time: it says that it has passed."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "nobody waits for a time, and nothing comes"
        assert self.passed < 1_000_000, "all wait for ever"
        ready = super().select(0)
        self.passed += 0 if ready else timeout
        return ready


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes where all wait for it, and then at once."""

    def __init__(self) -> None:
        self.waits = Waits()
        super().__init__(self.waits)

    def time(self) -> float:
        return self.waits.passed


def loaded(one: str, clients: Clients, plan: Plan, *, back: Sequence[float] = ()) -> Found:
    """Give what comes of one stream or answer."""
    found = Found(back=[*back])
    program: Any = SimpleNamespace(port=0)

    async def ask() -> None:
        loading = load.Load(1, program, program, [program], program, 15, 1, 1, 1)
        loading.up.set()
        await getattr(loading, one)(found, clients, plan.number)

    with asyncio.Runner(loop_factory=Clock) as runner:
        runner.run(ask())
    return found


class Given(Clients):
    """Clients that get all of a plan, or the first part of it, piece by piece, with a pause before each."""

    def __init__(self, plan: Plan, *, pause: float, enough: int | None = None, complete: bool | None = None) -> None:
        super().__init__()
        self.seen, self.events = cleaned(plan), events(plan, complete=complete)
        self.pause, self.enough = pause, enough

    async def relayed(self, port: int, plan: Plan, seen: Seen, random: Random) -> None:
        seen.status = 200
        await self.give(bytes(self.seen.body).splitlines(keepends=True), seen.body.extend)
        seen.ended = self.seen.ended

    async def start(self, ports: Sequence[int], number: int, random: Random) -> bool:
        return True

    async def read(self, ports: Sequence[int], number: int, found: Read, random: Random) -> None:
        await self.give([[event] for event in self.events], found.events.extend)
        found.ended = True

    async def give(self, pieces: Sequence[Any], take: Callable[[Any], None]) -> None:
        for number, piece in enumerate(pieces):
            await (asyncio.Event().wait() if number == self.enough else asyncio.sleep(self.pause))
            take(piece)


LANES = {"_one_relayed": "relay", "_one_answer": "answers"}


@pytest.mark.parametrize("one", LANES)
def test_what_comes_slowly_is_waited_for_and_what_comes_no_more_is_not(one: str) -> None:
    plan = planned("none")
    slow = Given(plan, pause=load.PATIENCE * 0.8)
    assert loaded(one, slow, plan).wrong.total() == 0
    for enough in (0, 3):
        found = loaded(one, Given(plan, pause=1, enough=enough), plan)
        assert found.wrong[LANES[one], "failed"] == 1
        assert any("TimeoutError" in told for told in found.faults)


def test_what_breaks_off_is_wrong_unless_redis_was_away_for_long() -> None:
    plan = planned("none")
    broken = Given(replace(plan, sent=20), pause=0, complete=False)
    assert loaded("_one_answer", broken, plan).wrong == {("answers", "end"): 1, ("answers", "text"): 1}
    for back, excused in ((0.0, 0), (math.inf, 1)):
        found = loaded("_one_answer", broken, plan, back=[back])
        assert (found.broken, not found.wrong) == (excused, bool(excused))


# What is told


def test_memory_that_stays_is_reported_beside_its_limit() -> None:
    found = Found()
    grown = [Sample(number * 100, 3, 5_000 + 200 * number, 9, 10**7 + number * 2 * 10**6) for number in range(6)]
    found.samples["relay"] = [grown[0]._replace(memory=10**9), *grown[1:]]
    figures = {figure.name: figure for figure in soak.results(found, Clients(), "") if isinstance(figure, Figure)}
    for name, value in {"objects": 2, "bytes of memory": 20_000}.items():
        stays = figures[f"{name} that stay of a stream: relay"]
        assert stays.value == pytest.approx(value)
        assert stays.missed


def test_a_request_is_cut_where_its_answer_is() -> None:
    async def ask(answer: bytes) -> tuple[int, bytes, bool]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        body, status = b"", 0
        try:
            async with request("GET", server.sockets[0].getsockname()[1], "/", slow=True) as response:
                status = response.status
                async for data in response.pieces(2):
                    body += data
        except CutError:
            return status, body, True
        finally:
            server.close()
        return status, body, False

    head = b"HTTP/1.1 200 OK\r\n"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
    for answer, outcome in {
        chunked + b"0\r\n\r\n": (200, b"hello", False),
        chunked: (200, b"hello", True),
        chunked + b"9\r\nhal": (200, b"hellohal", True),
        head + b"content-length: 2\r\n\r\nhi": (200, b"hi", False),
        b"HTTP/1.1 204 No Content\r\n\r\n": (204, b"", False),
        b"": (0, b"", True),
    }.items():
        assert asyncio.run(ask(answer)) == outcome
