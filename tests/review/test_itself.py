"""A reviewer that is the bot itself, with the same nodes, marks hardly any move of the bot."""

from __future__ import annotations

import numpy as np
import pytest

from behaviours.base import RECENT_TURNS, Budget, View
from sim.game import DIRECTIONS, GAME, RUNNING
from sim.generator import generate
from vindibot.config.bots import load_bot
from vindibot.engine.asking import best_moves
from vindibot.games.files.review import Thresholds
from vindibot.games.history import GameHistory
from vindibot.review.turns import Reviewer, positions, review_turn

#: Number of nodes per move of the bot and of the reviewer, and number of plies of the game.
NODES, PLIES = 20_000, 200
#: Largest share of moves that the reviewer may mark.
MOST = 0.02


@pytest.mark.slow_long
def test_a_bot_that_reviews_itself_marks_at_most_two_moves_in_a_hundred() -> None:
    bot = load_bot("versions/strong-1")
    history = GameHistory(first=generate(3, size=14).new_game(max_turns=PLIES))
    recent = [np.zeros(0, GAME)] * 4
    while history.last["status"].item(0) == RUNNING:
        games = history.state(-1)
        me = int(games["turn"].item(0)) % 4
        moves = best_moves(bot, View(games, me, recent=recent[me], budget=Budget(nodes=NODES)))
        recent[me] = np.concatenate((recent[me], games))[-RECENT_TURNS:]
        history.play(min(DIRECTIONS.index(move) for move in moves))
    reviewer = Reviewer(bot, NODES, 40, Thresholds())
    turns = [review_turn(position, reviewer) for position in positions(history)]
    assert len(turns) == PLIES
    assert sum(turn.counts for turn in turns) <= MOST * PLIES
