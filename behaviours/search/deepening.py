"""Iterative deepening at the root: the scores of all directions, depth after depth.

A direction whose score is `clip` or more below the best score gets the lowest vote. So the alpha-beta window of each direction
begins at `clip` below the best score found so far at this depth. If the score of a direction lies below the window, the search
only finds an upper bound of the score. For the vote, a bound is enough.

If the search ends in the middle of a depth, the directions searched to that depth have new scores. The scores of the other
directions are estimated. Let b be the direction that was best at the previous depth. The estimate for a direction is the new
score of b, plus the direction's score at the previous depth, minus the score of b at that depth.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """Parameters of a search for hero `me` (0..3).

    - `active`: the set of opponents whose moves are searched (bit h is hero h). `mode`: a mode of `behaviours.search.records`.
    - `quiescence`: the largest number of plies by which a fight is followed beyond the horizon.
    - `clip`: a difference of scores, in hundredths of gold. If a score is less than `clip` below the best score, it is exact. If
      it is lower, it is only an upper bound.
    - `table`: whether the search uses a transposition table. The table changes the time of the search, not the scores.
    - `blend`: the weight (0..1) of the previous depths in `IterationResult.blended`. After each depth, the new value of a
      direction is ``blend * old value + (1 - blend) * score``. If `blend` is 0, our hero puts off moves that can wait, because
      acting now and acting later have the same score at the horizon.
    - `death`: the penalty per death of our hero, in hundredths of gold.
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
    """The result of one depth. `scores` holds a score per direction in hundredths of gold, None for a direction without effect.

    `blended` holds the rounded weighted mean of each direction's scores at all depths so far (see `SearchParams.blend`). In this
    mean, a score more than `SearchParams.clip` below the best score counts as the best score minus `clip`. `whole` says whether
    every direction was searched to `depth` plies. `pv` is the principal variation: the moves from our ply on. `nodes` is the
    number of nodes of all depths so far.
    """

    depth: int
    scores: tuple[int | None, ...]
    blended: tuple[int | None, ...]
    pv: tuple[int, ...]
    nodes: int
    whole: bool

    @property
    def best(self) -> int:
        """The direction with the highest score (the lowest direction if several have this score)."""
        return -max((score, -move) for move, score in enumerate(self.scores) if score is not None)[1]


class Workspace:
    """The memory of a search, several megabytes. Earlier searches in the same workspace do not change the results.

    `works` is an array of one `WORK` record, an argument of `search_below`. `task` and `root` are the task and the first frame of
    this record.
    """

    def __init__(self) -> None:
        self.works = np.zeros(1, WORK)
        self.task, self.root = self.works["task"][0], self.works["frames"][0, 0]
        self.age = 0

    def begin(self, params: SearchParams) -> None:
        """Prepare the memory for a new search.

        Each entry of the transposition table holds the number of the search that wrote it, the age (1..255). A search ignores the
        entries of other ages. So the table is cleared only once in 255 searches.
        """
        self.age += 1
        if self.age > 255:
            self.works["table"] = np.zeros(1, ENTRY)
            self.age = 1
        self.works["memory"] = np.zeros(1, MEMORY)
        self.works["memory"]["killers"] = -1
        self.works["task"] = np.zeros(1, TASK)
        for name in ("me", "active", "mode", "quiescence", "death", "table"):
            self.task[name] = getattr(params, name)
        self.task["age"] = self.age


#: Workspaces of this process that are not in use. Several threads may search at once.
_idle: list[Workspace] = []


@contextmanager
def borrowed() -> Iterator[Workspace]:
    """Lend a workspace of this process for one search."""
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
    """Search every direction of hero ``params.me``, which must be to move, to each of `depths`. Yield a result per depth.

    Depths are in plies (1..`MAX_PLY` - 1). The search ends after the last depth, after `nodes` nodes, or when ``stop[0]`` is set.
    If it has searched a direction of an unfinished depth, it also yields a result for this depth. If `stop` is never set, equal
    arguments give equal results. The game is not changed.
    """
    with borrowed() as work:
        work.begin(params)
        position = copy_of(games)
        tables, compiled = map_tables_of(where), compiled_weights(weights)
        mask = effective_moves(position, 0, params.me)
        order = [move for move in (1, 3, 2, 4, 0) if mask >> move & 1]
        known: dict[int, int] = {}
        means: dict[int, float] = {}
        pv: tuple[int, ...] = ()
        work.task["limit"] = max(nodes, 1)
        for depth in depths:
            scored: dict[int, int] = {}
            for move in order:
                best = max(scored.values(), default=-INFINITE)
                alpha = max(best - params.clip, -INFINITE)
                score = search_below(position, tables, compiled, work.works, stop, move, depth, (alpha, INFINITE))
                if work.task["aborted"]:
                    break
                scored[move] = score
                if score > best:
                    pv = (move, *work.root["pv"][: work.root["pv_length"]].tolist())
            if not scored:
                return
            whole = len(scored) == len(order)
            if not whole and known:
                first = order[0]
                scored |= {move: scored[first] + min(0, known[move] - known[first]) for move in order if move not in scored}
            elif not whole:  # not even the first depth was finished
                scored |= dict.fromkeys((move for move in order if move not in scored), min(scored.values()))
            order.sort(key=lambda move: -scored[move])  # stable: moves with equal scores keep their order
            known = scored
            lowest = max(scored.values()) - params.clip  # a lower score is only a bound and may differ between runs
            means = {
                move: max(score, lowest) + params.blend * (means.get(move, score) - max(score, lowest))
                for move, score in scored.items()
            }
            scores = tuple(scored.get(move) for move in range(5))
            blended = tuple(round(means[move]) if move in means else None for move in range(5))
            yield IterationResult(depth, scores, blended, pv, int(work.task["nodes"]), whole)
            if not whole:
                return
