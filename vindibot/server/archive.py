"""The archive: an observer of all rooms that rates their games and has them kept as records."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from concurrent.futures import Future
from datetime import UTC, datetime
from typing import Any

import structlog

from vindibot.games import GameRecord, GameRecordError, Reason, map_before
from vindibot.server.database import Database
from vindibot.server.game_rows import begin_game, end_game, forget_games, rate_bot
from vindibot.server.ratings import BONUS_CHANCE, Rated, counts, elo_after, load_model, skill_after
from vindibot.server.room import Room
from vindibot.server.users import User, Users

#: Games that a server without a file keeps; the oldest go.
MEMORY_GAMES = 1000

_log = structlog.get_logger("vindibot.archive")


class Archive:
    """Keeps and rates games (see `RoomObserver`). `seed` is of the bonus that some games grant; None draws it."""

    def __init__(self, store: Database, users: Users, seed: int | None = None) -> None:
        self._store = store
        self._users = users
        self._random = random.Random(seed)
        self._running: dict[Room, datetime] = {}  # and when they began
        self._warmed = False
        if store.interrupted:
            _log.warning("games were interrupted when the server ended last; they are not rated", games=store.interrupted)

    def began(self, room: Room) -> None:
        """See `RoomObserver`."""
        started = self._running[room] = datetime.now(UTC)
        if room.rated and not self._warmed:
            self._warmed = True
            self._store.run(load_model)
        names, who, extra = _names(room), _who(room), _extra(room)

        def begin(connection: sqlite3.Connection) -> None:
            begin_game(connection, _record(room, started, names, who, extra, (), Reason.INTERRUPTED))

        self._write(room, "the beginning of a game", begin)

    def played(self, room: Room, move: int) -> None:
        """See `RoomObserver`."""

    def ended(self, room: Room) -> asyncio.Future[Any] | None:
        """See `RoomObserver`: what it returns is done when the game is on the disk."""
        rated = self._rate(room) if room.rated else []
        kept = self._keep(room, self._running.pop(room), room.ending, rated)
        return asyncio.wrap_future(kept) if self._store.persistent else None

    def close(self) -> None:
        """Keep the games that still run as interrupted ones, up to where they are."""
        for room, started in list(self._running.items()):
            self._keep(room, started, Reason.INTERRUPTED, [])
        self._running.clear()

    def _keep(self, room: Room, started: datetime, ending: Reason, rated: list[User]) -> Future[bool]:
        names, who, extra, moves = _names(room), _who(room), _extra(room), tuple(room.moves)
        gold: list[int] = room.games[0]["hero"]["gold"].tolist()
        if ending is not Reason.INTERRUPTED:
            for user in filter(None, map(self._users.by_id, who)):
                user.played = time.time()
        ratings = [(user.id, user.elo, user.games, user.mu, user.sigma) for user in rated]
        if rated:
            extra["rated"] = {user.id: user.elo for user in rated}

        def end(connection: sqlite3.Connection) -> None:
            end_game(connection, _record(room, started, names, who, extra, moves, ending), gold, bool(rated))
            if not self._store.persistent:
                forget_games(connection, MEMORY_GAMES)
            for rating in ratings:
                rate_bot(connection, *rating)

        return self._write(room, "a game", end)

    def _write(self, room: Room, what: str, work: Any) -> Future[bool]:
        def careful(connection: sqlite3.Connection) -> None:
            try:
                work(connection)
            except GameRecordError as problem:  # a map that no text can hold, which only private matches can have
                _log.warning("a game cannot be kept", reason=problem.message)

        return self._store.write(f"{what}: {room.id}", careful)

    def _rate(self, room: Room) -> list[User]:
        """Give the users of a finished game their new ratings; those who got one, each once."""
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


def _names(room: Room) -> Any:
    return tuple(seat.player.name for seat in room.seats)


def _who(room: Room) -> Any:
    return tuple(seat.player.user_id for seat in room.seats)


def _extra(room: Room) -> dict[str, Any]:
    return {"elo": [seat.player.elo for seat in room.seats], "time_limit_ms": room.time_limit_ms, "pace": room.pace}


def _record(
    room: Room, started: datetime, names: Any, who: Any, extra: dict[str, Any], moves: tuple[int, ...], ending: Reason
) -> GameRecord:
    first = room.history.first
    return GameRecord.of(
        map_before(first),
        id=room.id,
        max_turns=int(first[0]["max_turns"]),
        training=room.training,
        names=names,
        who=who,
        seed=room.seed,
        moves=moves,
        ending=ending,
        started=started,
        finished=datetime.now(UTC),
        extra=extra,
    )
