"""What can be set for a league."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, field_validator

from vindibot.config import Settings


class LeagueSettings(Settings):
    """How a league is played. A *day* of a league is one round of pairings; a *round* is four plies, as in every game."""

    model_config = ConfigDict(strict=False)

    table: Literal["duel", "four"] = Field(
        default="four", description="duel: one against one, each with two heroes; four: up to four against each other"
    )
    system: Literal["round-robin", "swiss"] = Field(
        default="round-robin", description="round-robin: everybody meets everybody; swiss: those of equal strength, day by day"
    )
    days: int | None = Field(default=None, ge=1, le=1000, description="days to play; without it as many as the system needs")
    seatings: int = Field(
        default=2, ge=1, le=6, description="games of each pairing, with changed seats: 2, 4 or 6 are fair in a duel, 4 at a table"
    )
    rounds: int = Field(default=300, ge=1, le=100_000, description="rounds (four plies) of a game")
    maps: tuple[str, ...] = Field(
        default=(), max_length=100, description="names or texts of maps, taken in turn day by day; none: a fresh map each day"
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="seed of pairings, maps and the server's bots")
    time_limit_ms: int | None = Field(
        default=None, ge=1, le=86_400_000, description="milliseconds a player has for a move; without it as the server has it"
    )
    pace: Literal["none", "original"] | None = Field(
        default=None, description="minimum times of moves; without it as the server has it"
    )
    reruns: int = Field(default=1, ge=0, le=100, description="how often a game in which somebody timed out is played again")
    absence_timeout_s: float = Field(
        default=600.0, ge=0, description="seconds after which a bot that everybody is waiting for loses its games of the day"
    )
    parallel: int = Field(default=16, ge=1, le=1000, description="games at once")

    @field_validator("maps", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Names with commas between them, as an option gives them, are several maps."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value
