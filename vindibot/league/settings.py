"""The settings of a league."""

from __future__ import annotations

import math
import os
import re
import shlex
from contextlib import suppress
from datetime import datetime, time, timedelta
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import ConfigDict, Field, field_validator

from vindibot.config.files import shipped
from vindibot.config.settings import OptionalFile, Settings
from vindibot.server.settings import ServerSettings


class LeagueServerSettings(ServerSettings):
    """The settings of a server with leagues."""

    league: OptionalFile = Field(
        default=None, description="file of a league to play, or a folder of such files; see `vindibot league`"
    )


class LeagueSettings(Settings):
    """The settings of a league.

    A league is played in *days*. On a day each bot has one *pairing*: a group of bots that play one or more games against each
    other. A *round* of a game is four plies.
    """

    model_config = ConfigDict(strict=False)

    table: Literal["duel", "four"] = Field(
        default="four", description="duel: two bots with two heroes each; four: up to four bots with one hero each"
    )
    system: Literal["round-robin", "swiss"] = Field(
        default="round-robin", description="round-robin: all bots meet; swiss: bots of similar rank meet"
    )
    days: int | None = Field(default=None, ge=1, le=100, description="number of days; if missing, the system sets it")
    seatings: int = Field(
        default=2,
        ge=1,
        le=6,
        description="games per pairing, each with other seats; fair numbers are 2, 4 or 6 in a duel, and 4 at a table of four",
    )
    rounds: int = Field(default=300, ge=1, le=100_000, description="length of a game in rounds of four plies")
    maps: tuple[str, ...] = Field(
        default=(),
        max_length=100,
        description="names or texts of maps, one per day in turn; if missing, each day has a random map",
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of pairings, maps and random bots")
    time_limit_ms: int | None = Field(
        default=None, ge=1, le=86_400_000, description="time for a move in milliseconds; the server's time limit if missing"
    )
    first_limit_ms: int = Field(
        default=5000, ge=1, le=86_400_000, description="time for the first move of each hero in milliseconds, if it is longer"
    )
    pace: Literal["none", "original"] | None = Field(
        default=None, description="shortest times of moves; the server's setting if missing"
    )
    reruns: int = Field(
        default=1, ge=0, le=100, description="largest number of times that a game is played again because a bot timed out"
    )
    absence_timeout_s: float = Field(
        default=60.0,
        ge=0,
        description=(
            "seconds after which an absent bot loses its games of the day, if no game runs or can begin; each day counts anew"
        ),
    )
    breaks: bool = Field(default=False, description="a break before each day after the first: the organiser starts the day")
    parallel: int = Field(default=16, ge=1, le=1000, description="largest number of games at once")
    fillers: tuple[str, ...] = Field(
        default=(),
        max_length=8,
        description="bots that come with vindibot and play for missing bots, outside the standings: seed,sparring/hunter",
    )
    final: int | None = Field(
        default=None,
        ge=4,
        le=64,
        description="number of bots in the knock-out final after the last day: 4, 8, 16, 32 or 64; if missing, there is no final",
    )
    start: datetime | None = Field(
        default=None,
        description='start of the games: a time (14:30), a date and a time, or "now"; if missing, the organiser starts them',
    )

    @field_validator("maps", "fillers", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split a string at its commas. The value is a string if it comes from a command-line option."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("fillers")
    @classmethod
    def _known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Check that these are names of bots that come with vindibot. Paths of other files are refused."""
        for name in names:
            parts = PurePosixPath(name).parts
            if not all(_BOT.fullmatch(part) for part in parts) or not shipped(f"bots/{name}.toml").is_file():
                raise ValueError(f"must be names of bots that come with vindibot, such as seed; there is no bot {name!r:.60}")
        return names

    @field_validator("final")
    @classmethod
    def _power_of_two(cls, final: int | None) -> int | None:
        if final is not None and final.bit_count() != 1:
            raise ValueError(f"must be 4, 8, 16, 32 or 64, not {final}")
        return final

    @field_validator("start", mode="before")
    @classmethod
    def _read_start(cls, value: Any) -> Any:
        """Return the time at which the league starts, with the time zone. A time without a date is the next such time."""
        now = datetime.now().astimezone()
        if isinstance(value, str):
            value = now if value.strip().lower() == "now" else _parse(value.strip())
        if isinstance(value, time | datetime) and value.tzinfo is None and (unknown := _unknown_zone()):
            raise ValueError(f"is in the time zone of this machine, but the variable TZ names an unknown one: {unknown!r:.60}")
        if isinstance(value, time):
            today, tomorrow = (datetime.combine(day, value).astimezone(value.tzinfo) for day in (now, now + timedelta(days=1)))
            value = today if today >= now else tomorrow
        if value is not None and not isinstance(value, datetime):
            raise ValueError(f"must be {_START}")
        return value if value is None or value.tzinfo is not None else value.astimezone()


#: The texts that name the start of a league.
_START = 'a time (14:30), a date and a time (2030-05-31 14:30), or "now"'
#: A part of the name of a bot that comes with vindibot.
_BOT = re.compile(r"[a-z0-9][a-z0-9-]*")
#: The beginning of a time zone that needs no database, such as ``CET-1CEST,M3.5.0,M10.5.0/3``.
_POSIX_ZONE = re.compile(r"(<[\w+-]+>|[A-Za-z]{3,})[+-]?\d")


def _parse(text: str) -> datetime | time:
    """Return the time, or the date and time, in a text. Raises `ValueError`."""
    with suppress(ValueError):
        if ":" in text:
            return datetime.fromisoformat(text) if len(text) > len("14:30") else time.fromisoformat(text.zfill(len("14:30")))
    raise ValueError(f"must be {_START}, not {text!r:.60}")


def _unknown_zone() -> str:
    """Return the time zone in the variable TZ if this machine does not know it, else "". The system then takes UTC for it."""
    zone = os.environ.get("TZ", "").removeprefix(":")
    try:
        return "" if not zone or Path(zone).is_absolute() or _POSIX_ZONE.match(zone) or ZoneInfo(zone) else zone
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return zone


def start_text(start: datetime) -> str:
    """Return the start of a league in the time zone of this machine, and how long it takes: ``14:30 UTC, in 2 h 10 min``."""
    start = start.astimezone()
    now = datetime.now(start.tzinfo)
    day = "" if start.date() == now.date() else f"{start:%Y-%m-%d} "
    return f"{day}{start:%H:%M %Z}, {time_left(start)}"


def time_left(start: datetime) -> str:
    """Return how long it takes until a time, in words: ``in 2 h 10 min``."""
    minutes = math.ceil((start - datetime.now(start.tzinfo)) / timedelta(minutes=1))
    if minutes <= 0:
        return "now"
    days, hours = minutes // (24 * 60), minutes // 60 % 24
    parts = [f"{days} d"] * (days > 0) + [f"{hours} h"] * (hours > 0) + [f"{minutes % 60} min"] * (minutes % 60 > 0)
    return f"in {' '.join(parts)}"


def play_command(settings: LeagueSettings, address: str) -> str:
    """Return the command with which the owner of a bot plays a league of the server at `address`."""
    clients = ["--parallel", "2"] if settings.table == "duel" else []
    words = ["vindibot", "play", "--config", "arena", "--server", address, "--games", "1000", *clients, "--bot", "mybot"]
    return f"VINDIBOT_KEY=YOUR-KEY {shlex.join(words)}"
