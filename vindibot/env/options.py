"""The options of the environments, and the maps and the rivals that they name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.net.network import Net, NetError, compiled_networks, load_nets
from behaviours.rollout.policy import LIBRARY, PolicyParams, compiled_policies
from sim.game import PLIES_PER_ROUND, SEATS
from sim.generator import MIN_SIZE, GeneratorError, derive_seed, generate
from sim.maps import Map
from vindibot.base.errors import UsageError
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import shipped
from vindibot.config.maps import load_map
from vindibot.config.messages import explain
from vindibot.env.observing import Lookout
from vindibot.env.stepping import PROGRAM, RANDOM, REWARDS, MapPool, RivalPool, Rules, map_pool

#: The names of the policies of `rollout`, in the order of its library.
POLICY_NAMES = ("plain", "timid", "raider", "hunter", "careful", "fearless", "patient", "drinker", "repeater", "shy")
POLICIES = dict(zip(POLICY_NAMES, LIBRARY, strict=True))
#: The named sets of maps. Their maps are generated, and no tournament plays on them.
MAP_SETS = ("training", "test")
#: Largest number of attempts to generate a map.
_ATTEMPTS = 100


class EnvOptions(BaseModel):
    """The options of an environment. Each option is a keyword of ``gymnasium.make`` and ``pettingzoo.make``."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    rivals: tuple[str, ...] = Field(("random",), description="the players of the other seats; each game draws them in any order")
    learners: int = Field(1, ge=1, le=SEATS, description="number of seats per game for which the caller chooses the moves")
    hero: int | None = Field(None, ge=0, lt=SEATS, description="the seat of the learner, 0 to 3; None: each game draws it")
    observation: Literal["features", "compact", "planes", "record"] = Field("features", description="the kind of observations")
    window: int = Field(21, ge=3, le=63, description="side of the planes, in squares; an odd number")
    reward: Literal["lead", "gold", "place", "win"] = Field("lead", description="what a game is worth for a hero")
    maps: str | tuple[str | Map, ...] = Field("training", description='"training", "test", or maps: names, files, or texts')
    map_count: int = Field(64, ge=1, le=4096, description="number of maps in the set; each takes 1.3 MB")
    size: int | None = Field(None, ge=MIN_SIZE, le=28, multiple_of=2, description="size of the maps of the set; None: 10 to 28")
    mines: int | None = Field(None, ge=1, le=100, description="percentage of mines on the maps of the set; None: 3 to 9")
    rounds: int = Field(300, ge=1, le=5000, description="length of a game, in rounds of four plies")
    nodes: int = Field(1000, ge=1, description="number of nodes that a bot among the rivals may visit per move")

    @field_validator("window")
    @classmethod
    def _odd(cls, side: int) -> int:
        if side % 2 == 0:
            raise ValueError("must be odd: the hero is in the middle")
        return side

    @field_validator("rivals")
    @classmethod
    def _some(cls, rivals: tuple[str, ...]) -> tuple[str, ...]:
        if not rivals:
            raise ValueError('must name at least one rival, for example "random"')
        return rivals

    @classmethod
    def of(cls, values: dict[str, Any]) -> EnvOptions:
        """Return the options with these values. Raises `UsageError` for an unknown name or a wrong value."""
        try:
            options = cls.model_validate(values)
        except ValidationError as problem:
            slip = problem.errors(include_url=False)[0]
            text = explain(slip, known=list(cls.model_fields))
            raise UsageError(f"{slip['loc'][0]}: {text}" if slip["type"] != "extra_forbidden" else text) from None
        if options.hero is not None and options.learners > 1:
            raise UsageError("hero: names the seat of one learner; leave it out for several learners")
        return options

    @property
    def lookout(self) -> Lookout:
        """The observations."""
        return Lookout(self.observation, self.window)

    @property
    def rules(self) -> Rules:
        """The numbers that hold for all games."""
        hero = -1 if self.hero is None else self.hero
        return Rules(self.learners, hero, self.rounds * PLIES_PER_ROUND, REWARDS.index(self.reward))

    def map_pool(self) -> MapPool:
        """Return the maps. Raises `UsageError` for an unknown map, or if none can be generated."""
        if self.maps in MAP_SETS:
            return _named_set(str(self.maps), self.map_count, self.size, self.mines)
        if self.size is not None or self.mines is not None:
            raise UsageError(f"size and mines are options of the sets of maps, which are {' and '.join(MAP_SETS)}")
        names = (self.maps,) if isinstance(self.maps, str) else self.maps
        return map_pool(name if isinstance(name, Map) else _loaded(name) for name in names)

    def rival_pool(self) -> Rivals:
        """Return the rivals. Raises `UsageError` for an unknown one."""
        return _rivals(self.rivals) if self.learners < SEATS else _rivals(())


