"""The rules in `sim`: playouts compared with the C engine, batches, copies, undo, and the costs of a turn."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

from sim import kernels
from sim.board import read_tiles, tile_text
from sim.game import GAME, UNDO, Games
from sim.generator import generate
from sim.maps import Map, map_of, named_map
from sim.paths import distances_from
from sim.playout import below, next_random, random_state
from sim.rules import play, rehash, step, step_all, undo
from tests.support.yardstick import SOURCE, Yardstick, play_out

from . import Row, best, sized

#: Games per measurement of playouts, and the number of measurements of each side.
GAMES, ROUNDS = sized((4000, 7), (20, 1))


def _processor(work: Callable[[], object]) -> float:
    """Return the processor seconds that `work` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _each(work: Callable[[], object], times: int) -> float:
    """Return the processor seconds per call, the smallest of some measurements."""

    def once() -> float:
        return _processor(lambda: [work() for _ in range(times)]) / times

    return best(once)


def rows() -> list[Row]:
    """Return all measurements of this part."""
    kernels.warm()
    with tempfile.TemporaryDirectory() as folder:
        yardstick = Yardstick.build(SOURCE, Path(folder)) if SOURCE.exists() and shutil.which("gcc") else None
        table = [_playouts(size, yardstick) for size in (10, 18, 28)]
    return [*table, *_batches(), *_in_kernels(), *_turns()]


def _playouts(size: int, yardstick: Yardstick | None) -> Row:
    name = f"random playouts, {size}x{size}"
    maps = yardstick.maps(1, size) if yardstick else np.concatenate([generate(seed, size).new_game() for seed in range(16)])
    play_out(maps, 1, 8)
    ours, theirs, notes = [], [], []
    for _ in range(ROUNDS):
        start = time.process_time()
        plies, state_hash = play_out(maps, 1, GAMES)
        ours.append(time.process_time() - start)
        if yardstick:
            told = yardstick.playouts(1, GAMES, size)
            theirs.append(told.seconds)
            if (told.plies, told.state_hash) != (plies, f"{state_hash:016x}"):
                notes.append("THE RESULTS DIFFER")
    figure = f"{plies / min(ours) / 1e6:.0f} M plies/s"
    if not yardstick:
        return Row(name, figure, "", "no yardstick at hand")
    ratio = f"{min(theirs) / min(ours):.2f} of C"
    return Row(name, figure, ratio, notes[0] if notes else "wanted 0.85; equal results")


def _batches() -> list[Row]:
    games = np.repeat(named_map("monastery").new_game(max_turns=10**6), 4096)
    rng = np.random.default_rng(1)
    directions = rng.integers(0, 5, (100, len(games))).astype(np.int8)

    def steps() -> None:
        for chosen in directions:
            step_all(games, chosen)

    nanoseconds = best(lambda: _processor(steps)) / directions.size * 1e9
    single = _each(lambda: step(games, 0, 1), 20000)
    return [
        Row("4096 games stepped in one call", f"{nanoseconds:.1f} ns a step", "", "wanted 20"),
        Row("one game stepped from Python", f"{single * 1e9:.0f} ns"),
    ]


@numba.njit(error_model="numpy", nogil=True)
def _copies(games, times):
    for number in range(times):
        games[number & 7] = games[(number + 1) & 7]
        games[number & 7].turn = number


@numba.njit(error_model="numpy", nogil=True)
def _there_and_back(game, undos, times, hashed):
    """Play ten random plies and undo them, again and again."""
    state, key = random_state(1, 1), np.uint64(0)
    for _ in range(times // 10):
        for depth in range(10):
            state = next_random(state)
            play(game, below(state, 5), undos[depth])
            if hashed:
                key = np.uint64(rehash(key, game, undos[depth]))
        for depth in range(9, -1, -1):
            undo(game, undos[depth])
    return key


def _in_kernels() -> list[Row]:
    games = np.repeat(named_map("monastery").new_game(max_turns=10**6), 8)
    undos = np.zeros(10, UNDO)
    measured: list[tuple[str, Callable[[int], object], int, str]] = [
        ("copy of a game in a kernel", lambda times: _copies(games.copy(), times), 10**6, "wanted 50"),
        ("ply and undo in a kernel", lambda times: _there_and_back(games[0], undos, times, False), 10**6, ""),
        ("ply, hash and undo in a kernel", lambda times: _there_and_back(games[0], undos, times, True), 10**6, ""),
    ]
    table = []
    for name, work, times, note in measured:
        work(10)
        seconds = best(lambda work=work, times=times: _processor(lambda: work(times))) / times
        table.append(Row(name, f"{seconds * 1e9:.1f} ns", "", note))
    return table


def _turns() -> list[Row]:
    """Measure the work that is done once per turn or game, on the largest board."""
    found = named_map("catacombs")
    games: Games = found.new_game()
    text = tile_text(games)
    taverns = found.taverns
    assert games.dtype == GAME
    measured: list[tuple[str, Callable[[], object], int]] = [
        ("read the tiles of 28x28", lambda: read_tiles(text, 28), 5000),
        ("write them", lambda: tile_text(games), 5000),
        ("the map of a running game", lambda: map_of(games), 5000),
        ("distances to all taverns, 28x28", lambda: distances_from(games, 0, taverns), 5000),
        ("all-pairs distances, 28x28", lambda: Map(found.tiles, found.starts, found.spawns).distances, 20),
        ("generate a map of 28x28", lambda: generate(3, 28), 200),
    ]
    return [Row(name, f"{_each(work, times) * 1e6:.1f} us") for name, work, times in measured]
