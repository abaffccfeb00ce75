"""The parameters that are tuned, their ranges, and bots with other values of these parameters.

A key names a parameter as in a bot file: ``traits.rollout.weights.keep``. The ranges come from the fields of the traits
(`pydantic.Field`). Only numbers with a lowest and a largest value are tuned, not texts, switches and lists.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from behaviours.registry import find, nearest
from vindibot.base.errors import UsageError
from vindibot.config.bots import Bot, make_importable, with_defaults

Floats = NDArray[np.float64]

#: The names of limits in `pydantic.Field`.
_LIMITS = ("ge", "gt", "le", "lt")
#: If a parameter must not be equal to a limit (gt, lt), its range ends this share of the range before the limit.
_MARGIN = 1e-4
#: If the value of a parameter is 0, this share of its range takes the place of the value in the width of its range.
_UNIT_AT_ZERO = 0.1
#: A parameter is a ratio if its largest value is at least `_WIDE` times its value. Whole numbers below `_SMALL` are no ratios.
_WIDE, _SMALL = 4, 4
#: Number of spreads from the start value to the end of the range.
REACH = 3


@dataclass(frozen=True)
class TunedParameter:
    """A parameter that is tuned. Its value in the bot file is `start`, and its range is `low` to `high`.

    A **position** (-1..1) is -1 at `low`, 0 at `start` and 1 at `high`. Equal steps of the position multiply the value by equal
    factors if the parameter is a `ratio`, else they add equal amounts. A `whole` parameter has integer values.
    """

    key: str
    start: float
    low: float
    high: float
    whole: bool = False
    ratio: bool = False

    def at(self, position: float) -> float:
        """Return the value at a position, not rounded."""
        end = self.high if position > 0 else self.low
        if self.ratio:
            return self.start * math.exp(abs(position) * math.log(end / self.start))
        return self.start + abs(position) * (end - self.start)

    def value(self, position: float, draw: float = 0.5) -> int | float:
        """Return the value at a position as a bot has it: a whole number, or a number with five significant digits.

        A whole number is rounded up if the fraction plus `draw` (0..1) is at least 1. So for a random draw, the mean result is
        the value that is not rounded.
        """
        value = self.at(position)
        if self.whole:
            return min(max(math.floor(value + draw), math.ceil(self.low)), math.floor(self.high))
        return min(max(float(f"{value:.5g}"), self.low), self.high)


@dataclass(frozen=True)
class ParameterSpace:
    """A bot and its tuned parameters, in a fixed order."""

    bot: Bot
    parameters: tuple[TunedParameter, ...]

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def keys(self) -> list[str]:
        """The keys of the parameters."""
        return [parameter.key for parameter in self.parameters]

    def values(self, positions: Iterable[float], draws: Iterable[float] | None = None) -> dict[str, int | float]:
        """Return the values at these positions, by key, with a draw per parameter (see `TunedParameter.value`)."""
        draws = [0.5] * len(self) if draws is None else draws
        triples = zip(self.parameters, positions, draws, strict=True)
        return {parameter.key: parameter.value(float(position), float(draw)) for parameter, position, draw in triples}


def with_values(bot: Bot, values: Mapping[str, Any]) -> Bot:
    """Return a bot with other values of some parameters. `values` has these values by key. The new digest is empty."""
    make_importable(bot.folders)  # a rival may have been built since
    traits = []
    for spec in bot.traits:
        parameters, weight = copy.deepcopy(dict(spec.parameters)), spec.weight
        for key, value in values.items():
            label, path = split_key(bot, key)
            if label != spec.label:
                continue
            if path == ["weight"]:
                weight = float(value)
                continue
            table = parameters
            for name in path[:-1]:
                table = table.setdefault(name, {})
            table[path[-1]] = value
        traits.append(replace(spec, weight=weight, parameters=with_defaults(find(spec.class_path), parameters)))
    return replace(bot, traits=tuple(traits), digest="")


def split_key(bot: Bot, key: str) -> tuple[str, list[str]]:
    """Return the two parts of a key: the label of the trait, and the names that lead to the parameter.

    A label may contain dots.
    """
    label = next(spec.label for spec in bot.traits if key.startswith(f"traits.{spec.label}."))
    return label, key.removeprefix(f"traits.{label}.").split(".")


def tables_of(bot: Bot, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the tables of traits in a bot file that has these values of parameters, by key."""
    traits: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        label, (*names, last) = split_key(bot, key)
        table = traits.setdefault(label, {})
        for name in names:
            table = table.setdefault(name, {})
        table[last] = value
    return traits


