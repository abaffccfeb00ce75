"""The search solves the puzzles in ``data/puzzles.txt``, with every bot's weights."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from behaviours.rollout.trait import Rollout
from behaviours.search.trait import Search
from sim.board import parse
from sim.game import DIRECTIONS, Games
from tests.support.worlds import DATA
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped_folder
from vindibot.testing import favourites, view


@dataclass(frozen=True)
class Puzzle:
    """A position, the directions that solve it, and the number of nodes within which a search must find them."""

    name: str
    board: str
    best: frozenset[int]
    nodes: int

    @property
    def games(self) -> Games:
        return parse(self.board)

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def puzzle_of(part: str) -> Puzzle:
    """Return a puzzle of the file, whose head describes the format."""
    name, *lines = part.strip().split("\n")
    board = [line for line in lines if re.match(r"\||turn \d|@\d [a-z]", line)]
    facts = dict(line.split(": ", 1) for line in lines if re.match(r"(best|nodes): ", line))
    best = frozenset(DIRECTIONS.index(word) for word in facts["best"].split())
    return Puzzle(name, "\n".join(board), best, int(facts["nodes"]))


PUZZLES = [puzzle_of(part) for part in re.split(r"^== ", (DATA / "puzzles.txt").read_text(), flags=re.MULTILINE)[1:]]


#: Puzzles solved by dying: a search with a penalty per death may not find them.
BY_DYING = {"dying to be healed"}


def searches() -> dict[str, Search]:
    """Return the search with its defaults, and with the parameters of each bot that ships."""
    found = {"defaults": Search()}
    for name in sorted(path.stem for path in (shipped_folder() / "bots").glob("*.toml")):
        for _, trait in load_bot(name).build():
            if isinstance(trait, Search) and trait not in found.values():
                found[name] = trait
    return found


SEARCHES = searches()


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_the_search_solves_a_puzzle(puzzle: Puzzle, search: Search) -> None:
    if puzzle.name in BY_DYING and search.death:
        pytest.skip("this search has a penalty per death")
    for nodes in (puzzle.nodes, 4 * puzzle.nodes):
        found = favourites(search, view(puzzle.games, nodes=nodes))
        assert found, f"no answer in {nodes} nodes"
        assert found <= puzzle.best, f"{nodes} nodes\n{puzzle.board}"


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_rollouts_solve_a_puzzle(puzzle: Puzzle) -> None:
    if puzzle.name in BY_DYING:
        pytest.skip("rollouts have a penalty per death")
    assert favourites(Rollout(), view(puzzle.games, nodes=60_000)) <= puzzle.best, puzzle.board
