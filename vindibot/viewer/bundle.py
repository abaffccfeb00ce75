"""Bundles: everything that the page of a game shows, as one JSON document (docs/viewer-format.md), made from its history."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vindibot.games import GameHistory, GameRecord, Header, Recording, RecordingError
from vindibot.viewer.states import StateWriter, ending_of, results
from vindibot.viewer.why import Reasons

FORMAT = "vindibot-bundle"
VERSION = 2

Bundle = dict[str, Any]
Patch = dict[str, Any]


def head(history: GameHistory, *, title: str, source: str, live: bool = False) -> Bundle:
    """A bundle without plies. At least one state must be known."""
    writer, started = StateWriter(history.first), history.started
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": history.id,
        "title": title,
        "source": source,
        "live": live,
        "size": writer.size,
        "tiles": writer.tiles(),
        "spawns": writer.spawns(),
        "max_turns": history.first["max_turns"].item(0),
        "training": bool(history.first["training"].item(0)),
        "limit_ms": history.limit_ms,
        "started": started.isoformat(timespec="seconds") if isinstance(started, datetime) else started,
        "players": [{"name": player.name, "user": player.user_id, "elo": player.elo} for player in history.players],
        "me": history.me,
        "start": writer.start(history.begins_late),
        "plies": [],
        "ending": None,
        "results": None,
        "map": writer.structure(),
        "why": None,
    }


def of_record(record: GameRecord) -> Bundle:
    """The whole bundle of a game record. Raises `GameRecordError`."""
    history = GameHistory.of(record)
    writer = StateWriter(history.first)
    told = {"plies": [writer.ply(ply) for ply in history], "ending": ending_of(history), "results": results(history.last)}
    return head(history, title=f"game {record.id}", source="record") | told


def of_recording(recording: Recording) -> Bundle:
    """The whole bundle of a recording. Raises `RecordingError` if there is not a single state in it."""
    history = GameHistory.of(recording)
    if not history:
        raise RecordingError(f"{recording.path}: there is nothing to show, the game ended before our first turn", 2)
    writer = BundleWriter(recording.header, history)
    writer.patch()
    return writer.bundle


class BundleWriter:
    """Writes the game of a bot of ours, with the votes, as a bundle that grows with its history.

    `header` is that of the recording. At least one state of `history` must be known.
    """

    def __init__(self, header: Header, history: GameHistory) -> None:
        self._history = history
        self._reasons = Reasons(header)
        self._writer = StateWriter(history.first)
        self._voted = 0
        self.bundle = head(history, title=f"{header.bot} in game {header.game}", source="recording", live=True)
        self.bundle["why"] = self._reasons.head()

    def patch(self) -> Patch:
        """Add to the bundle what the history has got since the last call; returns that alone, as a patch."""
        history, start = self._history, len(self.bundle["plies"])
        plies = [self._writer.ply(ply) for ply in history.plies(start)]
        votes = list(history.ballots.items())[self._voted :]
        why = [self._reasons.turn(number, history.state(number), ballot) for number, ballot in votes]
        self._voted += len(votes)
        self.bundle["plies"] += plies
        self.bundle["why"]["turns"] += why
        patch: Patch = {"from": start, "plies": plies}
        if why:
            patch["why"] = why
        if history.complete:
            last = {"ending": ending_of(history), "results": results(history.last)}
            self.bundle |= last | {"live": False}
            patch |= last
        return patch
