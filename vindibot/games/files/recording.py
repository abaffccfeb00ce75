"""Recordings: the states, votes and moves of a bot in one game, as a file of JSON lines.

The first line is the header (`Header`): bot, traits and weights, our hero (the hero of the bot), the server. Then there is one
line per turn of our hero. This line has the server's game object, the votes and milliseconds of every trait, the sums of the
votes, and the move. The last line is the outcome. Each line is written at once, so a crash loses only an unfinished line.

The plies between two of our turns are not stored, since they follow from the heroes' last directions and the rules
(`vindibot.games.history.GameHistory`). If a turn was lost, these plies are unknown, and the history has a gap.

A recording contains no key, token or play URL.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

import numpy as np
import structlog
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sim.game import DIRECTIONS, GAME, Games
from vindibot import __version__
from vindibot.base.errors import VindibotError
from vindibot.base.text import SECRETS
from vindibot.base.writing import LineFile, short
from vindibot.games.ballot import Ballot, Five, VoteLine, read_number, write_entry, write_number
from vindibot.games.files.lines import fault, is_no_json, whole_lines
from vindibot.games.files.review import Review, is_review_line, parse_review
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.protocol import UNKNOWN_PLAYERS, GameState, Player, ProtocolError, to_games

#: The format of the file, and the version that this program writes and reads.
FORMAT: Final = "vindibot-recording"
VERSION: Final = 2
#: The end of a recording's file name.
SUFFIX = ".jsonl"

_SECRETS = frozenset({"key", "token", "playUrl", "viewUrl", "play_url", "view_url"})
_log = structlog.get_logger("vindibot.games.files.recording")


class RecordingError(VindibotError):
    """A recording cannot be read. The message names the file, the line and the reason."""


class _RecordingLine(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class TraitHeader(_RecordingLine):
    """A trait of the bot: the trait's label, weight, `use` and parameters, as in the bot file."""

    label: str
    weight: float
    use: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class Header(_RecordingLine):
    """The first line of a recording.

    - `program`: the version of vindibot that wrote the recording.
    - `hero`: the id of our hero, 1..4.
    - `server`: scheme, host and port of the server.
    - `limit_ms`: the time limit for a move in milliseconds, None if unknown.
    - `started`: the time when the game began, in ISO 8601 with a time zone.
    """

    format: Literal["vindibot-recording"] = FORMAT
    version: int = Field(VERSION, ge=VERSION, le=VERSION)
    program: str = __version__
    bot: str
    traits: tuple[TraitHeader, ...] = ()
    game: str
    hero: int = Field(ge=1, le=4)
    mode: Literal["training", "arena"] = "training"
    server: str = ""
    seed: int = 0
    limit_ms: float | None = None
    started: str = Field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @field_validator("server")
    @classmethod
    def _origin(cls, server: str) -> str:
        """Return only scheme, host and port of a URL, since its user, password and query may be secrets."""
        parts = urlsplit(server)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.scheme and parts.netloc else ""


@dataclass(frozen=True)
class RecordedTurn:
    """One of our turns: the protocol's turn number, the state in the protocol's form and as a game of `sim`, and the ballot."""

    turn: int
    state: GameState
    games: Games = field(repr=False, compare=False)
    ballot: Ballot


@dataclass(frozen=True)
class LastState:
    """The last state that we received, in the protocol's form and as a game of `sim`."""

    state: GameState
    games: Games = field(repr=False, compare=False)


# ---- Writing ----


