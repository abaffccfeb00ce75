"""The settings of ``vindibot challenge``, and the requests of its page: a name, a move, a game."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vindibot.base.text import unseen_character
from vindibot.config.settings import LogSettings, PoolSettings, RecordingSettings, Seed, Settings

#: Largest number of characters in the name of a person.
LONGEST_NAME = 30
#: Largest number of people in one game: the heroes. `sim.game.SEATS` would load numpy for the help of each command.
MOST_PEOPLE = 4
#: Largest seed of a map: the largest integer that JavaScript represents exactly.
LARGEST_SEED = 2**53 - 1


class ChallengeSettings(Settings):
    """The settings of ``vindibot challenge``. The map, the number of rounds and the times can be changed on the page."""

    map: str = Field(
        default="",
        max_length=10_000,
        description="the map that the page selects first: a name (m1), SIZE-SEED, or a map file; empty: a new random map",
    )
    rounds: int = Field(default=100, ge=1, le=600, description="number of rounds (moves per hero) that the page selects first")
    people: int = Field(
        default=1,
        ge=1,
        le=MOST_PEOPLE,
        description="number of people in the game; with 2 or more, each person gets a link to a hero",
    )
    seconds: int = Field(
        default=10,
        ge=1,
        le=3600,
        description="with several people: seconds for each move of a person; if they take longer, the hero stays for this turn",
    )
    your_limit_s: int = Field(
        default=60,
        ge=0,
        le=86_400,
        description="if you play alone: seconds for each move; if you take longer, your hero stays for this turn; 0: no limit",
    )
    limit_ms: int = Field(default=1000, ge=100, le=600_000, description="milliseconds per move of the bots")
    margin_ms: float = Field(
        default=75.0,
        ge=0,
        le=60_000,
        allow_inf_nan=False,
        description="milliseconds of each move that the bots leave unused; a larger value is safer",
    )
    seed: Seed = Field(default=None, description='seed of the bots; "random": a new one per game')
    port: int = Field(default=0, ge=0, le=65535, description="port of the page; 0 takes a free one")
    games: int = Field(default=4, ge=1, le=64, description="largest number of games at once; each starts workers for three bots")
    pool: PoolSettings = PoolSettings()
    recording: RecordingSettings = RecordingSettings()
    log: LogSettings = LogSettings()


class _PageRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class PersonName(_PageRequest):
    """The name of a person. It has a visible character, and no character that cannot be seen."""

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


class PersonMove(_PageRequest):
    """A move in a game of several people: a direction, and the turn that it is for."""

    dir: Literal["Stay", "North", "South", "East", "West"]
    turn: int = Field(ge=0)


class GameChoice(_PageRequest):
    """The choice of a game, for one person or several.

    `map` and `bots` are ids of offers (`vindibot.challenge.offers`). `bots` are the bots of the heroes without a person, in
    order; without them, the offers decide. `size` and `map_seed` apply only to a random map: without `size`, it has a random
    size, and without `map_seed`, each game has another map. `limit_ms` is the time limit of the bots, in milliseconds per move.
    """

    map: str = Field(max_length=200)
    bots: list[str] = Field(default=[], min_length=3, max_length=3)
    size: int | None = Field(default=None, ge=8, le=28)
    map_seed: int | None = Field(default=None, ge=0, le=LARGEST_SEED)
    rounds: int = Field(ge=1, le=600)
    limit_ms: int = Field(ge=100, le=600_000)


class GameRequest(GameChoice, PersonName):
    """The choice of a person who plays alone, with the person's name and hero (1..4)."""

    hero: int = Field(default=1, ge=1, le=4)
