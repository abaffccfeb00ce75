"""Programs in pseudo terminals: what they write, keys, the mode of the terminal, and stops as by a shell."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import IO, Any, Self

from tests.support.commands import command, environment

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: The beginning of an escape sequence at the end of a piece of output.
_CUT = re.compile(r"\x1b(?:\[[0-9;?]*)?\Z")
#: A shell with one job, for Ctrl-Z. It prints a line when the job stops or ends, and reads a line to continue the job.
_SHELL = """
import fcntl, json, os, signal, subprocess, sys, termios
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
report, orders = os.fdopen(int(sys.argv[1]), "w"), os.fdopen(int(sys.argv[2]))
job = subprocess.Popen(sys.argv[3:], process_group=0)
os.tcsetpgrp(0, job.pid)
while True:
    _, status = os.waitpid(job.pid, os.WUNTRACED)
    flags = termios.tcgetattr(0)[3]
    print(json.dumps({"stopped": os.WIFSTOPPED(status), "echo": bool(flags & termios.ECHO)}), file=report, flush=True)
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    os.tcsetpgrp(0, os.getpgrp())
    orders.readline()
    os.tcsetpgrp(0, job.pid)
    os.killpg(job.pid, signal.SIGCONT)
"""


class TerminalProgram:
    """A command of vindibot in a terminal of its own. `text` is the output that `until` has not consumed yet.

    Without `keyboard`, standard input is empty. With `shell`, a shell with job control runs the command. `program` is a program
    in Python that runs instead of a command.
    """

    def __init__(
        self,
        *words: str,
        folder: Path,
        size: tuple[int, int] = (80, 24),
        keyboard: bool = True,
        shell: bool = False,
        program: str = "",
    ) -> None:
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self._before = termios.tcgetattr(self._theirs)
        variables = environment(TERM="xterm-256color")
        for name in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
            variables.pop(name, None)
        run, passed = [sys.executable, "-c", program] if program else command(*words), []
        self._pipes: list[IO[str]] = []
        if shell:
            read, report = os.pipe()
            orders, write = os.pipe()
            self._pipes = [os.fdopen(read), os.fdopen(write, "w")]
            passed = [report, orders]
            run = [sys.executable, "-c", _SHELL, str(report), str(orders), *run]
        self.process = subprocess.Popen(
            run,
            stdin=self._theirs if keyboard else subprocess.DEVNULL,
            stdout=self._theirs,
            stderr=self._theirs,
            env=variables,
            cwd=folder,
            pass_fds=passed,
            start_new_session=True,
        )
        for number in passed:
            os.close(number)
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._cut = ""  # the beginning of an escape sequence whose rest is still to come

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in self._pipes:
            pipe.close()
        os.close(self._theirs)
        self.hang_up()

    def hang_up(self) -> None:
        """Close the terminal."""
        if self._ours >= 0:
            os.close(self._ours)
            self._ours = -1

    @property
    def is_restored(self) -> bool:
        """Whether the terminal has the mode that it had at the start."""
        return termios.tcgetattr(self._theirs) == self._before

    def press(self, keys: str) -> None:
        """Press keys, each of them a character or an escape sequence."""
        os.write(self._ours, keys.encode())

    def until(self, pattern: str, seconds: float = 30) -> re.Match[str]:
        """Return the first match of a pattern in the output, without colours. Consume the output to the end of the match.

        Fails with the output that is left after `seconds` seconds without a match, or if the program has ended.
        """
        limit = time.monotonic() + seconds
        while not (match := re.search(pattern, self.text)):
            more = time.monotonic() < limit and (self._read() or self.process.poll() is None)
            assert more, f"no {pattern!r}, exit code {self.process.poll()}, in: {self.text[-3000:]}"
        self.text = self.text[match.end() :]
        return match

    def _read(self) -> bool:
        """Append the next output to `text`, and return whether there was any within some milliseconds."""
        if not select.select([self._ours], [], [], 0.05)[0]:
            return False
        output = _CODES.sub("", self._cut + self._decoder.decode(os.read(self._ours, 1 << 16)))
        self.text, self._cut = self.text + _CUT.sub("", output), "".join(_CUT.findall(output))
        return True

    def end(self, seconds: float = 30) -> int:
        """Read the rest of the output, and return the exit code. A program whose output nobody reads may never end."""
        limit = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < limit, f"it has not ended after {seconds:g} s: {self.text[-3000:]}"
            self._read()
        while self._read():
            pass
        return self.process.wait()

    def report(self) -> dict[str, Any]:
        """Return the next report of the shell: whether the command has stopped, and whether the terminal echoes."""
        assert select.select([self._pipes[0]], [], [], 30)[0], f"neither a stop nor an end after 30 s: {self.text[-3000:]}"
        report: dict[str, Any] = json.loads(self._pipes[0].readline())
        return report

    def go_on(self) -> None:
        """Let the shell continue the command."""
        self._pipes[1].write("\n")
        self._pipes[1].flush()
