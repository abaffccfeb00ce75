"""A readable transcript of a whole game, stored in tests/data. A test compares it, so a change of the rules becomes visible.

``python tests/support/playthrough.py`` writes it anew.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sim.board import draw
from sim.game import CRASH, DIRECTIONS, MINE, RUNNING, STAY, TILE_BITS, Games, row_column
from sim.maps import map_of, named_map
from sim.paths import distances_from, next_steps
from sim.rules import step
from tests.support.paths import DATA

FILE = DATA / "playthrough.txt"
ROUNDS = 60


def order_of(games: Games, me: int, rng: random.Random) -> int:
    """Return a simple move: drink with little life and enough gold, else go to the nearest mine of others, sometimes anywhere."""
    hero = games[0]["hero"][me]
    if hero["crashed"]:
        return STAY
    if games[0]["turn"] == 101:
        return CRASH
    found = map_of(games)
    thirsty = hero["life"] < 45 and hero["gold"] >= 2
    tiles = games[0]["cell"] & TILE_BITS
    goals = found.taverns if thirsty else found.mines[tiles[found.mines] != MINE + 1 + me]
    steps = next_steps(games, 0, me, distances_from(games, 0, goals))
    options = [direction for direction in range(5) if steps >> direction & 1]
    if not options or rng.random() < 0.15:
        options = list(range(5))
    return options[int(rng.random() * len(options))]


def _changes(before: Games, after: Games) -> str:
    words = []
    for index in range(4):
        old, new = before[0]["hero"][index], after[0]["hero"][index]
        told = []
        if old["pos"] != new["pos"]:
            told.append("at {},{}".format(*row_column(int(new["pos"]))))
        told += [f"{name} {new[name]}" for name in ("life", "gold", "mines") if old[name] != new[name]]
        if told:
            words.append(f"@{index + 1} {' '.join(told)}")
    return "; ".join(words)


def transcript() -> str:
    """Return the transcript: a line per ply with the heroes that changed, and the board after every fifth round."""
    games = named_map("courtyard").new_game(max_turns=4 * ROUNDS)
    rng = random.Random(2014)  # random() gives the same numbers in every version of Python
    lines = [draw(games)]
    while games[0]["status"] == RUNNING:
        turn = int(games[0]["turn"])
        me = turn % 4
        move = order_of(games, me, rng)
        before = games.copy()
        step(games, 0, move)
        word = "Crash" if move == CRASH else DIRECTIONS[move]
        lines.append(f"{turn:>3} @{me + 1} {word:<5} {_changes(before, games)}".rstrip())
        if turn % 20 == 19:
            lines += ["", draw(games)]
    return "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    FILE.write_text(transcript())
