"""The settings of ``vindibot challenge``."""

from __future__ import annotations

from pydantic import Field

from vindibot.config.settings import LogSettings, PoolSettings, RecordingSettings, Seed, Settings

#: Largest number of characters in the name of a person.
LONGEST_NAME = 30
#: Largest number of people in one game: the heroes. `sim.game.SEATS` would load numpy for the help of each command.
MOST_PEOPLE = 4


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
        description="if you play alone: seconds for each move of yours; if you take longer, your hero crashes; 0: no limit",
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
