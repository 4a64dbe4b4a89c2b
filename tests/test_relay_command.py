"""The command ``streamcite relay``, as a process of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import fields
from http.client import HTTPConnection, IncompleteRead
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

from streamcite.cli import texts
from streamcite.cli.relay import relay as relay_command
from streamcite.relay.config import RelayConfig
from streamcite.testing import serve
from tests.chats import streamed
from tests.clients import new_client
from tests.http_peer import Exchange, Peer, request
from tests.markers import MARKER
from tests.processes import PATIENCE
from tests.raw_streams import body
from tests.relays import ANSWER, CLEAN, ENV, PROGRAM, SHOWN, Command, command


def test_it_relays_in_several_processes_that_count_together() -> None:
    with serve(ANSWER) as server, command("--upstream", server.base_url, "--workers", "2") as relay:
        for _ in range(6):
            with new_client(f"{relay.url}/v1") as client:
                whole = client.chat.completions.create(model="answer", messages=SHOWN)
                assert whole.choices[0].message.content == CLEAN
        # Each is counted when its answer is on its way, and another process may tell of it.
        counted = b'streamcite_relay_requests_total{api="chat",status="200"} 6.0'
        until(lambda: counted in request(f"{relay.url}/metrics")[1])
        relay.end()
    assert any("2 citations, 1 malformed" in line for line in relay.lines)
    assert not any("guest" in line or "Traceback" in line for line in relay.lines)


def measured(url: str) -> dict[str, float]:
    """Give what is told of this moment, without labels, by whichever process is asked."""
    lines = [line.rsplit(" ", 1) for line in request(f"{url}/metrics")[1].decode().splitlines()]
    names = ("open_streams", "held_characters", "tasks")
    return {name: float(value) for key, value in lines for name in names if key == f"streamcite_relay_{name}"}


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def workers_of(relay: Command) -> list[int]:
    """Give the processes that serve."""
    pids = Path(f"/proc/{relay.process.pid}/task/{relay.process.pid}/children").read_text().split()
    return [int(pid) for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def is_cut(stream: HTTPConnection) -> bool:
    assert stream.sock is not None
    stream.sock.settimeout(0)
    try:
        return stream.sock.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    except ConnectionError:
        return True


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_open_and_held_is_reported_of_all_processes_that_are(peer: Peer, workers: int) -> None:
    first, held = body(streamed(["It "], None), done=False), body(streamed([MARKER[:9]], None), done=False)
    go = Event()

    def give(exchange: Exchange) -> None:
        exchange.start()
        exchange.send(first)
        assert go.wait(PATIENCE)
        exchange.send(held)
        exchange.wait_until_left()

    peer.answer = give
    with ExitStack() as stack:
        relay = stack.enter_context(command("--upstream", peer.url, "--workers", str(workers), "--grace", "0"))
        streams = []
        for _ in range(8):
            stream = stack.enter_context(closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)))
            stream.request("POST", "/v1/chat/completions", json.dumps({"stream": True}))
            assert b"It " in stream.getresponse().read1()
            streams.append(stream)
        until(lambda: measured(relay.url)["open_streams"] == 8)
        assert measured(relay.url)["held_characters"] == 0
        go.set()
        until(lambda: measured(relay.url)["held_characters"] == 8 * 9)
        assert measured(relay.url)["tasks"] >= 8
        if workers > 1:
            killed, *_ = workers_of(relay)
            os.kill(killed, signal.SIGKILL)
            until(lambda: not Path(f"/proc/{killed}").exists())  # it loses its name before its connections are closed
            streams = [stream for stream in streams if not is_cut(stream)]
            until(lambda: measured(relay.url)["open_streams"] == len(streams))
            until(lambda: measured(relay.url)["held_characters"] == len(streams) * 9)
        for stream in streams:
            stream.close()
        until(lambda: measured(relay.url)["open_streams"] == measured(relay.url)["held_characters"] == 0)
        until(lambda: measured(relay.url)["tasks"] < 8 * workers)
        relay.end()


@pytest.mark.parametrize(
    ("number", "workers", "statuses"),
    [
        (signal.SIGTERM, "1", {-signal.SIGTERM, 128 + signal.SIGTERM}),
        (signal.SIGTERM, "2", {0}),
        (signal.SIGINT, "1", {130}),
        (signal.SIGINT, "2", {130}),
        (signal.SIGKILL, "2", {-signal.SIGKILL}),
    ],
)
def test_it_lets_streams_finish_and_then_ends(peer: Peer, number: int, workers: str, statuses: set[int]) -> None:
    first, rest = body(streamed(["It ", MARKER[:9]], None), done=False), body(streamed([MARKER[9:], "lasts."]))
    go = peer.gives_and_waits(first, rest)
    with command("--upstream", peer.url, "--workers", workers) as relay:
        with closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True}))
            response = connection.getresponse()
            assert b"It " in response.read1()
            relay.process.send_signal(number)
            go.set()
            seen = response.read()
        assert b"lasts." in seen
        assert seen.endswith(b"data: [DONE]\n\n")
        assert relay.wait() in statuses  # every process has closed its output then
        with pytest.raises(ConnectionRefusedError):
            request(f"{relay.url}/healthz")
    assert not any("Traceback" in line for line in relay.lines)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_stream_that_does_not_finish_in_time_is_cut_without_a_trace(peer: Peer, workers: str) -> None:
    peer.gives(body(streamed(["It ", MARKER[:9]], None), done=False), ends=False)
    with command("--upstream", peer.url, "--grace", "0", "--workers", workers) as relay:
        with closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True}))
            response = connection.getresponse()
            assert b"It " in response.read1()
            relay.end()
            with pytest.raises(IncompleteRead):
                response.read()
        assert peer.left.acquire(timeout=PATIENCE)
    assert any("stream left" in line for line in relay.lines)
    assert all(line.startswith(("INFO: ", "ERROR: ", "WARNING: ", "\n")) for line in relay.lines)


def test_a_cut_is_reported_in_a_line(peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.give(body(streamed(["It "], None), done=False), cut=True)
    with command("--upstream", peer.url) as relay:
        with closing(HTTPConnection(urlsplit(relay.url).netloc, timeout=PATIENCE)) as connection:
            connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True}))
            with pytest.raises(Exception, match="IncompleteRead"):
                connection.getresponse().read()
        relay.end()
    assert any(line.startswith("WARNING: upstream: ") for line in relay.lines)
    assert not any("Traceback" in line for line in relay.lines)


def test_settings_may_stand_in_a_file_and_the_command_line_wins(tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    with serve(ANSWER) as server:
        file.write_text(
            f'upstream = "{server.base_url}"\nrender = "links"\nmax_body = 1000000\nannotations = "final"\n'
        )
        for more, mark in (((), "](<https://example.org/hours>)"), (("--render", "footnotes"), "[^2]")):
            with command("--config", str(file), *more) as relay, new_client(f"{relay.url}/v1") as client:
                whole = client.chat.completions.create(model="answer", messages=SHOWN)
                assert mark in (whole.choices[0].message.content or "")


def test_the_server_may_be_set_in_the_file_too(tmp_path: Path) -> None:
    file = tmp_path / "relay.toml"
    with serve(ANSWER) as server:
        file.write_text(f'upstream = "{server.base_url}"\nhost = "127.0.0.2"\nport = 1\nworkers = 1\n')
        with command("--config", str(file)) as relay:  # which gives a port itself
            assert relay.url.startswith("http://127.0.0.2:")
            assert request(f"{relay.url}/healthz")[1] == b"ok\n"


def test_what_the_help_says_of_a_file_is_so() -> None:
    _, _, told = texts.RELAY.partition("A FILE for --config")
    settings = tomllib.loads(told.partition("\n")[2])
    upstream, cors = settings["upstream"], settings["cors"]
    assert RelayConfig.from_dict(settings) == RelayConfig(upstream=upstream, cors=tuple(cors))
    options = {option.name for option in relay_command.params} - {"settings"}
    own = {item.name for item in fields(RelayConfig)}
    assert {*settings} == (own - options) | {"upstream", "cors"}
    assert options - own == {"host", "port", "workers", "grace"}


SERVER = """
import sys, uvicorn
from streamcite.relay.app import create_app
from streamcite.relay.config import RelayConfig
uvicorn.run(create_app(RelayConfig(upstream=sys.argv[1])), port=0)
"""


def test_a_cut_is_reported_in_a_line_by_the_servers_of_others_too(peer: Peer) -> None:
    peer.answer = lambda exchange: exchange.give(body(streamed(["It "], None), done=False), cut=True)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", SERVER, peer.url],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=ENV,
    )
    assert process.stderr is not None
    lines = []
    with process:
        for line in process.stderr:
            lines.append(line)
            if found := re.search(r"http://([\d.:]+)", line):
                with closing(HTTPConnection(found[1], timeout=PATIENCE)) as connection:
                    connection.request("POST", "/v1/chat/completions", json.dumps({"stream": True}))
                    with pytest.raises(IncompleteRead):
                        connection.getresponse().read()
                process.terminate()
    assert [line for line in lines if not line.startswith("INFO: ")] == ["upstream: ClientPayloadError\n"]


def failed(*arguments: str) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE, env=ENV)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1
    return done


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "upstream: must be given, such as https://api.openai.com/v1"),
        (["--upstream", "api.openai.com"], "upstream: must be a URL such as"),
        (["--upstream", "http://a.example", "--render", "html"], "--render"),
        (["--upstream", "http://a.example", "--host", "256.0.0.1"], "cannot listen on 256.0.0.1, port 8000"),
        (["--config", "none.toml"], "none.toml"),
        (["--config", "."], "Is a directory"),
    ],
    ids=str,
)
def test_a_mistake_is_reported_in_one_line(arguments: list[str], message: str) -> None:
    assert message in failed(*arguments).stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "relay.toml: "),
        ("key = 'secret'\nupstream = 'http://a.example'", "key: is not a setting; the settings are upstream, "),
        ("prot = 1\nupstream = 'http://a.example'", ", host, port, workers, grace"),
        ("upstrem = 'http://a.example'", "upstrem: is not a setting; the settings are upstream, "),
        ("cors = 'https://page.example'\nupstream = 'http://a.example'", "cors: must be a list of origins, such as ["),
        ("port = 'http'\nupstream = 'http://a.example'", "'--port': 'http' is not a valid integer"),
        ("\xff", "relay.toml: "),
    ],
)
def test_a_mistake_in_a_file_too(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "relay.toml"
    file.write_bytes(text.encode("latin-1"))
    assert message in failed("--config", str(file)).stderr


def test_a_port_that_is_taken(peer: Peer) -> None:
    port: Any = urlsplit(peer.url).port
    said = failed("--upstream", "http://a.example", "--port", str(port)).stderr
    assert said == f"streamcite: cannot listen on 127.0.0.1, port {port}: Address already in use\n"


COLLECTING = """
import gc, os
from streamcite.relay import serve
from streamcite.relay.config import RelayConfig
os.environ[serve._CONFIG] = RelayConfig(upstream="https://api.example/v1").to_json()
usual = gc.get_threshold()
serve.app_from_environment()
print(gc.isenabled(), gc.get_freeze_count() > 10_000, *[new // old for new, old in zip(gc.get_threshold(), usual)])
"""


def test_what_stays_is_looked_at_seldom() -> None:
    told = subprocess.run(
        [sys.executable, "-P", "-c", COLLECTING], capture_output=True, text=True, env=ENV, timeout=PATIENCE
    )
    enabled, frozen, *times = told.stdout.split()
    assert (enabled, frozen) == ("True", "True")
    assert all(int(each) > 1 for each in times)
