"""The turns of a game that can be reviewed, each with its state, the hero's recent turns, and the move that was played."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np

from behaviours.base import RECENT_TURNS, Budget, View
from sim.game import CRASH, GAME, PLIES_PER_ROUND, RUNNING, STAY, Games
from vindibot.games.history import GameHistory
from vindibot.review.kinds import CYCLE_KINDS, Cycle, CycleFinder

#: All heroes.
HEROES = (0, 1, 2, 3)

#: The numbers of a turn as bytes: the number of its state, the turn, the hero, the move, the kind of its cycle (-1: none) and the
#: rival in it.
_HEAD = struct.Struct("<6i")


@dataclass(frozen=True, eq=False)
class TurnPosition:
    """A turn of one hero.

    - `number`: the number of the state in the history. `turn`: the turn of the protocol. `me`: the hero, 0..3.
    - `games`: the state. `recent`: the states on the hero's earlier turns, oldest first, at most `RECENT_TURNS`.
    - `move`: the direction that was played, 0..4. A direction without an effect counts as Stay.
    - `cycle`: the cycle in which the hero is, None if it is in none.
    """

    number: int
    turn: int
    me: int
    move: int
    games: Games = field(repr=False)
    recent: Games = field(repr=False)
    cycle: Cycle | None = None

    def to_bytes(self) -> bytes:
        """Return the turn as bytes."""
        cycle = (-1, 0) if self.cycle is None else (CYCLE_KINDS.index(self.cycle.kind), self.cycle.rival)
        return _HEAD.pack(self.number, self.turn, self.me, self.move, *cycle) + self.games.tobytes() + self.recent.tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> TurnPosition:
        """Return the turn that `to_bytes` has written."""
        games = np.frombuffer(data, GAME, offset=_HEAD.size)
        number, turn, me, move, kind, rival = _HEAD.unpack_from(data)
        cycle = None if kind < 0 else Cycle(CYCLE_KINDS[kind], rival)
        return cls(number, turn, me, move, games[:1], games[1:], cycle)

    def view(self, nodes: int | None = None) -> View:
        """Return the view of the hero on this turn, with a search budget of `nodes` nodes, None for no limit."""
        return View(self.games.copy(), self.me, recent=self.recent.copy(), budget=Budget(nodes=nodes))


def positions(history: GameHistory, heroes: Collection[int] = HEROES) -> Iterator[TurnPosition]:
    """Yield the turns of `heroes` (0..3) in order, without turns of crashed heroes and turns whose move is unknown."""
    before: list[list[Games]] = [[] for _ in HEROES]
    cycles = CycleFinder(history)
    for ply in history:
        games = ply.before
        me = int(games["turn"].item(0)) % PLIES_PER_ROUND
        move = ply.move
        if move is None and ply.number in history.ballots:
            move = history.ballots[ply.number].direction
        crashed = bool(games["hero"]["crashed"][0, me]) or move == CRASH
        if me in heroes and move is not None and not crashed and games["status"].item(0) == RUNNING:
            recent = np.concatenate(before[me]) if before[me] else np.zeros(0, GAME)
            here, cycle = View(games, me), cycles.cycle_of(ply.number, me)
            yield TurnPosition(ply.number, here.turn, me, move if move in here.moves else STAY, games, recent, cycle)
        before[me] = [*before[me][1 - RECENT_TURNS :], games]
