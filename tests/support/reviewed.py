"""The reviewed game of the tests, `tests/data/reviewed.review.jsonl`."""

from __future__ import annotations

from tests.support.paths import TOP
from vindibot.games.files.review import ReviewedTurn, read_review
from vindibot.games.history import GameHistory
from vindibot.games.position import read_moves

SAMPLE = TOP / "tests" / "data" / "reviewed.review.jsonl"
HISTORY = GameHistory.read(SAMPLE)
REVIEW = read_review(SAMPLE)
assert REVIEW is not None
TURNS = REVIEW.turns
#: The bad moves, the worst first, and in the order of the game.
WORST = REVIEW.worst()
BAD = sorted(WORST, key=lambda one: one.turn)


def heroes_after(one: ReviewedTurn, line: str, plies: int) -> list[tuple[int, int, int]]:
    """Return life, gold and mines of the heroes after some plies of a line, by the rules."""
    game = GameHistory(first=HISTORY.state(HISTORY.at_turn(one.turn)))
    game.play_all(read_moves(line[:plies]))
    return [(hero["life"], hero["gold"], hero["mines"]) for hero in game.last["hero"][0]]
