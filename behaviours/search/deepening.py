"""Iterative deepening at the root: the scores of all directions, depth after depth.

All scores become votes, so each direction is searched with a window that reaches `clip` below the best one. A score below the
window is only known to be at least that much worse, and a vote says no more. If the search ends within a depth, the directions
finished at that depth count. The others keep their distance to the best direction of the depth before.
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

    `active` is the set of opponents that are searched (bit by hero), `mode` one of `behaviours.search.records`, `quiescence` the
    number of plies that a fight at the horizon is followed. `clip` is the distance below the best score, in hundredths of gold,
    down to which scores are exact. `table` switches the transposition table, which changes the time only. `blend` is the share
    of the depths before in the running means: without it the search puts off what can wait, because scores at the horizon are
    equal then. `death` is taken off the score per death of ours, in hundredths of gold.
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
    """Result of one depth: `scores` by direction in hundredths of gold, None for a direction without effect.

    `blended` are running means of the scores over the depths (see `SearchParams.blend`), rounded. `whole` says whether every
    direction was searched to `depth` plies. `pv` is the principal variation from our ply on, move after move. `nodes` counts
    from the beginning.
    """

    depth: int
    scores: tuple[int | None, ...]
    blended: tuple[int | None, ...]
    pv: tuple[int, ...]
    nodes: int
    whole: bool

    @property
    def best(self) -> int:
        """The direction with the highest score; the lowest of equal ones."""
        return -max((score, -move) for move, score in enumerate(self.scores) if score is not None)[1]


class Workspace:
    """The memory of a search, several megabytes. Results do not depend on earlier searches in it.

    `works` is what `search_below` takes, an array of one `WORK` record; `task` and `root` are its task and first frame.
    """

    def __init__(self) -> None:
        self.works = np.zeros(1, WORK)
        self.task, self.root = self.works["task"][0], self.works["frames"][0, 0]
        self.age = 0

    def begin(self, params: SearchParams) -> None:
        """Forget the last search. Table entries carry the age of their search, so the table itself is seldom cleared."""
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
    """Search every direction of ``params.me``, which must be to move, to each of `depths` in plies (1..`MAX_PLY` - 1).

    Yields a result after each depth. Ends after the last depth, after `nodes` nodes, or when ``stop[0]`` is set, and then yields
    the unfinished depth, too. Deterministic but for `stop`. The game is not changed.
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
            found: dict[int, int] = {}
            for move in order:
                best = max(found.values(), default=-INFINITE)
                alpha = max(best - params.clip, -INFINITE)
                score = search_below(position, tables, compiled, work.works, stop, move, depth, (alpha, INFINITE))
                if work.task["aborted"]:
                    break
                found[move] = score
                if score > best:
                    pv = (move, *work.root["pv"][: work.root["pv_length"]].tolist())
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
            lowest = max(found.values()) - params.clip  # scores below it are bounds only, which may differ from run to run
            means = {
                move: max(score, lowest) + params.blend * (means.get(move, score) - max(score, lowest))
                for move, score in found.items()
            }
            scores = tuple(found.get(move) for move in range(5))
            blended = tuple(round(means[move]) if move in means else None for move in range(5))
            yield IterationResult(depth, scores, blended, pv, int(work.task["nodes"]), whole)
            if not whole:
                return
