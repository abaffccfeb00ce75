"""The traits of a bot as plain data, and the building of traits from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from behaviours.registry import find

if TYPE_CHECKING:
    from behaviours.base import Behaviour


@dataclass(frozen=True)
class TraitSpec:
    """A trait of a bot as plain data, from which any process can build it.

    `label` is unique in the bot. `use` is the value in the file. `class_path` is ``module:Class``. `parameters` holds the
    parameters that the file sets. The other parameters have the trait's defaults.
    """

    label: str
    use: str
    weight: float
    class_path: str
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def build(self) -> Behaviour:
        """Build the behaviour. If the trait's module is beside a bot file, call `make_importable` first."""
        return build_trait(find(self.class_path), self.parameters)


def build_trait(kind: type[Behaviour], parameters: Mapping[str, Any]) -> Behaviour:
    """Build a behaviour with strict types: a text is not accepted as a number, nor `true` as a whole number.

    The parameters are converted to JSON first. TOML and JSON have no tuples, enumerations and paths, but lists and texts. With
    strict types, pydantic converts lists and texts to these types only if they come from JSON.
    """
    return kind.model_validate_json(json.dumps(parameters, default=str), strict=True)
