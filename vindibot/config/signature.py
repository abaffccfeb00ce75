"""Signatures of games: the versions of vindibot and of each bot that played.

Equal builds and equal bots play equal games if the search is limited in nodes and not in time. A digest of sources changes even
if only a comment changes. The recorded games of the built-in bots (``tests/data/botgames``) show whether moves have changed.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vindibot
from sim.cache import sources
from sim.cache.sources import follow
from vindibot.config.traits import TraitSpec, replaced_paths

#: Number of hexadecimal digits of a digest.
DIGITS = 16


@dataclass(frozen=True)
class Build:
    """The versions of vindibot, Python and the libraries. The moves of every bot depend on them.

    `sources` is the digest of the rules and the traits (`sim.cache.sources`). The other fields are versions.
    """

    vindibot: str
    sources: str
    python: str
    numba: str
    numpy: str

    @property
    def digest(self) -> str:
        """A digest of all fields, as 16 hexadecimal digits."""
        return digest_of(asdict(self))

    def __str__(self) -> str:
        return f"{self.vindibot}, sources {self.sources}, Python {self.python}, numba {self.numba}, numpy {self.numpy}"

    def changes(self, before: Build) -> list[str]:
        """Return the differences from the earlier build `before`, one text per field."""
        then, now = asdict(before), asdict(self)
        return [f"{name} was {then[name]} and is {now[name]}" for name in now if then[name] != now[name]]


@cache
def build() -> Build:
    """Return the build of this process. The first call takes some milliseconds."""
    return Build(vindibot.__version__, sources.digest(), platform.python_version(), version("numba"), version("numpy"))


def bot_digest(traits: Iterable[TraitSpec], folders: Sequence[str]) -> str:
    """Return a digest of a bot, as 16 hexadecimal digits.

    The digest covers the traits with their weights and parameters, after `extends`. It also covers the sources of the bot's own
    traits, of the modules that these sources import from `folders`, and the contents of data files. It does not cover other files
    that a trait reads.
    """
    traits = list(traits)
    modules = {spec.class_path.partition(":")[0] for spec in traits}
    files = own_sources((name for name in modules if name.partition(".")[0] not in sources.PACKAGES), folders)
    entries = [[spec.label, spec.class_path, spec.weight, _without_paths(spec.parameters)] for spec in traits]
    return digest_of({"traits": entries, "sources": {name: file_digest(path) for name, path in sorted(files.items())}})


def own_sources(modules: Iterable[str], folders: Sequence[str]) -> dict[str, Path]:
    """Return the source files of these modules and of all modules that they import from `folders`, by module name.

    If one of `modules` is in an installed package and not in `folders`, the result has only the file of this module, without the
    modules that it imports.
    """
    outside: dict[str, Path] = {}
    start: dict[str, Path] = {}
    for module in modules:
        files, origin = _files(module, folders), getattr(sys.modules.get(module), "__file__", None)
        if origin and not files:
            outside[module] = Path(origin)
        start |= files
    return outside | follow(start, lambda module: _files(module, folders))


def _files(module: str, folders: Sequence[str]) -> dict[str, Path]:
    """Return the files of a module and of its parent packages, from the first folder that has any of them."""
    parts = module.split(".")
    for folder in folders:
        sources = {}
        for end in range(1, len(parts) + 1):
            path = Path(folder, *parts[:end])
            for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
                if file.is_file():
                    sources[".".join(parts[:end])] = file
                    break
        if sources:
            return sources
    return {}


def _without_paths(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a trait with the digest of the contents in place of each data file."""
    return {key: replaced_paths(value, lambda path: file_digest(Path(path))) for key, value in parameters.items()}


def file_digest(path: Path) -> str:
    """Return a digest of a file's content, as 16 hexadecimal digits; "" if the file cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    except OSError:
        return ""


def digest_of(value: Any) -> str:
    """Return a digest of a value as JSON, as 16 hexadecimal digits. `str` converts the types that JSON does not have."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:DIGITS]
