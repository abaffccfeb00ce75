"""A referee of the line protocol, written from the protocol's text alone: it shares no code with the arena."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sim.game import OFFSET, RUNNING, STRIDE, Game, copy_of
from sim.maps import Map
from sim.rules import step
from tests.support.commands import environment

WORDS = {"WAIT": 0, "NORTH": 1, "SOUTH": 2, "EAST": 3, "WEST": 4}


class LineGame(NamedTuple):
    """The states in which a program was asked, its answers, their moves (0..4), and what it wrote to standard error."""

    states: list[Game]
    answers: list[str]
    moves: list[int]
    errors: str


def play(command: Sequence[str], folder: Path, where: Map, seat: int, rounds: int) -> LineGame:
    """Return a whole game in which a program has one seat and the other heroes move at random. It must end with exit code 0."""
    game, targets, rng = LineGame([], [], [], ""), [0, 0, 0, 0], np.random.default_rng(1)
    games = where.new_game(4 * rounds)
    with (folder / "errors").open("w") as errors:
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=folder, env=environment(), stdin=pipe, stdout=pipe, stderr=errors, text=True, bufsize=1
        )
    try:
        while games["status"].item(0) == RUNNING:
            mover = games["turn"].item(0) % 4
            move = int(rng.integers(0, 5))
            if mover == seat:
                expert = any("EXPERT_INPUT" in answer for answer in game.answers)
                others = [f"{hero} {_xy(targets[hero])}" for hero in range(4) if expert and hero != seat]
                lines = [*([] if game.answers else [_opening(where, seat)]), *others, *_entities(games)]
                process.stdin.write("".join(f"{line}\n" for line in lines))
                game.answers.append(process.stdout.readline().rstrip("\n"))
                game.states.append(copy_of(games))
                game.moves.append(move := WORDS[game.answers[-1].split()[0]])
            targets[mover] = games["hero"]["pos"].item(mover) + int(OFFSET[move])
            step(games, 0, move)
        rest = process.communicate(timeout=60)[0]
    finally:
        process.kill()
        process.communicate()
    text = (folder / "errors").read_text()
    assert (process.returncode, rest) == (0, ""), text
    return game._replace(errors=text)


def _opening(where: Map, seat: int) -> str:
    rows = [[".#TM"[min(tile, 3)] for tile in row] for row in where.tiles.tolist()]
    for hero, spawn in enumerate(where.spawns):
        rows[spawn[0]][spawn[1]] = str(hero)
    return "\n".join([str(where.size), *map("".join, rows), str(seat)])


def _xy(square: int) -> str:
    return f"{square % STRIDE - 1} {square // STRIDE - 1}"  # x is the column, y the row


def _entities(games: Game) -> list[str]:
    cells = (games["cell"][0] & 15).tolist()
    lines = [f"HERO {number} {_xy(hero['pos'])} {hero['life']} {hero['gold']}" for number, hero in enumerate(games["hero"][0])]
    lines += [f"MINE {tile - 4} {_xy(square)} -1 -1" for square, tile in enumerate(cells) if tile >= 3]
    return [str(len(lines)), *lines]
