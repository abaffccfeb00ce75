"""How long every trait takes in the middle of games of four classic bots on 28x28 maps: ``python -m tests.benchmarks traits``.

Each trait is asked on a view of its own, so what traits share within a turn (combat map, moves tried out) is in its time.
"""

from __future__ import annotations

import time

import numpy as np

from behaviours.base import Behaviour, View
from behaviours.registry import BUILT_IN, find
from sim.game import Games, mover
from sim.generator import generate
from tests.benchmarks import Row
from vindibot.look.stopwatch import self_play

#: Only every so many plies, and only of the middle of each game.
SKIP, FIRST, LAST = 17, 200, 1000


def positions(seeds: range, size: int = 28) -> list[Games]:
    """Positions of games between two seeds and two malverts; half of the maps have many mines."""
    kept = []
    for seed in seeds:
        where = generate(seed, size=size) if seed % 2 else generate(seed, size=size, walls=20, mines=9)
        seen = self_play(where.new_game(), seed)
        kept += [here.games.copy() for here in seen if FIRST <= here.turn < LAST and here.turn % SKIP == 0]
    return kept


def microseconds(trait: Behaviour, games: Games, repeats: int = 3) -> float:
    """The best time of a few, each on a fresh view."""
    best = float("inf")
    for _ in range(repeats):
        here = View(games, mover(games))
        begin = time.perf_counter()
        trait.vote(here)
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def rows() -> list[Row]:
    """Median, 99th percentile and maximum of every trait, in both versions where there are two."""
    kept = positions(range(8))
    traits = [find(name)() for name in BUILT_IN]
    traits += [find("tavern-finder")(life_threshold=100, beer_life=0, avoid_danger=True, every_step=True)]
    traits += [find("combat")(duel=True, keep_mines=True), find("look-ahead")(depth=9)]
    found = []
    for trait in traits:
        times = [microseconds(trait, games) for games in kept]
        changed = {key: value for key, value in trait if type(trait).model_fields[key].default != value}
        name = type(trait).__name__ + (f" {', '.join(changed)}" if changed else "")
        note = f"p99 {np.percentile(times, 99):.0f} us, max {max(times):.0f} us, {len(kept)} positions"
        found.append(Row(name, f"{np.percentile(times, 50):.0f} us", note=note))
    return found
