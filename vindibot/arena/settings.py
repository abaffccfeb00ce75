"""The settings of ``vindibot arena``: the tables of a tournament's configuration, with limits and defaults."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vindibot.config.settings import LogSettings, Nodes, NoneWord, OptionalFile, Seed, Settings, WorkerCount
from vindibot.statistics.hypotheses import Hypotheses

Milliseconds = Annotated[int, Field(ge=1, le=600_000)]
FirstMove = Annotated[Milliseconds | None, NoneWord("move")]
Megabytes = Annotated[int, Field(ge=16, le=1_000_000)]
MemoryLimit = Annotated[Megabytes | None, NoneWord("none")]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Wall = Annotated[Seconds | None, NoneWord("auto")]
Points = Annotated[float, Field(ge=-1000, le=1000, allow_inf_nan=False)]
ErrorRate = Annotated[float, Field(gt=0, lt=0.5)]

#: The folder for results if the settings name no file.
RESULTS_FOLDER = Path("results")
#: The rungs of a ladder by default, weak and strong bots that ship.
RUNGS = (
    "random",
    "seed",
    "malvert",
    *(
        f"sparring/{name}"
        for name in (
            *("bargainer", "brawler", "camper", "dodger", "duellist", "hunter"),
            *("lister", "miner", "raider", "scorer", "staller", "warden"),
        )
    ),
    "strong",
    "learned",
)


class LimitSettings(Settings):
    """The limits of all bots. The table of a single bot can set other limits for this bot."""

    move_ms: Milliseconds = Field(default=1000, description="milliseconds per move")
    first_ms: FirstMove = Field(default=None, description='milliseconds for the first move of a game; "move": same as move_ms')
    nodes: Nodes = Field(
        default=None,
        description='nodes per move for bot files, in place of move_ms: gives the same moves on any machine; "none": use move_ms',
    )
    start_s: Seconds = Field(default=20.0, description="seconds for a program to start and join")
    grace_ms: int = Field(
        default=100, ge=0, le=60_000, description="milliseconds by which a move may exceed its limit; raise it on a busy machine"
    )
    memory_mb: MemoryLimit = Field(default=None, description='megabytes of address space per bot; "none": no limit')
    wall_s: Wall = Field(default=None, description='largest number of seconds per game; "auto": the sum of all other limits')


class MapSettings(Settings):
    """The maps of a tournament. Each block uses the next map."""

    set: Literal["standard", "random"] = Field(
        default="standard", description="standard: 40 fixed maps of all sizes; random: new maps, generated from the seed"
    )
    names: list[str] = Field(default=[], description="maps to play instead of the set: names (m1), SIZE-SEED, map files")
    sizes: list[Annotated[int, Field(ge=8, le=28, multiple_of=2)]] = Field(
        default=[], description="only maps of these sizes (even, 8 to 28); random maps take the sizes in turn"
    )


class EntrantSettings(Settings):
    """A bot of the tournament that needs more settings than a name. If a limit is not set here, the limit in [limits] counts."""

    bot: str | None = Field(default=None, min_length=1, description="a bot file, or the name of one")
    command: str | list[str] | None = Field(default=None, min_length=1, description="a program to start, with its arguments")
    protocol: Literal["http", "stdio"] = Field(default="http", description="the protocol of the program")
    folder: OptionalFile = Field(default=None, description="the folder in which the program runs")
    move_ms: Milliseconds | None = Field(default=None, description="milliseconds per move")
    first_ms: Milliseconds | None = Field(default=None, description="milliseconds for the first move of a game")
    nodes: Annotated[int, Field(ge=1, lt=2**63)] | None = Field(default=None, description="nodes per move, for bot files")
    start_s: Seconds | None = Field(default=None, description="seconds for the program to start and join")
    memory_mb: Megabytes | None = Field(default=None, description="megabytes of address space")


class SprtSettings(Settings):
    """The sequential test of a match of two bots: its hypotheses and error rates (see `vindibot.statistics.sprt`).

    With `stop`, the match ends at the verdict, and the difference in strength is not estimated. `elo1` must be more than `elo0`.
    """

    stop: bool = Field(default=False, description="end a match of two bots as soon as the sequential test has a verdict")
    elo0: Points = Field(default=Hypotheses.elo0, description="H0: the first bot is stronger by this number of rating points")
    elo1: Points = Field(default=Hypotheses.elo1, description="H1: the first bot is stronger by this number of rating points")
    alpha: ErrorRate = Field(
        default=Hypotheses.alpha, description="probability of the verdict H1 if H0 is true; smaller: more blocks"
    )
    beta: ErrorRate = Field(
        default=Hypotheses.beta, description="probability of the verdict H0 if H1 is true; smaller: more blocks"
    )
    fewest: int = Field(default=Hypotheses.fewest, ge=5, le=100_000, description="number of blocks before the first verdict")
    distinct: float = Field(
        default=Hypotheses.distinct, ge=0, le=1, description="share of distinct games below which there is no verdict"
    )

    def hypotheses(self) -> Hypotheses:
        """Return what the test is told. Raises ValueError if the settings contradict each other."""
        return Hypotheses(self.elo0, self.elo1, self.alpha, self.beta, self.fewest, self.distinct)

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Return pairs of settings that contradict each other: (key, other key, problem). Keys begin with ``sprt.``."""
        return [("sprt.elo1", "sprt.elo0", "must be more than elo0")] if self.elo1 <= self.elo0 else []


