"""What can be set for a command, with limits and defaults: the tables of a configuration file.

Each field is a key of the file, a variable of the environment, an option of the command line, and its own help text.
`vindibot.config.load` reads them; nothing here looks at files or at the environment.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, WithJsonSchema

from vindibot.base import ServerAddress, UsageError
from vindibot.config.messages import shown


def cores() -> int:
    """How many cores this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def word(word: str) -> BeforeValidator:
    """Read `word` as None, since TOML has nothing for "not set"; every other value goes on to the field's own checks."""
    return BeforeValidator(lambda value: None if value == word else value)


def worded(word: str, kind: str) -> WithJsonSchema:
    """The JSON schema that goes with `word`: `kind` is what may stand there besides."""
    return WithJsonSchema({"anyOf": [{"type": kind}, {"const": word}], "default": word})


def _to_path(value: Any) -> Any:
    """A text as a path, with ~ opened; an empty one as None."""
    if isinstance(value, str):
        return Path(value).expanduser() if value else None
    if value is not None and not isinstance(value, Path):
        raise ValueError(f"must be a path in quotes, not {shown(value)}")
    return value


def _to_folder(value: Any) -> Any:
    path = _to_path(value)
    if path is None:
        raise ValueError("must be a path, not empty")
    return path


def _check_server(value: str) -> str:
    """Bring a server's address into one form; whether it may be given a key is asked later."""
    try:
        return str(ServerAddress.parse(value, allow_old_domain=True)) if value.strip() else ""
    except UsageError as problem:
        raise ValueError(f"is refused: {problem.message}") from None


Server = Annotated[str, AfterValidator(_check_server)]
Folder = Annotated[Path, BeforeValidator(_to_folder), WithJsonSchema({"type": "string", "minLength": 1})]
OptionalFile = Annotated[Path | None, BeforeValidator(_to_path), WithJsonSchema({"type": "string"})]
OptionalKey = Annotated[SecretStr | None, BeforeValidator(lambda value: None if value == "" else value)]
Limit = Annotated[Annotated[int, Field(ge=10, le=600_000)] | None, word("server"), worded("server", "integer")]
Seed = Annotated[Annotated[int, Field(ge=0, lt=2**63)] | None, word("random"), worded("random", "integer")]
Workers = Annotated[Annotated[int, Field(ge=1, le=256)] | None, word("cores"), worded("cores", "integer")]
Nodes = Annotated[Annotated[int, Field(ge=1, lt=2**63)] | None, word("none"), worded("none", "integer")]
TimeBudget = Annotated[
    Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] | None, word("mode"), worded("mode", "number")
]

#: The word that stands for None in files, variables and options, by key.
WORDS = {
    "join_timeout_s": "mode",
    "pool.nodes": "none",
    "pool.workers": "cores",
    "seed": "random",
    "time.limit_ms": "server",
}


