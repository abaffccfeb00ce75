"""Moments: single turns of games, each with the recent turns of the hero that moves, in a small file of JSON lines. Tests of bots
use moments.

A line has an earlier state as a drawing, and the moves from this state to the moment, one letter per ply. So a file of ten
moments has only a few kilobytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from behaviours.base import RECENT_TURNS, Budget, View
from sim.board import BoardError, draw, parse
from sim.game import CRASH, GAME, PLIES_PER_ROUND
from vindibot.base.errors import VindibotError
from vindibot.games.files.lines import fault, read_lines
from vindibot.games.history import GameHistory

#: The letters of the moves 0..5; 5 is a crash.
_LETTERS = ".NSEWx"


class MomentError(VindibotError):
    """A moment cannot be read. The message names the file, the line and the reason."""


class _MomentLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    turn: int
    hero: int = Field(ge=1, le=4)
    game: str = ""
    board: str
    moves: Annotated[str, Field(pattern=rf"^[{_LETTERS}]*$")] = ""


def write_moment(history: GameHistory, number: int) -> str:
    """Return the moment of state `number` of a game as a line of JSON, without a line end."""
    moves = history.moves
    start = max(0, number - PLIES_PER_ROUND * RECENT_TURNS)
    gaps = [ply + 1 for ply in range(start, number) if not 0 <= moves[ply] <= CRASH]
    start = max([start, *gaps])
    turn = history.turn(number)
    text = "".join(_LETTERS[move] for move in moves[start:number])
    line = _MomentLine(turn=turn, hero=turn % PLIES_PER_ROUND + 1, game=history.id, board=draw(history.state(start)), moves=text)
    return line.model_dump_json()


def moment(path: Path | str, turn: int, nodes: int | None = 100_000, game: str | None = None) -> View:
    """Return the view of the hero that moves on the protocol's `turn`, from a file that `vindibot review --tests` made.

    `nodes` is the search budget of the view in nodes, None for no limit. `game` is the id of the game, None for the first line
    with this turn. Raises `MomentError` if the file has no such turn or cannot be read.
    """
    for number, line in read_lines(Path(path), MomentError):
        try:
            found = _MomentLine.model_validate_json(line)
            if found.turn != turn or game not in (None, found.game):
                continue
            history = GameHistory(first=parse(found.board))
        except ValidationError as problem:
            raise MomentError(f"{path}, line {number}: {fault(problem, 1)}") from None
        except BoardError as problem:
            raise MomentError(f"{path}, line {number}: board: {problem}") from None
        history.play_all([_LETTERS.index(letter) for letter in found.moves])
        own = range(len(history) % PLIES_PER_ROUND, len(history), PLIES_PER_ROUND)
        recent = np.concatenate([np.zeros(0, GAME), *(history.state(one) for one in own)])
        return View(history.state(len(history)), found.hero - 1, recent=recent, budget=Budget(nodes=nodes))
    raise MomentError(f"{path}: it has no turn {turn}")
