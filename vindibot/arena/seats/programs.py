"""Bots that are programs. Each program runs in its own process session, with limited memory. Its child processes end with it."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from behaviours.notes import Note, Notes
from vindibot.arena.seats.entrants import Entrant
from vindibot.arena.seats.seat import Forfeit
from vindibot.base.orphans import die_with_parent
from vindibot.base.system import forbid_core_dumps, limit_memory
from vindibot.base.text import Redactor
from vindibot.engine.worker_process import code_words
from vindibot.games.outcome import Reason

#: A log stores the first and the last part of a program's output per game. These are the largest sizes of the parts in bytes.
FIRST_BYTES, LAST_BYTES = 192 * 1024, 64 * 1024
#: Number of bytes of an unfinished line of output that are kept.
LONGEST_LINE = 4096
#: Seconds to wait for the exit code of a program that has closed its output, and to wait for a program's last output.
ENDING_SECONDS = 0.5
#: Number of lines of a program's output that a forfeit quotes, and largest number of characters of the quotation.
SHOWN_LINES, SHOWN_LENGTH = 5, 400
#: Prefix of the environment variables that are not passed on to programs.
_OURS = "VINDIBOT_"
_OUT_OF_MEMORY = ("memoryerror", "bad_alloc", "out of memory", "outofmemory", "cannot allocate memory", "std::length_error")


class Program:
    """The program of an entrant in one game. `log` is the file for the program's standard error, None for no file."""

    def __init__(self, entrant: Entrant, log: Path | None) -> None:
        self.entrant = entrant
        self.process: subprocess.Popen[bytes] | None = None
        self._log = log
        self._listener: threading.Thread | None = None
        self._logged = False
        self._tail = b""
        self._seen = 0  # number of bytes of output so far
        self._line = b""  # the output after the last line break
        self._notes = Notes()
        self._redact = Redactor()
        self._reading = threading.Lock()  # of the pipe with the output, and of all that follows from it

    def start(self, replace: Mapping[str, str] | None = None, environment: Mapping[str, str] | None = None) -> None:
        """Start the program.

        `replace` has the values of the placeholders in the program's command. `environment` has additional environment variables
        for the program. The program also gets the variables of this process, except those that begin with ``VINDIBOT_``. If the
        program speaks HTTP, the log also gets its standard output. Raises `Forfeit` if the program cannot be started.
        """
        self._redact = Redactor((environment or {}).get("VINDINIUM_KEY", ""))
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
        piped = self.entrant.kind == "stdio"
        limit = self.entrant.limits.memory_mb

        def prepare() -> None:
            die_with_parent()
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            if limit is not None:
                limit_memory(limit << 20)
            forbid_core_dumps()

        try:
            self.process = subprocess.Popen(
                [_filled(word, replace or {}) for word in self.entrant.command],
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
        output = self.process.stderr if piped else self.process.stdout
        assert output is not None
        os.set_blocking(output.fileno(), False)
        self._listener = threading.Thread(target=self._listen, args=(output.fileno(),), name="vindibot-listener", daemon=True)
        self._listener.start()

    @property
    def last_words(self) -> str:
        """The last lines of the program's output (see `last_lines`)."""
        return self._redact(last_lines(self._tail))

    def exit_code(self) -> int | None:
        """Return the program's exit code, negative for a signal, None while the program runs or was not started."""
        return self.process.poll() if self.process is not None else None

    def why_it_ended(self) -> Forfeit:
        """Return the forfeit of this program after it has ended or closed its output during a game."""
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(ENDING_SECONDS)
        if self._listener is not None:
            self._listener.join(ENDING_SECONDS)
        code, error = self.process.poll(), self.last_words
        note = "it closed its output" if code is None else f"it ended with {code_words(code)}"
        output = self._tail.decode(errors="replace").lower()
        out_of_memory = any(phrase in output for phrase in _OUT_OF_MEMORY)
        reason = Reason.MEMORY if out_of_memory and self.entrant.limits.memory_mb is not None else Reason.CRASH
        return Forfeit(reason, f"{note}: {error}" if error else note)

    def kill(self) -> None:
        """Kill the program and all processes in its session."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5.0)
        if self._listener is not None:
            self._listener.join(ENDING_SECONDS)  # not longer: a child that left the session may keep the pipe open
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and (self._listener is None or not self._listener.is_alive()):
                with contextlib.suppress(OSError):
                    pipe.close()

    def take_notes(self) -> tuple[Note, ...]:
        """Return the lines of output since the last call, as notes. Output that waits in the pipe is read first."""
        if self.process is None:
            return ()
        output = self.process.stderr or self.process.stdout
        with self._reading:
            if output is not None and not output.closed:
                with contextlib.suppress(OSError):
                    self._read(output.fileno())  # the pipe has at most this much
            if self._listener is None or not self._listener.is_alive():
                self._line = self._add_lines(self._line + b"\n")
            notes, self._notes = self._notes, Notes()
        return notes.taken()

    def _listen(self, output: int) -> None:
        """Read all output of the program. Log the first part as it comes, and the last part at the end."""
        poll = select.poll()
        poll.register(output, select.POLLIN)
        with contextlib.suppress(OSError):
            ended = False
            while not ended:
                poll.poll()
                with self._reading, contextlib.suppress(BlockingIOError):
                    ended = not self._read(output)
        if (more := self._seen - FIRST_BYTES) > 0:
            left_out = f"\n... ({more - LAST_BYTES} bytes are left out)\n".encode() if more > LAST_BYTES else b""
            self._write_log(left_out + self._tail[-more:])

    def _read(self, output: int) -> bool:
        """Read some output. Return False at its end. Raises `BlockingIOError` if there is none now."""
        data = os.read(output, 65536)
        self._tail = (self._tail + data)[-LAST_BYTES:]
        self._write_log(data[: max(0, FIRST_BYTES - self._seen)])
        self._seen += len(data)
        self._line = self._add_lines(self._line + data)[:LONGEST_LINE]
        return bool(data)

    def _add_lines(self, data: bytes) -> bytes:
        """Add the complete lines in `data` to the notes, without empty lines. Return the rest."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            if text := line[:LONGEST_LINE].decode(errors="replace").strip():
                self._notes.add(self._redact(text))
        return rest

    def _write_log(self, data: bytes) -> None:
        """Append to the log. The first write replaces the log of an earlier attempt at the same game.

        If the log cannot be written, for example because the disk is full, the output is lost.
        """
        if self._log is None or not data:
            return
        with contextlib.suppress(OSError):
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab" if self._logged else "wb", buffering=0) as log:
                self._logged = True
                log.write(data)


def last_lines(output: bytes) -> str:
    """Return the last `SHOWN_LINES` lines of an output that are not empty, in one line of at most `SHOWN_LENGTH` characters."""
    lines = [" ".join(line.split()) for line in output.decode(errors="replace").splitlines() if line.strip()]
    text = " / ".join(lines[-SHOWN_LINES:])
    return text if len(text) <= SHOWN_LENGTH else f"…{text[1 - SHOWN_LENGTH :]}"


def _filled(word: str, replace: Mapping[str, str]) -> str:
    for name, value in replace.items():
        word = word.replace(f"{{{name}}}", value)
    return word
