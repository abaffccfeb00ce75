"""The parameters that are tuned, their ranges, and bots with other values of these parameters.

A key names a parameter as in a bot file: ``traits.rollout.weights.keep``. The ranges come from the fields of the traits
(`pydantic.Field`). Only numbers with a lowest and a largest value are tuned, not texts, switches and lists.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from behaviours import Behaviour
from behaviours.registry import find, nearest
from vindibot.base.errors import UsageError
from vindibot.config.bots import Bot, make_importable, with_defaults

Floats = NDArray[np.float64]

#: The names of limits in `pydantic.Field`.
_LIMITS = ("ge", "gt", "le", "lt")
#: If a parameter must not be equal to a limit (gt, lt), its range ends this share of the range before the limit.
_MARGIN = 1e-6
#: If the value of a parameter is 0, this share of its range takes the place of the value in the size of a step.
_UNIT_AT_ZERO = 0.1
#: A parameter is a ratio if its largest value is at least `_WIDE` times its value. Whole numbers below `_SMALL` are no ratios.
_WIDE, _SMALL = 4, 4


@dataclass(frozen=True)
class TunedParameter:
    """A parameter that is tuned. Its value in the bot file is `start`, and its range is `low` to `high`.

    A **position** is a number of steps from the start. If the parameter is a `ratio`, each step multiplies the value by
    ``exp(step)``. Otherwise each step adds `step`. A `whole` parameter has integer values.
    """

    key: str
    start: float
    low: float
    high: float
    step: float
    whole: bool = False
    ratio: bool = False

    def at(self, position: float) -> float:
        """Return the parameter's value at a position (a number of steps from the start). The value stays within the range."""
        value = self.start * math.exp(self.step * position) if self.ratio else self.start + self.step * position
        return min(max(value, self.low), self.high)

    def position(self, value: float) -> float:
        """Return the position of a value. For a ratio, 0 has no position, and values below `start` / 1000 count as this value."""
        if self.ratio:
            return math.log(max(value / self.start, 1e-3)) / self.step
        return (value - self.start) / self.step

    def played(self, value: float, draw: float) -> float:
        """Return the value that a game uses: `value` within the range, and rounded if the parameter is `whole`.

        The value is rounded up if its fraction plus `draw` (0..1) is at least 1. So for a random draw, the mean result is
        `value`.
        """
        inside = min(max(value, self.low), self.high)
        if self.whole:
            inside = min(max(float(np.floor(inside + draw)), np.ceil(self.low)), np.floor(self.high))
        return float(inside)

    def written(self, value: float) -> int | float:
        """Return the value for a bot file: within the range, and rounded to a whole number or to five significant digits."""
        inside = self.played(value, 0.5)
        return int(inside) if self.whole else float(f"{inside:.5g}")


@dataclass(frozen=True)
class ParameterSpace:
    """A bot and its tuned parameters, in a fixed order. A **point** has one value per parameter."""

    bot: Bot
    parameters: tuple[TunedParameter, ...]

    def __len__(self) -> int:
        return len(self.parameters)

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the parameters."""
        return tuple(parameter.key for parameter in self.parameters)

    @property
    def start(self) -> Floats:
        """The values in the bot file."""
        return np.array([parameter.start for parameter in self.parameters])

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The lowest and the largest position of each parameter."""
        low = [one.position(one.low) for one in self.parameters]
        return np.array(low), np.array([one.position(one.high) for one in self.parameters])

    def at(self, positions: Floats) -> Floats:
        """Return the point (one value per parameter) at these positions."""
        return np.array([one.at(float(position)) for one, position in zip(self.parameters, positions, strict=True)])

    def positions(self, point: Sequence[float] | Floats) -> Floats:
        """Return the position of each parameter at a point."""
        return np.array([one.position(float(value)) for one, value in zip(self.parameters, point, strict=True)])

    def played(self, point: Sequence[float] | Floats, draws: Sequence[float] | Floats) -> tuple[float, ...]:
        """Return the values that games use at a point, with a draw (0..1) per parameter (see `TunedParameter.played`)."""
        return tuple(
            one.played(float(value), float(draw)) for one, value, draw in zip(self.parameters, point, draws, strict=True)
        )

    def written(self, point: Sequence[float] | Floats) -> dict[str, int | float]:
        """Return the values for a bot file, by key."""
        return {one.key: one.written(float(value)) for one, value in zip(self.parameters, point, strict=True)}

    def bot_at(self, point: Sequence[float] | Floats) -> Bot:
        """Return the bot with the values of a point."""
        return with_values(self.bot, self.written(point))


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


