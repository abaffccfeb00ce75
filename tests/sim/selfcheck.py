"""A digest of the results of all kernels in `sim`: ``python tests/sim/selfcheck.py`` prints it.

A test compares the digest between processes: with compiled kernels, without compilation, and with a check of every index.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np

from sim import kernels
from sim.board import parse
from sim.game import CRASH, UNDO, equal
from sim.generator import generate
from sim.maps import map_of
from sim.paths import distances_from, next_steps
from sim.playout import play_out_all
from sim.rules import effective_moves, position_hash, position_rehash, step, step_all, step_back, step_saving
from tests.support.oracle import check_game, read_games
from tests.support.paths import DATA
from vindibot.games.protocol import ProtocolError

SAMPLE = DATA / "games.jsonl.gz"
BOARD = """
    |@1@2  $3|
    |@3  @4##|
    |$1[]    |
    |        |
    turn 3 of 200
    @1 life 20 gold 3 spawn 0,3
    @2 life 20 gold 2 spawn 0,3
    @3 life 40 gold 2 spawn 1,3
    @4 life 60 gold 1 spawn 1,3
"""


def digest() -> str:
    """Return 16 hexadecimal digits, the same for each way to run the kernels.

    Raise an error if a recorded game does not match.
    """
    for game in read_games(SAMPLE):
        with suppress(ProtocolError):
            check_game(game)
    digest = hashlib.sha256()
    for seed in range(3):
        games = generate(seed, 8 + 2 * seed).new_game(max_turns=160)
        distances = distances_from(games, 0, map_of(games).taverns)
        digest.update(f"{next_steps(games, 0, 1, distances)} {effective_moves(games, 0, 2)}".encode())
        play_out_all(games, seed)
        digest.update(distances.tobytes() + games.tobytes())
    digest.update(map_of(generate(1, 8).new_game()).distances.tobytes())
    digest.update(_there_and_back())
    batch = np.repeat(parse(BOARD), 5)
    step_all(batch, np.arange(5, dtype=np.int8))
    step(batch, 0, CRASH)
    digest.update(batch.tobytes())
    return digest.hexdigest()[:16]


def _there_and_back() -> bytes:
    """Return the bytes of a game after a hundred plies, with heroes that share squares, and after all are undone."""
    games = parse(BOARD)
    before, undos = games.copy(), np.zeros(100, UNDO)
    key = position_hash(games, 0)
    for slot in range(len(undos)):
        assert step_saving(games, 0, slot * slot * 7 % 5, undos, slot)
        key = position_rehash(key, games, 0, undos, slot)
        assert key == position_hash(games, 0)
    after = games.tobytes()
    for slot in reversed(range(len(undos))):
        step_back(games, 0, undos, slot)
    assert equal(games, before)
    return after + int(key).to_bytes(8, "little")


if __name__ == "__main__":
    kernels.warm()
    print(digest())
