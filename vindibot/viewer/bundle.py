"""Bundles. A bundle is one JSON document with all data that the page of a game shows (docs/viewer-format.md)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sim.game import DIRECTIONS
from vindibot.games.files.recording import Header, Recording, RecordingError
from vindibot.games.files.review import Review, ReviewedTurn
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.games.position import read_moves
from vindibot.viewer.states import StateWriter, result_of
from vindibot.viewer.votes import VotesWriter

FORMAT = "vindibot-bundle"
VERSION = 2

Bundle = dict[str, Any]
Patch = dict[str, Any]


def empty_bundle(history: GameHistory, *, title: str, source: str, live: bool = False) -> Bundle:
    """Return the bundle of a game without its plies. The history must have at least one state.

    `title` is a line of text for the page. `source` is "recording", "record" or "server". `live` says whether the game still
    runs.
    """
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
        "notes": [],
        "review": None,
    }


def bundle_of(game: Recording | GameRecord, review: Review | None = None) -> Bundle:
    """Return the complete bundle of a game. `review` is the review that the page shows, None for the review in the game's own
    file.

    Raises `GameRecordError` if the game cannot be computed from its record. Raises `RecordingError` for a recording without a
    state.
    """
    history = GameHistory.of(game)
    if not history and isinstance(game, Recording):
        raise RecordingError(f"{game.path}: there is nothing to show, the game ended before our first turn", 2)
    writer = BundleWriter(history, game.header if isinstance(game, Recording) else None)
    writer.patch()
    review = review or history.review
    if review is not None:
        writer.bundle["review"] = _review_part(review, history, StateWriter(history.first))
    return writer.bundle


class BundleWriter:
    """A writer of the bundle of a running or finished game. `bundle` grows with `history`, which must have at least one state.

    `header` is the header of our bot's recording. Without `header`, the bundle has no votes.
    """

    def __init__(self, history: GameHistory, header: Header | None = None) -> None:
        self._history = history
        self._states = StateWriter(history.first)
        self._votes = VotesWriter(header) if header is not None else None
        self._ballots = self._notes = 0  # number of ballots, and of turns with notes, written so far
        title = f"{header.bot} in game {header.game}" if header is not None else f"game {history.id}"
        self.bundle = empty_bundle(history, title=title, source="record" if header is None else "recording", live=True)
        if self._votes is not None:
            self.bundle["why"] = self._votes.head()

    def patch(self) -> Patch:
        """Add the new plies and votes of the history to the bundle. Return these additions as a patch (docs/viewer-format.md)."""
        history, start = self._history, len(self.bundle["plies"])
        patch: Patch = {"from": start, "plies": [self._states.ply(ply) for ply in history.plies(start)]}
        self.bundle["plies"] += patch["plies"]
        ballots = list(history.ballots.items())[self._ballots :]
        if self._votes is not None and ballots:
            patch["why"] = [self._votes.turn(number, history.state(number), ballot) for number, ballot in ballots]
            self.bundle["why"]["turns"] += patch["why"]
            self._ballots += len(ballots)
        if notes := list(history.notes.items())[self._notes :]:
            patch["notes"] = [self._states.notes(number, hero, said) for (number, hero), said in notes]
            self.bundle["notes"] += patch["notes"]
            self._notes += len(notes)
        if history.complete:
            result = result_of(history)
            self.bundle |= result | {"live": False}
            patch |= result
        return patch


# ---- Reviews ----


def _review_part(review: Review, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    """Return a review as part of a bundle. Turns whose state is unknown are left out.

    Only turns with bad moves have expected lines. The lines of all turns would make the page several times larger.
    """
    header = review.header
    known = ((one, history.at_turn(one.turn)) for one in review.turns)
    return {
        "bot": header.bot,
        "nodes": header.nodes,
        "rounds": header.rounds,
        "heroes": [hero - 1 for hero in header.heroes],
        "thresholds": header.thresholds.model_dump(),
        "turns": [_reviewed_turn(one, number, history, states) for one, number in known if history.turn(number) == one.turn],
    }


def _reviewed_turn(one: ReviewedTurn, number: int, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    written: dict[str, Any] = {
        "ply": number,
        "turn": one.turn,
        "hero": one.hero - 1,
        "move": DIRECTIONS.index(one.move),
        "best": DIRECTIONS.index(one.best),
        "loss": one.loss,
        "error": one.loss_error,
        "mark": one.mark,
        "kind": one.kind,
        "values": [[DIRECTIONS.index(value.move), list(value.gold), value.less, value.less_error] for value in one.values],
    }
    if one.mark:
        for key, line in (("best_line", one.best_line), ("played_line", one.played_line)):
            written[key] = _line(line, number, history, states)
    return written


def _line(letters: str, number: int, history: GameHistory, states: StateWriter) -> list[dict[str, Any]]:
    """Return the plies of a line that begins in state `number`."""
    line = GameHistory(first=history.state(number))
    line.play_all(read_moves(letters))
    return [states.ply(ply) for ply in line]
