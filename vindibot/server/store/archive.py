"""The archive: it observes all rooms, rates their games, and stores the games as records."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from typing import Any

import structlog

from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.outcome import Reason
from vindibot.server.ratings import BONUS_CHANCE, Rated, counts, elo_after, load_model, skill_after
from vindibot.server.room import Room, RoomObserver
from vindibot.server.store.database import Database, Work
from vindibot.server.store.tables import begin_game, end_game, forget_games, rate_bot
from vindibot.server.users import User, Users

#: Largest number of archived games on a server without a file. When there are more, the oldest are deleted.
MEMORY_GAMES = 1000

_log = structlog.get_logger("vindibot.archive")


class Archive(RoomObserver):
    """Stores and rates games.

    `seed` is the seed for the random choice of games that add a bonus to the ratings. None draws a seed.
    """

    def __init__(self, database: Database, users: Users, seed: int | None = None) -> None:
        self._database = database
        self._users = users
        self._random = random.Random(seed)
        self._started: dict[Room, datetime] = {}
        if database.interrupted:
            _log.warning("games were interrupted when the server ended last; they are not rated", games=database.interrupted)

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""
        self._started[room] = datetime.now(UTC)
        if room.rated:
            self._database.run(load_model)  # slow at the first time
        self._write(room, "the beginning of a game", partial(begin_game, record=self._record(room, Reason.INTERRUPTED)))

    def ended(self, room: Room) -> asyncio.Future[Any] | None:
        """See `RoomObserver`. Return a future that is done when the game is on the disk, or None if the database has no file."""
        stored = self._store_game(room, room.ending, self._rate(room) if room.rated else [])
        return asyncio.wrap_future(stored) if self._database.persistent else None

    def close(self) -> None:
        """Store each running game with the state "interrupted" and all plies played so far."""
        for room in list(self._started):
            self._store_game(room, Reason.INTERRUPTED, [])

    def _store_game(self, room: Room, ending: Reason, rated: list[User]) -> Future[bool]:
        record = self._record(room, ending)
        del self._started[room]
        gold: list[int] = room.games[0]["hero"]["gold"].tolist()
        if ending is not Reason.INTERRUPTED:
            for user in filter(None, map(self._users.by_id, record.player_ids)):
                user.played = time.time()
        ratings = [(user.id, user.elo, user.games, user.mu, user.sigma) for user in rated]
        if rated:
            record.extra["rated"] = {user.id: user.elo for user in rated}

        def end(connection: sqlite3.Connection) -> None:
            end_game(connection, record, gold, bool(rated))
            if not self._database.persistent:
                forget_games(connection, MEMORY_GAMES)
            for rating in ratings:
                rate_bot(connection, *rating)

        return self._write(room, "a game", end)

    def _write(self, room: Room, what: str, work: Work) -> Future[bool]:
        def careful(connection: sqlite3.Connection) -> None:
            try:
                work(connection)
            except GameRecordError as problem:  # the map cannot be written as text; this happens only in private matches
                _log.warning("a game cannot be stored", reason=problem.message)

        return self._database.write(f"{what}: {room.id}", careful)

    def _rate(self, room: Room) -> list[User]:
        """Give the users in a finished game their new ratings. Return these users, each one once.

        Return an empty list if the game does not count for ratings.
        """
        users = [self._users.by_id(seat.player.user_id) for seat in room.seats]
        gold: list[int] = room.games[0]["hero"]["gold"].tolist()
        heroes = [
            Rated(seat.player.name, coins)
            if user is None
            else Rated(seat.player.name, coins, user.id, user.elo, user.mu, user.sigma)
            for seat, coins, user in zip(room.seats, gold, users, strict=True)
        ]
        bonus = self._random.random() < BONUS_CHANCE
        if not counts(heroes):
            return []
        elo, skill = elo_after(heroes, bonus), skill_after(heroes)
        rated = list({user.id: user for user in users if user is not None}.values())
        for user in rated:
            user.elo = elo[user.id]
            user.mu, user.sigma = skill[user.id]
            user.games += 1
        return rated

    def _record(self, room: Room, ending: Reason) -> GameRecord:
        players = [seat.player for seat in room.seats]
        return GameRecord.of(
            room.history.first,
            id=room.id,
            seed=room.seed,
            moves=room.moves,
            ending=ending,
            started=self._started[room],
            finished=datetime.now(UTC),
            names=tuple(player.name for player in players),
            player_ids=tuple(player.user_id for player in players),
            extra={"elo": [player.elo for player in players], "time_limit_ms": room.time_limit_ms, "pace": room.pace},
        )
