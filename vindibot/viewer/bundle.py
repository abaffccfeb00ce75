"""Bundles: everything that the page of a game shows, as one JSON document (docs/viewer-format.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sim.game import CRASH, RUNNING, Games
from vindibot.ballot import Ballot
from vindibot.gamerecord import CRASH_CODE, GameRecord, replay
from vindibot.plies import Ply, following
from vindibot.protocol import GameState, Player
from vindibot.recording import Header, Recording, RecordingError
from vindibot.viewer.states import Scribe, ending_of, results
from vindibot.viewer.why import Reasons

FORMAT = "vindibot-bundle"
VERSION = 1

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
    """The ply that an order of a record (0..4, 99 for a crash) was."""
    return Ply(after, before["turn"].item(0) % 4, CRASH if order == CRASH_CODE else order)


class Chronicle:
    """A bundle that grows with what one player of ours sees: states at his turns, with the votes, and how it ended.

    The plies between are recomputed. Each method returns a patch (docs/viewer-format.md) with what is new.
    """

    def __init__(self, header: Header) -> None:
        self._reasons = Reasons(header)
        self._scribe: Scribe | None = None
        self._last: Games | None = None
        self.bundle: Bundle | None = None

    def turn(self, state: GameState, games: Games, ballot: Ballot) -> Patch:
        """A turn of ours."""
        patch = self._see(state, games)
        assert self.bundle is not None
        why = [self._reasons.turn(len(self.bundle["plies"]), games, ballot)]
        self.bundle["why"]["turns"] += why
        return patch | {"why": why}

    def finish(self, termination: str, message: str, state: GameState | None, games: Games | None) -> Patch:
        """How it ended for us, with the last state if it reached us."""
        patch = self._see(state, games) if state is not None and games is not None else {}
        if self._last is None or self.bundle is None:
            return patch
        ended = self._last["status"].item(0) != RUNNING
        ending = ending_of(self._last, "" if ended else message)
        if not ended and termination:
            ending["kind"] = termination
        self.bundle |= (last := {"ending": ending, "results": results(self._last)})
        self.bundle["live"] = False
        return patch | last

    def _see(self, state: GameState, games: Games) -> Patch:
        plies = following(self._last, games)
        if self.bundle is None:
            first = plies.pop(0)
            self._begin(state, first)
            self._last = first.games
        assert self.bundle is not None
        assert self._scribe is not None
        assert self._last is not None
        start, before = len(self.bundle["plies"]), self._last
        for ply in plies:
            self.bundle["plies"].append(self._scribe.ply(before, ply))
            before = ply.games
        self._last = games
        return {"from": start, "plies": self.bundle["plies"][start:]}

    def _begin(self, state: GameState, first: Ply) -> None:
        header = self._reasons.header
        self._scribe = Scribe(first.games)
        self.bundle = head(
            first.games,
            game_id=header.game,
            title=f"{header.bot} in game {header.game}",
            source="recording",
            players=[Player(hero.name, hero.user_id, hero.elo) for hero in state.heroes],
            live=True,
            gap=first.gap,
            me=self._reasons.me,
            limit_ms=header.limit_ms,
            started=header.started,
        )
        self.bundle["why"] = self._reasons.head()


def of_recording(recording: Recording) -> Bundle:
    """The whole bundle of a recording. Raises `RecordingError` if there is not a single state in it."""
    chronicle = Chronicle(recording.header)
    for own in recording.turns:
        chronicle.turn(own.state, own.games, own.ballot)
    outcome = recording.outcome
    if outcome is not None:
        chronicle.finish(outcome.termination, outcome.message, outcome.state, outcome.games)
    if chronicle.bundle is None:
        raise RecordingError(f"{recording.path}: there is nothing to show, the game ended before our first turn", 2)
    if outcome is None:
        chronicle.finish("", "the recording ends here", None, None)
    return chronicle.bundle
