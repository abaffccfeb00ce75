"""The trial of a trait: its reaction to positions, with all its answers, its failure, and what it changed in its view.

The trait runs in a worker process. On a system that cannot run child processes, it runs in this process.
"""

from __future__ import annotations

import faulthandler
import pickle
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import isgenerator
from types import ModuleType, TracebackType
from typing import Any, Self

import numpy as np

from behaviours.base import Behaviour, Budget, View
from sim.board import draw
from sim.game import GAME, Game, Games, copy_of
from sim.rules import step
from vindibot.base.errors import VindibotError
from vindibot.base.system import supports_children, warn_of_traits_here
from vindibot.engine.asking import BUILD_SECONDS, stopping
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


# ---- In a worker process ----

_serving = False  # whether this process is one that `serve` runs in
#: Where children cannot run: seconds after its limit until a trait that hangs ends this process.
STUCK = 5.0


class Trial:
    """A trait in a worker process, for a ``with`` block. When the process ends, what the trait has printed is printed.

    The trait can be imported from `folders`. Raises `VindibotError` if the process cannot build the trait.
    """

    def __init__(self, trait: Behaviour, folders: Sequence[str]) -> None:
        self.trait, self._folders = trait, folders
        self._process: Any = None

    def __enter__(self) -> Self:
        if supports_children():
            self._start()
        else:
            warn_of_traits_here()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    def _start(self) -> None:
        from vindibot.engine import forkserver
        from vindibot.engine.worker import TraitPlan
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate, WorkerProcess

        if _serving:
            raise VindibotError("the program has no `if __name__ == '__main__':` above the code that runs the trait")
        kind = type(self.trait)
        file = getattr(sys.modules["__main__"], "__file__", None) if kind.__module__ == "__main__" else None
        plan = TraitPlan(f"{kind.__module__}:{kind.__qualname__}", self.trait.model_dump(mode="json"))
        self._process = WorkerProcess(forkserver.CONTEXT, serve, (plan, self._folders, file), name="vindibot-trial")
        try:
            problem = pickle.loads(self._process.start().receive(BUILD_SECONDS))
        except (WorkerEnded, WorkerLate, OSError, EOFError) as error:
            problem = str(error)
        if problem:
            self.end()
            raise VindibotError(problem)

    def end(self) -> None:
        """End the process, and print what the trait has printed. The next question starts a new process."""
        process, self._process = self._process, None
        if process is not None:
            process.close()
            sys.stdout.write(process.output.decode(errors="replace"))

    def ask(self, position: TrialPosition, *, nodes: int | None, stop_after: float | None, timeout: float) -> Response:
        """Return the response of the trait to a position, with a budget of `nodes` nodes (None: no limit).

        `stop_after` is as in the function `ask`. If the trait has not answered after `timeout` seconds, its process is killed.
        """
        if not supports_children():
            return self._ask_in_thread(position, nodes, stop_after, timeout)
        from vindibot.engine.worker_process import WorkerEnded, WorkerLate

        if self._process is None:
            self._start()
        self._process.send(pickle.dumps((position, nodes, stop_after)))
        try:
            response: Response = pickle.loads(self._process.receive(timeout))
        except WorkerLate:
            self.end()
            return _hung(timeout)
        except WorkerEnded as ended:
            self.end()
            return Response(problem=f"its process ended with {ended.ending}", died=True)
        return response

    def _ask_in_thread(self, position: TrialPosition, nodes: int | None, stop_after: float | None, timeout: float) -> Response:
        """Return the response of the trait, which runs on in a thread of this process if it hangs."""
        responses: list[Response] = []
        work = partial(lambda view: responses.append(ask(self.trait, view, stop_after)), position.view(nodes))
        thread = threading.Thread(target=work, name="vindibot-trial", daemon=True)
        faulthandler.dump_traceback_later(timeout + STUCK, exit=True)
        try:
            thread.start()
            thread.join(timeout)
        finally:
            faulthandler.cancel_dump_traceback_later()
        return responses[0] if responses else _hung(timeout)


def _hung(timeout: float) -> Response:
    return Response(problem=f"it did not answer within {timeout:g} s", hung=True, seconds=timeout)


def serve(requests: Any, setup: Any) -> None:
    """Build a trait, report whether this worked, and answer requests about it (`vindibot.engine.worker_process.Requests`)."""
    from vindibot.engine.worker import build

    global _serving
    _serving = True
    plan, folders, file = setup
    try:
        if file:
            _import_main(file)
        built = build([plan], folders)
    except VindibotError as problem:
        built = str(problem)
    if isinstance(built, str):
        requests.send(pickle.dumps(built))
        return
    requests.send(pickle.dumps(""))
    for data in requests:
        position, nodes, stop_after = pickle.loads(data)
        requests.send(pickle.dumps(ask(built[0], position.view(nodes), stop_after)))


def _import_main(file: str) -> None:
    """Import the user's program, which has the class of the trait, under another name than ``__main__``."""
    main = ModuleType("__mp_main__")
    sys.modules["__main__"] = sys.modules["__mp_main__"] = main
    vars(main).update(runpy.run_path(file, run_name="__mp_main__"))
