"""The puzzles: brute force proves their solutions, and the search finds them, with every bot's weights."""

from __future__ import annotations

import pytest

from behaviours.rollout.trait import Rollout
from behaviours.search.trait import Search
from tests.behaviours.search.puzzles import Puzzle, proven, read_puzzles
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped_folder
from vindibot.testing import favourites, view

PUZZLES = read_puzzles()


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


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_no_other_direction_solves_a_puzzle(puzzle: Puzzle) -> None:
    assert proven(puzzle) == puzzle.best


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
