"""Nets and playouts by part, in nanoseconds, in the middle of games at 18x18: ``python -m tests.benchmarks nets``.

All parts are measured by turns, over many positions of games: one position alone would stay in the processor's caches. The ratio
is the time as a multiple of a ply of random moves in the C engine, and of a ply of the playouts of `strong-3`.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from behaviours import Budget, SearchInfo, View
from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import map_tables_of
from behaviours.common.policy import policy
from behaviours.net.features import find_features
from behaviours.net.network import compiled_networks, load_nets
from behaviours.net.scoring import best_move
from behaviours.rollout.playouts import Scene, rival_move
from behaviours.rollout.trait import Rollout
from sim.game import GAME, Games, mover
from sim.generator import generate
from sim.kernel_types import uint64
from sim.rules import play, step
from tests.benchmarks.traits import rollout_of
from tests.support.paths import TOP
from tests.support.yardstick import SOURCE, Yardstick

from . import Row, best, sized

SIZE, MAPS = 18, sized(8, 1)
#: Plies between two positions of a game, the first and the last ply, and the share of random moves.
SKIP, FIRST, LAST, STRAY = 5, 200, 600, 0.15
#: Number of measurements of each part, of the positions from which playouts begin, and of games of the C engine. Plies of the
#: playouts from a position.
ROUNDS, STARTS, GAMES, PLIES = sized((9, 12, 1000, 60_000), (1, 2, 20, 2_000))
#: The nets that are measured, by file.
NETS = ("learned", "versions/strong-4")
#: What `_work` does in each position: find the features of a decision, score its moves, choose a rival's move, or play a ply.
_FEATURES, _SCORES, _RIVAL, _PLY = range(4)


@numba.njit(error_model="numpy", nogil=True)
def _work(games, where, tables, weights, players, setups, networks, what):
    """Do the same work (`what`) in each position."""
    total, scores, drawn, state = np.int64(0), np.empty(5, np.int64), np.zeros(4, np.int64), uint64(88172645463325252)
    scratch, setup, found = games[:1].copy(), setups[0], players.found[0]
    for number in range(len(games)):
        game, own, me = games[number], tables[where[number]], np.int64(games[number].turn) & 3
        if what == _RIVAL:
            scene = Scene(own, weights[0], players.policies[0], setup, networks[0], found)
            drawn[me] = 1 + number % (len(players.policies) - 1)
            move, state = rival_move(game, scene, players.policies, drawn, players.repeats, players.situations, state)
            total += move
        elif what == _PLY:
            scratch[0] = game
            play(scratch[0], number % 5, None)
        else:
            find_features(game, own, me, found)
            if what == _SCORES:
                total += best_move(networks[0], found, scores)
    return total


def middle_games() -> tuple[Games, list[int], list[Games]]:
    """Return positions of games with the numbers of their maps, and the tables of the maps."""
    games, where, maps = [], [], [generate(seed, size=SIZE) for seed in range(MAPS)]
    for number, place in enumerate(maps):
        game, rng = place.new_game(), np.random.default_rng(number)
        for ply in range(LAST):
            step(game, 0, int(rng.integers(5)) if rng.random() < STRAY else policy(game, 0, mover(game), map_tables_of(place)))
            if ply >= FIRST and ply % SKIP == 0:
                games.append(game.copy())
                where.append(number)
    return np.concatenate(games).astype(GAME), where, [map_tables_of(place) for place in maps]


def _seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    work()
    return time.thread_time() - start


def _playouts(trait: Rollout, starts: Sequence[Games]) -> NDArray[np.float64]:
    """Return the seconds per ply of the playouts from each position, with everything that belongs to a vote."""
    seconds = []
    for games in starts:
        view, infos = View(games, mover(games), budget=Budget(nodes=PLIES)), deque[SearchInfo](maxlen=1)
        spent = _seconds(lambda view=view, infos=infos: infos.extend(trait.vote(view)))
        seconds.append(spent / (infos[0].nodes or 1))
    return np.array(seconds)


def rows() -> list[Row]:
    """Return the time of each part, and the time of a ply of the playouts of `strong-3` and `strong-4`."""
    games, where, tables = middle_games()
    view, strong = View(games[:1].copy(), mover(games[:1])), rollout_of("strong-3")
    weights = compiled_weights(Weights()).copy()
    players = strong.players(view, weights, strong.policies().copy())
    common = (games, np.array(where), np.concatenate(tables), weights, players, strong._setup(view))
    nets = [compiled_networks([load_nets(TOP / "config" / "bots" / f"{name}.npz")[0].policy]) for name in NETS]
    works = [("rules of a ply, and a copy of the game", nets[0], _PLY), ("features of five moves", nets[0], _FEATURES)]
    works += [(f"features and scores of five moves, {name}", net, _SCORES) for name, net in zip(NETS, nets, strict=True)]
    works += [("move of a rival in a playout", nets[0], _RIVAL)]
    parts: dict[str, Callable[[], Any]] = {
        name: lambda net=net, what=what: best(lambda: _seconds(lambda: _work(*common, net, what))) / len(games)
        for name, net, what in works
    }
    starts = [games[number : number + 1].copy() for number in np.linspace(0, len(games) - 1, STARTS).astype(int)]
    for name in ("strong-3", "strong-4"):
        trait = rollout_of(name)
        parts[f"ply of a playout, {name}"] = lambda trait=trait: _playouts(trait, starts)
    with tempfile.TemporaryDirectory() as folder:
        if SOURCE.exists() and shutil.which("gcc"):
            engine = Yardstick.build(SOURCE, Path(folder))
            parts["ply of random moves in C"] = lambda: (run := engine.playouts(1, GAMES, SIZE)).seconds / run.plies
        for measure in parts.values():  # compiles the kernels
            measure()
        rounds = [{name: measure() for name, measure in parts.items()} for _ in range(ROUNDS)]
    times = {name: float(np.mean(np.min([times[name] for times in rounds], axis=0))) * 1e9 for name in parts}
    units = {"C": times.get("ply of random moves in C", 0), "strong-3": times["ply of a playout, strong-3"]}
    return [
        Row(
            f"{name}, {SIZE}x{SIZE}",
            f"{time:.0f} ns",
            ", ".join(f"{time / unit:.1f} of {text}" for text, unit in units.items() if unit),
        )
        for name, time in times.items()
    ]