def space_of(
    bot: Bot,
    patterns: Sequence[str],
    exclude: Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    spread: float = 0.5,
) -> ParameterSpace:
    """Return the parameters of a bot whose keys match one of `patterns` (``traits.rollout.*``) and no pattern of `exclude`.

    The range of a parameter ends `REACH` spreads from its start value, and within the range that its trait declares. `spread` is
    the size of a spread as a share of the start value; for a ratio, a spread multiplies by ``exp(spread)``. `ranges` has other
    ranges by key.

    Raises `UsageError` if a pattern matches no parameter, if fewer than two parameters are left, if `ranges` has an unknown key,
    or if a range in `ranges` does not contain the value in the bot file.
    """
    available = {parameter.key: parameter for parameter in _numbers(bot, ranges or {}, spread)}
    for key in ranges or {}:
        if key not in available:
            raise UsageError(f"range: the bot {bot.name} has no number {key!r}{nearest(key, available)}")
    chosen: set[str] = set()
    for pattern in patterns:
        matches = {key for key in available if fnmatchcase(key, pattern)}
        if not matches:
            names = ", ".join(sorted(available))
            raise UsageError(
                f"parameters: the bot {bot.name} has no number that matches {pattern!r} (switches and texts are not tuned); "
                f"it has {names}"
            )
        chosen |= matches
    chosen = {key for key in chosen if not any(fnmatchcase(key, pattern) for pattern in exclude)}
    if len(chosen) < 2:
        which = f"only {chosen.pop()} is left" if chosen else "exclude leaves none"
        more = "name another one, or compare single values with vindibot arena --match"
        raise UsageError(f"parameters: tuning needs at least two parameters, and {which}: {more}")
    return ParameterSpace(bot, tuple(parameter for key, parameter in available.items() if key in chosen))


def _numbers(bot: Bot, ranges: Mapping[str, tuple[float, float]], spread: float) -> Iterator[TunedParameter]:
    for spec, behaviour in bot.build():
        weight = (f"traits.{spec.label}.weight", spec.weight, (0.0, max(1.0, 10 * abs(spec.weight))), False)
        for key, value, limits, whole in (weight, *_fields(f"traits.{spec.label}", behaviour)):
            if key in ranges:
                yield _within(key, value, limits, ranges[key], whole)
            elif limits[0] is not None and limits[1] is not None and limits[0] < limits[1]:
                yield _around(key, value, (limits[0], limits[1]), whole, spread)


Limits = tuple[float | None, float | None]


def _fields(prefix: str, model: BaseModel) -> Iterator[tuple[str, float, Limits, bool]]:
    """Yield the numbers of a trait: key, value, declared range, and whether it is a whole number."""
    for name, info in type(model).model_fields.items():
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _fields(f"{prefix}.{name}", value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{prefix}.{name}", value, declared_range(info), info.annotation is int


def declared_range(info: FieldInfo) -> Limits:
    """Return the lowest and the largest value that a field declares. A missing limit is None."""
    declared = ((name, getattr(part, name, None)) for part in info.metadata for name in _LIMITS)
    limits = {name: float(value) for name, value in declared if value is not None}
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if low is not None and high is not None:
        margin = _MARGIN * (high - low)
        low = low + margin if "ge" not in limits else low
        high = high - margin if "le" not in limits else high
    return low, high


def _within(key: str, value: float, limits: Limits, wanted: tuple[float, float], whole: bool) -> TunedParameter:
    """Return a parameter with the range `wanted`. Raises `UsageError` if the trait's limits or the value are not within it."""
    low, high = wanted
    if (limits[0] is not None and low < limits[0]) or (limits[1] is not None and high > limits[1]):
        least, largest = ("any value" if limit is None else f"{limit:g}" for limit in limits)
        raise UsageError(f"range: {key}={low:g}:{high:g} is not within the limits of the trait, {least} to {largest}")
    if not low <= value <= high:
        raise UsageError(f"range: {key} is {value:g} in the bot, which is not within {low:g} and {high:g}")
    return TunedParameter(key, float(value), low, high, whole)


def _around(key: str, value: float, limits: tuple[float, float], whole: bool, spread: float) -> TunedParameter:
    """Return a parameter whose range lies around its value."""
    low, high = limits
    if low >= 0 and value >= (_SMALL if whole else 0) and 0 < value <= high / _WIDE:
        factor = math.exp(REACH * spread)
        return TunedParameter(key, float(value), max(low, value / factor), min(high, value * factor), whole, ratio=True)
    reach = REACH * spread * min(abs(value) or _UNIT_AT_ZERO * (high - low), (high - low) / 2)
    reach = max(1.0, reach) if whole else reach
    return TunedParameter(key, float(value), max(low, value - reach), min(high, value + reach), whole)