class Settings(BaseModel):
    """A table of settings: unknown keys, and values of the wrong type, are errors; nothing can be changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class TimeSettings(Settings):
    """How the time of a turn is kept."""

    limit_ms: Limit = Field(default=None, description='milliseconds per move; "server": as the server states it, else 1000')
    margin_ms: float = Field(
        default=75.0,
        ge=0,
        le=60_000,
        allow_inf_nan=False,
        description="milliseconds of each move that are left unused, for safety",
    )


class PoolSettings(Settings):
    """The worker processes in which traits run."""

    workers: Workers = Field(
        default=None, description='worker processes per game; "cores": one per core, shared by parallel games'
    )
    in_process: bool = Field(
        default=False, description="run the traits in the main process: nothing can stop an endless loop then"
    )
    nodes: Nodes = Field(
        default=None, description='think this many nodes instead of until the deadline; "none": until the deadline'
    )
    grace_ms: float = Field(
        default=50.0,
        ge=1,
        le=10_000,
        allow_inf_nan=False,
        description="milliseconds after the deadline before a silent worker is killed",
    )
    strikes: int = Field(default=3, ge=1, le=20, description="bench a trait that hangs or raises this often in 20 of its turns")

    def worker_count(self) -> int:
        """The number of worker processes: as set, else one per core."""
        return self.workers if self.workers is not None else cores()


class RecordingSettings(Settings):
    """The recording of each game."""

    enabled: bool = Field(default=True, description="write a recording of each game")
    folder: Folder = Field(default=Path("recordings"), description="where recordings go (made if it is not there)")


class LogSettings(Settings):
    """What is told while a command runs."""

    level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="how much is told in the terminal")
    file: OptionalFile = Field(default=None, description="also append everything, as JSON lines, to this file; empty: no file")


class PlaySettings(Settings):
    """The settings of ``vindibot play``."""

    mode: Literal["training", "arena"] = Field(
        default="training", description="training: against the server's bots; arena: against others"
    )
    server: Server = Field(default="", description="address of the server; empty: start the embedded one for this command")
    bot: str = Field(default="seed", min_length=1, description="our bot: a bot file, or the name of one")
    against: str = Field(
        default="", description="the bot in the other three seats (embedded server only); empty: the server's bots"
    )
    key: OptionalKey = Field(default=None, description="our key on the server; better kept in VINDIBOT_KEY or a key file")
    key_file: OptionalFile = Field(default=None, description="a file with our key on the server")
    allow_old_domain: bool = Field(
        default=False, description="send our key to vindinium.org although it belongs to strangers now"
    )
    games: int = Field(default=1, ge=1, le=1_000_000, description="how many games to play")
    parallel: int = Field(default=1, ge=1, le=256, description="how many of them at once (never more than there are cores)")
    rounds: int = Field(default=300, ge=1, le=600, description="rounds of a training game: moves of each hero")
    map: str = Field(
        default="",
        description="map of a training game: a name (m1), SIZE-SEED, a map file, or its text; empty: random",
    )
    pace: Literal["none", "original"] = Field(
        default="none", description="our own server's pace: none, or about two rounds a second, as the original server's bots"
    )
    seed: Seed = Field(default=None, description='seed of maps, opponents and ties; "random": another one each time')
    join_timeout_s: TimeBudget = Field(
        default=None, description='seconds to wait for a game to begin; "mode": 600 in training, until matched in an arena'
    )
    connect_timeout_s: float = Field(
        default=60.0, ge=0, le=86_400, allow_inf_nan=False, description="seconds to keep trying a server that refuses connections"
    )
    display: Literal["auto", "board", "lines", "none"] = Field(
        default="auto", description="board: live in the terminal; lines: one per own turn; auto: board where there is a terminal"
    )
    open: bool = Field(default=False, description="show the games in the browser while they are played, with our votes")
    time: TimeSettings = TimeSettings()
    pool: PoolSettings = PoolSettings()
    recording: RecordingSettings = RecordingSettings()
    log: LogSettings = LogSettings()

    @property
    def embedded(self) -> bool:
        """Whether the command starts a server of its own."""
        return not self.server

    def join_seconds(self) -> float:
        """How long to wait for a game to begin; infinite in an arena, unless set."""
        if self.join_timeout_s is not None:
            return self.join_timeout_s
        return math.inf if self.mode == "arena" else 600.0

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Pairs of settings that cannot both be meant: (key, other key, what is wrong and what to do)."""
        found = []
        if self.against and self.server:
            found.append(("against", "server", "can only be set for the embedded server: leave one of the two empty"))
        if self.mode == "arena" and self.map and self.server:
            found.append(("map", "mode", "is for training games; a server draws the maps of its arena itself"))
        if self.mode == "arena" and not self.server and not self.against:
            found.append(("mode", "server", "arena needs other players: set server, or against for a game on the embedded one"))
        if self.time.limit_ms is not None and self.time.margin_ms >= self.time.limit_ms:
            found.append(("time.margin_ms", "time.limit_ms", "must be less than the limit, or no time is left to think"))
        return found
