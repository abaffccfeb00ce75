"""The lobby: who wants to play finds a game here, and every game is found here by its id."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from sim.game import PLIES_PER_ROUND
from sim.generator import GeneratorError, generate
from sim.maps import Map, MapError, UnknownMapError, read_map
from vindibot.base import UsageError
from vindibot.games import Player
from vindibot.server.archive import Archive
from vindibot.server.database import Database
from vindibot.server.match import Claim, Desk, Match
from vindibot.server.refusal import Refusal, game_error
from vindibot.server.registrations import Registrations
from vindibot.server.room import GRACE_ROUNDS, Room, RoomObserver, RoomSeat, Waiter
from vindibot.server.settings import ServerSettings
from vindibot.server.users import KEY_LENGTH, User, Users, random_word

#: A seat of a private match that one of the server's own random bots takes.
RANDOM_BOT = "random"
SEATS = 4
#: Every seat has the limit of its match.
NO_LIMITS = (None,) * SEATS
ID_LENGTH = 8
MAX_TRAINING_ROUNDS = 600
FULL = "Vindinium - The server is full, try again later"


def training_turns(turns: int | None, default: int) -> int:
    """The plies of a training game: four times `turns`, at most 600 rounds, in 32 bits as the original computes it."""
    if turns is None:
        return PLIES_PER_ROUND * min(MAX_TRAINING_ROUNDS, default)
    plies = PLIES_PER_ROUND * min(MAX_TRAINING_ROUNDS, turns)
    return (plies + 2**31) % 2**32 - 2**31


class Lobby:
    """All rooms, those who wait for one, and the matches that were arranged. Belongs to one event loop."""

    def __init__(self, settings: ServerSettings, observers: Sequence[RoomObserver] = ()) -> None:
        self.settings = settings
        self.store = Database(settings.db)
        self.users = Users(self.store)
        self.registrations = Registrations(settings, self.users)
        self.archive = Archive(self.store, self.users, settings.seed)
        self.rooms: dict[str, Room] = {}
        self.waiting: list[Claim] = []
        self.matches: list[Match] = []
        self.desks: list[Desk] = []
        self._observers: tuple[RoomObserver, ...] = (self, self.archive, *observers)
        self._random = random.Random(settings.seed)
        self._matching = False
        self._arranged: dict[Room, Match] = {}
        self._removals: dict[str, asyncio.TimerHandle] = {}
        self._latest_arena: Room | None = None
        self._closed = False

    # ---- Who and where ----

    async def user(self, key: str, address: str = "") -> User:
        """Whose key this is; `address` is where the request comes from. Raises `Refusal`."""
        user = await self.users.look_up(key)
        for desk in self.desks if len(key) == KEY_LENGTH else ():
            if (name := await desk.admit(key)) is not None:
                user = self.users.admit(key, name)
                desk.meet(key, user)
        if user is None and self.settings.keys == "any" and len(key) == KEY_LENGTH:
            self.registrations.count(address)
            user = self.users.admit(key, f"guest-{random_word(4)}")
        if user is None:
            raise game_error("Key not found")
        return user

    def room(self, room_id: str) -> Room:
        """The room of this id. Raises `Refusal`."""
        room = self.rooms.get(room_id)
        if room is None:
            raise game_error(f"Unknown game {room_id}", 404)
        return room

    # ---- Joining ----

    def join_training(self, user: User, turns: int | None, map_text: str | None) -> Claim:
        """A training game against three random bots, at once; or the seat that is reserved for this user.

        Raises `Refusal`.
        """
        claim = self._new_claim(user)
        if self._take_reserved(claim):
            return claim
        if not self._has_space():
            raise Refusal(503, FULL)
        seed = self._new_seed()
        try:
            game_map = generate(seed) if map_text is None else read_map(map_text)
        except (GeneratorError, MapError, UnknownMapError) as error:
            raise game_error(str(error)) from None
        max_turns = training_turns(turns, self.settings.rounds)
        owners = [user, None, None, None]
        self._start(game_map, seed, owners, [claim], max_turns=max_turns, training=True)
        return claim

    def join_arena(self, user: User) -> Claim:
        """A place in the next arena game, or at the desk or in the seat that is reserved for this user. Raises `Refusal`."""
        claim = self._new_claim(user)
        if not self._take_reserved(claim) and not any(desk.seat(claim) for desk in self.desks):
            if len(self.waiting) >= self.settings.max_waiting:
                raise Refusal(503, FULL)
            self.waiting.append(claim)
            self._match_later()
        return claim

    def leave(self, claim: Claim) -> None:
        """This client has gone. His place is free again if his game has not begun."""
        if claim.room is None:
            if claim in self.waiting:
                self.waiting.remove(claim)
            elif claim.match is not None:
                claim.match.claims = {index: other for index, other in claim.match.claims.items() if other is not claim}
            for desk in self.desks:
                desk.left(claim)

    def _new_claim(self, user: User) -> Claim:
        if self._closed:
            raise Refusal(503, "Vindinium - The server is closing")
        waiter: Waiter = asyncio.get_running_loop().create_future()
        return Claim(user, waiter)

    def _take_reserved(self, claim: Claim) -> bool:
        taken = any(self._reserve(match, claim) for match in self.matches)
        if taken:
            self._match_later()
        return taken

    def _reserve(self, match: Match, claim: Claim) -> bool:
        index = match.open_seat(claim.user)
        if index is None:
            return False
        match.claims[index] = claim
        claim.match = match
        return True

    def _match_later(self) -> None:
        # Some rounds of the loop later, so that who has just gone is not given a game.
        if not self._matching:
            self._matching = True
            asyncio.get_running_loop().call_soon(self._match, GRACE_ROUNDS)

    def _match(self, rounds: int) -> None:
        if rounds:
            asyncio.get_running_loop().call_soon(self._match, rounds - 1)
            return
        self._matching = False
        if self._closed:
            return
        for match in [match for match in self.matches if match.complete()]:
            if not self._has_space():
                return  # until a game has ended
            self.matches.remove(match)
            self._start_match(match)
        while len(self.waiting) >= SEATS and self._has_space():
            self._start_arena()

    def _has_space(self) -> bool:
        """Whether another game may begin; games that are only kept for questions make way."""
        if len(self.rooms) >= self.settings.max_games:
            kept = [room for room in self.rooms.values() if room.finished]
            for room in kept[: len(self.rooms) - self.settings.max_games + 1]:
                self._remove(room)
        return len(self.rooms) < self.settings.max_games

    def _start_arena(self) -> None:
        seed = self._new_seed()
        claims, self.waiting = self.waiting[:SEATS], self.waiting[SEATS:]
        try:
            game_map = generate(seed)
        except GeneratorError as error:
            for claim in claims:
                claim.waiter.set_result(game_error(str(error)))
            return
        max_turns = PLIES_PER_ROUND * self.settings.rounds
        before = self._latest_arena
        owners = [claim.user for claim in claims]
        self._latest_arena = self._start(game_map, seed, owners, claims, max_turns=max_turns, rated=True)
        if before is not None and before.finished and before.id not in self._removals:
            self._remove(before)  # its time was over, but it was the latest

    def _start_match(self, match: Match) -> None:
        claims = [match.claims[index] for index, owner in enumerate(match.seats) if owner is not None]
        room = self._start(
            match.map,
            match.seed,
            match.seats,
            claims,
            max_turns=match.max_turns,
            training=match.training,
            time_limit_ms=match.time_limit_ms,
            pace=match.pace,
            rated=match.rated,
            seat_limits_ms=match.seat_limits_ms,
            match=match,
        )
        match.set_begun(room)

    def _start(
        self,
        game_map: Map,
        seed: int,
        owners: Sequence[User | None],
        claims: Sequence[Claim],
        *,
        max_turns: int,
        training: bool = False,
        time_limit_ms: int | None = None,
        pace: str | None = None,
        rated: bool = False,
        seat_limits_ms: Sequence[int | None] = NO_LIMITS,
        match: Match | None = None,
    ) -> Room:
        """A room that begins now; `claims` are of the owners who are users, in the order of the seats."""
        seats = [
            RoomSeat(index, _player(owner), bot=owner is None, time_limit_ms=limit)
            for index, (owner, limit) in enumerate(zip(owners, seat_limits_ms, strict=True))
        ]
        room = Room(
            self._new_id(),
            game_map.new_game(max_turns, training),
            seats,
            time_limit_ms=time_limit_ms or self.settings.time_limit_ms,
            pace=pace or self.settings.pace,
            seed=seed,
            rated=rated and not training,
            observers=self._observers,
        )
        for seat, claim in zip((seat for seat in seats if not seat.bot), claims, strict=True):
            claim.room, claim.seat = room, seat.index
            seat.waiters.append(claim.waiter)
        self.rooms[room.id] = room
        if match is not None:
            self._arranged[room] = match
        room.begin()
        return room

    def _new_seed(self) -> int:
        return self._random.getrandbits(32)

    def _new_id(self) -> str:
        while True:
            room_id = random_word(ID_LENGTH)
            if room_id not in self.rooms:
                return room_id

    # ---- Private matches ----

    def arrange(
        self,
        map: Map | str | None,  # noqa: A002 - the name of the parameter on the wire and in the configuration
        seats: Sequence[str | User],
        *,
        rounds: int | None = None,
        seed: int | None = None,
        time_limit_ms: int | None = None,
        pace: str | None = None,
        training: bool = False,
        rated: bool = False,
        seat_limits_ms: Sequence[int | None] = NO_LIMITS,
        claims: Sequence[Claim] = (),
    ) -> Match:
        """Arrange a match; the next joins with the keys (or of the users) in `seats`, four with `RANDOM_BOT`, get the seats.

        `map` is a map, the name or text of one, or None for one generated from `seed` (drawn unless given). In a
        training match the crash of any hero ends the game; a `rated` one changes the ratings as an arena game does.
        `seat_limits_ms` are the limits of seats that have one of their own, None for the others. `claims` are clients who
        wait for it already, in the order of the seats. Raises `UsageError`.
        """
        if len(seats) != SEATS or len(seat_limits_ms) != SEATS:
            raise UsageError(f"a match has {SEATS} seats, not {len(seats if len(seats) != SEATS else seat_limits_ms)}")
        owners: list[User | None] = []
        for index, key in enumerate(seats, 1):
            owner = key if isinstance(key, User) else None if key == RANDOM_BOT else self.users.find(key)
            if owner is None and key != RANDOM_BOT:
                raise UsageError(f"seat {index} of the match is for a key that is not registered")
            owners.append(owner)
        if seed is None:
            seed = self._new_seed()
        match = Match(
            map=_map_for_match(map, seed),
            seed=seed,
            seats=tuple(owners),
            max_turns=PLIES_PER_ROUND * (rounds if rounds is not None else self.settings.rounds),
            time_limit_ms=time_limit_ms or self.settings.time_limit_ms,
            pace=pace or self.settings.pace,
            training=training,
            rated=rated,
            seat_limits_ms=tuple(seat_limits_ms),
        )
        self.matches.append(match)
        for claim in claims:
            self._reserve(match, claim)
        self._match_later()
        return match

    def cancel(self, match: Match) -> None:
        """Call off a match that has not begun: who waits for it is told so. One that has begun is left alone."""
        for claim in self.withdraw(match):
            claim.waiter.set_result(game_error("The match was cancelled"))

    def withdraw(self, match: Match) -> list[Claim]:
        """As `cancel`, but who waits for it is not told: these are returned."""
        if match not in self.matches:
            return []
        self.matches.remove(match)
        match.cancelled = True
        match.set_ended()
        waiting = [claim for claim in match.claims.values() if not claim.waiter.done()]
        for claim in waiting:
            claim.match = None
        return waiting

    # ---- What happens in the rooms ----

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`."""

    def ended(self, room: Room) -> None:
        """The game is over: it can be asked for a while longer."""
        self._removals[room.id] = asyncio.get_running_loop().call_later(self.settings.keep_finished_seconds, self._expire, room)
        if len(self.waiting) >= SEATS or self.matches:
            self._match_later()  # they may have waited for space
        match = self._arranged.pop(room, None)
        if match is not None:
            # A moment later: the final state goes to the players first.
            asyncio.get_running_loop().call_soon(match.set_ended)

    def _expire(self, room: Room) -> None:
        self._removals.pop(room.id, None)
        if room is not self._latest_arena:  # which stays until there is a newer one
            self._remove(room)

    def _remove(self, room: Room) -> None:
        self.rooms.pop(room.id, None)
        removal = self._removals.pop(room.id, None)
        if removal is not None:
            removal.cancel()

    def close(self) -> None:
        """Stop every game and send everybody home."""
        self._closed = True
        for claim in self.waiting:
            if not claim.waiter.done():
                claim.waiter.set_result(Refusal(503, "Vindinium - The server is closing"))
        self.waiting.clear()
        for match in list(self.matches):
            self.cancel(match)
        for match in self._arranged.values():
            match.set_ended()
        self.archive.close()
        for room in self.rooms.values():
            room.close()
        for removal in self._removals.values():
            removal.cancel()
        self.rooms.clear()
        self._removals.clear()


def _player(owner: User | None) -> Player:
    return Player(RANDOM_BOT) if owner is None else Player(owner.name, owner.id, owner.elo)


def _map_for_match(wanted: Map | str | None, seed: int) -> Map:
    try:
        return generate(seed) if wanted is None else read_map(wanted) if isinstance(wanted, str) else wanted
    except (GeneratorError, MapError, UnknownMapError) as error:
        raise UsageError(f"the map of the match: {error}") from None
