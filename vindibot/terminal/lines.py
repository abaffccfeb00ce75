"""A game that is watched, in words: a line for each state, and how it ended."""

from __future__ import annotations

from collections.abc import Iterator

from sim.game import CRASH, DIRECTIONS, RUNNING, row_column
from vindibot.base import printable
from vindibot.games import GameHistory, Ply, reason_of


def move_word(move: int) -> str:
    """A move as a word; a crash is one too."""
    return "crashed" if move == CRASH else DIRECTIONS[move]


def ending_of(history: GameHistory) -> str:
    """How a game ended, as far as is known."""
    if history.ending or not history:
        return history.ending or ""
    status = history.last["status"].item(0)
    return reason_of(status) if status != RUNNING else "it broke off"


def lines_of(history: GameHistory, start: int = 0) -> Iterator[str]:
    """A line for each state there is, from number `start` on: what led to it, and how the mover is."""
    if start == 0 and history:
        known = "what came before is not known" if history.begins_late else "the first state"
        yield f"turn {history.turn(0)}: {known}"
    for ply in history.plies(max(0, start - 1)):
        yield _line(history, ply)


def _line(history: GameHistory, ply: Ply) -> str:
    if ply.mover is None or ply.move is None:
        return f"turn {ply.turn}: what came before is not known"
    hero = ply.after[0]["hero"][ply.mover]
    row, column = row_column(int(hero["pos"]))
    name = printable(history.names[ply.mover])
    facts = f"at ({row}, {column}), life {hero['life']}, gold {hero['gold']}, mines {hero['mines']}"
    return f"turn {ply.turn}: @{ply.mover + 1} {name} {move_word(ply.move)}, {facts}"
