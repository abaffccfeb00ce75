"""Programs from outside: started in a session of their own, held to a memory limit, listened to up to a bound, and ended
together with all that they have started."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from vindibot.arena import crashes
from vindibot.arena.entrants import Entrant
from vindibot.arena.seats import Forfeit
from vindibot.base import die_with_parent
from vindibot.games import Reason

#: How much of the beginning and of the end of what a program writes in a game is kept; the middle is read and forgotten.
FIRST_BYTES, LAST_BYTES = 192 * 1024, 64 * 1024
#: Seconds that are waited for the exit code of a program that has closed its end, and for the last of what it wrote.
ENDING_SECONDS = 0.5
#: Variables of ours that no program gets to see.
_OURS = ("VINDIBOT_",)
_OUT_OF_MEMORY = ("memoryerror", "bad_alloc", "out of memory", "outofmemory", "cannot allocate memory", "std::length_error")


class Program:
    """A program of an entrant in one game."""

    def __init__(self, entrant: Entrant, log: Path | None) -> None:
        self.entrant = entrant
        self.process: subprocess.Popen[bytes] | None = None
        self._log = log
        self._listener: threading.Thread | None = None
        self._logged = False
        self._tail = b""

    def start(self, replace: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start the command: `replace` says what its placeholders stand for, `environment` what it finds there besides ours.

        A program that speaks HTTP has its standard output in the log as well. Raises `Forfeit` if it cannot be started.
        """
        words = [_replaced(word, replace or {}) for word in self.entrant.command]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        piped = self.entrant.kind == "stdio"
        limit = self.entrant.limits.memory_mb

        def prepare() -> None:
            die_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit << 20, limit << 20))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        try:
            self.process = subprocess.Popen(
                words,
                cwd=self.entrant.folder or None,
                env={**inherited, **(environment or {})},
                stdin=subprocess.PIPE if piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if piped else subprocess.STDOUT,
                bufsize=0,
                start_new_session=True,
                preexec_fn=prepare,  # noqa: PLW1509  # limits must hold before the program runs
            )
        except (OSError, subprocess.SubprocessError) as problem:
            raise Forfeit(Reason.STALL, f"cannot be started: {problem}") from None
        ear = self.process.stderr if piped else self.process.stdout
        assert ear is not None
        self._listener = threading.Thread(target=self._listen, args=(ear.fileno(),), name="vindibot-listener", daemon=True)
        self._listener.start()

    @property
    def last_words(self) -> str:
        """The line of what it wrote to its log that says best why it ended, see `vindibot.arena.crashes.reason`."""
        return crashes.reason(self._tail.decode(errors="replace"))

    def ended(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        return self.process.poll() if self.process is not None else None

    def why_it_ended(self) -> Forfeit:
        """What to say of a program that has ended or closed its end in the middle of a game."""
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_SECONDS)
        if self._listener is not None:
            self._listener.join(ENDING_SECONDS)
        code, words = self.process.poll(), self.last_words
        note = "it closed its output" if code is None else f"it ended with {_said(code)}"
        told = any(phrase in words.lower() for phrase in _OUT_OF_MEMORY)
        reason = Reason.MEMORY if told and self.entrant.limits.memory_mb is not None else Reason.CRASH
        return Forfeit(reason, f"{note}: {words}" if words else note)

    def kill(self) -> None:
        """End it and all that it has started in its session."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        if self._listener is not None:
            self._listener.join(ENDING_SECONDS)  # who has fled into another session may still hold the other end
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and (self._listener is None or not self._listener.is_alive()):
                with contextlib.suppress(OSError):
                    pipe.close()

    def _listen(self, ear: int) -> None:
        """Read all of it; the log gets the first part, and the last part at the end."""
        seen = 0
        while data := _read(ear):
            self._tail = (self._tail + data)[-LAST_BYTES:]
            self._keep(data[: max(0, FIRST_BYTES - seen)])
            seen += len(data)
        if (more := seen - FIRST_BYTES) > 0:
            left_out = f"\n... ({more - LAST_BYTES} bytes are left out)\n".encode() if more > LAST_BYTES else b""
            self._keep(left_out + self._tail[-more:])

    def _keep(self, data: bytes) -> None:
        """Append to the log, which an earlier attempt at the game may have left. A full disk is no reason to stop listening."""
        if self._log is None or not data:
            return
        with contextlib.suppress(OSError):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab" if self._logged else "wb", buffering=0) as log:
                self._logged = True
                log.write(data)


def _read(pipe: int) -> bytes:
    """What comes next out of a pipe; empty at its end."""
    try:
        return os.read(pipe, 65536)
    except OSError:
        return b""


def _replaced(word: str, replace: Mapping[str, str]) -> str:
    for name, value in replace.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def _said(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {signal.Signals(-code).name}"
    except ValueError:
        return f"signal {-code}"
