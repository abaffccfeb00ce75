"""The settings of the commands of ``vindibot tune``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from vindibot.arena.settings import ClusterSettings, SprtSettings
from vindibot.config.settings import LogSettings, Nodes, OptionalFile, Seed, Settings, WorkerCount

#: The sparring bots for development, and the sparring bots for the final test (config/bots/sparring).
DEVELOPMENT = ["camper", "miner", "lister", "bargainer", "duellist", "raider"]
END = ["hunter", "scorer", "dodger", "staller", "brawler", "warden"]

Share = Annotated[float, Field(ge=0, le=1)]


class TuneSettings(Settings):
    """The settings of ``vindibot tune play``."""

    parameters: list[str] = Field(
        default=["traits.*"], min_length=1, description="keys of the parameters to tune; * stands for any text"
    )
    exclude: list[str] = Field(default=["*.nodes", "*.seed"], description="keys of parameters that are not tuned")
    ranges: dict[str, Annotated[tuple[float, float], Field(strict=False)]] = Field(
        default={}, description="lowest and largest value of parameters, by key, instead of the range that the trait declares"
    )
    pool: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[f"sparring/{name}" for name in DEVELOPMENT], description="rivals: bot files; empty: self-play only"
    )
    self_share: Share = Field(
        default=0.25, description="share of the blocks without rivals; the other blocks have two rivals each"
    )
    maps: list[str] = Field(default=[], description="maps: names or files; empty: the first 20 of the standard set")
    games: int = Field(default=4000, ge=40, le=10_000_000, description="number of games; a block has two games")
    screening: float = Field(
        default=0.3, ge=0, le=0.95, description="share of the games for the screening; 0: no screening, all parameters are tuned"
    )
    alpha: float = Field(
        default=0.1,
        gt=0,
        le=1,
        description="share of the chosen parameters that may have no effect, on average; 1: all parameters are chosen",
    )
    method: Literal["spsa", "cmaes"] = Field(default="spsa", description="the method that tunes the chosen parameters")
    step: float = Field(
        default=0.4, gt=0, le=1, description="size of a step, as a share of the start value of a parameter (docs/tune.md)"
    )
    reach: float = Field(
        default=10.0,
        gt=0,
        le=1000,
        description="number of steps by which SPSA moves a typical parameter; larger: faster, less exact",
    )
    batch: int = Field(default=4, ge=1, le=10_000, description="number of blocks per iterate; cmaes: per tried point")
    last: float = Field(
        default=0.5, gt=0, le=1, description="share of the iterates, counted from the end, whose mean is the result"
    )
    objective: Literal["place", "win", "gold"] = Field(
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
    cluster: ClusterSettings = ClusterSettings()
    log: LogSettings = LogSettings(level="warning")

    def setup(self) -> dict[str, object]:
        """Return the settings that determine the games, as JSON values."""
        return self.model_dump(mode="json", exclude={"workers", "study", "out", "report", "cluster", "log", "seed"})


class PromoteSettings(Settings):
    """The settings of ``vindibot tune promote``."""

    versions: OptionalFile = Field(default=None, description="the folder of the family's versions; empty: versions")
    family: str = Field(default="", description="the name of the family; empty: the name of the parent without its number")
    rivals: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[f"sparring/{name}" for name in END], description="rivals that tuning never met: bot files"
    )
    maps: list[str] = Field(
        default=[], description="maps that tuning never used: names or files; empty: new maps for each attempt"
    )
    blocks: int = Field(default=400, ge=20, le=1_000_000, description="largest number of blocks of the test against the parent")
    rival_blocks: int = Field(default=20, ge=5, le=100_000, description="number of blocks against each rival")
    family_blocks: int = Field(default=20, ge=5, le=100_000, description="number of blocks of the family's tournament")
    rounds: int = Field(default=300, ge=1, le=5_000, description="moves of each hero in a game")
    nodes: Nodes = Field(default=20_000, description='nodes per move; "none": use move_ms')
    move_ms: int = Field(default=100, ge=1, le=600_000, description="milliseconds per move if nodes is none")
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(
        default=1, description="the seed of all random choices; each attempt derives another seed from it"
    )
    workers: WorkerCount = Field(default=None, description='number of games at once; "cores": one per core')
    sprt: SprtSettings = SprtSettings()
    cluster: ClusterSettings = ClusterSettings()
    log: LogSettings = LogSettings(level="warning")
