"""Bundles. A bundle is one JSON document with all data that the page of a game shows (docs/viewer-format.md).

The page shows states, plies and votes without knowing the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any

import numpy as np

from behaviours.base import SearchInfo
from behaviours.common.combat_map import combat_map
from sim import events
from sim.game import AIR, DIRECTIONS, MINE, RUNNING, STRIDE, TAVERN, TILE_BITS, WALL, Games, copy_of
from sim.rules import step
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import Header, Recording, RecordingError
from vindibot.games.files.review import Review, ReviewedTurn
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory, Ply
from vindibot.games.notes import GameNote
from vindibot.games.outcome import ranks, reason_of
from vindibot.games.position import read_moves, write_moves

FORMAT = "vindibot-bundle"
VERSION = 2

Bundle = dict[str, Any]
Patch = dict[str, Any]

_TILES = {AIR: ".", WALL: "#", TAVERN: "T"}
#: The kinds of events that change the owners of mines.
_NEW_OWNERS = {events.TOOK_MINE, events.INHERITED}
#: Number of significant digits of votes and milliseconds.
_DIGITS = 6


# ---- The whole game ----


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
            patch["notes"] = [self._states.notes(number, hero, own) for (number, hero), own in notes]
            self.bundle["notes"] += patch["notes"]
            self._notes += len(notes)
        if history.complete:
            result = result_of(history)
            self.bundle |= result | {"live": False}
            patch |= result
        return patch


# ---- States and plies ----


@cache
def squares_of(size: int) -> Callable[[int], int]:
    """Return a function that converts a square of `sim.game` to the number of this square in a bundle, for boards of this size.

    The function returns -1 for a square that is not on the board.
    """
    table = [
        (square // STRIDE - 1) * size + square % STRIDE - 1
        if 0 < square // STRIDE <= size and 0 < square % STRIDE <= size
        else -1
        for square in range(STRIDE * STRIDE)
    ]
    return table.__getitem__


def _board(games: Games) -> Any:
    size = games["size"].item(0)
    return (games["cell"][0] & TILE_BITS).reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1].ravel()


def _hero(record: tuple[Any, ...], at: Callable[[int], int]) -> list[int]:
    gold, pos, life, mines, _, _, crashed, _ = record
    return [at(pos), life, gold, mines, crashed]


class StateWriter:
    """A writer of the states and plies of one game. `first` is the game's first state (`sim.game.Game`)."""

    def __init__(self, first: Games) -> None:
        self.first = first
        self.size: int = first["size"].item(0)
        self.at = squares_of(self.size)

    def start(self, gap: bool = False) -> dict[str, Any]:
        """Return the first state in the form of a bundle. `gap` says whether plies before it are missing."""
        heroes = [_hero(hero, self.at) for hero in self.first["hero"][0].tolist()]
        return {"turn": self.first["turn"].item(0), "heroes": heroes, "gap": gap}

    def tiles(self) -> str:
        """Return the board of the first state as text, with one character per square."""
        return "".join(_TILES.get(tile) or _owner_letter(tile) for tile in _board(self.first).tolist())

    def spawns(self) -> list[int]:
        """Return the spawn squares of heroes 1..4."""
        return [self.at(spawn) for spawn in self.first["hero"]["spawn"][0].tolist()]

    def ply(self, ply: Ply) -> dict[str, Any]:
        """Return one ply in the form of a bundle: the move, the heroes and mines that the move changed, and the events."""
        written: dict[str, Any] = {"t": ply.turn}
        written |= {"gap": True} if ply.gap else {"h": ply.mover, "o": ply.move}
        occurred = ply.events.tolist()
        pairs = zip(ply.before["hero"][0].tolist(), ply.after["hero"][0].tolist(), strict=True)
        heroes = [[hero, *_hero(new, self.at)] for hero, (old, new) in enumerate(pairs) if _shown(old) != _shown(new)]
        new_owners = ply.gap or any(event[0] in _NEW_OWNERS for event in occurred)
        mines = self._mines(ply.before, ply.after) if new_owners else []
        parts = {"c": heroes, "m": mines, "e": [self._event(event) for event in occurred if event[0] != events.MOVED]}
        return written | {key: part for key, part in parts.items() if part}

    def notes(self, number: int, hero: int, notes: Sequence[GameNote]) -> dict[str, Any]:
        """Return what a hero (0..3) said in state `number`, in the form of a bundle."""
        written = [
            {"source": note.source, "text": note.text}
            | ({} if note.square is None else {"square": note.square[0] * self.size + note.square[1]})
            for note in notes
            if note.square is None or max(note.square) < self.size
        ]
        return {"ply": number, "hero": hero, "notes": written}

    def _mines(self, before: Games, after: Games) -> list[list[int | None]]:
        old, new = _board(before), _board(after)
        changed = np.flatnonzero((old != new) & (new >= MINE)).tolist()
        return [[square, owner_of(new.item(square))] for square in changed]

    def _event(self, event: tuple[int, ...]) -> list[Any]:
        kind, hero, other, _, square, to, amount = event
        other_or_none = None if other == events.NO_HERO else other
        match kind:
            case events.TOOK_MINE:
                return ["mine", hero, self.at(square), other_or_none]
            case events.DRANK:
                return ["beer", hero, self.at(square), amount]
            case events.STRUCK:
                return ["blow", hero, other]
            case events.KILLED | events.KILLED_ON_SPAWN:
                return ["kill", hero, other, "blow" if kind == events.KILLED else "spawn"]
            case events.DIED_IN_MINE:
                return ["death", hero, self.at(square)]
            case events.INHERITED:
                return ["heir", hero, other_or_none, amount]
            case events.RESPAWNED:
                return ["respawn", hero, self.at(square), self.at(to)]
            case _:
                return ["crash", hero]


