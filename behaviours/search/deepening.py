"""Iterative deepening at the root: every direction's score, one depth after the other.

The scores of all directions are wanted, not the best one's alone: they become votes. So each direction is searched with a
window that reaches `clip` below the best; what falls out of it is known to be at least that much worse, which is all that a
vote clipped there can say. When time is up in the middle of a depth, the directions finished at that depth count, and the others
keep their distance from the best of the depth before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from behaviours.common.evaluation import UNIT, Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.search.engine import search_below
from behaviours.search.records import ENTRY, INFINITE, MEMORY, TASK, WORK
from sim.game import Game, copy_of
from sim.maps import Map
from sim.rules import effective_moves


@dataclass(frozen=True)
class SearchParams:
    """What is to be searched: for whom, who is active (a set, bit by hero), by which mode, and with which extras.

    `quiescence` is how many plies a fight at the horizon is followed, `clip` how far below the best (in hundredths of gold) a
    score is told apart, `table` whether positions are remembered (it changes the time only). `blend` is the share of the
    depths before in the running means: without it, what can as well be done next round is put off for ever, because at the
    horizon both come to the same. `death` is what each death of ours takes off the score, in hundredths of gold.
    """

    me: int
    active: int
    mode: int
    quiescence: int = 4
    clip: int = 20 * UNIT
    table: bool = True
    blend: float = 0.0
    death: int = 0


@dataclass(frozen=True)
class IterationResult:
    """What is known after a depth: `scores` by direction (None where it would do nothing) in hundredths of gold.

    `blended` are running means of the scores over the depths (see `SearchParams.blend`), rounded.
    `whole` says whether every direction was searched to `depth` plies; `pv` is the principal variation from our ply on,
    hero after hero; `nodes` counts from the beginning.
    """

    depth: int
    scores: tuple[int | None, ...]
    blended: tuple[int | None, ...]
    pv: tuple[int, ...]
    nodes: int
    whole: bool

    @property
    def best(self) -> int:
        """The direction with the highest score."""
        return _best_of(self.scores)


def _best_of(scores: Sequence[int | None]) -> int:
    """The direction with the highest score; the lowest of equally good ones."""
    return max((score, -move) for move, score in enumerate(scores) if score is not None)[1] * -1


class Workspace:
    """The memory of a search: made once for each process, because it is large. Its results never depend on earlier use.

    `works` is what `search_below` takes, an array of one `WORK` record; `task` is the part of it that says what is asked.
    """

    def __init__(self) -> None:
        self.works = np.zeros(1, WORK)
        self.task = self.works["task"][0]
        self.age = 0

    def begin(self, params: SearchParams) -> None:
        """Forget the last search. Entries of the table carry their search's age, so that it is seldom emptied."""
        self.age += 1
        if self.age > 255:
            self.works["table"] = np.zeros(1, ENTRY)
            self.age = 1
        self.works["memory"] = np.zeros(1, MEMORY)
        self.works["memory"]["killers"] = -1
        self.works["task"] = np.zeros(1, TASK)
        task = self.task
        task["me"], task["active"], task["mode"] = params.me, params.active, params.mode
        task["quiescence"], task["death"] = params.quiescence, params.death
        task["table"], task["age"] = params.table, self.age


#: Workspaces of this process that nobody uses at the moment: several threads may search at once.
_idle: list[Workspace] = []


@contextmanager
def borrowed() -> Iterator[Workspace]:
    """A workspace of this process, for as long as a search takes."""
    try:
        work = _idle.pop()
    except IndexError:
        work = Workspace()
    try:
        yield work
    finally:
        _idle.append(work)


def iterative_deepening(
    games: Game,
    where: Map,
    params: SearchParams,
    weights: Weights,
    *,
    depths: range,
    nodes: int,
    stop: NDArray[np.int64],
) -> Iterator[IterationResult]:
    """Search every direction of ``params.me``, who must be to move, to each of `depths` in plies (at least 1, below `MAX_PLY`).

    Yields after each depth. Ends after the last one, after `nodes` nodes, or when ``stop[0]`` is set; the depth at which that
    happens is yielded as far as it came. Deterministic but for `stop`; the game is not changed.
    """
    with borrowed() as work:
        yield from _deepen(games, where, params, weights, depths, nodes, stop, work)


def _deepen(
    games: Game,
    where: Map,
    params: SearchParams,
    weights: Weights,
    depths: range,
    nodes: int,
    stop: NDArray[np.int64],
    work: Workspace,
) -> Iterator[IterationResult]:
    work.begin(params)
    position = copy_of(games)
    tables, compiled = map_tables_of(where), compiled_weights(weights)
    mask = effective_moves(position, 0, params.me)
    order = [move for move in (1, 3, 2, 4, 0) if mask >> move & 1]
    known: dict[int, int] = {}
    means: dict[int, float] = {}
    task = work.task
    task["limit"] = max(nodes, 1)
    last: IterationResult | None = None
    for depth in depths:
        found: dict[int, int] = {}
        pv: tuple[int, ...] = ()
        for move in order:
            best = max(found.values(), default=-INFINITE)
            alpha = max(best - params.clip, -INFINITE)
            score = search_below(position, tables, compiled, work.works, stop, move, depth, (alpha, INFINITE))
            if task["aborted"]:
                break
            found[move] = score
            if score > best:
                pv = (move, *task["pv"][: task["pv_length"]].tolist())
        if not found:
            return
        whole = len(found) == len(order)
        if not whole and known:
            first = order[0]
            found |= {move: found[first] + min(0, known[move] - known[first]) for move in order if move not in found}
        elif not whole:  # not even the first depth was finished
            found |= dict.fromkeys((move for move in order if move not in found), min(found.values()))
        order.sort(key=lambda move: -found[move])  # stable: equal ones keep their order
        known = found
        lowest = max(found.values()) - params.clip  # below it scores are bounds only, which may differ from run to run
        means = {
            move: max(score, lowest) + params.blend * (means.get(move, score) - max(score, lowest))
            for move, score in found.items()
        }
        last = IterationResult(
            depth,
            tuple(found.get(move) for move in range(5)),
            tuple(round(means[move]) if move in means else None for move in range(5)),
            pv or (last.pv if last else ()),
            int(task["nodes"]),
            whole,
        )
        yield last
        if not whole:
            return
