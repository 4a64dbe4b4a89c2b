"""Run the installed command as its users do: as a process, with pipes or in a terminal. Every wait is bounded."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sysconfig
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO

COMMAND = Path(sysconfig.get_path("scripts"), "streamcite")
# On a machine that does other things too. Nothing that works takes as long.
PATIENCE = 60.0  # seconds

# Nothing of the machine's own: no proxy, key or taste in colours.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "LC_ALL"}}


def run(
    *args: str | Path, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command to its end."""
    return subprocess.run(
        [COMMAND, *args], input=stdin, capture_output=True, env={**ENVIRONMENT, **(env or {})}, timeout=PATIENCE
    )


def failure(done: subprocess.CompletedProcess[bytes]) -> str:
    """The one line of a command that failed as it should, without its name."""
    assert done.returncode == 2
    line, end = done.stderr.decode().split("\n")
    assert (line.startswith("streamcite: "), end) == (True, "")
    return line.removeprefix("streamcite: ")


def unread(program: Sequence[str | Path], *, stdin: bytes = b"") -> tuple[int, bytes]:
    """Run a program whose output nobody reads, as behind `| true`, and give its status and what it says of that."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            program, input=stdin, stdout=writer, stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=PATIENCE
        )
    finally:
        os.close(writer)
    return done.returncode, done.stderr


def shell(script: str, *, cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a shell script in which `streamcite` is the installed command."""
    path = f"{COMMAND.parent}{os.pathsep}{ENVIRONMENT['PATH']}"
    environment = {**ENVIRONMENT, **(env or {}), "PATH": path}
    return subprocess.run(["bash", "-c", script], capture_output=True, cwd=cwd, env=environment, timeout=PATIENCE)


def running(*args: str | Path, env: Mapping[str, str] | None = None) -> AbstractContextManager[subprocess.Popen[bytes]]:
    """Run the command while a block talks to it over unbuffered pipes."""
    return piped([COMMAND, *args], env=env)


@contextmanager
def piped(program: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while a block talks to it over unbuffered pipes."""
    # A test run in the background ignores the interrupt key, and what it starts would do so too.
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(
            program,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, **(env or {})},
        )
    finally:
        signal.signal(signal.SIGINT, previous)
    with process:
        try:
            yield process
        finally:
            process.kill()


def interrupted(
    program: Sequence[str | Path], *, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    """Run a program, interrupt it when it has begun to write, and give its status and what it says of that."""
    with piped(program, env=env) as process:
        send(process, stdin)
        receive(process.stdout, 1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
        return process.returncode, errors


def send(process: subprocess.Popen[bytes], data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)


def receive(pipe: IO[bytes] | int | None, count: int) -> bytes:
    """Read that many bytes, and no more; fewer at the end of the file."""
    assert pipe is not None
    received = b""
    while len(received) < count:
        assert select.select([pipe], [], [], PATIENCE)[0], f"nothing came behind {received!r}"
        piece = os.read(pipe if isinstance(pipe, int) else pipe.fileno(), count - len(received))
        if not piece:
            break
        received += piece
    return received


def finish(process: subprocess.Popen[bytes]) -> tuple[int, bytes, bytes]:
    """Close a process's input, and give its status, the rest of its output and its errors."""
    assert process.stdin is not None
    process.stdin.close()
    process.stdin = None
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out, err


class Terminal:
    """The command in a pseudo-terminal, in which all that it writes is gathered."""

    def __init__(self, *args: str | Path, columns: int, rows: int, env: Mapping[str, str] | None = None) -> None:
        self.columns, self.rows = columns, rows
        self.output = b""
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            environment = {**ENVIRONMENT, "TERM": "xterm-256color", **(env or {})}
            self.process = subprocess.Popen([COMMAND, *args], stdin=slave, stdout=slave, stderr=slave, env=environment)
        finally:
            signal.signal(signal.SIGINT, previous)
            os.close(slave)

    def read_until(self, expected: bytes | None) -> None:
        """Read until this has come; with None until the command has ended."""
        deadline = time.monotonic() + PATIENCE
        while expected is None or expected not in self.output:
            assert select.select([self._master], [], [], deadline - time.monotonic())[0], self.output[-500:]
            try:
                piece = os.read(self._master, 65536)
            except OSError:  # how Linux says that nobody has the other end open any more
                piece = b""
            if not piece:
                assert expected is None, self.output[-500:]
                break
            self.output += piece

    def end(self) -> int:
        """Read to the end, and give the exit status."""
        self.read_until(None)
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self._master)


@contextmanager
def terminal(
    *args: str | Path, columns: int = 80, rows: int = 24, env: Mapping[str, str] | None = None
) -> Iterator[Terminal]:
    """Run the command in a terminal of this size."""
    opened = Terminal(*args, columns=columns, rows=rows, env=env)
    try:
        yield opened
    finally:
        opened.close()
