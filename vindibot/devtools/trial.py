"""Test runs of a trait: the trait votes on one position after the other, in this process or in another process.

If another process hangs or crashes, the trial reports the failure and starts a new process.
"""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isgenerator
from types import TracebackType
from typing import Any, Self

import numpy as np

from behaviours.base import Behaviour, Budget, View
from sim import kernels
from sim.board import draw
from sim.game import GAME, Game, Games, copy_of
from sim.rules import step
from vindibot.arena import become_worker
from vindibot.engine import TraitPlan, context, parse_answer
from vindibot.processes import Needs

#: Largest number of answers that are taken from an anytime trait on one position.
MOST_ANSWERS = 10_000
#: Largest number of seconds for building a trait in another process. The build may have to compile kernels.
BUILD_TIMEOUT = 300.0
#: The attributes that each view has. If a view has another attribute, a trait has added it.
_VIEW_ATTRIBUTES = {
    *vars(View(np.zeros(1, GAME), 0)),
    *(name for name, attribute in vars(View).items() if isinstance(attribute, cached_property)),
}


@dataclass(frozen=True)
class TrialPosition:
    """A turn on which a trait is tested: its name, the game, the hero to move (0..3), and this hero's recent turns."""

    name: str
    games: Game
    me: int
    recent: Games = field(default_factory=lambda: np.zeros(0, GAME))
    seed: int = 3

    def view(self, nodes: int | None) -> View:
        """Return a new view, with a budget of `nodes` nodes, None for no limit."""
        return View(self.games.copy(), self.me, recent=self.recent.copy(), budget=Budget(nodes=nodes), seed=self.seed)

    def __str__(self) -> str:
        """Return a drawing as text. `vindibot.testing.view` can read it."""
        return f"{self.name}, me={self.me}:\n{draw(self.games)}"


@dataclass(frozen=True)
class Response:
    """The reaction of a trait to one position.

    - `answers`: the trait's votes in their order of time. `ended` is False if an anytime trait gave more than `MOST_ANSWERS`.
    - `problem`: how the trait failed, empty if it did not. `trace`: the last lines of the traceback.
    - `changed`: what the trait changed in its view, empty if nothing.
    - `seconds`: the time of the trait.
    - `hung`: whether the trait's process was killed because it did not answer. `died`: whether this process ended by itself.
    """

    answers: tuple[tuple[float, ...] | None, ...] = ()
    problem: str = ""
    trace: str = ""
    ended: bool = True
    changed: str = ""
    seconds: float = 0.0
    hung: bool = False
    died: bool = False

    @property
    def votes(self) -> tuple[float, ...] | None:
        """The last votes; None for no opinion."""
        return self.answers[-1] if self.answers else None


@contextmanager
def stopping(view: View, seconds: float | None) -> Iterator[None]:
    """Return a context manager. It sets the stop word of a view's budget `seconds` after its block begins (None: never).

    The stop word is a flag. A kernel or a trait returns when it sees that the flag is set.
    """
    timer = threading.Timer(seconds or 0.0, view.budget.stop.__setitem__, (0, 1))
    timer.daemon = True
    if seconds is not None:
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def ask(trait: Behaviour, view: View, stop_after: float | None = None) -> Response:
    """Ask a trait for all its answers, in this process. Nothing stops a trait that hangs.

    After `stop_after` seconds (None: never) the stop word of the budget is set, as at the end of a turn. Then an anytime trait is
    not asked for more answers.
    """
    before, past = view.games.tobytes(), view.recent.tobytes()
    nodes, stop = view.budget.nodes, view.budget.stop
    answers: list[tuple[float, ...] | None] = []
    problem = trace = ""
    ended = True
    began = time.perf_counter()
    with stopping(view, stop_after):
        try:
            answer = trait.vote(view)
            if not isgenerator(answer):
                answers.append(parse_answer(answer)[0])
            else:
                for better in answer:
                    answers.append(parse_answer(better)[0])
                    if stop_after is not None:
                        del answers[:-1]
                    if stop[0] or (stop_after is None and len(answers) >= MOST_ANSWERS):
                        ended = stop_after is not None
                        break
                answer.close()
        except BaseException as error:  # a trait may raise anything, even SystemExit
            problem, trace = f"{type(error).__name__}: {error}", _trace(error)
        seconds = time.perf_counter() - began
    if stop_after is not None:
        stop[0] = 0
    changed = _changed(view, before, past)
    if view.budget.nodes != nodes or view.budget.stop is not stop or stop[0]:
        changed = changed or "its budget"
    return Response(tuple(answers), problem, trace, ended, changed, seconds)


