"""The settings of ``vindibot tune play``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from vindibot.arena.settings import Dask
from vindibot.config.settings import LogSettings, OptionalFile, Seed, Settings, WorkerCount

#: What tuning maximises. place: from 1 for the first place to 0 for the last place. win: 1 for the most gold, divided among
#: heroes with equal gold. gold: the logarithm of the gold.
Objective = Literal["place", "win", "gold"]
#: The rivals by default: the sparring bots for development (config/bots/sparring).
RIVALS = ("camper", "miner", "lister", "bargainer", "duellist", "raider")
#: The settings that change no game.
OUTSIDE = frozenset({"games", "seed", "workers", "study", "out", "report", "dask", "log"})


class TuneSettings(Settings):
    """The settings of ``vindibot tune play``."""

    parameters: list[str] = Field(
        default=["traits.*"], min_length=1, description="keys of the parameters to tune; * stands for any text"
    )
    exclude: list[str] = Field(default=["*.nodes", "*.seed"], description="keys of parameters that are not tuned")
    ranges: dict[str, Annotated[tuple[float, float], Field(strict=False)]] = Field(
        default={}, description="lowest and largest value of parameters, by key, instead of the range around the start value"
    )
    pool: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[f"sparring/{name}" for name in RIVALS], description="rivals: bot files; empty: self-play only"
    )
    self_share: float = Field(
        default=0.25, ge=0, le=1, description="share of the blocks without rivals; the other blocks have two rivals each"
    )
    maps: list[str] = Field(default=[], description="maps: names or files; empty: the first 20 of the standard set")
    games: int = Field(default=4000, ge=10, le=10_000_000, description="number of games; a block has two games")
    spread: float = Field(
        default=0.5,
        gt=0,
        le=2,
        description="typical distance of the first variants from the start value, as a share of this value; larger: wider search",
    )
    batch: int = Field(default=4, ge=1, le=10_000, description="number of blocks per variant; larger: fewer variants, less noise")
    objective: Objective = Field(
        default="place", description="what is maximised: the place, the share of wins, or the logarithm of the gold"
    )
    rounds: int = Field(default=300, ge=1, le=5_000, description="moves of each hero in a game")
    nodes: Annotated[int, Field(ge=1, lt=2**63)] = Field(
        default=2000, description="nodes per move; smaller: more games in the same time"
    )
    seed: Seed = Field(default=None, description='the seed of all random choices; "random": a new one per study')
    workers: WorkerCount = Field(default=None, description='number of games at once; "cores": one per core')
    study: OptionalFile = Field(default=None, description="the file of the study; empty: BOT.study.jsonl")
    out: OptionalFile = Field(default=None, description="the file of the tuned bot; empty: BOT-tuned.toml beside the study")
    report: bool = Field(default=True, description="write a report beside the study: one HTML file")
    dask: Dask = ""
    log: LogSettings = LogSettings(level="warning")

    def setup(self) -> dict[str, Any]:
        """Return the settings that determine the games of a variant, as JSON values."""
        return self.model_dump(mode="json", exclude=set(OUTSIDE))
