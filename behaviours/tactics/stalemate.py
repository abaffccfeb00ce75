"""Stalemate: do something else than in the last rounds."""

from __future__ import annotations

import itertools
from typing import Any

from pydantic import Field, model_validator

from behaviours.base import RECENT_TURNS, Behaviour, View, Votes
from sim.game import MINE, OFFSET, STAY, STRIDE, TILE_BITS, Games

#: Enemies farther away than this many squares, corners counted along both sides, are no part of a loop.
NEAR = 4


class Stalemate(Behaviour):
    """Breaks loops: votes against what was done again and again in the last rounds, the more often the stronger.

    *Going round.* Our square, our mines, and the enemies near us make a situation. If the same situation occurred at least
    `min_repeats` times in our last `window` turns, each move is voted -`push` for every time that we made it there.

    *To and fro over a mine.* Taking a mine beside us is voted -`retake` for every time that it was taken from us in our last
    `window` turns.
    """

    window: int = Field(8, ge=1, le=RECENT_TURNS, description="how many of our last turns are looked at; more find longer loops")
    push: float = Field(1.0, ge=0, le=100, description="vote against a move, per time that it led round in a circle")
    min_repeats: int = Field(
        2, ge=1, le=RECENT_TURNS, description="how often the same situation must have been there, at most `window`"
    )
    retake: float = Field(8.0, ge=0, le=100, description="vote against taking a mine, per time that it was lately taken from us")

    @model_validator(mode="after")
    def _can_vote(self) -> Stalemate:
        if self.min_repeats > self.window:
            raise ValueError(f"can never vote: min_repeats ({self.min_repeats}) must be at most window ({self.window})")
        return self

    def vote(self, view: View) -> Votes:
        """Negative votes, or nothing."""
        past = view.recent[-self.window :]
        if len(past) == 0:
            return None
        votes: dict[int, float] = {}
        now = _situation(view.games, 0, view.me)
        same = [turn for turn in range(len(past)) if _situation(past, turn, view.me) == now]
        if len(same) >= self.min_repeats:
            for turn in same:
                move = _move_of(view, past, turn)
                if move in view.moves:
                    votes[move] = votes.get(move, 0.0) - self.push
        if self.retake:
            for move in view.moves:
                lost = _times_lost(view, past, view.pos + int(OFFSET[move])) if move != STAY else 0
                if lost:
                    votes[move] = votes.get(move, 0.0) - self.retake * lost
        return votes or None


def _situation(games: Games, index: int, me: int) -> tuple[Any, ...]:
    """What must be the same for a loop."""
    places = games["hero"]["pos"][index].tolist()
    row, column = divmod(places[me], STRIDE)
    near = [place if abs(place // STRIDE - row) + abs(place % STRIDE - column) <= NEAR else 0 for place in places]
    ours = (games["cell"][index] & TILE_BITS) == MINE + 1 + me
    return (*near, ours.tobytes())


def _move_of(view: View, past: Games, turn: int) -> int:
    """Our order on a turn of the past; what did nothing counts as Stay."""
    following, index = (past, turn + 1) if turn + 1 < len(past) else (view.games, 0)
    move = int(following["hero"]["last_dir"][index, view.me])
    return move if move in view.moves else STAY


def _times_lost(view: View, past: Games, square: int) -> int:
    """How often the mine on a square was taken from us since the first turn of the past."""
    owners = [int(cell) & TILE_BITS for cell in (*past["cell"][:, square], view.cells[square])]
    ours = MINE + 1 + view.me
    return sum(before == ours != after for before, after in itertools.pairwise(owners))
