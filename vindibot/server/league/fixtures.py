"""Fixtures: the games of a league, each with its day, its seats and, once it is decided, its result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sim.game import SEATS

Index = Annotated[int, Field(ge=0)]
FourGold = Annotated[tuple[int, ...], Field(min_length=SEATS, max_length=SEATS)]
FourFlags = Annotated[tuple[bool, ...], Field(min_length=SEATS, max_length=SEATS)]


class FixtureResult(BaseModel):
    """The result of a fixture.

    "played": by gold, also if heroes timed out; "absent": against the entrants in `absent`, which did not come; "bye": without
    an opponent. `gold` and `crashed` are by seat, of a played fixture only.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["played", "absent", "bye"]
    gold: FourGold | None = None
    crashed: FourFlags | None = None
    absent: tuple[Index, ...] = ()
    game_id: str = ""


class Fixture(BaseModel):
    """One game of a league. `seats` are entrants by number, None for a random bot of the server; empty for a bye.

    `seed` is the seed of the map (unless `map` names one) and of the random bots. `attempts` is the number of games played.
    """

    model_config = ConfigDict(extra="forbid")

    day: int = Field(ge=1)
    entrants: tuple[Index, ...] = Field(min_length=1, max_length=SEATS)
    seats: tuple[Index | None, ...] = Field(max_length=SEATS)
    seed: int = Field(ge=0)
    map: str | None = None
    attempts: int = Field(default=0, ge=0)
    result: FixtureResult | None = None

    def heroes_of(self, entrant: int) -> int:
        """Return the number of heroes of an entrant."""
        return self.seats.count(entrant)
