"""Signatures of games: the version of vindibot and of each bot that played.

Equal builds and equal bots play equal games under a budget of nodes. A digest of sources also changes with a comment. The
recorded games of the bots that ship (``tests/data/botgames``) show whether moves have changed.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import vindibot
from sim import sources
from sim.ownsources import follow

if TYPE_CHECKING:
    from vindibot.config.bots import TraitSpec

#: Hexadecimal digits of a digest.
DIGITS = 16


@dataclass(frozen=True)
class Build:
    """The versions that decide the moves of every bot: of vindibot, Python, numba and numpy, and the digest of the rules and the
    traits (`sim.sources`)."""

    vindibot: str
    sources: str
    python: str
    numba: str
    numpy: str

    @property
    def digest(self) -> str:
        """16 hexadecimal digits; they change with each field."""
        return digest_of(asdict(self))

    def __str__(self) -> str:
        return f"{self.vindibot}, sources {self.sources}, Python {self.python}, numba {self.numba}, numpy {self.numpy}"

    def changes(self, before: Build) -> list[str]:
        """Return the differences from an earlier build, in words."""
        then, now = asdict(before), asdict(self)
        return [f"{name} was {then[name]} and is {now[name]}" for name in now if then[name] != now[name]]


@cache
def build() -> Build:
    """Return the build of this process. The first call takes some milliseconds."""
    return Build(vindibot.__version__, sources.digest(), platform.python_version(), version("numba"), version("numpy"))


def bot_digest(traits: Iterable[TraitSpec], folders: Sequence[str]) -> str:
    """Return 16 hexadecimal digits for a bot.

    They cover its traits with weights and parameters, after `extends`, and the sources of its own traits with the modules that
    these import from `folders`. They do not cover other files that a trait reads.
    """
    traits = list(traits)
    modules = {spec.class_path.partition(":")[0] for spec in traits}
    files = own_sources((name for name in modules if name.partition(".")[0] not in sources.PACKAGES), folders)
    said = [[spec.label, spec.class_path, spec.weight, dict(spec.parameters)] for spec in traits]
    return digest_of({"traits": said, "sources": {name: file_digest(path) for name, path in sorted(files.items())}})


def own_sources(modules: Iterable[str], folders: Sequence[str]) -> dict[str, Path]:
    """Return the source files, by module, of these modules and of all modules that they import from `folders`.

    For a module from elsewhere (an installed package), only its own file.
    """
    found: dict[str, Path] = {}
    start: dict[str, Path] = {}
    for module in modules:
        files, origin = _files(module, folders), getattr(sys.modules.get(module), "__file__", None)
        if origin and not files:
            found[module] = Path(origin)
        start |= files
    return found | follow(start, lambda module: _files(module, folders))


def _files(module: str, folders: Sequence[str]) -> dict[str, Path]:
    """The files of a module and of its parent packages, in the first folder that has any of them."""
    parts = module.split(".")
    for folder in folders:
        found = {}
        for end in range(1, len(parts) + 1):
            path = Path(folder, *parts[:end])
            for file in (path / "__init__.py", path.with_name(f"{path.name}.py")):
                if file.is_file():
                    found[".".join(parts[:end])] = file
                    break
        if found:
            return found
    return {}


def file_digest(path: Path) -> str:
    """Return 16 hexadecimal digits for the content of a file; "" if it cannot be read."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    except OSError:
        return ""


def digest_of(value: Any) -> str:
    """Return 16 hexadecimal digits for a value as JSON; `str` converts what JSON does not have."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:DIGITS]
