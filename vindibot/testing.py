"""Functions for tests of traits. They make a view from a drawn board or a recorded turn, and ask a trait for its votes.

A test of a trait has three lines::

    def test_a_coward_steps_away() -> None:
        here = view('''
            |  @1@2|
            |  ##  |
        ''')
        assert favourites(Coward(), here) == {WEST}

The same test on a turn of a recorded game, with the recent turns that the bot knew at this turn::

    assert favourites(Coward(), view("recordings/20250131-seed-abcd-hero1.jsonl", turn=212)) == {WEST}

In a Python session ``view("last", turn=212)`` is a turn of the newest recording in ``recordings/``.

`sim.board` describes the drawings of boards.

`vindibot review --tests` writes tests of the worst moves of a game. They ask a whole bot::

    assert best_moves("mybot", view("test_worst.states.jsonl", turn=212)) <= {"North"}

`check_trait` runs all checks of the conformance suite, on many unusual boards. One test per check::

    @pytest.mark.parametrize("check", CHECKS, ids=str)
    def test_the_coward_conforms(check: Check) -> None:
        check(Coward())
"""

from __future__ import annotations

from inspect import isgenerator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from vindibot.base.startup import hidden_package

if _hidden := hidden_package():
    raise ImportError(_hidden)

from behaviours.base import Behaviour, SearchInfo, View, as_votes, plain_info, plain_votes
from vindibot.devtools.conformance import CHECKS, Check, ConformanceError, check_trait, check_turn
from vindibot.engine.asking import best_moves
from vindibot.engine.trial import MOST_ANSWERS
from vindibot.games.files.recorded_turn import NODES as NODES, view

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "best_moves",
    "check_trait",
    "check_turn",
    "favourites",
    "search_info",
    "view",
    "votes",
]


def votes(behaviour: Behaviour, view: View) -> NDArray[np.float64] | None:
    """Return the votes of a trait on a view, not multiplied by its weight: float64[5] in the order Stay, North, South, East,
    West. Return None for no opinion.

    An anytime trait runs until it ends or has given `MOST_ANSWERS` answers, and its last answer counts. It should end within the
    view's budget. Raises the errors that the trait raises, and `behaviours.VoteError` for an answer that is not a valid vote.
    """
    answer = as_votes(search_info(behaviour, view))
    return None if answer is None else answer + 0.0  # -0 becomes 0


def search_info(behaviour: Behaviour, view: View) -> SearchInfo:
    """Return the last answer of a trait on a view: votes, depth, score, nodes, principal variation and target.

    The votes are a tuple of five floats, or None for no opinion. If the trait answers with votes alone, the other fields are
    empty. For anytime traits and errors, see `votes`.
    """
    answer = behaviour.vote(view)
    info = SearchInfo(None)
    for better in islice(answer, MOST_ANSWERS) if isgenerator(answer) else [answer]:
        info = plain_info(better) or SearchInfo(plain_votes(better))
    return info


def favourites(behaviour: Behaviour, view: View) -> set[int]:
    """Return the moves of `view.moves` (0..4) that get the highest vote of a trait. Several moves may tie. The empty set stands
    for no opinion."""
    weights = votes(behaviour, view)
    if weights is None:
        return set()
    best = max(weights[move] for move in view.moves)
    return {move for move in view.moves if weights[move] == best}
