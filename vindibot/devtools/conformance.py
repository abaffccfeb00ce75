"""The conformance suite: the promises that each trait must keep, with a check per promise.

The checks run the trait in a separate process. The positions are turns on generated maps (from the start, the middle and the last
round of a game) and turns on unusual boards. A failure names the position, the error, and what to do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from behaviours.base import RECENT_TURNS, Behaviour
from sim import kernels
from sim.board import parse
from sim.game import ABSENT, DIRECTIONS, Game, mover
from sim.generator import generate
from sim.rules import step
from vindibot.base.errors import VindibotError
from vindibot.base.text import printable_lines
from vindibot.config.bots import import_path
from vindibot.engine.asking import Trial
from vindibot.engine.trial import MOST_ANSWERS, Response, TrialPosition, ask

#: Seconds that a trait may take for a turn: the usual limit of a server.
LIMIT = 1.0
#: Seconds without an answer after which the process of a trait is killed.
TIMEOUT = 6.0
#: Seconds after which the stop word is set for a trait without a budget of nodes.
STOP_AFTER = 0.1
#: The budgets of nodes with which traits are tested.
NODES = (1, 500)
#: A trait fails if it answers the same turn late this number of times, each time in a new process. One late answer may only mean
#: that the machine is busy.
LATE = 3

#: Unusual boards by name.
ODD_BOARDS = {
    "a map of one square": "|@1|",
    "nothing but air": "|@1  |\n|    |",
    "walled in by taverns": "|@1[]|\n|[]##|",
    "walled in by mines, with the least life": "|@1$-|\n|$-##|\n@1 life 1",
    "four heroes and nothing else": "|@1@2|\n|@3@4|",
    "four heroes around one mine": "|##@1##|\n|@2$-@3|\n|##@4##|\n@1 life 20\n@2 life 1\n@3 life 21",
    "mines of absent heroes": "|@1$7$0|\n|$1$2$3|\n|$4[]  |",
    "no mines": "|@1  []|\n|  @2  |\n|[]    |\n@1 life 20 gold 5",
    "no taverns, little life": "|@1  $-|\n|  @2$1|\n|    $2|\n@1 life 5 gold 9",
    "alone on the map": "|@1  []|\n|    $-|\n|[]  $-|",
    "a hero on a tavern": "|@1$-|\n|    |\n@1 on [] life 9",
    "a hero in a wall, with its spawn elsewhere": "|@1$-|\n|    |\n@1 on ## life 9 spawn 0,1",
    "two heroes on one square": "|@1  |\n|    |\n@2 at 0,0 life 9",
    "all spawns on one square": "|@1@2  |\n|@3@4$-|\n|  []  |\n@1 spawn 2,2\n@2 spawn 2,2\n@3 spawn 2,2\n@4 spawn 2,2",
    "the last turn": "|@1  []|\n|  @2$1|\n|    $2|\nturn 1196 of 1200",
    "the largest map, empty": "\n".join("|" + "  " * 28 + "|" for _ in range(27)) + "\n|@1" + "  " * 27 + "|",
    "the largest map, full of mines": "\n".join("|" + "$-" * 28 + "|" for _ in range(27)) + "\n|@1" + "  " * 27 + "|",
}


class ConformanceError(AssertionError):
    """A trait breaks a promise. `check` is the name of the check, `wrong` says what happened, `advice` says what to do."""

    def __init__(self, trait: Behaviour, check: str, wrong: str, advice: str) -> None:
        super().__init__(printable_lines(f"{trait!r} fails the check {check!r}: {wrong}\nwhat to do: {advice}"))
        self.check, self.wrong, self.advice = check, wrong, advice


class TraitTrial(Trial):
    """The trial of one trait, with a time limit of `seconds` for a turn. `more` are additional positions for the checks.

    The process is killed if it has not answered after `TIMEOUT` seconds and after three time limits.
    """

    def __init__(self, trait: Behaviour, more: Sequence[TrialPosition], seconds: float) -> None:
        path = import_path()
        super().__init__(trait, [folder for folder in sys.path if folder not in path])
        self.more, self.seconds = more, seconds

    def ask_it(self, position: TrialPosition, nodes: int | None, stop_after: float | None = None) -> Response:
        """Return the response of the trait to a position; see `Trial.ask`."""
        return self.ask(position, nodes=nodes, stop_after=stop_after, timeout=max(TIMEOUT, 3 * self.seconds))


class _BrokenError(Exception):
    """A trait breaks a promise. If the error is `fatal`, the remaining checks are skipped."""

    def __init__(self, wrong: str, advice: str, *, fatal: bool = False) -> None:
        super().__init__(wrong)
        self.wrong, self.advice, self.fatal = wrong, advice, fatal


@dataclass(frozen=True)
class Check:
    """The check of one promise. Call it with a trait. It raises `ConformanceError` if the trait breaks the promise.

    The parameter `seconds` is the time limit for a turn. `boards` are additional boards (drawings or games) for the check.
    """

    name: str
    promise: str
    run: Callable[[TraitTrial], None]

    def __call__(self, trait: Behaviour | type[Behaviour], *, seconds: float = LIMIT, boards: Iterable[str | Game] = ()) -> None:
        __tracebackhide__ = True  # hides this function in the report of pytest
        _run((self,), trait, seconds, boards)

    def __str__(self) -> str:
        return self.name


def check_trait(trait: Behaviour | type[Behaviour], *, seconds: float = LIMIT, boards: Iterable[str | Game] = ()) -> None:
    """Run all `CHECKS` on a trait. Raises one `ConformanceError` with all failures.

    `seconds` is the time limit for a turn. `boards` are additional boards (drawings or games) for the checks.
    """
    __tracebackhide__ = True
    _run(CHECKS, trait, seconds, boards)


def _run(checks: Sequence[Check], trait: Behaviour | type[Behaviour], seconds: float, boards: Iterable[str | Game]) -> None:
    """Run checks on a trait in one process. If this process ends, the next check gets a new one."""
    __tracebackhide__ = True
    trait = trait() if isinstance(trait, type) else trait
    if type(trait).__module__ == "__main__" and not Path(getattr(sys.modules["__main__"], "__file__", "")).is_file():
        wrong = "its class is defined in a notebook or in the interactive interpreter, from which no other process can import it"
        raise ConformanceError(trait, "build", wrong, "write the class to a file, such as mine.py, and import it from there")
    more = [_position("one of your own boards", board) for board in boards]
    failures = []
    try:
        kernels.warm()
        with TraitTrial(trait, more, seconds) as trial:
            for check in checks:
                try:
                    check.run(trial)
                except _BrokenError as broken:
                    failures.append(ConformanceError(trait, check.name, broken.wrong, broken.advice))
                    if broken.fatal:
                        break
    except VindibotError as problem:
        raise ConformanceError(trait, "build", f"it cannot be built in another process: {problem}", _BUILD) from None
    if len(failures) == 1:
        raise failures[0]
    if failures:
        wrong = "".join(f"\n\n{failure.check}: {failure.wrong}\nwhat to do: {failure.advice}\n" for failure in failures)
        raise ConformanceError(trait, ", ".join(failure.check for failure in failures), wrong, "begin with the first one")


def check_turn(trait: Behaviour, games: Game, me: int, *, nodes: int | None = 500, seed: int = 3) -> tuple[float, ...] | None:
    """Check a trait on one turn and return its last votes.

    The votes must be valid, a second call must give the same votes, and the view must stay unchanged. `nodes` is the budget of
    the trait. The trait runs in this process. So this function is fast enough for tests of many positions, but it does not stop
    a trait that hangs. Raises `ConformanceError`.
    """
    position = TrialPosition("the position given", games, me, seed=seed)
    check = "answers"
    try:
        first = ask(trait, position.view(nodes))
        _votes_are_valid(position, first)
        check = "view"
        _view_is_unchanged(position, first)
        check = "same"
        _same_answers(position, first, ask(trait, position.view(nodes)), "when it was asked again")
    except _BrokenError as broken:
        raise ConformanceError(trait, check, broken.wrong, broken.advice) from None
    return first.votes


# ---- Positions ----


@lru_cache
def usual() -> tuple[TrialPosition, ...]:
    """Return turns of generated games with random moves: from the start, the middle and the last round, for each hero."""
    positions = []
    for seed, (size, plies) in enumerate(
        [(8, 0), (10, 121), (18, 402), (28, 803), (12, 1196), (16, 1197), (20, 1198), (8, 1199)]
    ):
        rng = np.random.default_rng(seed)
        games = generate(seed, size=size).new_game()
        earlier = []
        for move in rng.integers(0, 5, plies).tolist():
            if mover(games) == plies % 4:
                earlier.append(games.copy())
            step(games, 0, move)
        name = f"turn {plies} of 1200 on a map of {size} x {size}"
        recent = np.concatenate(earlier[-RECENT_TURNS:]) if earlier else games[:0]
        positions.append(TrialPosition(name, games, mover(games), recent, seed))
    return tuple(positions)


@lru_cache
def odd() -> tuple[TrialPosition, ...]:
    """Return the `ODD_BOARDS`, with hero 1 to move."""
    return tuple(_position(name, board) for name, board in ODD_BOARDS.items())


def _position(name: str, board: str | Game) -> TrialPosition:
    """Return a position on this board. The hero to move is the next hero in turn that is on the board."""
    games = parse(board) if isinstance(board, str) else board.copy()
    present = [hero for hero in range(4) if games[0]["hero"][hero]["pos"] != ABSENT[hero]]
    now = int(games[0]["turn"])
    me = min(present or [0], key=lambda hero: (hero - now) % 4)
    games[0]["turn"] = now + (me - now) % 4
    return TrialPosition(name, games, me)


# ---- Checks: each raises _BrokenError ----

_BUILD = (
    "a bot's traits run in worker processes, which build them from module:Class and the parameters. Define the class at the top"
    " level of a module that can be imported, let the import do nothing else, and keep nothing in a trait but its parameters"
)


def _check_build(trial: TraitTrial) -> None:
    """Check that a trait can be built again from its parameters, after a conversion to JSON and back.

    The new trait must be equal to the original. The trial has already built the trait in another process.
    """
    trait = trial.trait
    parameters = trait.model_dump(mode="json")
    try:
        rebuilt = type(trait).model_validate_json(json.dumps(parameters), strict=True)
    except ValueError as problem:
        raise _BrokenError(f"it cannot be built from its own parameters {parameters}: {problem}", _BUILD) from None
    if rebuilt != trait:
        raise _BrokenError(f"a trait built from its parameters is not the same: {rebuilt!r}", _BUILD)


def _check_votes(trial: TraitTrial, positions: Sequence[TrialPosition]) -> None:
    for position in positions:
        for nodes in NODES:
            _votes_are_valid(position, _ask(trial, position, nodes))


def _check_end(trial: TraitTrial) -> None:
    for position in (*usual(), *odd(), *trial.more):
        response = _ask(trial, position, NODES[-1])
        if response.died:
            return  # the next check reports it
        if not response.ended:
            raise _BrokenError(
                f"it was still yielding after {MOST_ANSWERS} answers, with a budget of {NODES[-1]} nodes, on {position}",
                "where view.budget.nodes is not None, count the positions that you look at and return at this number",
                fatal=True,
            )
        _in_time(trial, position, response, NODES[-1])
    for position in usual():
        _in_time(trial, position, _ask(trial, position, None, STOP_AFTER), None, STOP_AFTER)


def _check_same(trial: TraitTrial) -> None:
    positions = [*usual(), *odd(), *trial.more]
    first = [_ask(trial, position, NODES[-1]) for position in positions]
    for position, response in zip(reversed(positions), reversed(first), strict=True):
        again = _ask(trial, position, NODES[-1])
        _same_answers(position, response, again, "when it was asked again after other positions")
    if any(response.died or not response.ended for response in first):
        return  # other checks report a failure; here a failing trait could end this process
    for position, response in zip(positions, first, strict=True):
        votes = ask(trial.trait, position.view(NODES[-1]))
        _same_answers(position, response, votes, "in another process")


def _check_view(trial: TraitTrial) -> None:
    for position in (*usual(), *odd(), *trial.more):
        _view_is_unchanged(position, _ask(trial, position, NODES[-1]))


CHECKS = (
    Check("build", "it can be built in another process, from its class and its parameters", _check_build),
    Check("ends", "it ends in time: after its budget of nodes, or when the stop word is set", _check_end),
    Check("answers", "every answer is a valid vote", lambda trial: _check_votes(trial, usual())),
    Check(
        "odd",
        "it does not fail on unusual boards and in the last round",
        lambda trial: _check_votes(trial, (*odd(), *trial.more)),
    ),
    Check("same", "the same view and nodes give the same answer, in any process", _check_same),
    Check("view", "it leaves its view unchanged", _check_view),
)


def _ask(trial: TraitTrial, position: TrialPosition, nodes: int | None, stop_after: float | None = None) -> Response:
    """Return the response of a trait. Raise a fatal error if the trait hangs."""
    response = trial.ask_it(position, nodes, stop_after)
    if response.hung:
        advice = (
            "look at view.budget in every loop: return when view.budget.expired(), or after view.budget.nodes nodes; pass"
            " view.budget.stop to a kernel, which looks at its first element every few hundred nodes"
        )
        raise _BrokenError(f"it hung: {response.problem}, on {position}", advice, fatal=True)
    return response


def _votes_are_valid(position: TrialPosition, response: Response) -> None:
    if not response.problem:
        return
    where = f"on {position}" + (f"\n{response.trace}" if response.trace else "")
    if response.problem.startswith("VoteError"):
        advice = (
            "answer with a direction (0..4), a dict of weights by direction, five finite numbers, None, or a SearchInfo"
            " with one of these; a division by zero or the logarithm of 0 is where NaN and infinity come from"
        )
        raise _BrokenError(f"its answer is not a valid vote ({response.problem}) {where}", advice)
    advice = (
        "votes(trait, view(board)) of vindibot.testing repeats it, also under a debugger. A map may have no mines, no"
        " taverns and no enemies, view.moves may be Stay alone, and view.recent may be empty"
    )
    if response.died:
        advice = "only a kernel or a library in C can do this: look for an index out of range (NUMBA_BOUNDSCHECK=1 finds it)"
    raise _BrokenError(f"it failed: {response.problem}, {where}", advice, fatal=response.died)


def _in_time(
    trial: TraitTrial, position: TrialPosition, response: Response, nodes: int | None, stop_after: float | None = None
) -> None:
    """Check that a trait answered within the time limit.

    If it was late, ask it again in new processes, because the machine may have been busy (see `LATE`).
    """
    fastest, seconds = response.seconds, trial.seconds
    for _ in range(LATE - 1):
        if fastest <= seconds:
            return
        trial.end()
        fastest = min(fastest, trial.ask_it(position, nodes, stop_after).seconds)
    if fastest <= seconds:
        return
    warm = trial.ask_it(position, nodes, stop_after).seconds
    budget = f"with {nodes} node{'' if nodes == 1 else 's'}" if stop_after is None else f"told to stop after {stop_after:g} s"
    if warm < fastest / 2:
        advice = (
            f"only its first turn is slow (the next took {warm:.3f} s): do slow work when the module is imported, and declare"
            " kernels with @entry(signature) of sim.kernels, which compiles them before a game"
        )
    elif stop_after is not None:
        advice = "look at view.budget.expired() in every loop, and in kernels at view.budget.stop; write vote as a generator"
    else:
        advice = "do less work per node, or write vote as a generator that yields better answers until the budget has expired"
    raise _BrokenError(f"it took {fastest:.2f} s for a turn, {budget}; {seconds:g} s are allowed, on {position}", advice)


def _same_answers(position: TrialPosition, first: Response, second: Response, when: str) -> None:
    if (first.answers, first.problem) == (second.answers, second.problem):
        return
    before, after = _difference(first, second)
    advice = (
        "draw random numbers from view.rng() alone, keep nothing from turn to turn (not in the module either), read no clock"
        " where there is a budget of nodes, and do not depend on the order of a set"
    )
    raise _BrokenError(f"it answered {before}, and {after} {when}, on {position}", advice)


def _view_is_unchanged(position: TrialPosition, response: Response) -> None:
    if response.changed:
        advice = (
            "other traits see the same view on this turn. Work on a copy: sim.game.copy_of(view.games), array.copy();"
            " view.shared(key, compute) stores what other traits may use too"
        )
        raise _BrokenError(f"it changed {response.changed}, on {position}", advice)


def _difference(first: Response, second: Response) -> tuple[str, str]:
    """Return the first answers that differ, in words."""
    for before, after in zip(first.answers, second.answers, strict=False):
        if before != after:
            return _words(before), _words(after)
    if first.problem or second.problem:
        return first.problem or _words(first.votes), second.problem or _words(second.votes)
    return f"{len(first.answers)} times", f"{len(second.answers)} times"


def _words(votes: tuple[float, ...] | None) -> str:
    if votes is None:
        return "no opinion"
    return "{" + ", ".join(f"{name}: {vote + 0.0:g}" for name, vote in zip(DIRECTIONS, votes, strict=True)) + "}"
