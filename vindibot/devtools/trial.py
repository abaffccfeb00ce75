"""A trait on trial: asked for its votes on one position after the other, in a process of its own or in this one.

In a process of its own it may hang, crash or raise what it likes: the trial says so and goes on with a new process.
"""

from __future__ import annotations

import signal
import threading
import time
import traceback
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isgenerator
from types import TracebackType
from typing import Any, Self

import numpy as np

from behaviours.base import Behaviour, Budget, View, plain_info, plain_votes
from sim import kernels
from sim.board import draw
from sim.game import GAME, Game, Games, copy_of
from sim.rules import step
from vindibot.engine import Needs, TraitPlan, context

#: Answers of an anytime trait that are waited for at most.
MOST_ANSWERS = 10_000
#: Seconds for building a trait in another process; kernels may have to be compiled.
BUILD_TIMEOUT = 300.0
#: What a view has of its own; anything else on it was put there.
_OF_A_VIEW = {
    *vars(View(np.zeros(1, GAME), 0)),
    *(name for name, what in vars(View).items() if isinstance(what, cached_property)),
}


@dataclass(frozen=True)
class TrialPosition:
    """A turn to be asked on: what is special about it, the game, whose turn it is (0..3), and the turns of ours before."""

    name: str
    games: Game
    me: int
    recent: Games = field(default_factory=lambda: np.zeros(0, GAME))
    seed: int = 3

    def view(self, nodes: int | None) -> View:
        """A view of its own for each time of asking."""
        return View(self.games.copy(), self.me, recent=self.recent.copy(), budget=Budget(nodes=nodes), seed=self.seed)

    def __str__(self) -> str:
        """The position for people: they can give the drawing to `vindibot.testing.view`."""
        return f"{self.name}, me={self.me}:\n{draw(self.games)}"


@dataclass(frozen=True)
class Said:
    """What a trait did when it was asked: its answers in one form, and why that is not all.

    `problem` is empty, or says how it failed; `trace` are the last lines of its traceback. `ended` is False for an anytime
    trait that was still yielding after `MOST_ANSWERS`. `changed` says what it did to its view. `hung` and `died` are True if
    its process had to be killed, or ended.
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
        """Its last word; None for no opinion."""
        return self.answers[-1] if self.answers else None


def ask(trait: Behaviour, view: View, stop_after: float | None = None) -> Said:
    """Ask a trait for all its answers, in this process; nothing can stop it here. `stop_after` seconds the budget's stop
    word is set, as it is when the time of a turn is up; an anytime trait is asked no more then."""
    before, past = view.games.tobytes(), view.recent.tobytes()
    nodes, stop = view.budget.nodes, view.budget.stop
    timer = threading.Timer(stop_after, stop.__setitem__, (0, 1)) if stop_after is not None else None
    if timer is not None:
        timer.daemon = True
        timer.start()
    answers: list[tuple[float, ...] | None] = []
    problem = trace = ""
    ended = True
    began = time.perf_counter()
    try:
        answer = trait.vote(view)
        if not isgenerator(answer):
            answers.append(_checked(answer))
        else:
            for better in answer:
                answers.append(_checked(better))
                if timer is not None:
                    del answers[:-1]
                if stop[0] or (timer is None and len(answers) >= MOST_ANSWERS):
                    ended = timer is not None
                    break
            answer.close()
    except BaseException as error:  # a trait may raise anything, even SystemExit
        problem, trace = f"{type(error).__name__}: {error}", _trace(error)
    seconds = time.perf_counter() - began
    if timer is not None:
        timer.cancel()
        stop[0] = 0
    changed = _changed(view, before, past)
    if view.budget.nodes != nodes or view.budget.stop is not stop or stop[0]:
        changed = changed or "its budget"
    return Said(tuple(answers), problem, trace, ended, changed, seconds)


def _checked(answer: Any) -> tuple[float, ...] | None:
    """The votes of an answer; raises `VoteError` if they, or a thought's other fields, are not what they should be."""
    plain_info(answer)
    return plain_votes(answer)


def _changed(view: View, before: bytes, past: bytes) -> str:
    """What of a view is not as it was; nothing if all is."""
    if view.games.tobytes() != before:
        return "the game (view.games, view.game, view.hero or view.cells)"
    if view.recent.tobytes() != past:
        return "the history (view.recent)"
    for direction in range(5):
        if ("after", direction) in view._cache:  # noqa: SLF001  # what the trait has computed
            games = copy_of(view.games)
            step(games, 0, direction)
            if games.tobytes() != view.after(direction).tobytes():
                return f"the game after a move (view.after({direction}))"
    strange = sorted(vars(view).keys() - _OF_A_VIEW)
    return f"the view itself, which now has {', '.join(strange)}" if strange else ""


def _trace(error: BaseException) -> str:
    """The traceback from the trait's own code on."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__]
    return "".join(traceback.format_list(own[-4:])).rstrip()


class Trial:
    """A trait in a process of its own. Use it with ``with``; `timeout` is how many seconds an answer is waited for.

    Entering raises `Unbuilt` if the trait cannot be built there from its class and parameters.
    """

    def __init__(self, trait: Behaviour, timeout: float) -> None:
        self.trait, self.timeout = trait, timeout
        kind = type(trait)
        self.plan = TraitPlan(f"{kind.__module__}:{kind.__qualname__}", trait.model_dump(mode="json"))
        self._process: Any = None
        self._pipe: Any = None

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def ask(self, position: TrialPosition, *, nodes: int | None, stop_after: float | None = None) -> Said:
        """Ask on a position; `stop_after` as in `ask`."""
        if self._process is None:
            self._start()
        self._pipe.send((position, nodes, stop_after))
        if not self._pipe.poll(self.timeout):
            self._end()
            return Said(problem=f"it was not back after {self.timeout:g} s", hung=True, seconds=self.timeout)
        try:
            said: Said = self._pipe.recv()
        except EOFError:
            self._process.join(5.0)
            code = self._process.exitcode
            self._end()
            how = f"by {signal.Signals(-code).name}" if code is not None and code < 0 else f"with exit code {code}"
            return Said(problem=f"its process ended, {how}", died=True)
        return said

    def fresh(self) -> None:
        """Go on in a new process."""
        self._end()
        self._start()

    def _start(self) -> None:
        chosen = context(Needs(modules=(self.plan.module,)))
        self._pipe, theirs = chosen.Pipe()
        self._process = chosen.Process(target=_life, args=(theirs, self.plan, self.timeout), daemon=True)
        self._process.start()
        theirs.close()
        problem = "it took too long"
        if self._pipe.poll(BUILD_TIMEOUT):
            try:
                problem = self._pipe.recv()
            except EOFError:
                self._process.join(5.0)
                problem = f"the process ended with exit code {self._process.exitcode}"
        if problem:
            self._end()
            raise Unbuilt(problem)

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
            self._pipe.close()
            self._process = None


class Unbuilt(Exception):  # noqa: N818 - a state of things
    """A trait that could not be built in another process; the text says why."""


def _life(pipe: Any, plan: TraitPlan, timeout: float) -> None:
    """The life of the other process: build the trait, say so, then one answer for each question until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
            signal.setitimer(signal.ITIMER_REAL, 2 * timeout + 5)  # the end, should nobody be there to bring it
        pipe.send(ask(trait, position.view(nodes), stop_after))
