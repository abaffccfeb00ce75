"""Matches: games with a given map, seed and seats. A match begins when all its reserved seats are taken."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Protocol

from sim.game import SEATS, Games
from sim.maps import Map
from vindibot.games.outcome import Reason
from vindibot.server.ratings import winner_of
from vindibot.server.room import Pacer, Room, Waiter
from vindibot.server.users import User

#: Time limits of the seats if every seat has the time limit of the match.
NO_LIMITS: tuple[int | None, ...] = (None,) * SEATS


@dataclass(frozen=True)
class MatchResult:
    """The result of a match.

    `moves` has one entry per ply: 0..4 or `sim.game.CRASH`. `turn` is the turn at the end of the game. `ending` is "finished"
    or "all-crashed". All other tuples have one entry per hero.
    """

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
        """The hero (0..3) with the most gold, None if two or more heroes share the largest amount of gold."""
        return winner_of(self.gold)


@dataclass(eq=False)
class Claim:
    """A client's place in the queue for a game. `waiter` is the client's open request.

    `match` is the match in which the client has a seat, None without a match. `places` counts the hero towards the limits of its
    key and its address.
    """

    user: User
    waiter: Waiter
    match: Match | None = None
    places: ExitStack = field(default_factory=ExitStack)

    @property
    def room(self) -> Room | None:
        """The room of the client's game, None before the game begins."""
        return None if self.match is None else self.match.room

    @property
    def seat(self) -> int:
        """The client's seat (0..3) in its match."""
        assert self.match is not None
        return next(index for index, claim in self.match.claims.items() if claim is self)


class Matchmaker(Protocol):
    """Arranges the games of certain bots, which then play no open arena games. A league is a matchmaker."""

    def find_bot(self, key: str) -> str | None:
        """Return the name of the bot with this key, or None if this matchmaker does not know the key."""

    def bind(self, key: str, user: User) -> None:
        """Store that this key belongs to this user. Do nothing if `find_bot` does not know the key."""

    def accept(self, claim: Claim) -> bool:
        """Let the client wait in this matchmaker, and return True. Return False if the client's user is not known here.

        Raises `Refusal` for a client that must not wait in this matchmaker.
        """

    def release(self, claim: Claim) -> None:
        """Remove a client that has disconnected. Do nothing if the client does not wait in this matchmaker."""

    def waits_for(self, user: User) -> str:
        """Return in words what the user's clients wait for, "" if none of them waits in this matchmaker."""


@dataclass(eq=False)
class Match:
    """A game with a given map and given players: planned, running or over. `max_turns` is in plies.

    `seats` has a user per seat, None for a random bot of the server. `seat_limits_ms` has a time limit per seat in milliseconds,
    None for the limit of the match. `first_limit_ms` is the time limit for the first move of each hero, if it is longer. `claims`
    has the client on each taken seat, by the seat's index. `room` is set when the game begins. `first` is the state with which
    the game begins. It also sets the length of the game. None stands for the start of a game on `map`.
    """

    map: Map
    seed: int
    seats: tuple[User | None, ...]
    max_turns: int
    time_limit_ms: int
    first_limit_ms: int | None
    pace: str
    pacer: Pacer | None = None
    training: bool = False
    rated: bool = False
    seat_limits_ms: tuple[int | None, ...] = NO_LIMITS
    first: Games | None = field(default=None, repr=False)
    claims: dict[int, Claim] = field(default_factory=dict)
    room: Room | None = None
    cancelled: bool = False
    _begun: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    _ended: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    @property
    def open_seats(self) -> dict[int, User]:
        """The user of each reserved seat that is not taken yet, by the seat's index."""
        return {index: user for index, user in enumerate(self.seats) if user is not None and index not in self.claims}

    def take_seat(self, claim: Claim) -> bool:
        """Give the client a free seat that is reserved for its user. Return whether there was such a seat."""
        index = next((index for index, user in self.open_seats.items() if user is claim.user), None)
        if index is None:
            return False
        self.claims[index] = claim
        claim.match = self
        return True

    def missing(self) -> list[str]:
        """Return the names of the bots whose seats are not taken yet, one name per seat."""
        return [user.name for user in self.open_seats.values()]

    async def begun(self) -> str:
        """Wait until the game has begun, and return its id. Return "" if the match is cancelled."""
        await self._begun.wait()
        return self.room.id if self.room is not None else ""

    async def ended(self) -> MatchResult | None:
        """Wait until the game is over, and return its result. Return None if the match is cancelled or the server closes."""
        await self._ended.wait()
        return self.result()

    def result(self) -> MatchResult | None:
        """Return the result, None if the game has not ended."""
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
        """Tell the match that its game runs in `room`. Only the lobby calls this."""
        self.room = room
        self._begun.set()

    def set_ended(self) -> None:
        """Tell the match that its game is over or that it is cancelled. Only the lobby calls this."""
        self._begun.set()
        self._ended.set()
