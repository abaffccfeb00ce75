"""The review of a game in the form of a bundle (docs/viewer-format.md)."""

from __future__ import annotations

from typing import Any

from sim.game import DIRECTIONS
from vindibot.games import PV_LETTERS, GameHistory, Review, ReviewedTurn
from vindibot.viewer.states import StateWriter


def review_part(review: Review, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    """Return a review as part of a bundle. Turns whose state is unknown are left out.

    Only turns with bad moves have expected lines. The lines of all turns would make the page several times larger.
    """
    header = review.header
    known = ((one, history.at_turn(one.turn)) for one in review.turns)
    return {
        "bot": header.bot,
        "nodes": header.nodes,
        "rounds": header.rounds,
        "heroes": [hero - 1 for hero in header.heroes],
        "thresholds": header.thresholds.model_dump(),
        "turns": [_turn(one, number, history, states) for one, number in known if history.turn(number) == one.turn],
    }


def _turn(one: ReviewedTurn, number: int, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    written: dict[str, Any] = {
        "ply": number,
        "turn": one.turn,
        "hero": one.hero - 1,
        "move": DIRECTIONS.index(one.move),
        "best": DIRECTIONS.index(one.best),
        "loss": one.loss,
        "error": one.loss_error,
        "mark": one.mark,
        "kind": one.kind,
        "values": [[DIRECTIONS.index(value.move), list(value.gold), value.less, value.less_error] for value in one.values],
    }
    if one.mark:
        for key, line in (("best_line", one.best_line), ("played_line", one.played_line)):
            written[key] = _line(line, number, history, states)
    return written


def _line(letters: str, number: int, history: GameHistory, states: StateWriter) -> list[dict[str, Any]]:
    """Return the plies of a line that begins in state `number`."""
    line = GameHistory(first=history.state(number))
    line.play_all([PV_LETTERS.index(letter) for letter in letters])
    return [states.ply(ply) for ply in line]