Dask = Annotated[
    str,
    Field(
        description="play on the machines of this scheduler of Dask, for example tcp://HOST:8786 (docs/cluster.md); "
        "local: start a scheduler here"
    ),
]


class ArenaSettings(Settings):
    """The settings of ``vindibot arena``."""

    bots: list[Annotated[str, Field(min_length=1)]] = Field(
        default=["seed", "malvert", "random", "stay"],
        description="the bots: bot files or their names, random, stay, tables of [entrants], http:COMMAND, stdio:COMMAND",
    )
    format: Literal["all", "gauntlet", "rotation", "ab"] = Field(
        default="all",
        description="all: all groups of four bots; gauntlet: the first bot against all groups of three others; rotation: "
        "one of these groups per block; ab: two bots, two seats each",
    )
    blocks: int = Field(default=10, ge=1, le=1_000_000, description="number of blocks, each one map and seed in all seatings")
    positions: str = Field(
        default="",
        max_length=1000,
        description="begin the games in the positions of this suite, one per block: a file of `vindibot positions make`, standard"
        " or standard-end; rounds is then the length from the position on, for example 80; empty: begin at the start of a map",
    )
    rounds: int = Field(default=300, ge=1, le=5_000, description="moves of each hero in a game")
    seed: Seed = Field(default=None, description='the seed of maps and all random choices; "random": a new one per tournament')
    adjudicate: Literal["never", "decided"] = Field(
        default="never", description="decided: end a game when no hero's place can change any more"
    )
    workers: WorkerCount = Field(default=None, description='number of games at once; "cores": one per core')
    results: OptionalFile = Field(default=None, description="the file of results; empty: a new one in the folder results")
    records: bool = Field(default=True, description="store the moves of every game beside the results, some kilobytes per game")
    report: bool = Field(default=True, description="write a report with plots, one HTML file, beside the results")
    replays: int = Field(
        default=8, ge=0, le=1000, description="number of games that the report links to, as pages with the whole game; 0: none"
    )
    check: bool = Field(
        default=False, description="check the programs before the first game, in short games, some seconds per program"
    )
    anchor: str = Field(default="", description="the bot whose rating is 0; empty: seed if it plays, else the mean is 0")
    logs: Literal["none", "trouble", "all"] = Field(
        default="trouble", description="store the standard error of bots: of no game, of games with forfeits, of all games"
    )
    max_forfeits: float = Field(
        default=0.01,
        ge=0,
        le=1,
        description="share of its games that a bot may forfeit; above it the exit code is 6; 1: any number, from the first game",
    )
    limits: LimitSettings = LimitSettings()
    maps: MapSettings = MapSettings()
    sprt: SprtSettings = SprtSettings()
    dask: Dask = ""
    entrants: dict[str, EntrantSettings] = Field(default={}, description="bots that need more than a name: [entrants.NAME]")
    log: LogSettings = LogSettings(level="warning")

    def anchor_of(self, bots: Collection[str]) -> str | None:
        """Return which of the bots of a tournament has the rating 0; None if the mean of all ratings is 0."""
        return self.anchor or ("seed" if "seed" in bots else None)

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Return pairs of settings that contradict each other: (key, other key, problem)."""
        conflicts = self.sprt.conflicts()
        if self.positions:
            keys = [key for key, value in (("maps.names", self.maps.names), ("maps.sizes", self.maps.sizes)) if value]
            conflicts += [(key, "positions", "does not go with a suite of positions, which has its own maps") for key in keys]
        if self.sprt.stop and self.format != "ab":
            conflicts.append(("sprt.stop", "format", "is for matches of two bots, format ab"))
        return conflicts


class LadderSettings(ArenaSettings):
    """The settings of ``vindibot ladder``: those of an arena, with rungs as bots."""

    bots: list[Annotated[str, Field(min_length=1)]] = Field(
        default=[*RUNGS], description="the rungs: bots as of `vindibot arena`, which play with those of the folder"
    )
    results: OptionalFile = Field(default=None, description="the file of results; empty: ladder.jsonl in the folder")