def _loaded(name: str) -> Map:
    try:
        board = load_map(name)
    except UsageError as problem:
        raise UsageError(f"maps: {problem.message}; the sets are {' and '.join(MAP_SETS)}") from None
    if board is None:
        raise UsageError(f"maps: {name!r} is not one map; the sets are {' and '.join(MAP_SETS)}")
    return board


@lru_cache(maxsize=4)
def _named_set(name: str, count: int, size: int | None, mines: int | None) -> MapPool:
    """Return the maps of a set."""
    return map_pool(set_map(name, number, size, mines) for number in range(count))


def set_map(name: str, number: int, size: int | None = None, mines: int | None = None) -> Map:
    """Return map `number` of the set ``training`` or ``test``. It has the same squares on every machine.

    Raises `UsageError` if no map with this size and this percentage of mines can be generated.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return generate(derive_seed(0, "environment", name, number, attempt), size=size, mines=mines)
        except GeneratorError:
            continue
    raise UsageError(f"no map of size {size} with {mines} percent of mines can be generated: choose other options")


@dataclass(frozen=True)
class Rivals:
    """The rivals of an environment: those in the kernel, and the `bots`, which are Python code."""

    pool: RivalPool
    bots: tuple[Bot, ...] = ()


def _rivals(names: Sequence[str]) -> Rivals:
    """Return the rivals with these names: ``random``, ``policy:NAME``, ``net:FILE``, or the name or the file of a bot."""
    policies, basic, networks, bots = list[PolicyParams](), list[Net](), list[Net](), list[Bot]()
    players: list[tuple[str, int]] = []
    for name in names:
        kind, colon, rest = name.partition(":")
        if name == "random":
            players.append(("random", 0))
        elif colon and kind == "policy":
            if rest not in POLICIES:
                raise UsageError(f"rivals: there is no policy {rest!r}; there are {', '.join(POLICIES)}")
            players.append(("policy", len(policies)))
            policies.append(POLICIES[rest])
        elif colon and kind == "net":
            net = _net(rest)
            players.append(("basic", len(basic)) if net.policy.is_basic else ("net", len(networks)))
            (basic if net.policy.is_basic else networks).append(net)  # a basic net is faster as a policy
        else:
            players.append(("bot", len(bots)))
            bots.append(_bot(name))
    first = {"policy": 0, "basic": len(policies), "net": len(policies) + len(basic), "random": RANDOM, "bot": PROGRAM}
    codes = [first[kind] - number if kind == "bot" else first[kind] + number for kind, number in players]
    pool = RivalPool(
        compiled_policies(tuple(policies), tuple(basic)).copy(),
        compiled_networks([net.policy for net in networks]),
        compiled_weights(Weights()).copy(),
        np.array(codes, np.int64),
    )
    return Rivals(pool, tuple(bots))


def _bot(name: str) -> Bot:
    try:
        return load_bot(name)
    except UsageError as problem:
        others = '"random", "policy:NAME" and "net:FILE"'
        raise UsageError(f"rivals: {problem.message} (a rival is a bot, or one of {others})") from None


def _net(name: str) -> Net:
    """Return the first net of a file: NAME, NAME.npz, NAME/net.npz (of ``learn selfplay``), or a built-in bot's."""
    candidates = [Path(name), Path(f"{name}.npz"), Path(name) / "net.npz", shipped(f"bots/{name}.npz")]
    path = next((path for path in candidates if path.is_file()), None)
    if path is None:
        raise UsageError(f"rivals: there is no file of nets {name!r}: tried {', '.join(map(str, candidates))}")
    try:
        return load_nets(path)[0]
    except NetError as problem:
        raise UsageError(f"rivals: {problem}") from None
