"""The settings of a league."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from vindibot.config import Settings


class LeagueSettings(Settings):
    """The settings of a league. A *day* is one round of pairings; a *round* is four plies, as in every game."""

    model_config = ConfigDict(strict=False)

    table: Literal["duel", "four"] = Field(
        default="four", description="duel: two bots with two heroes each; four: up to four bots with one hero each"
    )
    system: Literal["round-robin", "swiss"] = Field(
        default="round-robin", description="round-robin: all bots meet; swiss: bots of similar rank meet"
    )
    days: int | None = Field(default=None, ge=1, le=1000, description="number of days; without it as the system needs")
    seatings: int = Field(
        default=2,
        ge=1,
        le=6,
        description="games per pairing, with changed seats: 2, 4 or 6 are fair in a duel, 4 at a table",
    )
    rounds: int = Field(default=300, ge=1, le=100_000, description="number of rounds (four plies) of a game")
    maps: tuple[str, ...] = Field(
        default=(), max_length=100, description="names or texts of maps, one per day in turn; none: a random map each day"
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of pairings, maps and random bots")
    time_limit_ms: int | None = Field(
        default=None, ge=1, le=86_400_000, description="time for a move in milliseconds; without it that of the server"
    )
    pace: Literal["none", "original"] | None = Field(
        default=None, description="minimum times of moves; without it those of the server"
    )
    reruns: int = Field(default=1, ge=0, le=100, description="largest number of repetitions of a game in which a bot timed out")
    absence_timeout_s: float = Field(
        default=600.0,
        ge=0,
        description="seconds after which an absent bot loses its games of the day, if none can begin",
    )
    parallel: int = Field(default=16, ge=1, le=1000, description="largest number of games at once")

    @field_validator("maps", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split a text at its commas, as an option gives it."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value
