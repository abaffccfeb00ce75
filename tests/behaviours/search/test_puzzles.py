"""The puzzles: their solutions are proven by trying everything, and the search finds them, with every bot's weights."""

from __future__ import annotations

import pytest

from behaviours.rollout import Rollout
from behaviours.search import Search
from tests.support.puzzles import Puzzle, proven, read_puzzles
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped_folder
from vindibot.testing import favourites, view

PUZZLES = read_puzzles()


#: Puzzles solved by dying: a search that sets a price on it may think that too dear.
BY_DYING = {"dying to be healed"}


def searches() -> dict[str, Search]:
    """The search with its defaults, and as the bots that ship set it."""
    found = {"defaults": Search()}
    for name in sorted(path.stem for path in (shipped_folder() / "bots").glob("*.toml")):
        for _, trait in load_bot(name).build():
            if isinstance(trait, Search) and trait not in found.values():
                found[name] = trait
    return found


SEARCHES = searches()


def test_there_are_many() -> None:
    assert len(PUZZLES) >= 40
    assert len({puzzle.name for puzzle in PUZZLES}) == len(PUZZLES)


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_no_other_direction_solves_a_puzzle(puzzle: Puzzle) -> None:
    assert proven(puzzle) == puzzle.best


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_the_search_solves_a_puzzle(puzzle: Puzzle, search: Search) -> None:
    if puzzle.name in BY_DYING and search.death:
        pytest.skip("this search sets a price on dying")
    for nodes in (puzzle.nodes, 4 * puzzle.nodes):
        found = favourites(search, view(puzzle.games, nodes=nodes))
        assert found, f"no answer in {nodes} nodes"
        assert found <= puzzle.best, f"{nodes} nodes\n{puzzle.board}"


@pytest.mark.parametrize("puzzle", PUZZLES, ids=str)
def test_playing_plans_out_solves_a_puzzle(puzzle: Puzzle) -> None:
    if puzzle.name in BY_DYING:
        pytest.skip("rollouts set a price on dying")
    assert favourites(Rollout(), view(puzzle.games, nodes=60_000)) <= puzzle.best, puzzle.board
