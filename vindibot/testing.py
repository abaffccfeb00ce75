"""For tests of traits: a view from a drawn board or a recorded turn, and what a trait says to it.

A test of a trait is three lines::

    def test_a_coward_steps_away() -> None:
        here = view('''
            |  @1@2|
            |  ##  |
        ''')
        assert favourites(Coward(), here) == {WEST}

and on a turn of a recorded game, with the history that the bot had then::

    assert favourites(Coward(), view("recordings/20250131-seed-abcd-hero1.jsonl", turn=212)) == {WEST}

How boards are drawn is said in `sim.board`.

`check_trait` puts a trait through a suite of checks that any trait should pass, on many odd boards; one test for each check::

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    def test_the_coward_keeps_the_rules(check: Check) -> None:
        check(Coward())
"""

from __future__ import annotations

from inspect import isgenerator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vindibot.base import hidden_package

if _hidden := hidden_package():
    raise ImportError(_hidden)

from behaviours.base import Behaviour, SearchInfo, View, as_votes, plain_info, plain_votes
from vindibot.devtools import CHECKS, MOST_ANSWERS, Check, ConformanceError, check_trait, check_turn
from vindibot.games import NODES as NODES, view

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "check_trait",
    "check_turn",
    "favourites",
    "search_info",
    "view",
    "votes",
]


def votes(behaviour: Behaviour, view: View) -> NDArray[np.float64] | None:
    """What a trait says in the end, before any weight: five votes in the order of the directions, None for no opinion.

    An anytime trait is run until it ends (it should, within the view's budget), or has given `MOST_ANSWERS` answers. Raises
    what the trait raises, and `behaviours.VoteError` for an answer that is no vote.
    """
    return as_votes(search_info(behaviour, view))


def search_info(behaviour: Behaviour, view: View) -> SearchInfo:
    """What a trait says in the end, with what led to it: depth, score, nodes, line and goal where it gives them.

    The votes are five floats in a tuple, or None; a trait that answers with votes alone has a thought with nothing else in
    it. Otherwise as `votes`.
    """
    answer = behaviour.vote(view)
    if not isgenerator(answer):
        return _plain(answer)
    last = SearchInfo(None)
    for better in islice(answer, MOST_ANSWERS):
        last = _plain(better)
    return last


def _plain(answer: Any) -> SearchInfo:
    return plain_info(answer) or SearchInfo(plain_votes(answer))


def favourites(behaviour: Behaviour, view: View) -> set[int]:
    """The candidates (`View.moves`) that a trait votes highest for; all that tie, and the empty set for no opinion."""
    said = votes(behaviour, view)
    if said is None:
        return set()
    best = max(said[move] for move in view.moves)
    return {move for move in view.moves if said[move] == best}