def _shown(hero: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the fields of a hero's record that a bundle has: all but the spawn square and the last direction."""
    return (*hero[:4], hero[6])


def owner_of(tile: int) -> int | None:
    """Return the hero (0..3) that owns the mine with this tile code; None for a mine without an owner."""
    return tile - MINE - 1 if MINE < tile <= MINE + 4 else None


def _owner_letter(tile: int) -> str:
    owner = owner_of(tile)
    return "-" if owner is None else str(owner)


def result_of(history: GameHistory) -> dict[str, Any]:
    """Return the ending and the results of a game that is over.

    If the game ended by the rules, its last state gives the ending. Otherwise the history gives the ending. If the history has
    no ending, the game counts as interrupted. The results list the heroes, best first. Heroes with equal gold have the same rank.
    """
    status, gold = history.last["status"].item(0), history.last["hero"]["gold"][0].tolist()
    kind = history.ending if status == RUNNING and history.ending else reason_of(status)
    rows = [{"hero": hero, "gold": gold[hero], "rank": rank} for hero, rank in enumerate(ranks(gold))]
    return {
        "ending": {"kind": kind, "message": history.message if status == RUNNING else ""},
        "results": sorted(rows, key=lambda row: row["rank"]),
    }


# ---- Votes ----


def rounded(value: float | None) -> float | int | None:
    """Return a number rounded to `_DIGITS` significant digits, as an int if it is whole. Return None for None, NaN and
    infinity."""
    if value is None or not np.isfinite(value):
        return None
    number = float(f"{value:.{_DIGITS}g}")
    return int(number) if number.is_integer() else number


class VotesWriter:
    """A writer of the turns of one bot. `header` is the header of the bot's recording."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.me = header.hero - 1
        combat = next((trait for trait in header.traits if trait.use == "combat"), None)
        # Use the same kind of combat map as the bot's combat trait. For a bot without this trait, use the map with duels, which
        # looks further ahead.
        self._duel = bool(combat.parameters.get("duel", False)) if combat is not None else True

    def head(self) -> dict[str, Any]:
        """Return the votes of a bundle before the first turn: the bot, its traits and an empty list of turns."""
        traits = [trait.model_dump(mode="json") for trait in self.header.traits]
        return {"bot": self.header.bot, "traits": traits, "turns": []}

    def turn(self, ply: int, games: Games, ballot: Ballot) -> dict[str, Any]:
        """Return one turn of the bot in the form of a bundle: its votes and its move. `games` is the state of the turn, `ply` the
        number of this state."""
        at = squares_of(games["size"].item(0))
        return {
            "ply": ply,
            "turn": games["turn"].item(0),
            "move": ballot.direction,
            "votes": [self._vote(entry, games, at) for entry in ballot.entries],
            "sums": [rounded(value) for value in ballot.sums],
            "candidates": list(ballot.candidates),
            "left_ms": rounded(ballot.margin_ms),
            "fallback": ballot.fallback,
            "combat": self._combat(games, at),
        }

    def _vote(self, entry: BallotEntry, games: Games, at: Callable[[int], int]) -> dict[str, Any]:
        votes = None if entry.votes is None else [rounded(vote) for vote in entry.votes]
        vote: dict[str, Any] = {"trait": entry.label, "weight": rounded(entry.weight), "votes": votes}
        vote |= {"ms": rounded(entry.ms), "status": entry.status}
        if entry.note:
            vote["note"] = entry.note
        return vote if entry.info is None else vote | _info(entry.info, games, at)

    def _combat(self, games: Games, at: Callable[[int], int]) -> list[float | int | None]:
        values = combat_map(games, self.me, duel=self._duel)
        pairs: list[float | int | None] = []
        for square in np.flatnonzero(~np.isnan(values)).tolist():
            pairs += [at(square), rounded(values.item(square))]
        return pairs


def _info(info: SearchInfo, games: Games, at: Callable[[int], int]) -> dict[str, Any]:
    known: dict[str, Any] = {"depth": info.depth, "score": rounded(info.score), "nodes": info.nodes}
    if info.pv:
        known["pv"] = write_moves(info.pv)
        known["path"] = _path(info, games, at)
    if info.goal is not None:
        known["goal"] = at(info.goal)
    return {key: value for key, value in known.items() if value is not None}


def _path(info: SearchInfo, games: Games, at: Callable[[int], int]) -> list[int]:
    """Return the squares of the principal variation (`info.pv`), the moves that a search expects.

    There is one square per ply: the square where the moving hero stands after the ply. The list ends before the first ply that
    cannot be played.
    """
    games = copy_of(games)
    path: list[int] = []
    for direction in info.pv:
        mover = games["turn"].item(0) % 4
        if not step(games, 0, direction):
            break
        path.append(at(games["hero"]["pos"].item(mover)))
    return path


# ---- Reviews ----


def _review_part(review: Review, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    """Return a review as part of a bundle. Turns whose state is unknown are left out.

    Only turns with bad moves have expected lines. The lines of all turns would make the page several times larger.
    """
    header = review.header
    known = ((turn, history.at_turn(turn.turn)) for turn in review.turns)
    return {
        "bot": header.bot,
        "nodes": header.nodes,
        "rounds": header.rounds,
        "heroes": [hero - 1 for hero in header.heroes],
        "thresholds": header.thresholds.model_dump(),
        "turns": [_reviewed_turn(turn, number, history, states) for turn, number in known if history.turn(number) == turn.turn],
    }


def _reviewed_turn(turn: ReviewedTurn, number: int, history: GameHistory, states: StateWriter) -> dict[str, Any]:
    written: dict[str, Any] = {
        "ply": number,
        "turn": turn.turn,
        "hero": turn.hero - 1,
        "move": DIRECTIONS.index(turn.move),
        "best": DIRECTIONS.index(turn.best),
        "loss": turn.loss,
        "error": turn.loss_error,
        "mark": turn.mark,
        "kind": turn.kind,
        "values": [[DIRECTIONS.index(value.move), list(value.gold), value.less, value.less_error] for value in turn.values],
    }
    if turn.mark:
        for key, line in (("best_line", turn.best_line), ("played_line", turn.played_line)):
            written[key] = _line(line, number, history, states)
    return written


def _line(letters: str, number: int, history: GameHistory, states: StateWriter) -> list[dict[str, Any]]:
    """Return the plies of a line that begins in state `number`."""
    line = GameHistory(first=history.state(number))
    line.play_all(read_moves(letters))
    return [states.ply(ply) for ply in line]
