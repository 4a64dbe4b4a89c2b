"""What every protocol's encoder is, and how one is asked for."""

import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Any, get_args

import pytest
from hypothesis import given

from streamcite import ResolvedEvent, parse
from streamcite.ui.ai_sdk import AISDKEncoder, ui_message
from streamcite.ui.langchain import LangChainEncoder, ai_message
from streamcite.ui.native import NativeEncoder
from streamcite.ui.openai_chat import OpenAIChatEncoder, chat_completion
from streamcite.ui.openai_responses import OpenAIResponsesEncoder, model_response
from streamcite.ui.protocol import HEADERS, Encoder, EncoderClosed, Protocol, ProtocolName, new_encoder
from tests.processes import PATIENCE
from tests.rendering import answers, cuts, feeds


class Lines(Encoder):
    """A protocol of one's own, with no more than it needs."""

    def _start(self) -> list[bytes]:
        return [self._frame({})]

    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        return [self._frame({"text": str(event)}) for event in events]

    def _end(self, *, complete: bool) -> list[bytes]:
        return [self._frame({"complete": complete})]


def test_an_answer_begins_once_and_ends_once() -> None:
    encoder = Lines()
    assert encoder.headers == HEADERS
    assert encoder.feed([]) == [b"id: 0\ndata: {}\n\n"]
    assert encoder.feed([]) == []
    assert encoder.feed(["a", "b"]) == [b'id: 1\ndata: {"text":"a"}\n\n', b'id: 2\ndata: {"text":"b"}\n\n']
    assert encoder.close() == [b'id: 3\ndata: {"complete":true}\n\n']
    assert encoder.close() == encoder.fail("late") == []
    with pytest.raises(EncoderClosed):
        encoder.feed([])


def test_an_error_is_at_least_an_end_that_is_none() -> None:
    assert Lines().fail("secret") == [b"id: 0\ndata: {}\n\n", b'id: 1\ndata: {"complete":false}\n\n']


def test_an_error_may_stand_after_the_frames_of_another_encoder() -> None:
    encoder = Lines()
    encoder.skip(7)
    assert encoder.fail("dead") == [b'id: 7\ndata: {"complete":false}\n\n']


ENCODERS: list[Callable[[], Encoder]] = [
    lambda: NativeEncoder(patches=False),
    AISDKEncoder,
    lambda: OpenAIChatEncoder(completion_id="c", created=1),
    lambda: OpenAIResponsesEncoder(response_id="r", created=1),
    lambda: OpenAIResponsesEncoder(response_id="r", created=1, unit="utf16"),
    lambda: LangChainEncoder(message_id="m"),
]


@pytest.mark.parametrize("make", ENCODERS)
@given(answers, cuts)
def test_what_writes_text_writes_what_is_fed(make: Callable[[], Encoder], text: str, cuts: list[int]) -> None:
    events = [event for events in feeds(text, cuts) for event in events]
    fed, written = make(), make()
    for event in events:
        write = written.write
        frames = [write(event)] if isinstance(event, str) and write else written.feed([event])
        assert frames == fed.feed([event])
    assert written.close() == fed.close()
    assert written.write is None


def test_nothing_writes_text_alone_where_patches_stand_after_it() -> None:
    encoder = NativeEncoder()
    encoder.feed(["a"])
    assert encoder.write is None


@pytest.mark.parametrize("events", ["text", 1])
def test_events_are_not_text(events: Iterable[ResolvedEvent]) -> None:
    encoder = Lines()
    with pytest.raises(TypeError, match="events"):
        encoder.feed(events)
    assert len(encoder.close()) == 2


ANSWERS: list[Callable[[Iterable[Any]], object]] = [
    *(lambda events, make=make: make().feed(events) for make in [*ENCODERS, NativeEncoder]),
    *(ui_message, chat_completion, model_response, ai_message),
]


@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "event", [*parse("\ue200cite\ue202turn0file1\ue201"), None, 5, b"a", {"type": "text"}], ids=repr
)
def test_events_are_those_of_a_resolver(answer: Callable[[Iterable[Any]], object], event: Any) -> None:
    with pytest.raises(TypeError, match=f"^events: must be those of a Resolver, not {type(event).__name__}$"):
        answer(["A", event, "b"])


def test_a_protocol_is_named_in_three_ways() -> None:
    encoder = Lines()
    assert new_encoder(encoder) is encoder
    assert isinstance(new_encoder(Lines), Lines)
    assert isinstance(new_encoder(lambda: NativeEncoder(patches=False)), NativeEncoder)
    assert isinstance(new_encoder("native"), NativeEncoder)


@pytest.mark.parametrize(
    ("protocol", "error", "what"),
    [
        ("nativ", ValueError, "'native', 'ai-sdk', 'openai-chat', 'openai-responses', 'langchain', not 'nativ'"),
        (None, TypeError, "not NoneType"),
        (dict, TypeError, "not dict"),
    ],
)
def test_what_is_not_a_protocol(protocol: Protocol, error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what):
        new_encoder(protocol)


def test_without_markdown_it_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the other protocols need nothing."""
    others = [name for name in get_args(ProtocolName) if name != "native"]
    program = (
        "import sys; sys.modules['markdown_it'] = None\n"
        "from streamcite.ui.response import sse_response\n"
        f"for name in {others}: sse_response([], protocol=name)\n"
        "try: sse_response([])\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    command = [sys.executable, "-P", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    told = "markdown_it is not installed; protocol='native' needs it: pip install \"streamcite[markdown]\""
    assert done.stdout == f"{told}\n"

    def missing(_: str) -> None:
        raise ModuleNotFoundError(name="markdown_it")

    monkeypatch.setattr("streamcite.ui.protocol.import_module", missing)
    with pytest.raises(ModuleNotFoundError) as raised:
        new_encoder("native")
    assert (str(raised.value), raised.value.name) == (told, "markdown_it")
