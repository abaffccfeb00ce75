"""Bundles: everything that the page of a game shows, as one JSON document (docs/viewer-format.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sim.game import Games
from vindibot.games import GameRecord, Player, Ply, replay
from vindibot.viewer.states import Scribe, ending_of, results

FORMAT = "vindibot-bundle"
VERSION = 2

Bundle = dict[str, Any]
Patch = dict[str, Any]


def head(
    first: Games,
    *,
    game_id: str,
    title: str,
    source: str,
    players: Sequence[Player],
    live: bool = False,
    gap: bool = False,
    me: int | None = None,
    limit_ms: float | None = None,
    started: datetime | str | None = None,
) -> Bundle:
    """A bundle without plies. `first` is the first state that is known, an array of one record; `players` are heroes 0..3;
    `gap` says that it is not the game's beginning."""
    scribe = Scribe(first)
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": game_id,
        "title": title,
        "source": source,
        "live": live,
        "size": scribe.size,
        "tiles": scribe.tiles(),
        "spawns": scribe.spawns(),
        "max_turns": first["max_turns"].item(0),
        "training": bool(first["training"].item(0)),
        "limit_ms": limit_ms,
        "started": started.isoformat(timespec="seconds") if isinstance(started, datetime) else started,
        "players": [{"name": player.name, "user": player.user_id, "elo": player.elo} for player in players],
        "me": me,
        "start": scribe.start(gap),
        "plies": [],
        "ending": None,
        "results": None,
        "map": scribe.structure(),
        "why": None,
    }


def record_head(record: GameRecord, source: str = "record") -> Bundle:
    """The bundle of a game record without its plies. Raises `GameRecordError`."""
    ratings: list[int | None] = record.extra.get("elo") or [None] * 4
    players = [Player(*known) for known in zip(record.names, record.who, ratings, strict=True)]
    return head(
        record.first(),
        game_id=record.id,
        title=f"game {record.id}",
        source=source,
        players=players,
        limit_ms=record.extra.get("time_limit_ms"),
        started=record.started,
    )


def of_record(record: GameRecord) -> Bundle:
    """The whole bundle of a game record. Raises `GameRecordError`."""
    bundle = record_head(record)
    states = replay(record)
    before = next(states)
    scribe = Scribe(before)
    for order, games in zip(record.orders, states, strict=True):
        bundle["plies"].append(scribe.ply(before, played(before, order, games)))
        before = games
    return bundle | {"ending": ending_of(before), "results": results(before)}


def played(before: Games, order: int, after: Games) -> Ply:
    """The ply that an order of a record (0..4 or `sim.game.CRASH`) was."""
    return Ply(after, before["turn"].item(0) % 4, order)
