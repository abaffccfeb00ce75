"""Commands whose terminal closes: they end in good order, as after SIGTERM."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.support.commands import command, recordings
from tests.support.terminals import TerminalProgram
from vindibot.arena.results import read_results
from vindibot.base import interrupts

#: A program that takes the terminal for its own, as a shell in a window does, and becomes the command in its arguments.
_OWNER = (
    "import fcntl, os, signal, sys, termios; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv({0!r}, {1!r})"
)
SELFPLAY = "learn selfplay mine --decisions 100000000 --threads 1 --hidden 16 --against stay"
ARENA = "arena seed stay --blocks 9999 --rounds 10 --nodes 100 --results r.jsonl"
PLAY = "play --bot stay --games 50 --rounds 600 --display lines --pace none"


def trained(folder: Path) -> bool:
    with np.load(folder / "mine" / "run.npz", allow_pickle=False) as arrays:
        return bool(arrays["counters"][2] > 0)


def ended_on_request(folder: Path) -> bool:
    (path,) = recordings(folder)
    return "interrupted" in path.read_text().splitlines()[-1]


@pytest.mark.slow_faults
@pytest.mark.parametrize(
    ("words", "mark", "code", "is_saved"),
    [
        (SELFPLAY, r"\d\.\d\dM ", 130, trained),
        (ARENA, r"[1-9]\d*/\d+ games", 130, lambda folder: bool(read_results(folder / "r.jsonl"))),
        (PLAY, "round 3/600", 130, ended_on_request),
        ("serve --port 0", "http://", 0, lambda _: True),
    ],
)
def test_command_ends_in_good_order_when_its_terminal_closes(
    tmp_path: Path, words: str, mark: str, code: int, is_saved: Callable[[Path], bool]
) -> None:
    program = _OWNER.format(sys.executable, command(*words.split()))
    with TerminalProgram(folder=tmp_path, program=program, size=(150, 40)) as running:
        running.until(mark)
        running.hang_up()
        assert running.process.wait(60) == code
    assert is_saved(tmp_path)


def test_ignored_hang_up_stays_ignored() -> None:
    """As ``nohup`` wants it."""
    before = signal.getsignal(signal.SIGHUP)
    try:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert signal.SIGHUP in interrupts.stop_signals()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        assert signal.SIGHUP not in interrupts.stop_signals()
    finally:
        signal.signal(signal.SIGHUP, before)