def space_of(
    bot: Bot,
    patterns: Sequence[str],
    exclude: Sequence[str] = (),
    ranges: Mapping[str, tuple[float, float]] | None = None,
    step: float = 0.3,
) -> ParameterSpace:
    """Return the parameters of a bot whose keys match one of `patterns` (``traits.rollout.*``) and no pattern of `exclude`.

    `ranges` has ranges by key, which replace the declared ranges. `step` is the size of a step, as a share of the parameter's
    value. If `ranges` has a range for the parameter, the step is a share of half this range. If the parameter is a ratio, a step
    multiplies by ``exp(step)``. A step that is added to a whole number is at least 1.

    Raises `UsageError` if a pattern matches no parameter, if `ranges` has an unknown key, or if a range in `ranges` does not
    contain the value in the bot file.
    """
    available = {one.key: one for one in _numbers(bot, ranges or {}, step)}
    for key in ranges or {}:
        if key not in available:
            raise UsageError(f"range: the bot {bot.name} has no number {key!r}{nearest(key, available)}")
    chosen: dict[str, TunedParameter] = {}
    for pattern in patterns:
        found = {key: one for key, one in available.items() if fnmatchcase(key, pattern)}
        if not found:
            names = ", ".join(sorted(available))
            raise UsageError(f"parameters: the bot {bot.name} has no number that matches {pattern!r}; it has {names}")
        chosen |= found
    excluded = {key for key in chosen for pattern in exclude if fnmatchcase(key, pattern)}
    parameters = tuple(one for key, one in available.items() if key in chosen and key not in excluded)
    if not parameters:
        raise UsageError("parameters: exclude leaves no parameter")
    return ParameterSpace(bot, parameters)


def _numbers(bot: Bot, ranges: Mapping[str, tuple[float, float]], step: float) -> Iterator[TunedParameter]:
    for spec, behaviour in bot.build():
        yield from _parameter(f"traits.{spec.label}.weight", spec.weight, (0.0, max(1.0, 10 * abs(spec.weight))), ranges, step)
        yield from _fields(f"traits.{spec.label}", behaviour, ranges, step)


def _fields(prefix: str, model: BaseModel, ranges: Mapping[str, tuple[float, float]], step: float) -> Iterator[TunedParameter]:
    for name, info in type(model).model_fields.items():
        key, value = f"{prefix}.{name}", getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _fields(key, value, ranges, step)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            limits = declared_range(info)
            _check_range(key, ranges, limits)
            if None not in limits or key in ranges:
                yield from _parameter(key, value, limits, ranges, step, whole=info.annotation is int)


def _check_range(key: str, ranges: Mapping[str, tuple[float, float]], limits: tuple[float | None, float | None]) -> None:
    """Raise `UsageError` if `ranges` has a range for a parameter that exceeds the limits that the trait declares."""
    low, high = ranges.get(key, limits)
    if (limits[0] is not None and low is not None and low < limits[0]) or (
        limits[1] is not None and high is not None and high > limits[1]
    ):
        least, largest = ("any value" if limit is None else f"{limit:g}" for limit in limits)
        raise UsageError(f"range: {key}={low:g}:{high:g} is not within the limits of the trait, {least} to {largest}")


def declared_range(info: FieldInfo) -> tuple[float | None, float | None]:
    """Return the lowest and the largest value that a field declares. A missing limit is None."""
    found = ((name, getattr(part, name, None)) for part in info.metadata for name in _LIMITS)
    limits = {name: float(value) for name, value in found if value is not None}
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if low is not None and high is not None:
        margin = _MARGIN * (high - low)
        low = low + margin if "ge" not in limits else low
        high = high - margin if "le" not in limits else high
    return low, high


def _parameter(
    key: str,
    value: float,
    limits: tuple[float | None, float | None],
    ranges: Mapping[str, tuple[float, float]],
    step: float,
    *,
    whole: bool = False,
) -> Iterator[TunedParameter]:
    low, high = limits
    if key in ranges:
        low, high = ranges[key]
        if not low <= value <= high:
            raise UsageError(f"range: {key} is {value:g} in the bot, which is not within {low:g} and {high:g}")
    assert low is not None
    assert high is not None
    if high <= low:
        return
    if key not in ranges and low >= 0 and value >= (_SMALL if whole else 0) and 0 < value <= high / _WIDE:
        yield TunedParameter(key, float(value), low, high, step, whole, ratio=True)
        return
    half = (high - low) / 2
    unit = half if key in ranges else min(abs(value) or _UNIT_AT_ZERO * (high - low), half)
    yield TunedParameter(key, float(value), low, high, max(1.0, step * unit) if whole else step * unit, whole)


def full_parameters(behaviour: Behaviour) -> dict[str, Any]:
    """Return all parameters of a trait, including defaults, as values for a bot file."""
    return _without_none(behaviour.model_dump(mode="json"))


def _without_none(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table without the keys whose value is None, since TOML has no None."""
    return {
        key: _without_none(value) if isinstance(value, Mapping) else value for key, value in table.items() if value is not None
    }
