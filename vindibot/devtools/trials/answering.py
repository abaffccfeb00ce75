"""The other process of a test run: it builds traits, and answers the requests of `vindibot.devtools.trials.trial`."""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import pdb  # noqa: T100  # replaced, since a debugger needs a terminal
import signal
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import SourceFileLoader
from math import inf
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from behaviours.base import Behaviour
from sim import kernels
from sim.game import GAME
from vindibot.config.bots import make_importable
from vindibot.devtools.trials.response import LONGEST_TEXT, TrialPosition, ask, stopping
from vindibot.engine.runner import Vote, run
from vindibot.games.ballot import BallotEntry, write_entry
from vindibot.processes.frames import DONE, FAILED, FIRST_KIND, READY
from vindibot.processes.inside import Owner

#: The function of the other process, and its name, as ``ps`` shows it.
RUN, NAME = "vindibot.devtools.trials.answering:serve", "vindibot-trial"
#: Kinds of frames: a request to one trait about all its answers; a request to several traits about their last votes; the last
#: vote of a trait; a trait wants to start a debugger.
ASK, ASK_ALL, VOTE, DEBUGGER = range(FIRST_KIND, FIRST_KIND + 4)
#: What the other process writes to its memory before the code of a trait runs: the number of the trait, the time (of
#: `time.monotonic`), and the seconds that the trait has used before. The number is -1 if no trait runs.
CLOCK = np.dtype([("trait", "i8"), ("since", "f8"), ("used", "f8")])


class TrialClock:
    """The memory that the process shares with its owner: the number of the running trait, and the seconds that it has used.

    The process writes it, so all values are possible. It writes the number last, and the owner reads it first: so a number never
    stands beside times that were not yet written.
    """

    def __init__(self, memory: Any) -> None:
        self._record = np.frombuffer(memory, CLOCK)[0:1]

    @property
    def number(self) -> int:
        """The number of the running trait, -1 if none runs."""
        return int(self._record["trait"][0])

    @property
    def used(self) -> float:
        """The seconds that the running trait has used so far, 0 if none runs."""
        if self.number < 0:  # read before the times
            return 0.0
        seconds = float(self._record["used"][0] + time.monotonic() - self._record["since"][0])
        return seconds if 0 <= seconds < inf else 0.0

    def begin(self, number: int, used: float) -> None:
        """Note that the code of a trait runs from now on. It has used `used` seconds before."""
        self._record["since"], self._record["used"] = time.monotonic(), used
        self._record["trait"] = number

    def rest(self) -> None:
        """Note that no trait runs."""
        self._record["trait"] = -1


_serving = False


def serving() -> bool:
    """Return whether this process is one that `serve` runs in."""
    return _serving


def serve(owner: Owner) -> None:
    """Build traits, report whether this worked, and answer requests about them until the owner ends."""
    global _serving
    _serving = True
    try:
        plans, folders, path, folder, main = owner.setup_object()
        sys.path[:] = path
        make_importable(folders)
        with contextlib.suppress(OSError):
            os.chdir(folder)
        if any(plan.class_path.startswith("__main__:") for plan in plans):
            sys.modules["__main__"] = _imported(*main)
        built = [plan.build() for plan in plans]
        kernels.warm()
    except BaseException as error:
        owner.send(FAILED, f"{type(error).__name__}: {error}".encode(errors="replace")[:LONGEST_TEXT])
        return
    owner.send(READY)
    answering = _Answering(owner, built)
    for frame in owner.requests():
        head, _, data = frame.payload.partition(b"\n")
        request = json.loads(head)
        games = np.frombuffer(data, GAME)
        position = TrialPosition("", games[:1], request["me"], games[1:], request["seed"])
        if frame.kind == ASK:
            response = ask(built[0], position.view(request["nodes"]), request["stop_after"])
            answering.send(DONE, response.to_json())
        else:
            answering.answer_all(position, request)


def _imported(name: str, file: str) -> ModuleType:
    """Return the module of the owner's program, imported under another name than ``__main__``."""
    if name:
        return import_module(name)
    loader = SourceFileLoader("__mp_main__", file)
    module = ModuleType(loader.name)
    module.__file__ = file
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


class _Answering:
    """Answers requests to several traits, the behaviours `built`."""

    def __init__(self, owner: Owner, built: Sequence[Behaviour]) -> None:
        self._owner, self._built = owner, built
        self._clock = TrialClock(owner.memory)
        self._used: dict[int, float] = {}
        self._running, self._since, self._limit = -1, 0.0, 0.0
        faulthandler.register(signal.SIGALRM, 2, all_threads=False)

    def send(self, kind: int, payload: bytes = b"", channel: int = 0) -> None:
        """Send a frame after all printed text."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(BaseException):  # a trait may have closed or replaced it
                stream.flush()
        self._owner.send(kind, payload, channel)

    def answer_all(self, position: TrialPosition, request: dict[str, Any]) -> None:
        """Send the last vote of each trait in the request, then `DONE`."""
        pdb.set_trace = self._want_debugger
        view = position.view(request["nodes"])
        if request["has_map"]:
            _ = view.map
        self._used, self._running, self._limit = {}, -1, request["limit"]
        traits = [(number, self._built[number]) for number in request["traits"]]
        with stopping(view, request["seconds"]):
            run(traits, view, self._publish, self._before)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self._clock.rest()
        self.send(DONE)

    def _before(self, number: int) -> None:
        """Note which trait runs next. When its time is over, the process prints its stack, and the owner kills it."""
        now = time.monotonic()
        if self._running >= 0:
            self._used[self._running] = self._used.get(self._running, 0.0) + now - self._since
        self._running, self._since = number, now
        used = self._used.get(number, 0.0)
        self._clock.begin(number, used)
        signal.setitimer(signal.ITIMER_REAL, max(0.001, self._limit - used))

    def _publish(self, vote: Vote) -> None:
        if vote.final:
            votes = None if vote.votes is None else list(vote.votes)
            entry = BallotEntry("", 1.0, votes, vote.ms, vote.status, vote.note, vote.info, vote.notes)
            self._owner.send(VOTE, json.dumps(write_entry(entry)).encode(), vote.trait)

    def _want_debugger(self, *_: Any, **__: Any) -> NoReturn:
        self.send(DEBUGGER)
        while True:
            self._owner.receive()
