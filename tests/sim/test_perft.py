"""Perft: distinct states after a number of plies, from positions that are hard on the rules, against files and a second opinion.

A file is a drawing and then lines ``perft DEPTH STATES DIGEST``; comments before the drawing say where it comes from.
"""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from sim.board import draw, parse
from tests.support.perft import distinct_states, perft, state_line
from tests.support.reference import Reference, reference
from tests.support.worlds import DATA

FILES = sorted((DATA / "perft").glob("*.txt"))


def read(path: Path) -> tuple[str, list[tuple[int, int, str]]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    expected = [line.split()[1:] for line in lines if line.startswith("perft ")]
    board = "\n".join(line for line in lines if not line.startswith("perft "))
    return board, [(int(depth), int(states), digest) for depth, states, digest in expected]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_states_and_digest(path: Path) -> None:
    board, expected = read(path)
    games = parse(board)
    for depth, states, digest in expected:
        assert perft(games, depth) == (states, digest), f"depth {depth} from\n{draw(games)}"


def _key(opinion: Reference) -> str:
    turn, status, heroes, tiles = opinion.snapshot()
    return repr((turn, status, [(*hero[:5], hero[6]) for hero in heroes], sorted(tiles.items())))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_second_opinion_counts_the_same_states(path: Path) -> None:
    games = parse(read(path)[0])
    opinions = {"": reference(games)}
    for _ in range(3):
        following = {}
        for opinion in opinions.values():
            for move in range(5):
                after = copy.deepcopy(opinion)
                after.play(move)
                following[_key(after)] = after
        opinions = following
    states = distinct_states(games, 3)
    assert sorted(opinions) == sorted(_key(reference(states[index : index + 1])) for index in range(len(states)))


def test_nothing_is_changed_and_a_finished_game_stays() -> None:
    games = parse("|@1  |\n|    |\nturn 8 of 9")
    before = games.copy()
    assert perft(games, 1)[0] == 3
    assert perft(games, 3) == perft(games, 1)
    assert (games == before).all()
    assert state_line(games) == "8 0|0 0 100 0 0 0|29 11 100 0 0 0|29 17 100 0 0 0|29 23 100 0 0 0|@1      "
