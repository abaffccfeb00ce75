"""The settings of a command: the tables of a configuration file, with limits and defaults.

Each field defines a key of the file, an environment variable and a command line option. The field's description is the help text.
`vindibot.config.load` reads the values. This module reads no file and no environment variable.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SecretStr,
    WithJsonSchema,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.base.system import cpu_quota
from vindibot.base.writing import given_path
from vindibot.config.messages import shown


def cores() -> int:
    """Return the number of cores that this process may use, at least 1. A quota of 2.5 cores counts as 2 cores.

    With more busy processes than its quota allows, all processes are paused again and again, and moves are late.
    """
    try:
        usable = len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        usable = os.cpu_count() or 1
    quota = cpu_quota()
    return usable if quota is None else max(1, min(usable, int(quota)))


@dataclass(frozen=True)
class NoneWord:
    """Annotation of an optional setting: `word` stands for None in files, variables, options, JSON and schemas.

    TOML has no null.
    """

    word: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: None if value == self.word else value,
            handler(source),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: self.word if value is None else value, when_used="json"
            ),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(schema)["anyOf"][0], {"const": self.word}]}


def none_word(field: FieldInfo | None) -> str:
    """Return the `NoneWord` of a field, or "" if the field has none."""
    return next((part.word for part in field.metadata if isinstance(part, NoneWord)), "") if field is not None else ""


def _to_path(value: Any) -> Any:
    """Convert a text to a path, with ``~`` expanded. Convert an empty text to None. Raises `ValueError` for other types."""
    if isinstance(value, str) and "\0" in value:
        raise ValueError("must be a path, which cannot contain the character NUL")
    if isinstance(value, str):
        return given_path(value) if value else None
    if value is not None and not isinstance(value, Path):
        raise ValueError(f"must be a path in quotes, not {shown(value)}")
    return value


def _to_folder(value: Any) -> Any:
    path = _to_path(value)
    if path is None:
        raise ValueError("must be a path, not empty")
    return path


def _check_server(value: str) -> str:
    """Return a server's address in its normal form, or "" for "". `load_play` checks later whether this server may get a key."""
    try:
        return str(ServerAddress.parse(value, allow_old_domain=True)) if value.strip() else ""
    except UsageError as problem:
        raise ValueError(f"cannot be used: {problem.message}") from None


Server = Annotated[str, AfterValidator(_check_server)]
Folder = Annotated[Path, BeforeValidator(_to_folder), WithJsonSchema({"type": "string", "minLength": 1})]
OptionalFile = Annotated[Path | None, BeforeValidator(_to_path), WithJsonSchema({"type": "string"})]
OptionalKey = Annotated[SecretStr | None, BeforeValidator(lambda value: None if value == "" else value)]
Limit = Annotated[Annotated[int, Field(ge=10, le=600_000)] | None, NoneWord("server")]
Seed = Annotated[Annotated[int, Field(ge=0, lt=2**63)] | None, NoneWord("random")]
WorkerCount = Annotated[Annotated[int, Field(ge=1, le=256)] | None, NoneWord("cores")]
Nodes = Annotated[Annotated[int, Field(ge=1, lt=2**63)] | None, NoneWord("none")]
JoinTimeout = Annotated[Annotated[float, Field(gt=0, le=86_400)] | None, NoneWord("mode")]


class Settings(BaseModel):
    """A table of settings. Unknown keys, values of a wrong type, NaN and infinity are errors. A table cannot be changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, hide_input_in_errors=True)


class TimeSettings(Settings):
    """The time for a move."""

    limit_ms: Limit = Field(
        default=None, description='time limit of a move, in milliseconds; "server": the limit that the server states, else 1000'
    )
    margin_ms: float = Field(
        default=75.0,
        ge=0,
        le=60_000,
        description="milliseconds of each move that stay unused; more: safer on a slow machine, less time to think",
    )


class PoolSettings(Settings):
    """The worker processes in which traits run."""

    workers: WorkerCount = Field(
        default=None, description='number of worker processes per game; "cores": one per core, divided among parallel games'
    )
    in_process: bool = Field(
        default=False, description="run the traits in the main process, for debugging: an endless loop cannot be stopped there"
    )
    nodes: Nodes = Field(
        default=None,
        description='search nodes per move and trait, for equal play on any machine; more: stronger and slower; "none": no limit'
        " but the time",
    )
    grace_ms: float = Field(
        default=50.0,
        ge=1,
        le=10_000,
        description="milliseconds from the deadline until a worker that does not answer is killed; more: fewer are killed",
    )
    strikes: int = Field(
        default=3,
        ge=1,
        le=20,
        description="a trait is benched when it hangs or raises in this number of its last 20 turns; more: benched later",
    )

    def worker_count(self) -> int:
        """Return the number of worker processes: `workers`, else one per core."""
        return self.workers if self.workers is not None else cores()


class RecordingSettings(Settings):
    """The recording of each game."""

    enabled: bool = Field(default=True, description="write a recording of each game")
    folder: Folder = Field(default=Path("recordings"), description="folder of the recordings; created if it does not exist")


class LogSettings(Settings):
    """The log of a command."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="lowest level of the log lines that the terminal shows; debug shows all"
    )
    file: OptionalFile = Field(
        default=None, description="file to which all log lines are appended, as JSON lines; empty: no file"
    )
    prints: Literal["few", "all"] = Field(
        default="few",
        description="what the terminal shows of the texts that a trait prints; few: the start of the 1st, 2nd, 4th, 8th, ...;"
        " all: each text",
    )


