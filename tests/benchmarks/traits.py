"""The time of each trait in the middle of games of four classic bots on 28x28 maps: ``python -m tests.benchmarks traits``.

Each trait gets a new view. So its time includes work that traits could share within a turn (combat map, results of moves). An
anytime trait gets `NODES` nodes.
"""

from __future__ import annotations

import time
from itertools import islice

import numpy as np

from behaviours import Behaviour, Budget, View
from behaviours.registry import BUILT_IN, find
from behaviours.rollout.trait import Rollout
from behaviours.tactics.route import Route, plan_routes
from sim.game import Games, mover
from sim.generator import generate
from tests.benchmarks import Row, sized
from tests.support.paths import TOP
from vindibot.config.bots import load_bot
from vindibot.devtools.bench import self_play
from vindibot.testing import votes

#: Positions are this number of plies apart, in the middle of each game.
SKIP, FIRST, LAST = 17, 200, 1000
#: Budget of nodes for a trait that would use more.
NODES = sized(100_000, 2_000)
#: Number of games with positions, and of maps with forty mines.
GAMES, MAPS = sized((8, 12), (1, 1))
#: The net that the trait `learned` plays.
NET = str(TOP / "config" / "bots" / "learned.npz")


def positions(seeds: range, size: int = 28) -> list[Games]:
    """Return positions of games between two seeds and two malverts. Half of the maps have many mines."""
    kept = []
    for seed in seeds:
        where = generate(seed, size=size) if seed % 2 else generate(seed, size=size, walls=20, mines=9)
        seen = self_play(where.new_game(), seed)
        kept += [here.games.copy() for here in seen if FIRST <= here.turn < LAST and here.turn % SKIP == 0]
    return kept


def microseconds(trait: Behaviour, games: Games, repeats: int = 3) -> float:
    """Return the smallest of a few times, in microseconds, each with a new view."""
    best = float("inf")
    for _ in range(repeats):
        here = View(games, mover(games), budget=Budget(nodes=NODES))
        begin = time.perf_counter()
        votes(trait, here)
        best = min(best, time.perf_counter() - begin)
    return best * 1e6


def forty_mines(count: int = MAPS) -> list[Games]:
    """Return first states on 28x28 maps with 40 mines. All mines can be reached and have no owner."""
    maps = (generate(seed, size=28, walls=20, mines=5) for seed in range(10_000))
    return [found.new_game() for found in islice((found for found in maps if len(found.mines) == 40), count)]


def planning() -> Row:
    """Measure a plan over 40 mines with the default budget: its time, and its value compared with 50 times this budget."""
    shares, times, complete = [], [], 0
    for games in forty_mines():
        trait, here = Route(), View(games, 0)
        times.append(microseconds(trait, games) / 1000)
        last, better = [
            list(plan_routes(trait.params(here), nodes, trait.scale, here.budget.stop))[-1]
            for nodes in (trait.nodes, 50 * trait.nodes)
        ]
        shares.append(max(last.values) / max(better.values))
        complete += last.complete
    note = f"max {max(times):.1f} ms, {len(times)} maps, {complete} searched to the end; the route is worth "
    note += f"{100 * np.mean(shares):.1f}% (at least {100 * min(shares):.1f}%) of the one found with 50 times the nodes"
    return Row("Route, 40 mines on 28x28, the whole game ahead", f"{np.percentile(times, 50):.1f} ms", note=note)


def rollout_of(version: str) -> Rollout:
    """Return the trait `rollout` of a version of the bot `strong`."""
    bot = load_bot(TOP / "config" / "bots" / "versions" / f"{version}.toml")
    return next(trait for _, trait in bot.build() if isinstance(trait, Rollout))


def rows() -> list[Row]:
    """Return the median, 99th percentile and maximum of every trait (of both versions, if it has two), and of long routes."""
    kept = positions(range(GAMES))
    traits = [find(name)(**({"net": NET} if name == "learned" else {})) for name in BUILT_IN]
    traits += [find("tavern-finder")(life_threshold=100, beer_life=0, avoid_danger=True, every_step=True)]
    traits += [find("combat")(duel=True, keep_mines=True), find("look-ahead")(depth=9)]
    found = []
    for trait in traits:
        times = [microseconds(trait, games) for games in kept]
        changed = {key: value for key, value in trait if type(trait).model_fields[key].default != value}
        name = type(trait).__name__ + (f" {', '.join(changed)}" if changed else "")
        note = f"p99 {np.percentile(times, 99):.0f} us, max {max(times):.0f} us, {len(kept)} positions"
        found.append(Row(name, f"{np.percentile(times, 50):.0f} us", note=note))
    return [*found, planning()]
