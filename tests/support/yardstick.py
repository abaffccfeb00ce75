"""The yardstick: a C engine with the same rules, measured in the same run. Our kernels repeat its playouts, state by state."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np

from sim.board import read_tiles
from sim.game import GAME, HERO_SHIFT, RUNNING, STRIDE, TILE_BITS, Games, mirrored, new_game
from sim.playout import below, next_random, random_state
from sim.rules import play
from tests.support.paths import SHARED

SOURCE = SHARED / "yardstick" / "limit.c"

#: The yardstick draws 0..4 for North, East, South, West, Stay.
ORDERS = np.array([1, 3, 2, 4, 0], np.int64)
_PRIME = np.uint64(0x100000001B3)
_BASIS = np.uint64(0xCBF29CE484222325)


@dataclass(frozen=True)
class Playouts:
    """The result of a run of the yardstick. `state_hash` is a hash of the last states of all games."""

    plies: int
    seconds: float
    state_hash: str


@dataclass(frozen=True)
class Yardstick:
    """The compiled yardstick."""

    program: Path

    @classmethod
    def build(cls, source: Path, folder: Path) -> Yardstick:
        """Compile `source` into `folder` with the options that its first lines name."""
        program = folder / "limit"
        subprocess.run(["gcc", "-O3", "-march=native", "-std=gnu99", "-o", str(program), str(source)], check=True)
        return cls(program)

    def _run(self, *arguments: object) -> str:
        command = [str(self.program), *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def playouts(self, seed: int, games: int, size: int) -> Playouts:
        """Play whole games of random moves. The yardstick measures its own processor time."""
        told = json.loads(self._run("playout", seed, games, size))
        return Playouts(told["plies"], told["seconds"], told["hash"])

    def maps(self, seed: int, size: int) -> Games:
        """Return the first states of the games that `playouts` plays one after another, as an array."""
        games = []
        for line in self._run("maps", seed, size).splitlines():
            _, row, column, text = line.split(" ", 3)
            spawns = [*mirrored(int(row), int(column), size)]
            games.append(new_game(read_tiles(text, size)[0], [*spawns], [*spawns]))
        return np.concatenate(games)


@numba.njit(error_model="numpy", nogil=True)
def _mix(total, number):
    return (total ^ np.uint64(number)) * _PRIME


@numba.njit(error_model="numpy", nogil=True)
def _hash(game, total):
    """Return the yardstick's hash of a state: FNV-1a over the numbers in the yardstick's order and layout."""
    stride = np.int64(game["size"]) + 2
    total = _mix(_mix(total, game.turn), game.status)
    for index in range(4):
        hero = game.hero[index]
        pos = np.int64(hero.pos)
        total = _mix(total, (pos // STRIDE) * stride + pos % STRIDE)
        total = _mix(_mix(_mix(_mix(total, hero.life), hero.gold), hero.mines), hero.crashed)
    for row in range(stride):
        for column in range(stride):
            cell = np.int64(game.cell[np.uintp(row * STRIDE + column)])
            total = _mix(total, (cell & TILE_BITS) + 8 * (cell >> HERO_SHIFT))
    return total


@numba.njit(error_model="numpy", nogil=True)
def _play_out(maps, work, seed, games):
    plies, total, game = 0, _BASIS, work[0]
    for number in range(games):
        work[0] = maps[number % len(maps)]
        state = random_state(seed, 1000 + number)
        while game.status == RUNNING:
            state = next_random(state)
            play(game, ORDERS[np.uintp(below(state, 5))], None)
        plies += game.turn
        total = _hash(game, total)
    return plies, total


def play_out(maps: Games, seed: int, games: int) -> tuple[int, int]:
    """Do the same as `Yardstick.playouts` with our kernels: copy a map, play it to its end, hash the last state.

    Return the number of plies and the hash.
    """
    plies, total = _play_out(maps, np.zeros(1, GAME), seed, games)
    return int(plies), int(total)
