"""The requests that the page sends: a name, a move, and a request for a game."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vindibot.base.output.text import unseen_character
from vindibot.challenge.settings import LONGEST_NAME

#: Largest seed of a map: the largest integer that JavaScript represents exactly.
LARGEST_SEED = 2**53 - 1


class PersonName(BaseModel):
    """The name of a person. It has a visible character, and no character that cannot be seen."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    name: str = Field(min_length=1, max_length=LONGEST_NAME)

    @field_validator("name")
    @classmethod
    def _visible(cls, name: str) -> str:
        unseen = unseen_character(name)
        if unseen is not None:
            raise ValueError(f"has a character that cannot be seen: {unseen}")
        if not name.strip():
            raise ValueError("must have a character that can be seen")
        return name.strip()


class PersonMove(BaseModel):
    """A move in a game of several people: a direction, and the turn that it is for."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    dir: Literal["Stay", "North", "South", "East", "West"]
    turn: int = Field(ge=0)


class GameRequest(PersonName):
    """A game that a person wants to play.

    `name` is the person's name, `hero` (1..4) the person's hero. `bots` and `map` are ids of offers
    (`vindibot.challenge.offers`). `size` and `map_seed` apply only to a random map. Without `size`, a random map has a random
    size. `limit_ms` is the time limit of the bots, in milliseconds per move.
    """

    hero: int = Field(default=1, ge=1, le=4)
    bots: list[str] = Field(min_length=3, max_length=3)
    map: str = Field(max_length=200)
    size: int | None = Field(default=None, ge=8, le=28)
    map_seed: int = Field(default=0, ge=0, le=LARGEST_SEED)
    rounds: int = Field(ge=1, le=600)
    limit_ms: int = Field(ge=100, le=600_000)
