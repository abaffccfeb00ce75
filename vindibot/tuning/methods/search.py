"""The search for better parameters: a screening, and then SPSA or CMA-ES for the parameters that matter.

`search` is a generator. It yields an `Iterate`, receives the results of its blocks, yields the next `Iterate`, and so on. It
plays no games. It depends only on its arguments and on these results. So a study can be resumed: the stored results are sent
again.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

import numpy as np

from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.seeds import derive_seed
from vindibot.tuning.blocks import GAMES, BlockResult
from vindibot.tuning.methods import screening, spsa
from vindibot.tuning.methods.screening import Effect
from vindibot.tuning.objectives import Objective
from vindibot.tuning.settings import TuneSettings
from vindibot.tuning.space import Floats, ParameterSpace

Phase = Literal["screening", "spsa", "cmaes"]
Point = tuple[float, ...]


@dataclass(frozen=True)
class BlockPlan:
    """A block of an iterate: its number in the study, and the values of the parameters of plus and of minus."""

    number: int
    plus: Point
    minus: Point


@dataclass(frozen=True)
class Iterate:
    """A group of blocks that the search asks for together.

    `point` has the values of the parameters before these blocks, by key.
    """

    phase: Phase
    point: dict[str, float]
    plans: tuple[BlockPlan, ...]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    - `effects`: the effects from the screening; empty without a screening.
    - `chosen`: the keys of the tuned parameters.
    - `point`: the result, a value for each parameter of the space.
    - `errors`: the standard error of each value if its parameter does not matter. It is 0 if the parameter was not tuned, and NaN
      if it is unknown.
    - `history` (iterates + 1 x chosen): the start values, and then the tuned values after each iterate.
    """

    effects: tuple[Effect, ...]
    chosen: tuple[str, ...]
    point: Point
    errors: Point
    history: Floats = field(default_factory=lambda: np.zeros((0, 0)))


Steps = Generator[Iterate, Sequence[BlockResult], SearchResult]


def search(space: ParameterSpace, settings: TuneSettings, seed: int) -> Steps:
    """Return a generator that searches for better values of the parameters of a space.

    Raises `UsageError` at its first step if there are too few games.
    """
    blocks = settings.games // GAMES
    screened = round(blocks * settings.screening)
    if screened and screened < 2 * (len(space) + 1):
        least = math.ceil(4 * (len(space) + 1) / settings.screening)
        raise UsageError(f"games: the screening of {len(space)} parameters needs at least {least} games, not {settings.games}")
    if blocks - screened < settings.batch:
        raise UsageError(f"games: {settings.games} games leave none for the method {settings.method}: raise games")
    found: list[Effect] = []
    chosen = list(space.keys)
    if screened:
        found = yield from _screen(space, settings, seed, screened)
        chosen = screening.that_matter(found, settings.alpha)
    start = tuple(space.start.tolist())
    if not chosen:
        return SearchResult(tuple(found), (), start, (0.0,) * len(start))
    method = _spsa if settings.method == "spsa" else _cmaes
    return (yield from method(space, settings, seed, screened, found, chosen))


def _screen(space: ParameterSpace, settings: TuneSettings, seed: int, count: int) -> Generator[Iterate, Any, list[Effect]]:
    signs = [screening.signs(seed, number, len(space)) for number in range(count)]
    plans = [_plan(space, seed, number, own, -own) for number, own in enumerate(signs)]
    results = yield Iterate("screening", dict(zip(space.keys, space.start.tolist(), strict=True)), tuple(plans))
    played = [(plan, result) for plan, result in zip(plans, results, strict=True) if not result.failed]
    if len(played) <= len(space):
        failed = f"{len(plans) - len(played)} of the {len(plans)} blocks of the screening could not be played"
        raise VindibotError(f"{failed}: the others are too few for {len(space)} parameters")
    tried = np.array([space.positions(plan.plus) - space.positions(plan.minus) for plan, _ in played]) / 2
    return screening.effects(space.keys, tried, [result.difference[settings.objective] for _, result in played])


def _plan(space: ParameterSpace, seed: int, number: int, plus: Floats, minus: Floats) -> BlockPlan:
    """Return block `number` with plus and minus at these positions.

    Whole numbers of both bots are rounded by the same random draws.
    """
    draws = np.random.default_rng(derive_seed(seed, "rounding", number)).random(len(space))
    return BlockPlan(number, space.played(space.at(plus), draws), space.played(space.at(minus), draws))


def _spread(space: ParameterSpace, tuned: Sequence[int], positions: Floats) -> Floats:
    """Return positions of all parameters: `positions` for the `tuned` parameters, and 0 for the others."""
    found = np.zeros(len(space))
    found[tuned] = positions
    return found


