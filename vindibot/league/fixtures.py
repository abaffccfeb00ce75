"""Fixtures: the games of a league. Each has a day, seats and, once it is decided, a result."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from sim.game import SEATS

Index = Annotated[int, Field(ge=0)]
FourGold = Annotated[tuple[int, ...], Field(min_length=SEATS, max_length=SEATS)]
FourFlags = Annotated[tuple[bool, ...], Field(min_length=SEATS, max_length=SEATS)]


class FixtureResult(BaseModel):
    """The result of a fixture (a game of a league). `kind` is one of three:

    - "played": the game was played. `gold` and `crashed` have one entry per seat. `crashed` says which heroes timed out. Fillers
      played for the entrants in `absent`, and these entrants lose.
    - "absent": the entrants in `absent` did not join the game, and lose. `gold` and `crashed` are None.
    - "bye": the entrant had no opponent. `gold` and `crashed` are None.
    """

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid", frozen=True)

    kind: Literal["played", "absent", "bye"]
    gold: FourGold | None = None
    crashed: FourFlags | None = None
    absent: tuple[Index, ...] = ()
    game_id: str = ""


class Fixture(BaseModel):
    """One game of a league. `entrants` are the game's bots, as indices in the roster.

    `seats` has one entry per seat: the index of a bot, or None for a filler or a random bot of the server. It is empty for a bye
    (an entrant without an opponent). `final` says whether the game belongs to the knock-out final. `seed` is the seed of the
    random bots and, if `map` is None, of the map. `attempts` is the number of times that the game was played. `result` is None
    until the game is decided.
    """

    model_config = ConfigDict(allow_inf_nan=False, extra="forbid")

    day: int = Field(ge=1)
    entrants: tuple[Index, ...] = Field(min_length=1, max_length=SEATS)
    seats: tuple[Index | None, ...] = Field(max_length=SEATS)
    seed: int = Field(ge=0)
    map: str | None = None
    final: bool = False
    attempts: int = Field(default=0, ge=0)
    result: FixtureResult | None = None

    @property
    def played(self) -> bool:
        """Whether the game is decided and was played."""
        return self.result is not None and self.result.kind == "played"

    def heroes_of(self, entrant: int) -> int:
        """Return the number of heroes that an entrant has in this game."""
        return self.seats.count(entrant)
