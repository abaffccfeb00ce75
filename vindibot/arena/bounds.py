"""What the sequential test of an A/B match decides between: the table ``[sprt]`` of a tournament's configuration."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from vindibot.config import Settings

_Points = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
_Rate = Annotated[float, Field(gt=0, lt=0.5)]


class SprtSettings(Settings):
    """The bounds of a sequential test, and how often it may be wrong (see `vindibot.arena.sprt`).

    With `stop` the match ends at the verdict, and the size of the difference is not told; without, all blocks are played
    and it is. `elo1` must be more than `elo0`: `conflicts` tells, for a configuration's table ``sprt``.
    """

    stop: bool = Field(default=False, description="end an A/B match as soon as the sequential test has a verdict")
    elo0: _Points = Field(default=0.0, description="H0: the first bot is stronger by this many rating points")
    elo1: _Points = Field(default=20.0, description="H1: the first bot is stronger by this many rating points")
    alpha: _Rate = Field(default=0.05, description="how often H1 may be accepted where H0 is true")
    beta: _Rate = Field(default=0.05, description="how often H0 may be accepted where H1 is true")
    fewest: int = Field(default=20, ge=5, le=100_000, description="no verdict before this many blocks")
    distinct: float = Field(default=0.5, ge=0, le=1, description="no verdict unless this share of the games is distinct")

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Pairs of settings that cannot both be meant: (key, other key, what is wrong)."""
        return [("sprt.elo1", "sprt.elo0", "must be more than elo0")] if self.elo1 <= self.elo0 else []
