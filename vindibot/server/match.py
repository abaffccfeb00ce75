"""Private matches: a game whose map, seed and seats are given. It begins when all reserved seats have been taken."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Protocol

from sim.maps import Map
from vindibot.games import Reason
from vindibot.server.room import Room, Waiter
from vindibot.server.users import User


@dataclass(frozen=True)
class MatchResult:
    """How a match went. `moves` are 0..4 or `sim.game.CRASH`, from the first ply on; `ending` is "finished" or
    "all-crashed"."""

    game_id: str
    map: Map
    seed: int
    names: tuple[str, ...]
    gold: tuple[int, ...]
    crashed: tuple[bool, ...]
    moves: tuple[int, ...]
    turn: int
    ending: Reason

    @property
    def winner(self) -> int | None:
        """The hero (0..3) with most gold, None if the two best have equal gold."""
        best = max(self.gold)
        return self.gold.index(best) if self.gold.count(best) == 1 else None


@dataclass(eq=False)
class Claim:
    """A client that asked for a game: `waiter` is his open request, `room` and `seat` are set once his game begins."""

    user: User
    waiter: Waiter
    match: Match | None = None
    room: Room | None = None
    seat: int = -1


class Desk(Protocol):
    """Where clients of certain keys wait for games of their own instead of the open arena (a league, say)."""

    async def admit(self, key: str) -> str | None:
        """The name of the bot with this key, None if it is none of this desk's."""

    def meet(self, key: str, user: User) -> None:
        """This is the user whose key was admitted."""

    def seat(self, claim: Claim) -> bool:
        """Whether this desk takes the client. Raises `Refusal`."""

    def left(self, claim: Claim) -> None:
        """This client has gone; perhaps he never was here."""


@dataclass(eq=False)
class Match:
    """A match that was arranged. `seats` are users, None for the server's random bots; `max_turns` counts plies.

    `seat_limits_ms` are the limits of seats that have one of their own, None for those that have that of the match.
    """

    map: Map
    seed: int
    seats: tuple[User | None, ...]
    max_turns: int
    time_limit_ms: int
    pace: str
    training: bool
    rated: bool = False
    seat_limits_ms: tuple[int | None, ...] = (None, None, None, None)
    claims: dict[int, Claim] = field(default_factory=dict)
    room: Room | None = None
    cancelled: bool = False
    _begun: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)

    def open_seat(self, user: User) -> int | None:
        """The first seat that is reserved for this user and not taken, None if there is none."""
        if self.room is not None or self.cancelled:
            return None
        free = (index for index, owner in enumerate(self.seats) if owner is user and index not in self.claims)
        return next(free, None)

    def complete(self) -> bool:
        """Whether every reserved seat is taken."""
        return all(owner is None or index in self.claims for index, owner in enumerate(self.seats))

    def missing(self) -> list[str]:
        """The names of those who have not come yet, a name for each seat."""
        return [owner.name for index, owner in enumerate(self.seats) if owner is not None and index not in self.claims]

    async def begun(self) -> str:
        """Wait until the game has begun; returns its id."""
        await self._begun.wait()
        return self.room.id if self.room is not None else ""

    async def ended(self) -> MatchResult | None:
        """Wait for the end of the game; None if the match was cancelled."""
        await self._ended.wait()
        return self.result()

    def result(self) -> MatchResult | None:
        """How it went; None if it has not ended."""
        if self.room is None or not self.room.finished:
            return None
        room, heroes = self.room, self.room.games[0]["hero"]
        return MatchResult(
            game_id=room.id,
            map=self.map,
            seed=self.seed,
            names=tuple(seat.player.name for seat in room.seats),
            gold=tuple(heroes["gold"].tolist()),
            crashed=tuple(bool(crashed) for crashed in heroes["crashed"]),
            moves=tuple(room.moves),
            turn=room.turn,
            ending=room.ending,
        )

    def set_begun(self, room: Room) -> None:
        """Called by the lobby."""
        self.room = room
        self._begun.set()

    def set_ended(self) -> None:
        """Called by the lobby, also if the match is cancelled."""
        self._begun.set()
        self._ended.set()
