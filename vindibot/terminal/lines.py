"""A watched game as text: a line per state, and a text about the end of the game."""

from __future__ import annotations

from collections.abc import Iterator

from sim.game import CRASH, DIRECTIONS, RUNNING, row_column
from vindibot.base.output.text import printable
from vindibot.games.history import GameHistory, Ply
from vindibot.games.outcome import reason_of


def move_word(move: int) -> str:
    """Return a move (0..4 or `CRASH`) as a word."""
    return "crashed" if move == CRASH else DIRECTIONS[move]


def ending_text(history: GameHistory) -> str:
    """Return the reason why a game ended, as text. If the reason is not known, return "it broke off", or "" without any state."""
    if history.ending or not history:
        return history.ending or ""
    status = history.last["status"].item(0)
    return reason_of(status) if status != RUNNING else "it broke off"


def lines_of(history: GameHistory, start: int = 0) -> Iterator[str]:
    """Yield a line of text per state, beginning with state number `start` (from 0).

    A line shows the move that led to the state, and the hero that made this move. The hero is shown as it is after the move.
    """
    if start == 0 and history:
        known = "what came before is not known" if history.begins_late else "the first state"
        yield f"turn {history.turn(0)}: {known}"
    for ply in history.plies(max(0, start - 1)):
        yield f"turn {ply.turn}: {_ply_text(history, ply)}"


def _ply_text(history: GameHistory, ply: Ply) -> str:
    if ply.mover is None or ply.move is None:
        return "what came before is not known"
    hero = ply.after[0]["hero"][ply.mover]
    row, column = row_column(int(hero["pos"]))
    facts = f"at ({row}, {column}), life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
    return f"@{ply.mover + 1} {printable(history.names[ply.mover])} {move_word(ply.move)}, {facts}"
