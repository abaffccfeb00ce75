"""The lobby finds a game for each client that wants to play, and looks up games by their ids."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

import numpy as np

from sim.game import PLIES_PER_ROUND, SEATS, Games
from sim.generator import GeneratorError, generate
from sim.maps import Map, MapError, UnknownMapError, read_map
from vindibot.base.errors import UsageError
from vindibot.games.game_record import map_before
from vindibot.games.protocol import Player
from vindibot.server.limits import ClientLimits
from vindibot.server.match import NO_LIMITS, Claim, Match, Matchmaker
from vindibot.server.refusal import Refusal, closing_refusal, game_error
from vindibot.server.room import GRACE_ROUNDS, Pacer, Room, RoomObserver, RoomSeat
from vindibot.server.settings import ServerSettings
from vindibot.server.users import KEY_LENGTH, User, Users, random_word

#: Name of the server's random bots. In the seats of a private match, this name stands for such a bot.
RANDOM_BOT = "random"
ID_LENGTH = 8
MAX_TRAINING_ROUNDS = 600
FULL = "Vindinium - The server is full, try again later"


def training_turns(turns: int | None, default: int) -> int:
    """Return the number of plies in a training game of `turns` rounds. If `turns` is None, the game has `default` rounds.

    More than 600 rounds become 600. The multiplication overflows at 32 bits, as in the original server.
    """
    plies = PLIES_PER_ROUND * min(MAX_TRAINING_ROUNDS, default if turns is None else turns)
    return (plies + 2**31) % 2**32 - 2**31


class Lobby(RoomObserver):
    """All rooms, all clients that wait for a game, and all private matches. Use a lobby in one event loop only."""

    def __init__(self, settings: ServerSettings, users: Users, observers: Sequence[RoomObserver] = ()) -> None:
        self.settings = settings
        self.users = users
        self.limits = ClientLimits(settings)
        self.rooms: dict[str, Room] = {}
        self.waiting: list[Claim] = []
        self.matches: list[Match] = []
        self.matchmakers: list[Matchmaker] = []
        self._observers: tuple[RoomObserver, ...] = (self, *observers)
        self._random = random.Random(settings.seed)
        self._matching = False
        self._running: dict[Room, Match] = {}
        self._closed = False

    def observe(self, *observers: RoomObserver) -> None:
        """Let these objects observe the rooms of all later games."""
        self._observers += observers

    # ---- Finding ----

    async def user(self, key: str, address: str = "") -> User:
        """Return the user with this key. Raises `Refusal` if there is none.

        A key of a league's bot is registered on its first use. With the setting ``keys = "any"``, every unknown key of 8
        characters is registered on its first use. `address` is the client's address, for the limits per address.
        """
        user, owners = self._look_up(key, address)
        if user is None:
            user = await self.users.admit(key, lambda: owners[0][1] if owners else self._name_newcomer(address))
        for matchmaker, _ in owners:
            matchmaker.bind(key, user)
        return user

    def known_user(self, key: str, address: str = "") -> User | None:
        """Return the user with this key, or None for a key that `user` would register. Raises `Refusal` for a wrong key.

        `address` is the client's address, for the limits per address.
        """
        return self._look_up(key, address)[0]

    def _look_up(self, key: str, address: str) -> tuple[User | None, list[tuple[Matchmaker, str]]]:
        """Return the user with this key, None if there is none yet, and the matchmakers with a bot of this key and its name.

        Count a wrong key and raise `Refusal`.
        """
        user = self.users.find(key)
        names = [(matchmaker, matchmaker.find_bot(key)) for matchmaker in self.matchmakers]
        owners = [(matchmaker, name) for matchmaker, name in names if name is not None]
        if user is None and not owners and (self.settings.keys != "any" or len(key) != KEY_LENGTH):
            self.limits.count_wrong_key(address)
            raise game_error("Key not found")
        return user, owners

    def _name_newcomer(self, address: str) -> str:
        """Return the name of a new bot with an unknown key. Raises `Refusal` if there are too many."""
        self.limits.count_registration(address, len(self.users))
        return f"guest-{random_word(4)}"

    async def sign_up(self, name: str, address: str) -> str:
        """Register a bot from `address`, and return its key once the bot is stored.

        Raises `RegistrationError` if the name is not accepted, and `Refusal` if there are too many registrations.
        """
        self.users.check_name(name)
        self.limits.count_registration(address, len(self.users))
        return await self.users.sign_up(name)

    def room(self, room_id: str) -> Room:
        """Return the room with this id. Raises `Refusal` if there is no such room."""
        room = self.rooms.get(room_id)
        if room is None:
            raise closing_refusal() if self._closed else game_error(f"Unknown game {room_id}", 404)
        return room

    # ---- Joining ----

    def join_training(self, user: User, turns: int | None, map_text: str | None) -> Claim:
        """Begin a training game of this user against three random bots. Return the user's claim (its place in the game).

        If a private match has a free seat for the user, the claim is for this seat, and no training game begins. `turns` is the
        number of rounds, None for the server's setting. `map_text` is the name or text of the map, None for a random map. Raises
        `Refusal`.
        """
        claim = self._new_claim(user)
        if self._take_reserved(claim):
            return claim
        if not self._has_space():
            raise Refusal(503, FULL)
        try:
            match = self._new_match(map_text, [user, None, None, None])
        except UsageError as error:
            raise game_error(error.message) from None
        match.max_turns = training_turns(turns, self.settings.rounds)
        match.training = True
        match.take_seat(claim)
        self._start(match)
        return claim

    def join_arena(self, user: User) -> Claim:
        """Let this user wait for its next game. Return the user's claim (its place in the queue).

        The game is a private match with a seat for the user, else a game of its league, else an arena game. It begins when all
        its seats are taken. Raises `Refusal`.
        """
        claim = self._new_claim(user)
        if not self._take_reserved(claim) and not any(matchmaker.accept(claim) for matchmaker in self.matchmakers):
            if len(self.waiting) >= self.settings.max_waiting:
                raise Refusal(503, FULL)
            self.waiting.append(claim)
            self._match_later()
        return claim

    def leave(self, claim: Claim) -> None:
        """Remove the claim of a client that has disconnected. If its game has not begun, its seat becomes free again."""
        if claim.room is None:
            claim.places.close()
            if claim in self.waiting:
                self.waiting.remove(claim)
            elif claim.match is not None:
                del claim.match.claims[claim.seat]
            for matchmaker in self.matchmakers:
                matchmaker.release(claim)

    def missing(self, user: User) -> int | None:
        """Return the number of clients that are missing in the game for which this user waits.

        Return 0 if the game waits only for a free room, and None if the user waits for no game, or for a game of a league.
        """
        for match in self.matches:
            if any(claim.user is user for claim in match.claims.values()):
                return len(match.open_seats)
        place = next((place for place, claim in enumerate(self.waiting) if claim.user is user), None)
        return None if place is None else max(0, (place // SEATS + 1) * SEATS - len(self.waiting))

    def waits_for(self, user: User) -> str | None:
        """Return in words what the user's clients wait for in a league, None if they wait in none."""
        return next((words for matchmaker in self.matchmakers if (words := matchmaker.waits_for(user))), None)

    def _new_claim(self, user: User) -> Claim:
        if self._closed:
            raise closing_refusal()
        return Claim(user, asyncio.get_running_loop().create_future())

    def _take_reserved(self, claim: Claim) -> bool:
        taken = any(match.take_seat(claim) for match in self.matches)
        if taken:
            self._match_later()
        return taken

    def _match_later(self) -> None:
        # Begin games some rounds of the loop later. Then the server has already noticed clients that have just disconnected.
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
        for match in [match for match in self.matches if not match.open_seats]:
            if not self._has_space():
                return  # when a game ends, `ended` matches again
            self.matches.remove(match)
            self._start(match)
        while len(self.waiting) >= SEATS and self._has_space():
            self._start_arena()

    def _has_space(self) -> bool:
        """Return whether another game may begin. If there are too many rooms, remove the oldest ones with finished games."""
        excess = len(self.rooms) - self.settings.max_games + 1
        if excess > 0:
            for room in [room for room in self.rooms.values() if room.finished][:excess]:
                del self.rooms[room.id]
        return len(self.rooms) < self.settings.max_games

    def _start_arena(self) -> None:
        claims, self.waiting = self.waiting[:SEATS], self.waiting[SEATS:]
        match = self._new_match(None, [claim.user for claim in claims])
        match.rated = True
        for claim in claims:
            match.take_seat(claim)
        self._start(match)

    def _start(self, match: Match) -> None:
        """Begin this match in a new room. All reserved seats of the match must be taken."""
        seats = [
            RoomSeat(index, _player(user), bot=user is None, time_limit_ms=limit)
            for index, (user, limit) in enumerate(zip(match.seats, match.seat_limits_ms, strict=True))
        ]
        room = Room(
            self._new_id(),
            match.map.new_game(match.max_turns, match.training) if match.first is None else match.first,
            seats,
            time_limit_ms=match.time_limit_ms,
            first_limit_ms=match.first_limit_ms,
            pace=match.pace,
            seed=match.seed,
            rated=match.rated and not match.training,
            observers=self._observers,
            pacer=match.pacer,
        )
        for index, claim in match.claims.items():
            seats[index].waiters.append(claim.waiter)
        self.rooms[room.id] = room
        self._running[room] = match
        room.begin()
        match.set_begun(room)

    def _new_match(self, start: Map | Games | str | None, seats: Sequence[User | None], seed: int | None = None) -> Match:
        """Return a match with the server's settings. Raises `UsageError` if the map cannot be read or generated.

        `start` is a map, its name or text, the first state, or None for a map generated from `seed`. If `seed` is None, it is
        drawn at random.
        """
        seed = self._random.getrandbits(32) if seed is None else seed
        try:
            if isinstance(start, np.ndarray):
                board = map_before(start)
            else:
                board = generate(seed) if start is None else read_map(start) if isinstance(start, str) else start
        except (GeneratorError, MapError, UnknownMapError) as error:
            raise UsageError(str(error)) from None
        settings = self.settings
        return Match(
            board,
            seed,
            tuple(seats),
            PLIES_PER_ROUND * settings.rounds,
            settings.time_limit_ms,
            settings.first_limit_ms,
            settings.pace,
            first=start if isinstance(start, np.ndarray) else None,
        )

    def _new_id(self) -> str:
        while (room_id := random_word(ID_LENGTH)) in self.rooms:
            pass
        return room_id

    # ---- Private matches ----

    def arrange(
        self,
        map: Map | Games | str | None,  # noqa: A002 - the name of the parameter on the wire and in the configuration
        seats: Sequence[str | User],
        *,
        rounds: int | None = None,
        seed: int | None = None,
        time_limit_ms: int | None = None,
        first_limit_ms: int | None = None,
        pace: str | None = None,
        pacer: Pacer | None = None,
        training: bool = False,
        rated: bool = False,
        seat_limits_ms: Sequence[int | None] = NO_LIMITS,
        claims: Sequence[Claim] = (),
    ) -> Match:
        """Return a new private match. When a bot in `seats` next asks for a game, it gets its seat in this match.

        - `map`: a map, its name or its text; None generates a map from `seed`. Or the state with which the game begins. This
          state also sets the length of the game.
        - `seats`: four entries. Each entry is a bot's key, a `User`, or `RANDOM_BOT` (a random bot of the server).
        - `rounds`, `time_limit_ms`, `first_limit_ms`, `pace`: as in `ServerSettings`. None takes the server's setting.
        - `pacer`: decides when each move is played. If it is None, moves are played as soon as `pace` allows.
        - `seed`: seed of the map and of the random bots. None draws a seed.
        - `training`: whether the game ends as soon as any hero crashes.
        - `rated`: whether the game changes the ratings, as an arena game does.
        - `seat_limits_ms`: for each seat its own time limit in milliseconds, or None for the limit of the match.
        - `claims`: clients that already wait for this match, in the order of the seats.

        Raises `UsageError` if the number of seats is wrong, a key is not registered, or the map cannot be read.
        """
        if len(seats) != SEATS or len(seat_limits_ms) != SEATS:
            raise UsageError(f"a match has {SEATS} seats, not {len(seats if len(seats) != SEATS else seat_limits_ms)}")
        users: list[User | None] = []
        for index, key in enumerate(seats, 1):
            user = key if isinstance(key, User) else None if key == RANDOM_BOT else self.users.find(key)
            if user is None and key != RANDOM_BOT:
                raise UsageError(f"seat {index} of the match is for a key that is not registered")
            users.append(user)
        try:
            match = self._new_match(map, tuple(users), seed)
        except UsageError as error:
            raise UsageError(f"the map of the match: {error.message}") from None
        match.max_turns = match.max_turns if rounds is None else PLIES_PER_ROUND * rounds
        match.time_limit_ms = time_limit_ms or match.time_limit_ms
        match.first_limit_ms = first_limit_ms or match.first_limit_ms
        match.pace = pace or match.pace
        match.pacer, match.training, match.rated = pacer, training, rated
        match.seat_limits_ms = tuple(seat_limits_ms)
        self.matches.append(match)
        for claim in claims:
            match.take_seat(claim)
        self._match_later()
        return match

    def cancel(self, match: Match) -> None:
        """Cancel a match that has not begun, and refuse the clients that wait for it. If the match has begun, do nothing."""
        for claim in self.withdraw(match):
            claim.waiter.set_result(game_error("The match was cancelled"))

    def withdraw(self, match: Match) -> list[Claim]:
        """Cancel a match that has not begun, and return the clients that wait for it. Their requests stay open.

        If the match has begun, do nothing and return no clients.
        """
        if match not in self.matches:
            return []
        self.matches.remove(match)
        match.cancelled = True
        match.set_ended()
        waiting = [claim for claim in match.claims.values() if not claim.waiter.done()]
        for claim in waiting:
            claim.match = None
        return waiting

    # ---- Events of the rooms ----

    def ended(self, room: Room) -> None:
        """See `RoomObserver`. The room can still be found for `keep_finished_seconds`."""
        loop = asyncio.get_running_loop()
        loop.call_later(self.settings.keep_finished_seconds, self.rooms.pop, room.id, None)
        if len(self.waiting) >= SEATS or self.matches:
            self._match_later()  # clients may be waiting only because there was no free room
        match = self._running.pop(room)
        for claim in match.claims.values():
            claim.places.close()
        loop.call_soon(match.set_ended)  # later games begin one round of the loop later: the players get the final state first

    def close(self) -> None:
        """Stop every game and answer every open request."""
        self._closed = True
        for claim in self.waiting:
            if not claim.waiter.done():
                claim.waiter.set_result(closing_refusal())
        self.waiting.clear()
        for match in list(self.matches):
            self.cancel(match)
        for match in self._running.values():
            match.set_ended()
        for room in self.rooms.values():
            room.close()
        self.rooms.clear()


def _player(user: User | None) -> Player:
    return Player(RANDOM_BOT) if user is None else Player(user.name, user.id, user.elo)
