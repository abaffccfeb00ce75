"""Stalemate: break loops of the last rounds."""

from __future__ import annotations

import itertools
from typing import Any

from pydantic import Field, model_validator

from behaviours.base import RECENT_TURNS, Behaviour, View, Votes
from sim.game import MINE, OFFSET, STAY, STRIDE, TILE_BITS, Games

#: Largest distance (rows plus columns) of an enemy that is part of a situation.
NEAR = 4


class Stalemate(Behaviour):
    """Vote against moves that repeat our moves of the last rounds. The vote grows with each repetition.

    *Repeated situations.* A situation is our square, our mines, and the squares of the enemies near us. If this situation
    occurred at least `min_repeats` times in our last `window` turns, vote -`push` per occurrence against the move that we made
    then.

    *Mines that change hands.* Vote against taking a mine beside us: -`retake` for each time that this mine was taken from us in
    our last `window` turns.
    """

    window: int = Field(8, ge=1, le=RECENT_TURNS, description="number of our last turns to compare; more turns find longer loops")
    push: float = Field(1.0, ge=0, le=100, description="vote against a move, per repetition of the situation")
    min_repeats: int = Field(
        2, ge=1, le=RECENT_TURNS, description="least number of earlier occurrences of the situation, at most `window`"
    )
    retake: float = Field(
        8.0, ge=0, le=100, description="vote against taking a mine, for each time that this mine was taken from us"
    )

    @model_validator(mode="after")
    def _can_vote(self) -> Stalemate:
        if self.min_repeats > self.window:
            raise ValueError(f"can never vote: min_repeats ({self.min_repeats}) must be at most window ({self.window})")
        return self

    def vote(self, view: View) -> Votes:
        """Return negative votes, or None."""
        recent = view.recent[-self.window :]
        if len(recent) == 0:
            return None
        votes: dict[int, float] = {}
        now = _situation(view.games, 0, view.me)
        turns_here = (recent["hero"]["pos"][:, view.me] == view.pos).nonzero()[0].tolist()
        same = [turn for turn in turns_here if _situation(recent, turn, view.me) == now]
        if len(same) >= self.min_repeats:
            for turn in same:
                move = _move_of(view, recent, turn)
                if move in view.moves:
                    votes[move] = votes.get(move, 0.0) - self.push
        if self.retake:
            for move in view.moves:
                square = view.pos + int(OFFSET[move])
                if move != STAY and view.cells.item(square) & TILE_BITS >= MINE and (lost := _times_lost(view, recent, square)):
                    votes[move] = votes.get(move, 0.0) - self.retake * lost
        return votes or None


def _situation(games: Games, index: int, me: int) -> tuple[Any, ...]:
    """Return the situation of hero `me` (0..3) in ``games[index]``, as a key."""
    places = games["hero"]["pos"][index].tolist()
    row, column = divmod(places[me], STRIDE)
    near = [place if abs(place // STRIDE - row) + abs(place % STRIDE - column) <= NEAR else 0 for place in places]
    ours = (games["cell"][index] & TILE_BITS) == MINE + 1 + me
    return (*near, ours.tobytes())


def _move_of(view: View, recent: Games, turn: int) -> int:
    """Return our move on turn number `turn` of `recent`. A move without an effect counts as Stay."""
    following, index = (recent, turn + 1) if turn + 1 < len(recent) else (view.games, 0)
    move = int(following["hero"]["last_dir"][index, view.me])
    return move if move in view.moves else STAY


def _times_lost(view: View, recent: Games, square: int) -> int:
    """Return the number of times that the mine on a square was taken from us since the first turn of `recent`."""
    owners = [int(cell) & TILE_BITS for cell in (*recent["cell"][:, square], view.cells[square])]
    ours = MINE + 1 + view.me
    return sum(before == ours != after for before, after in itertools.pairwise(owners))
