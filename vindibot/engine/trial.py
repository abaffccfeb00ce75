"""The trial of a trait: its reaction to a position, with all its answers, its failure, and what it changed in its view.

`ask` runs the trait in this process, `vindibot.engine.asking.Trial` in a worker process.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from functools import cached_property
from inspect import isgenerator

import numpy as np

from behaviours.base import Behaviour, Budget, View
from sim.board import draw
from sim.game import GAME, Game, Games, copy_of
from sim.rules import step
from vindibot.engine.deadline import stopping
from vindibot.engine.runner import parse_answer

#: Largest number of answers that are taken from an anytime trait on one position.
MOST_ANSWERS = 10_000
#: Largest number of characters of the description of a failure.
LONGEST_TEXT = 10_000
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

    @classmethod
    def of(cls, view: View) -> TrialPosition:
        """Return the turn of a view."""
        return cls(f"turn {view.turn}", view.games, view.me, view.recent, view.seed)

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


def ask(trait: Behaviour, view: View, stop_after: float | None = None) -> Response:
    """Ask a trait for all its answers, in this process. Nothing stops a trait that hangs.

    After `stop_after` seconds (None: never) the stop word of the budget is set, as at the end of a turn. Then an anytime trait is
    not asked for more answers.
    """
    game, recent = view.games.tobytes(), view.recent.tobytes()
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
            problem, trace = _plain(f"{type(error).__name__}: {_message(error)}"), _plain(_trace(error))
        seconds = time.perf_counter() - began
    if stop_after is not None:
        stop[0] = 0
    changed = _changed(view, game, recent)
    if view.budget.nodes != nodes or view.budget.stop is not stop or stop[0]:
        changed = changed or "its budget"
    return Response(tuple(answers), problem, trace, ended, changed, seconds)


def _changed(view: View, game: bytes, recent: bytes) -> str:
    """Return a text that says what the trait changed in its view; "" if nothing changed."""
    if view.games.tobytes() != game:
        return "the game (view.games, view.game, view.hero or view.cells)"
    if view.recent.tobytes() != recent:
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


def _message(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # a user's exception whose __str__ raises
        return "(its message cannot be printed)"


def _plain(text: str) -> str:
    """Return the beginning of a text, without characters that cannot be encoded."""
    return text[:LONGEST_TEXT].encode(errors="replace").decode()
