"""What can be set for ``vindibot challenge``."""

from __future__ import annotations

from pydantic import Field

from vindibot.config import LogSettings, PoolSettings, RecordingSettings, Seed, Settings

#: The longest name of a person, in characters.
LONGEST_NAME = 30


class ChallengeSettings(Settings):
    """The settings of ``vindibot challenge``. Map, rounds and times are what the page offers first; it can choose others."""

    map: str = Field(
        default="",
        max_length=10_000,
        description="the map offered first: a name (m1), SIZE-SEED, or a map file; empty: a fresh random one",
    )
    rounds: int = Field(default=100, ge=1, le=600, description="rounds offered first: moves of each hero")
    your_limit_s: int = Field(
        default=60, ge=0, le=86_400, description="seconds you have for a move before your hero crashes; 0: as long as you like"
    )
    limit_ms: int = Field(default=1000, ge=100, le=600_000, description="milliseconds the bots have for a move")
    margin_ms: float = Field(
        default=75.0,
        ge=0,
        le=60_000,
        allow_inf_nan=False,
        description="milliseconds of each move that the bots leave unused, for safety",
    )
    seed: Seed = Field(default=None, description='seed of the bots; "random": another one each time')
    port: int = Field(default=0, ge=0, le=65535, description="port of the page; 0 takes a free one")
    games: int = Field(default=4, ge=1, le=64, description="games at once: each has worker processes for three bots")
    pool: PoolSettings = PoolSettings()
    recording: RecordingSettings = RecordingSettings()
    log: LogSettings = LogSettings()
