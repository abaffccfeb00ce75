"""The traits of a bot as plain data, the building of traits from it, and the data files that parameters of traits name.

A data file is for example the file of a net (`behaviours.base.DataFile`). A bot file names it as it names another bot file. The
name is looked up beside the file that sets the parameter, in the current folder, and among the built-in bots. The trait gets the
absolute path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from behaviours.registry import find
from vindibot.base.writing import given_path, short
from vindibot.config.files import TomlFile, holds, places, shipped
from vindibot.config.messages import shown

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


class DataPath(str):
    """The absolute path of a data file among the parameters of a trait."""

    __slots__ = ()


def with_data_files(
    kind: type[Behaviour], parameters: Mapping[str, Any], path: tuple[str, ...], file_of: Callable[[str], TomlFile]
) -> dict[str, Any]:
    """Return the parameters of a trait of class `kind` with a `DataPath` for each name of a data file.

    `path` is the key of the trait's table. ``file_of(key)`` returns the file that sets a parameter. Values of a wrong type stay:
    the trait refuses them. Raises `UsageError` for a file that does not exist.
    """
    changed = dict(parameters)
    for key in parameters:
        if key in kind.model_fields and _names_files(kind.model_fields[key]):
            file = file_of(key)
            value = parameters[key]
            names = value if isinstance(value, list) else [value]
            paths = [_find(name, file, (*path, key)) if isinstance(name, str) else name for name in names]
            changed[key] = paths if isinstance(value, list) else paths[0]
    return changed


def replaced_paths(value: Any, change: Callable[[DataPath], Any]) -> Any:
    """Return the value of a parameter with ``change(path)`` in place of each `DataPath`."""
    if isinstance(value, DataPath):
        return change(value)
    return [replaced_paths(item, change) for item in value] if isinstance(value, list) else value


def data_paths(parameters: Mapping[str, Any]) -> list[DataPath]:
    """Return all data files among the parameters of a trait, without repetitions."""
    paths: dict[DataPath, None] = {}
    for value in parameters.values():
        replaced_paths(value, paths.setdefault)
    return list(paths)


def name_of_file(file: Path, folder: Path) -> str:
    """Return the value with which a bot file in `folder` names a data file: a name if possible, else the absolute path."""
    file, folder, built_in = file.resolve(), folder.resolve(), shipped("bots").resolve()
    if file.is_relative_to(folder):
        return file.relative_to(folder).as_posix()
    if file.is_relative_to(built_in) and not (folder / file.relative_to(built_in)).exists():
        return file.relative_to(built_in).as_posix()
    return str(file)


def _names_files(field: Any) -> bool:
    """Return whether a field of a trait has the type `DataFile`, or is a list of `DataFile`."""
    from behaviours.base import DATA_FILE

    return (
        any(DATA_FILE in getattr(part, "__metadata__", ()) for part in get_args(field.annotation)) or DATA_FILE in field.metadata
    )


def _find(name: str, file: TomlFile, path: tuple[str, ...]) -> DataPath:
    tried = [*places(file.path.parent), shipped("bots")]
    for place in tried:
        candidate = place / given_path(name)
        if holds(candidate.is_file):
            return DataPath(candidate.resolve())
    looked = ", ".join(dict.fromkeys(short(place) for place in tried))
    raise file.refuse(path, f"names a missing file, {shown(name)}; looked in {looked}")
