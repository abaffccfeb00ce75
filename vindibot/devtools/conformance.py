"""One conformance suite that any trait can be put through: what a trait promises, each promise with a check.

Each check asks the trait in a process of its own, on generated maps in the middle and at the very end of a game, and on
boards such as nobody would draw. A failure says what was wrong, on which position, and what to do.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from behaviours.base import RECENT_TURNS, Behaviour
from sim import kernels
from sim.board import parse
from sim.game import ABSENT, DIRECTIONS, Game, mover
from sim.generator import generate
from sim.rules import step
from vindibot.base import printable_lines
from vindibot.devtools.trial import MOST_ANSWERS, Said, Trial, TrialPosition, Unbuilt, ask

#: Seconds that a trait may take for a turn: a server's usual limit.
LIMIT = 1.0
#: Seconds after which a trait that is not back is taken for one that never will be.
TIMEOUT = 6.0
#: Seconds after which a trait is told to stop, where it may think until it is told.
STOP_AFTER = 0.1
#: Budgets of nodes under which traits are asked.
NODES = (1, 500)
#: How often in a row, each time in a new process, a turn must be late before it counts: the machine may be busy.
LATE = 3

#: Boards with something odd about each: the name says what.
ODD_BOARDS = {
    "a map of one square": "|@1|",
    "nothing but air": "|@1  |\n|    |",
    "walled in by taverns": "|@1[]|\n|[]##|",
    "walled in by mines, with the least life": "|@1$-|\n|$-##|\n@1 life 1",
    "four heroes and nothing else": "|@1@2|\n|@3@4|",
    "four heroes around one mine": "|##@1##|\n|@2$-@3|\n|##@4##|\n@1 life 20\n@2 life 1\n@3 life 21",
    "mines of heroes who are not there": "|@1$7$0|\n|$1$2$3|\n|$4[]  |",
    "no mines": "|@1  []|\n|  @2  |\n|[]    |\n@1 life 20 gold 5",
    "no taverns, little life": "|@1  $-|\n|  @2$1|\n|    $2|\n@1 life 5 gold 9",
    "alone on the map": "|@1  []|\n|    $-|\n|[]  $-|",
    "a hero on a tavern": "|@1$-|\n|    |\n@1 on [] life 9",
    "a hero in a wall, whose spawn is elsewhere": "|@1$-|\n|    |\n@1 on ## life 9 spawn 0,1",
    "two heroes on one square": "|@1  |\n|    |\n@2 at 0,0 life 9",
    "all spawns on one square": "|@1@2  |\n|@3@4$-|\n|  []  |\n@1 spawn 2,2\n@2 spawn 2,2\n@3 spawn 2,2\n@4 spawn 2,2",
    "the last turn": "|@1  []|\n|  @2$1|\n|    $2|\nturn 1196 of 1200",
    "the largest map, empty": "\n".join("|" + "  " * 28 + "|" for _ in range(27)) + "\n|@1" + "  " * 27 + "|",
    "the largest map, full of mines": "\n".join("|" + "$-" * 28 + "|" for _ in range(27)) + "\n|@1" + "  " * 27 + "|",
}


class ConformanceError(AssertionError):
    """A trait that breaks a promise. `check` is its name, `wrong` what was seen, `advice` what to do."""

    def __init__(self, trait: Behaviour, check: str, wrong: str, advice: str) -> None:
        super().__init__(printable_lines(f"{trait!r} fails the check {check!r}: {wrong}\nwhat to do: {advice}"))
        self.check, self.wrong, self.advice = check, wrong, advice


class _BrokenError(Exception):
    """A broken promise; after a `fatal` one there is no sense in trying more."""

    def __init__(self, wrong: str, advice: str, *, fatal: bool = False) -> None:
        super().__init__(wrong)
        self.wrong, self.advice, self.fatal = wrong, advice, fatal


@dataclass(frozen=True)
class Check:
    """One promise of a trait. Calling it with a trait raises `ConformanceError` if the promise is broken.

    `seconds` is how long the trait may take for a turn; `boards` are drawings or games on which it is asked besides.
    """

    name: str
    promise: str
    run: Callable[[Trial, Sequence[TrialPosition], float], None]

    def __call__(self, trait: Behaviour | type[Behaviour], *, seconds: float = LIMIT, boards: Iterable[str | Game] = ()) -> None:
        __tracebackhide__ = True  # the failure is not in here
        _run((self,), trait, seconds, boards)

    def __str__(self) -> str:
        return self.name


def check_trait(trait: Behaviour | type[Behaviour], *, seconds: float = LIMIT, boards: Iterable[str | Game] = ()) -> None:
    """Put a trait through all `CHECKS`; raises `ConformanceError` with everything that is wrong.

    `seconds` is how long it may take for a turn. `boards` are drawings or games on which it is asked besides.
    """
    __tracebackhide__ = True
    _run(CHECKS, trait, seconds, boards)


def _run(checks: Sequence[Check], trait: Behaviour | type[Behaviour], seconds: float, boards: Iterable[str | Game]) -> None:
    """Put a trait through some checks, in one process as long as it lives."""
    __tracebackhide__ = True
    trait = trait() if isinstance(trait, type) else trait
    own = [_drawn("one of your own boards", board) for board in boards]
    kernels.warm()
    failures = []
    try:
        with Trial(trait, max(TIMEOUT, 3 * seconds)) as trial:
            for check in checks:
                try:
                    check.run(trial, own, seconds)
                except _BrokenError as broken:
                    failures.append(ConformanceError(trait, check.name, broken.wrong, broken.advice))
                    if broken.fatal:
                        break
    except Unbuilt as problem:
        raise ConformanceError(trait, "build", f"it cannot be built in another process: {problem}", _BUILD) from None
    if len(failures) == 1:
        raise failures[0]
    if failures:
        wrong = "".join(f"\n\n{failure.check}: {failure.wrong}\nwhat to do: {failure.advice}\n" for failure in failures)
        raise ConformanceError(trait, ", ".join(failure.check for failure in failures), wrong, "begin with the first one")


def check_turn(trait: Behaviour, games: Game, me: int, *, nodes: int | None = 500, seed: int = 3) -> tuple[float, ...] | None:
    """One turn, in this process: the answer is a vote, the same when asked again, and the view is as it was. Returns the last
    votes; raises `ConformanceError`. For tests over many positions; nothing stops a trait that hangs."""
    __tracebackhide__ = True
    position = TrialPosition("the position given", games, me, seed=seed)
    first = ask(trait, position.view(nodes))
    for name, verdict in (("answers", _votes), ("view", _unchanged)):
        if broken := verdict(position, first):
            raise ConformanceError(trait, name, broken.wrong, broken.advice)
    second = ask(trait, position.view(nodes))
    if broken := _alike(position, first, second, "when it was asked again"):
        raise ConformanceError(trait, "same", broken.wrong, broken.advice)
    return first.votes


# ---- Positions ----


@lru_cache
def usual() -> tuple[TrialPosition, ...]:
    """Turns of generated games with random movers: early, in the middle, in the last round; each hero is asked."""
    found = []
    for seed, (size, plies) in enumerate(
        [(8, 0), (10, 121), (18, 402), (28, 803), (12, 1196), (16, 1197), (20, 1198), (8, 1199)]
    ):
        rng = np.random.default_rng(seed)
        games = generate(seed, size=size).new_game()
        past = []
        for move in rng.integers(0, 5, plies).tolist():
            if mover(games) == plies % 4:
                past.append(games.copy())
            step(games, 0, move)
        name = f"turn {plies} of 1200 on a map of {size} x {size}"
        recent = np.concatenate(past[-RECENT_TURNS:]) if past else games[:0]
        found.append(TrialPosition(name, games, mover(games), recent, seed))
    return tuple(found)


@lru_cache
def odd() -> tuple[TrialPosition, ...]:
    """The `ODD_BOARDS`, hero 1 to move."""
    return tuple(_drawn(name, board) for name, board in ODD_BOARDS.items())


def _drawn(name: str, board: str | Game) -> TrialPosition:
    games = parse(board) if isinstance(board, str) else board.copy()
    present = [hero for hero in range(4) if games[0]["hero"][hero]["pos"] != ABSENT[hero]]
    now = int(games[0]["turn"])
    me = min(present or [0], key=lambda hero: (hero - now) % 4)
    games[0]["turn"] = now + (me - now) % 4
    return TrialPosition(name, games, me)


# ---- Checks ----

_BUILD = (
    "a bot's traits live in worker processes, which build them from module:Class and the parameters. Define the class at the top"
    " of a module that can be imported, let nothing happen on import, and keep nothing in a trait but its parameters"
)


def _build(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    """It came up in another process already: now its parameters must say all there is."""
    trait = trial.trait
    parameters = trait.model_dump(mode="json")
    try:
        again = type(trait).model_validate_json(json.dumps(parameters), strict=True)
    except ValueError as problem:
        raise _BrokenError(f"it cannot be built from its own parameters {parameters}: {problem}", _BUILD) from None
    if again != trait:
        raise _BrokenError(f"what is built from its parameters is not the same: {again!r}", _BUILD)


def _answers(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    for position in usual():
        for nodes in NODES:
            _must(_votes(position, trial.ask(position, nodes=nodes)))


def _odd(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    for position in (*odd(), *own):
        for nodes in NODES:
            _must(_votes(position, trial.ask(position, nodes=nodes)))


def _ends(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    for position in (*usual(), *odd(), *own):
        said = trial.ask(position, nodes=NODES[-1])
        if said.died:
            return  # the next check tells
        if not said.ended:
            raise _BrokenError(
                f"it was still yielding after {MOST_ANSWERS} answers, with a budget of {NODES[-1]} nodes, on {position}",
                "where view.budget.nodes is not None, count what is looked at and return when so many are reached",
                fatal=True,
            )
        _must(_in_time(trial, position, said, NODES[-1], None, seconds))
    for position in usual():
        said = trial.ask(position, nodes=None, stop_after=STOP_AFTER)
        _must(_in_time(trial, position, said, None, STOP_AFTER, seconds))


def _same(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    positions = [*usual(), *odd(), *own]
    first = [trial.ask(position, nodes=NODES[-1]) for position in positions]
    for position, said in zip(reversed(positions), reversed(first), strict=True):
        again = trial.ask(position, nodes=NODES[-1])
        _must(_alike(position, said, again, "when it was asked again after other positions"))
    if any(said.hung or said.died or not said.ended for said in first):
        return  # other checks tell; here it would end this process
    for position, said in zip(positions, first, strict=True):
        here = ask(trial.trait, position.view(NODES[-1]))
        _must(_alike(position, said, here, "in another process"))


def _view(trial: Trial, own: Sequence[TrialPosition], seconds: float) -> None:
    for position in (*usual(), *odd(), *own):
        _must(_unchanged(position, trial.ask(position, nodes=NODES[-1])))


CHECKS = (
    Check("build", "it can be built in another process, from its class and its parameters", _build),
    Check("ends", "it ends in time: when its nodes are spent, or when it is told to stop", _ends),
    Check("answers", "every answer is a vote", _answers),
    Check("odd", "it survives odd maps and the last round", _odd),
    Check("same", "the same view and nodes give the same answer, in any process", _same),
    Check("view", "its view is as it was", _view),
)


# ---- Verdicts: what is wrong with an answer, or None ----


def _must(broken: _BrokenError | None) -> None:
    if broken is not None:
        raise broken


def _votes(position: TrialPosition, said: Said) -> _BrokenError | None:
    if not said.problem:
        return None
    if said.hung:
        return _hung(position)
    where = f"on {position}" + (f"\n{said.trace}" if said.trace else "")
    if said.problem.startswith("VoteError"):
        advice = (
            "answer with a direction (0..4), a dict of weights by direction, five finite numbers, None, or a SearchInfo"
            " with one of these; a division by zero or the logarithm of nothing is where NaN and infinity come from"
        )
        return _BrokenError(f"its answer is no vote ({said.problem}) {where}", advice)
    advice = (
        "votes(trait, view(board)) of vindibot.testing does it again, under a debugger if you like. A map may have no mines, no"
        " taverns and no enemies, view.moves may be Stay alone, and view.recent empty"
    )
    if said.died:
        advice = "only a kernel or a library in C can do this: look for an index out of range (NUMBA_BOUNDSCHECK=1 finds it)"
    return _BrokenError(f"it failed: {said.problem}, {where}", advice, fatal=said.died)


def _hung(position: TrialPosition) -> _BrokenError:
    advice = (
        "look at view.budget in every loop: return when view.budget.expired(), or when so many nodes as view.budget.nodes are"
        " spent; a kernel is given view.budget.stop and looks at its first element every few hundred nodes"
    )
    return _BrokenError(f"it hung, and its process had to be killed, on {position}", advice, fatal=True)


def _in_time(
    trial: Trial, position: TrialPosition, said: Said, nodes: int | None, stop_after: float | None, seconds: float
) -> _BrokenError | None:
    """Late counts if it is late in new processes too, and not because the machine was busy."""
    if said.hung:
        return _hung(position)
    fastest = said.seconds
    for _ in range(LATE - 1):
        if fastest <= seconds:
            return None
        trial.fresh()
        fastest = min(fastest, trial.ask(position, nodes=nodes, stop_after=stop_after).seconds)
    if fastest <= seconds:
        return None
    warm = trial.ask(position, nodes=nodes, stop_after=stop_after).seconds
    asked = f"with {nodes} nodes" if stop_after is None else f"told to stop after {stop_after:g} s"
    wrong = f"it took {fastest:.2f} s for a turn, {asked}; {seconds:g} s are allowed, on {position}"
    if warm < fastest / 2:
        advice = (
            f"only its first turn is slow (the next took {warm:.3f} s): do what is slow when the module is imported, and declare"
            " kernels with @entry(signature) of sim.kernels, which compiles them before a game"
        )
    elif stop_after is not None:
        advice = "look at view.budget.expired() in every loop, and in kernels at view.budget.stop; write vote as a generator"
    else:
        advice = "do less for a node, or write vote as a generator that yields better answers until the budget has expired"
    return _BrokenError(wrong, advice)


def _alike(position: TrialPosition, first: Said, second: Said, when: str) -> _BrokenError | None:
    if first.hung or second.hung:
        return _hung(position)
    if (first.answers, first.problem) == (second.answers, second.problem):
        return None
    one, other = _differing(first, second)
    advice = (
        "draw random numbers from view.rng() alone, keep nothing from turn to turn (not in the module either), look at no clock"
        " where there is a budget of nodes, and do not go through a set in the order it has"
    )
    return _BrokenError(f"it answered {one}, and {other} {when}, on {position}", advice)


def _unchanged(position: TrialPosition, said: Said) -> _BrokenError | None:
    if said.hung:
        return _hung(position)
    if not said.changed:
        return None
    advice = (
        "other traits see the same view on this turn. Work on a copy: sim.game.copy_of(view.games), array.copy(); what other"
        " traits may use too is kept by view.shared(key, compute)"
    )
    return _BrokenError(f"it changed {said.changed}, on {position}", advice)


def _differing(first: Said, second: Said) -> tuple[str, str]:
    """The first answers that differ, in words."""
    for one, other in zip(first.answers, second.answers, strict=False):
        if one != other:
            return _words(one), _words(other)
    if first.problem or second.problem:
        return first.problem or _words(first.votes), second.problem or _words(second.votes)
    return f"{len(first.answers)} times", f"{len(second.answers)} times"


def _words(votes: tuple[float, ...] | None) -> str:
    if votes is None:
        return "no opinion"
    return "{" + ", ".join(f"{name}: {vote:g}" for name, vote in zip(DIRECTIONS, votes, strict=True)) + "}"
