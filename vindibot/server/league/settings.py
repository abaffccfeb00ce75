"""The settings of a league."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from vindibot.config import Settings


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
    days: int | None = Field(default=None, ge=1, le=1000, description="number of days; if missing, the system sets it")
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
        default=600.0,
        ge=0,
        description="seconds after which an absent bot loses its games of the day, if no game runs or can begin",
    )
    parallel: int = Field(default=16, ge=1, le=1000, description="largest number of games at once")

    @field_validator("maps", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split a string at its commas. The value is a string if it comes from a command-line option."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value
