"""What can be set for ``vindibot arena``: the tables of a tournament's configuration, with limits and defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from vindibot.arena.bounds import SprtSettings
from vindibot.config import LogSettings, Nodes, NoneWord, OptionalFile, Seed, Settings, WorkerCount

Milliseconds = Annotated[int, Field(ge=1, le=600_000)]
FirstMove = Annotated[Milliseconds | None, NoneWord("move")]
Megabytes = Annotated[Annotated[int, Field(ge=16, le=1_000_000)] | None, NoneWord("none")]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Wall = Annotated[Seconds | None, NoneWord("auto")]


class LimitSettings(Settings):
    """What every bot may use up, unless its own table says otherwise."""

    move_ms: Milliseconds = Field(default=1000, description="milliseconds per move")
    first_ms: FirstMove = Field(default=None, description='milliseconds for the first move of a game; "move": as for the others')
    nodes: Nodes = Field(
        default=None,
        description='bot files think this many nodes per move instead of move_ms, the same play on any machine; "none": move_ms',
    )
    start_s: Seconds = Field(default=20.0, description="seconds in which a program must come up and join")
    grace_ms: int = Field(
        default=100, ge=0, le=60_000, description="milliseconds past the limit that are forgiven, for a busy machine's sake"
    )
    memory_mb: Megabytes = Field(default=None, description='megabytes of address space a bot may take; "none": no limit')
    wall_s: Wall = Field(default=None, description='seconds after which a game is ended; "auto": what the limits come to')


class MapSettings(Settings):
    """On which maps is played: block after block takes the next one."""

    set: Literal["standard", "random"] = Field(
        default="standard", description="standard: 40 fixed maps of all sizes; random: fresh ones that follow from the seed"
    )
    names: list[str] = Field(default=[], description="these maps instead: names (m1), SIZE-SEED as results have it, map files")
    sizes: list[Annotated[int, Field(ge=8, le=28, multiple_of=2)]] = Field(
        default=[], description="only maps of these sizes, even, 8 to 28; random maps take them in turn"
    )


class EntrantSettings(Settings):
    """One bot of the tournament, where a name alone does not say everything. Limits that are not set are the common ones."""

    bot: str | None = Field(default=None, min_length=1, description="a bot file, or the name of one")
    command: str | list[str] | None = Field(default=None, min_length=1, description="a program to start, with its arguments")
    protocol: Literal["http", "stdio"] = Field(default="http", description="what the program speaks")
    folder: OptionalFile = Field(default=None, description="the folder in which the program runs")
    move_ms: Milliseconds | None = Field(default=None, description="milliseconds per move")
    first_ms: Milliseconds | None = Field(default=None, description="milliseconds for the first move of a game")
    nodes: Annotated[int, Field(ge=1, lt=2**63)] | None = Field(default=None, description="nodes per move, for bot files")
    start_s: Seconds | None = Field(default=None, description="seconds in which the program must come up and join")
    memory_mb: Annotated[int, Field(ge=16, le=1_000_000)] | None = Field(
        default=None, description="megabytes of address space it may take"
    )


class ArenaSettings(Settings):
    """The settings of ``vindibot arena``."""

    bots: list[Annotated[str, Field(min_length=1)]] = Field(
        default=["seed", "malvert", "random", "stay"],
        description="who plays: bot files or names of some, random, stay, tables of [entrants], http:COMMAND, stdio:COMMAND",
    )
    format: Literal["all", "gauntlet", "ab"] = Field(
        default="all", description="all: every four of the bots; gauntlet: the first against the others; ab: two, two seats each"
    )
    blocks: int = Field(default=10, ge=1, le=1_000_000, description="how many blocks: one map and seed in all seatings")
    rounds: int = Field(default=300, ge=1, le=5_000, description="moves of each hero in a game")
    seed: Seed = Field(default=None, description='what maps and all randomness follow from; "random": another one each time')
    adjudicate: Literal["never", "decided"] = Field(
        default="never", description="decided: end a game when no hero's place can change any more"
    )
    workers: WorkerCount = Field(default=None, description='how many games at once; "cores": one per core')
    results: OptionalFile = Field(default=None, description="the file of results; empty: a new one in the folder results")
    records: bool = Field(default=True, description="keep the moves of every game beside the results, some kilobytes each")
    report: bool = Field(default=True, description="write a report with plots, one HTML file, beside the results")
    anchor: str = Field(default="", description="the bot whose rating is 0; empty: seed if it plays, else the mean is 0")
    logs: Literal["none", "trouble", "all"] = Field(
        default="trouble", description="what bots write to standard error: keep it of no game, of those with forfeits, of all"
    )
    max_forfeits: float = Field(
        default=0.01, ge=0, le=1, description="share of its games that a bot may forfeit before the exit code is 6"
    )
    limits: LimitSettings = LimitSettings()
    maps: MapSettings = MapSettings()
    sprt: SprtSettings = SprtSettings()
    entrants: dict[str, EntrantSettings] = Field(default={}, description="bots that need more than a name: [entrants.NAME]")
    log: LogSettings = LogSettings(level="warning")

    def conflicts(self) -> list[tuple[str, str, str]]:
        """Pairs of settings that cannot both be meant: (key, other key, what is wrong)."""
        found = self.sprt.conflicts()
        if self.sprt.stop and self.format != "ab":
            found.append(("sprt.stop", "format", "is for matches of two bots, format ab"))
        return found


#: Where results go, unless told otherwise.
RESULTS_FOLDER = Path("results")