def _spsa(
    space: ParameterSpace, settings: TuneSettings, seed: int, first: int, found: Sequence[Effect], chosen: Sequence[str]
) -> Steps:
    count = settings.games // GAMES - first
    tuned = [space.keys.index(key) for key in chosen]
    low, high = (side[tuned] for side in space.limits)
    effects = [one for one in found if one.key in chosen]
    gains = spsa.Gains.reaching(count, settings.reach, effects) if effects else None
    run = spsa.SpsaRun(low, high)
    for begin in range(0, count, settings.batch):
        middle = _spread(space, tuned, run.positions[-1])
        numbers = range(begin, min(begin + settings.batch, count))
        chosen_signs = [spsa.signs(seed, number, len(tuned)) for number in numbers]
        moves = [
            _spread(space, tuned, one * (number + 1) ** -spsa.GAMMA) for one, number in zip(chosen_signs, numbers, strict=True)
        ]
        plans = tuple(
            _plan(space, seed, first + number, middle + move, middle - move) for number, move in zip(numbers, moves, strict=True)
        )
        point = space.at(middle)[tuned].tolist()
        results = yield Iterate("spsa", dict(zip(chosen, point, strict=True)), plans)
        # A block that could not be played moves no parameter.
        differences = [0.0 if result.failed else result.difference[settings.objective] for result in results]
        if gains is None:
            gains = _first_gains(count, settings, chosen, [one for one in results if not one.failed])
        run.add(gains, begin, chosen_signs, differences)
    position, errors = run.result(settings.last)
    return _result(space, found, chosen, position, run.positions, errors)


def _first_gains(count: int, settings: TuneSettings, chosen: Sequence[str], played: Sequence[BlockResult]) -> spsa.Gains:
    """Return the gains of SPSA for a study without a screening, for `count` blocks.

    They assume that a typical effect is a third of the spread of the blocks' differences.

    The spread is the root mean square of the differences of the blocks `played`, at least 0.1.
    """
    squares = [result.difference[settings.objective] ** 2 for result in played]
    spread = max(math.sqrt(fmean(squares or [0.0])), 0.1) / 3
    return spsa.Gains.reaching(count, settings.reach, [Effect(key, spread, 0.0, 0.0, 0.0, 0.0) for key in chosen])


def _cmaes(
    space: ParameterSpace, settings: TuneSettings, seed: int, first: int, found: Sequence[Effect], chosen: Sequence[str]
) -> Steps:
    """Search by CMA-ES with a learning rate that adapts to the noise (Nomura, Akimoto and Ono 2023).

    In each block, plus has a point of the population, and minus has the start values. A generation is an iterate. Each point
    plays `batch` blocks.
    """
    from cmaes import CMA

    tuned = [space.keys.index(key) for key in chosen]
    bounds = np.stack([side[tuned] for side in space.limits], axis=1)
    optimiser = CMA(np.zeros(len(tuned)), 1.0, bounds=bounds, seed=derive_seed(seed, "cmaes") % 2**32, lr_adapt=True)
    generations = (settings.games // GAMES - first) // (optimiser.population_size * settings.batch)
    if not generations:
        raise UsageError(f"games: {settings.games} games are too few for a generation of CMA-ES: raise games or lower batch")
    history = [np.zeros(len(tuned))]
    for _ in range(generations):
        population = [optimiser.ask() for _ in range(optimiser.population_size)]
        tried = [_spread(space, tuned, one) for one in population for _ in range(settings.batch)]
        plans = [_plan(space, seed, number, one, np.zeros(len(space))) for number, one in enumerate(tried, start=first)]
        first += len(plans)
        point = space.at(_spread(space, tuned, history[-1]))[tuned].tolist()
        results = yield Iterate("cmaes", dict(zip(chosen, point, strict=True)), tuple(plans))
        scores = _scores(results, settings)
        optimiser.tell([(one, -score) for one, score in zip(population, scores, strict=True)])
        history.append(optimiser.mean.copy())
    last = max(1, math.ceil(settings.last * generations))
    return _result(space, found, chosen, np.mean(history[-last:], axis=0), history, np.full(len(tuned), np.nan))


def _result(
    space: ParameterSpace,
    found: Sequence[Effect],
    chosen: Sequence[str],
    position: Floats,
    history: Sequence[Floats],
    errors: Floats,
) -> SearchResult:
    tuned = [space.keys.index(key) for key in chosen]
    point = space.at(_spread(space, tuned, position))
    sizes = [one.step * (value if one.ratio else 1.0) for one, value in zip(space.parameters, point.tolist(), strict=True)]
    wide = _spread(space, tuned, errors) * sizes
    values = np.array([space.at(_spread(space, tuned, one))[tuned] for one in history])
    return SearchResult(tuple(found), tuple(chosen), tuple(point.tolist()), tuple(wide.tolist()), values)


def _scores(results: Sequence[BlockResult], settings: TuneSettings) -> list[float]:
    """Return the mean difference of each point of a population. `results` has `batch` blocks per point.

    Blocks that could not be played are left out. A point without any other block gets the mean of the other points.
    """
    groups = [results[first : first + settings.batch] for first in range(0, len(results), settings.batch)]
    played = [[result.difference[settings.objective] for result in group if not result.failed] for group in groups]
    means = [fmean(found) if found else None for found in played]
    known = [one for one in means if one is not None]
    neutral = fmean(known or [0.0])
    return [neutral if one is None else one for one in means]


def objective_of(results: Sequence[BlockResult], objective: Objective) -> tuple[float, float] | None:
    """Return the mean level and the mean absolute difference of the blocks of an iterate.

    The level is the mean over the blocks with rivals. If no block has rivals, it is the mean over all blocks. Blocks that could
    not be played are left out. If no block is left, return None.
    """
    played = [result for result in results if not result.failed]
    against = [result for result in played if result.rivals] or played
    if not played:
        return None
    level = fmean(result.level[objective] for result in against)
    return level, fmean(abs(result.difference[objective]) for result in played)