class Recorder:
    """Writes one recording into `folder`, which is created if necessary. The name of the file comes from the header.

    An error of the disk is logged once and not raised. The game goes on, and the recording lacks the turns that could not be
    written. `path` is the path of the file, None if the file could not be created.
    """

    def __init__(self, folder: Path, header: Header) -> None:
        self.path: Path | None = None
        self._file: LineFile | None = None
        self._warned = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = _create(folder, header)
            self.path = self._file.path
        except OSError as error:
            self._warn("this game is not recorded", error)
        self._write(header.model_dump(mode="json"))

    def turn(self, state: GameState | Mapping[str, Any], ballot: Ballot) -> None:
        """Record one of our turns, with the state as received and the ballot."""
        raw = _raw(state)
        votes = [write_entry(entry) for entry in ballot.entries]
        line = {"turn": raw["turn"], "move": DIRECTIONS[ballot.direction], "votes": votes, "sums": ballot.sums}
        line |= {"candidates": ballot.candidates, "margin_ms": write_number(ballot.margin_ms), "fallback": ballot.fallback}
        self._write(line | {"state": raw})

    def finish(self, outcome: Outcome, state: GameState | Mapping[str, Any] | None = None) -> None:
        """Record the outcome and, if we received it, the last state. Then close the file."""
        line: dict[str, Any] = {"reason": outcome.reason, "message": SECRETS(outcome.message)}
        if state is not None:
            line["state"] = _raw(state)
        self._write({"outcome": line})
        self.close()

    def close(self) -> None:
        """Close the file. If `finish` was not called, the recording has no outcome."""
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError as error:
            self._warn("the recording may be incomplete", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=_plain)
        try:
            self._file.append(text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._warn("the recording will lack turns", error)

    def _warn(self, what: str, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            _log.warning(f"{what}: {error.strerror or error}", path=str(self.path or error.filename or ""))


def recording_folder_problem(folder: Path) -> str:
    """Return why games cannot be recorded in this folder, and what to do. Return an empty text if games can be recorded."""
    problem = unwritable_reason(folder)
    return f"cannot be written to: {problem}; name another folder, or record nothing (--no-recording)" if problem else ""


def unwritable_reason(folder: Path) -> str:
    """Return why no file can be written into a folder, or an empty text if files can be written.

    If the folder does not exist, check whether it can be created. The check leaves no file behind.
    """
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(path))
    if not existing.is_dir():
        return f"{short(existing)} is not a folder"
    try:
        with tempfile.TemporaryFile(dir=existing, buffering=0) as file:
            file.write(b"\n")
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _create(folder: Path, header: Header) -> LineFile:
    """Create the file of a new recording in `folder`, and return it.

    The game's id comes from a server. Its special characters are replaced, so the path cannot lead out of the folder.
    """
    when = re.sub(r"[^0-9T]", "", header.started[:19]).replace("T", "-")
    parts = [re.sub(r"[^A-Za-z0-9_-]+", "-", part)[:40].strip("-") or "x" for part in (when, header.bot, header.game)]
    name = "-".join([*parts, f"hero{header.hero}"])
    for number in range(1000):
        path = folder / f"{name}{f'-{number}' if number else ''}{SUFFIX}"
        try:
            return LineFile.new(path)
        except FileExistsError:
            continue
    raise OSError(f"{folder} already has 1000 recordings of this game")


def _raw(state: GameState | Mapping[str, Any]) -> dict[str, Any]:
    raw = state.to_json() if isinstance(state, GameState) else state
    return {key: value for key, value in raw.items() if key not in _SECRETS}


def _plain(value: Any) -> Any:
    """Return a value of a trait's parameters in a form that fits JSON: a number or list for a value of numpy, else a text."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else str(value)


# ---- Reading ----


class _TurnLine(_RecordingLine):
    turn: int
    move: Literal["Stay", "North", "South", "East", "West"]
    votes: list[VoteLine]
    sums: Five
    candidates: tuple[Annotated[int, Field(ge=0, le=4)], ...]
    margin_ms: float | None = None
    fallback: bool = False
    state: GameState


class _Ending(_RecordingLine):
    reason: Reason
    message: str = ""
    state: GameState | None = None


class _OutcomeLine(_RecordingLine):
    outcome: _Ending


@dataclass(frozen=True)
class Recording:
    """A recording that was read from a file.

    - `turns`: our turns in order.
    - `outcome`: the outcome, None if the file has no outcome because the recording was interrupted.
    - `last`: the last state, None if the file has no last state.
    - `review`: the review of the game, None if the file has none.
    """

    path: Path
    header: Header
    turns: tuple[RecordedTurn, ...]
    outcome: Outcome | None = None
    last: LastState | None = None
    review: Review | None = None

    @property
    def me(self) -> int:
        """Our hero's index, 0..3."""
        return self.header.hero - 1

    @property
    def players(self) -> tuple[Player, ...]:
        """The players of heroes 1..4. Their names are empty if no state was recorded."""
        seen = self.turns[0] if self.turns else self.last
        return seen.state.players if seen is not None else UNKNOWN_PLAYERS

    @property
    def names(self) -> tuple[str, ...]:
        """The names of heroes 1..4, empty if no state was recorded."""
        return tuple(player.name for player in self.players)

    def turn(self, turn: int) -> RecordedTurn:
        """Return our turn with the protocol's number `turn`.

        Raises `RecordingError` if no recorded turn has this number. The message names the nearest turns.
        """
        for recorded in self.turns:
            if recorded.turn == turn:
                return recorded
        near = sorted(sorted((own.turn for own in self.turns), key=lambda own: abs(own - turn))[:2])
        hint = f"the nearest are {' and '.join(map(str, near))}" if near else "it has no turns at all"
        raise RecordingError(f"{self.path}: turn {turn} is not a recorded turn of hero {self.header.hero}; {hint}", 2)

    def recent(self, turn: int) -> Games:
        """Return the states on our turns before the protocol's `turn`, oldest first."""
        before = [own.games for own in self.turns if own.turn < turn]
        return np.concatenate(before) if before else np.zeros(0, GAME)


def read_recording(path: Path | str) -> Recording:
    """Return the recording in a file, without an unfinished last line.

    For any other fault, raises `RecordingError` with the file, the line and the reason.
    """
    path = Path(path)
    header: Header | None = None
    turns: list[RecordedTurn] = []
    outcome: Outcome | None = None
    last: LastState | None = None
    reviewed: list[tuple[int, bytes]] = []
    for number, line in whole_lines(path, RecordingError):
        try:
            if is_review_line(line):
                reviewed.append((number, line))
            elif header is None:
                header = Header.model_validate_json(line)
            elif outcome is not None:
                raise RecordingError("the outcome must be the last line")
            elif line.startswith(b'{"outcome"'):
                outcome, last = _read_outcome(line, header)
            else:
                turns.append(_read_turn(line, header, turns[-1].turn if turns else -1))
        except ValidationError as problem:
            words = fault(problem, VERSION)
            if header is None and FORMAT.encode() not in line and not is_no_json(problem):
                words = f"this is no recording: its first line must have the format {FORMAT!r}"
            raise RecordingError(f"{path}, line {number}: {words}") from None
        except VindibotError as problem:
            raise RecordingError(f"{path}, line {number}: {problem.message}") from None
    if header is None:
        raise RecordingError(f"{path}: the file is empty, it is no recording")
    review = next(iter(parse_review(reviewed, path)), None)
    return Recording(path, header, tuple(turns), outcome, last, review)


def _read_turn(text: bytes, header: Header, before: int) -> RecordedTurn:
    """Return the turn in a line. `before` is the number of the turn in the line before, -1 if there is none."""
    line = _TurnLine.model_validate_json(text)
    games = _games(line.state, header)
    if line.state.turn != line.turn:
        raise RecordingError(f"the line is of turn {line.turn}, but its state is of turn {line.state.turn}")
    if line.turn <= before:
        raise RecordingError(f"turn {line.turn} comes after turn {before}")
    if line.turn % 4 != header.hero - 1:
        raise RecordingError(f"turn {line.turn} is not a turn of hero {header.hero}, our hero in this recording")
    entries = [vote.entry() for vote in line.votes]
    direction, margin = DIRECTIONS.index(line.move), read_number(line.margin_ms)
    ballot = Ballot(entries, line.sums, line.candidates, direction, margin, line.fallback)
    return RecordedTurn(line.turn, line.state, games, ballot)


def _read_outcome(text: bytes, header: Header) -> tuple[Outcome, LastState | None]:
    line = _OutcomeLine.model_validate_json(text).outcome
    last = LastState(line.state, _games(line.state, header)) if line.state is not None else None
    return Outcome(line.reason, line.message), last


def _games(state: GameState, header: Header) -> Games:
    try:
        games = to_games(state)
    except ProtocolError as error:
        raise RecordingError(f"state: {error.message}") from None
    games[0]["training"] = header.mode == "training"
    return games