def _changed(view: View, before: bytes, past: bytes) -> str:
    """Return a text that says what the trait changed in its view; "" if nothing changed."""
    if view.games.tobytes() != before:
        return "the game (view.games, view.game, view.hero or view.cells)"
    if view.recent.tobytes() != past:
        return "the recent turns (view.recent)"
    for direction in range(5):
        if ("after", direction) in view._cache:  # noqa: SLF001  # what the trait has computed
            games = copy_of(view.games)
            step(games, 0, direction)
            if games.tobytes() != view.after(direction).tobytes():
                return f"the game after a move (view.after({direction}))"
    added = sorted(vars(view).keys() - _VIEW_ATTRIBUTES)
    return f"the view itself, which now has {', '.join(added)}" if added else ""


def _trace(error: BaseException) -> str:
    """Return the last lines of the traceback, without the lines of this file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    return "".join(traceback.format_list(own[-4:])).rstrip()


class Trial:
    """A trait in another process, for a ``with`` block. `ask` waits at most `timeout` seconds for an answer.

    The ``with`` statement raises `TrialBuildError` if the process cannot build the trait from its class and parameters.
    """

    def __init__(self, trait: Behaviour, timeout: float) -> None:
        self.trait, self.timeout = trait, timeout
        kind = type(trait)
        self.plan = TraitPlan(f"{kind.__module__}:{kind.__qualname__}", trait.model_dump(mode="json"))
        self._process: Any = None
        self._pipe: Any = None
        self._held: Any = None  # the process ends when this end of its pipe is closed

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def ask(self, position: TrialPosition, *, nodes: int | None, stop_after: float | None = None) -> Response:
        """Ask the trait about a position, with a budget of `nodes` nodes (None: no limit). `stop_after` is as in the function
        `ask`."""
        if self._process is None:
            self._start()
        self._pipe.send((position, nodes, stop_after))
        if not self._pipe.poll(self.timeout):
            self._end()
            return Response(problem=f"it did not answer within {self.timeout:g} s", hung=True, seconds=self.timeout)
        try:
            response: Response = self._pipe.recv()
        except EOFError:
            self._process.join(5.0)
            code = self._process.exitcode
            self._end()
            how = f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with exit code {code}"
            return Response(problem=f"its process ended, {how}", died=True)
        return response

    def restart(self) -> None:
        """Replace the process by a new one."""
        self._end()
        self._start()

    def _start(self) -> None:
        processes = context(Needs(modules=(self.plan.module,)))
        self._pipe, theirs = processes.Pipe()
        lifeline, self._held = processes.Pipe(duplex=False)
        self._process = processes.Process(target=_run_trait, args=(theirs, lifeline, self.plan, self.timeout), daemon=True)
        self._process.start()
        theirs.close()
        lifeline.close()
        problem = "it took too long"
        if self._pipe.poll(BUILD_TIMEOUT):
            try:
                problem = self._pipe.recv()
            except EOFError:
                self._process.join(5.0)
                problem = f"the process ended with exit code {self._process.exitcode}"
        if problem:
            self._end()
            raise TrialBuildError(problem)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._pipe.close()
            self._held.close()
            self._process = None


class TrialBuildError(Exception):
    """A trait cannot be built in another process. The message says why."""


def _run_trait(pipe: Any, lifeline: Any, plan: TraitPlan, timeout: float) -> None:
    """Run in the other process: build the trait, report whether this worked, and answer requests until the pipe is closed."""
    become_worker(lifeline)
    try:
        trait = plan.build()
        kernels.warm()
    except BaseException as error:
        pipe.send(f"{type(error).__name__}: {error}")
        return
    pipe.send("")
    while True:
        try:
            position, nodes, stop_after = pipe.recv()
        except EOFError:
            return
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 2 * timeout + 5)  # ends compiled code if the parent process has ended
        pipe.send(ask(trait, position.view(nodes), stop_after))