class PlaySettings(Settings):
    """The settings of ``vindibot play``."""

    mode: Literal["training", "arena"] = Field(
        default="training", description="training: play against the server's bots; arena: play against other players"
    )
    server: Server = Field(default="", description="address of the server; empty: start an embedded server for this command")
    bot: str = Field(default="seed", min_length=1, description="our bot: a bot file, or the name of one")
    against: str = Field(
        default="", description="bot of the other three heroes, on the embedded server only; empty: the server's bots"
    )
    key: OptionalKey = Field(default=None, description="our key on the server; VINDIBOT_KEY or a key file is a safer place")
    key_file: OptionalFile = Field(default=None, description="file that holds our key on the server")
    allow_old_domain: bool = Field(
        default=False, description="send our key to vindinium.org, although that domain belongs to strangers now"
    )
    games: int = Field(default=1, ge=1, le=1_000_000, description="number of games to play")
    parallel: int = Field(
        default=1, ge=1, le=256, description="number of games to play at the same time; never more than the number of cores"
    )
    rounds: int = Field(default=300, ge=1, le=600, description="rounds of a training game; each hero moves once per round")
    map: str = Field(
        default="",
        description="map of a training game: a name (m1), SIZE-SEED, a map file, or the text of a map; empty: random",
    )
    pace: Literal["auto", "watch", "original", "none"] = Field(
        default="auto",
        description="pace of the embedded server; watch: a game takes a minute; original: about 2 rounds per second; none: as"
        " fast as possible; auto: watch if one game is shown in a terminal or in the browser, else none",
    )
    seed: Seed = Field(default=None, description='seed of maps, opponents and ties; "random": a new one each time')
    join_timeout_s: JoinTimeout = Field(
        default=None, description='seconds to wait until a game begins; "mode": 600 in training, no limit in an arena'
    )
    connect_timeout_s: float = Field(
        default=60.0, ge=0, le=86_400, description="seconds to retry while the server refuses connections"
    )
    display: Literal["auto", "board", "lines", "none"] = Field(
        default="auto",
        description="board: live in the terminal; lines: one line per move of ours; auto: board in a terminal, and none for"
        " several games",
    )
    open: bool = Field(default=False, description="show the games live in the browser, with our votes")
    time: TimeSettings = TimeSettings()
    pool: PoolSettings = PoolSettings()
    recording: RecordingSettings = RecordingSettings()
    log: LogSettings = LogSettings()

    @property
    def embedded(self) -> bool:
        """Whether the command starts its own server."""
        return not self.server

    @property
    def shown(self) -> Literal["auto", "board", "lines", "none"]:
        """How a running game is shown: `display`, and "none" instead of "auto" for several games without a pace for people."""
        return "none" if self.display == "auto" and self.games > 1 and self.pace in ("auto", "none") else self.display

    def paced(self, terminal: bool) -> bool:
        """Return whether the games are slowed down so that a person can watch them.

        `terminal` says whether standard output is a terminal.
        """
        shown = self.display != "none" and (terminal or self.open)
        return self.embedded and (self.pace == "watch" or (self.pace == "auto" and self.games == 1 and shown))

    def join_seconds(self) -> float:
        """Return the longest time to wait until a game begins, in seconds.

        This is `join_timeout_s` if it is set. Otherwise it is infinity in an arena and 600 in training.
        """
        if self.join_timeout_s is not None:
            return self.join_timeout_s
        return math.inf if self.mode == "arena" else 600.0

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Return the settings that exclude each other, in pairs: (key, other key, text with the error and its remedy)."""
        pairs = []
        if self.against and self.server:
            pairs.append(("against", "server", "works on the embedded server only: leave one of the two empty"))
        if self.mode == "arena" and self.map and self.server:
            pairs.append(("map", "mode", "is for training games; a server chooses the maps of its arena"))
        if self.mode == "arena" and not self.server and not self.against:
            pairs.append(("mode", "server", "arena needs other players: set server, or set against for an embedded server"))
        if self.time.limit_ms is not None and self.time.margin_ms >= self.time.limit_ms:
            pairs.append(("time.margin_ms", "time.limit_ms", "must be less than the limit, or no time is left to think"))
        return pairs
