"""Traits that misbehave, each in its own way."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numba
import numpy as np
from numpy.typing import NDArray
from pydantic import PrivateAttr

from behaviours import Behaviour, SearchInfo, SplitBehaviour, View, Votes, square


class Raises(Behaviour):
    """Raises on every turn, or on every n-th."""

    every: int = 1

    def vote(self, view: View) -> Votes:
        if view.turn // 4 % self.every == 0:
            raise RuntimeError("no idea")
        return 1


class Exits(Behaviour):
    """Tries to leave through an exception that is no Exception."""

    def vote(self, view: View) -> Votes:
        raise SystemExit(3)


class Answers(Behaviour):
    """Answers with something that is no vote."""

    what: str

    def vote(self, view: View) -> Votes:
        answers = {
            "nan": [0.0, float("nan"), 0, 0, 0],
            "infinity": {1: float("inf")},
            "shape": [1.0, 2.0],
            "direction": 7,
            "text": "North",
            "lambda": lambda: 1,
            "object": {1: object()},
        }
        return answers[self.what]  # type: ignore[return-value]


class SlowAtFirst(Behaviour):
    """Takes `seconds` for its first turn in each process, like a trait that compiles its functions then."""

    seconds: float
    _used: set[int] = PrivateAttr(default_factory=set)

    def vote(self, view: View) -> Votes:
        if os.getpid() not in self._used:
            self._used.add(os.getpid())
            print("the first turn of this process")
            time.sleep(self.seconds)
        return 1


class Sleeps(Behaviour):
    """Sleeps, then votes."""

    seconds: float = 3600.0

    def vote(self, view: View) -> Votes:
        time.sleep(self.seconds)
        return 2


class LoopsInPython(Behaviour):
    def vote(self, view: View) -> Votes:
        while True:
            pass


@numba.njit
def _forever(n):
    while n >= 0:
        n = (n * 1103515245 + 12345) & 0x7FFFFFFF
    return n


class LoopsInKernel(Behaviour):
    """Loops in compiled code that holds the interpreter lock and never looks up."""

    def model_post_init(self, context: object) -> None:
        _forever.compile("int64(int64)")  # not within the first turn

    def vote(self, view: View) -> Votes:
        return int(_forever(int(view.turn) + 1))


class Segfaults(Behaviour):
    def vote(self, view: View) -> Votes:
        ctypes.string_at(0)
        return 1


class Dies(Behaviour):
    def vote(self, view: View) -> Votes:
        os._exit(1)


class Hoards(Behaviour):
    """Asks for 600 MiB."""

    def vote(self, view: View) -> Votes:
        return len(bytearray(600 << 20)) and 1


class Prints(Behaviour):
    """Prints megabytes, to the interpreter's streams and to the file descriptors below them."""

    def vote(self, view: View) -> Votes:
        for _ in range(2000):
            print("x" * 1000)
        sys.stderr.write("y" * 1_000_000)
        os.write(1, b"z" * 1_000_000)
        return 3


class HasChildren(Behaviour):
    """Starts a child that sleeps for an hour, notes its number, and then hangs or not."""

    notes: str
    hang: bool = False

    def vote(self, view: View) -> Votes:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
        with Path(self.notes).open("a") as file:
            file.write(f"{child.pid}\n")
        if self.hang:
            time.sleep(3600)
        return 1


#: A program that notes its number and sleeps: as it is, or after it has left its parents as a daemon does.
_SLEEPER = """
import os, sys, time
if sys.argv[2] == "daemon":
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)
with open(sys.argv[1], "a") as notes:
    notes.write(f"{os.getpid()}\\n")
time.sleep(3600)
"""


class StartsDaemons(Behaviour):
    """Starts a child in a session of its own, and a daemon, once in each process; both note their numbers."""

    notes: str
    _started: bool = PrivateAttr(False)

    def vote(self, view: View) -> Votes:
        if not self._started:
            self._started = True
            for kind in ("child", "daemon"):
                subprocess.Popen([sys.executable, "-S", "-c", _SLEEPER, self.notes, kind], start_new_session=True)
        return 1


class Improves(Behaviour):
    """Anytime: votes East, ever more strongly, until the budget is spent; then may hang."""

    steps: int = 1_000_000_000
    pause: float = 0.001
    hang: bool = False

    def vote(self, view: View) -> Iterator[Votes]:
        for step in range(self.steps):
            yield {3: 1.0 + step}
            if view.budget.nodes is not None and step >= view.budget.nodes:
                return
            time.sleep(self.pause)
        while self.hang:
            time.sleep(3600)


class Remembers(Behaviour):
    """Votes with the length of the history that it was given."""

    def vote(self, view: View) -> Votes:
        return {0: float(len(view.recent))}


class Tags(Behaviour):
    """Votes with the turn that it sees, after a pause."""

    seconds: float = 0.0

    def vote(self, view: View) -> Votes:
        time.sleep(self.seconds)
        return {0: float(view.turn)}


class Thinks(Behaviour):
    """Anytime: thinks deeper and deeper, `steps` times; its last thought may be no thought."""

    steps: int = 3
    wrong: bool = False

    def vote(self, view: View) -> Iterator[SearchInfo]:
        for depth in range(1, self.steps + 1):
            line = [depth % 5] * depth
            yield SearchInfo({3: depth / 10}, depth=depth, score=-0.5 * depth, nodes=10**depth, pv=line, goal=square(depth, 2))
        if self.wrong:
            yield SearchInfo(1, depth=-1)


class Guesses(Behaviour):
    """A thought without much in it, or without votes, or with votes that are none."""

    what: str

    def vote(self, view: View) -> SearchInfo:
        thoughts = {
            "empty": SearchInfo(2),
            "zeros": SearchInfo(2, depth=0, score=0.0, nodes=0, goal=square(0, 0)),
            "silent": SearchInfo(None, score=3.5),
            "text": SearchInfo("North"),
            "score": SearchInfo(1, score=float("nan")),
            "line": SearchInfo(1, pv=(1, 9)),
        }
        return thoughts[self.what]


class Splits(SplitBehaviour):
    """Counts steps of `pause` seconds in every part, `steps` of them at most. The parts from 1 on fail as `fails` says.

    Votes: the number of parts for Stay, the steps of part 0 for North, the steps of all other parts for South.
    """

    steps: int = 1_000_000
    pause: float = 0.002
    fails: str = ""

    def statistics(self, view: View, part: int) -> Iterator[NDArray[np.float64]]:
        for count in range(1, self.steps + 1):
            if view.budget.expired() or (view.budget.nodes is not None and count > view.budget.nodes):
                return
            time.sleep(self.pause)
            yield np.array([float(part), float(count)])
            if part and count == 3:
                self.fail()

    def fail(self) -> None:
        if self.fails == "raises":
            raise RuntimeError("no idea")
        if self.fails == "dies":
            os._exit(5)
        while self.fails == "hangs":
            time.sleep(1)

    def combine(self, view: View, parts: Sequence[NDArray[np.float64]]) -> SearchInfo:
        assert parts[0][0] == 0
        assert len({float(part[0]) for part in parts}) == len(parts)
        own, others = parts[0][1], sum(part[1] for part in parts[1:])
        return SearchInfo([len(parts), own, others, 0, 0], nodes=int(own + others))
