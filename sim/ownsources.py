"""The files of a user's own on which a kernel depends, and a name for what stands in them."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

from sim.sources import PACKAGES

#: The folder in which our packages lie.
TOP = Path(__file__).resolve().parent.parent


def own_sources(function: Callable[..., Any]) -> dict[str, Path]:
    """The files of the user's own on which a function depends, by the names of the modules: the file that it is declared in,
    and those that this one imports, directly or not.

    Modules of Python, of ours and of other installed packages are left out. Empty for a function of ours, and for one that has
    no file.
    """
    source = Path(function.__code__.co_filename).resolve()
    if not source.is_file() or any(source.is_relative_to(TOP / package) for package in PACKAGES):
        return {}

    def locate(name: str) -> dict[str, Path]:
        path = _located(name) if _may_be_own(name) else None
        own = path is not None and (_same_package(name, function.__module__) or not _is_installed(path))
        return {name: path} if path is not None and own else {}

    return follow({function.__module__: source}, locate)


def follow(start: Mapping[str, Path], locate: Callable[[str], Mapping[str, Path]]) -> dict[str, Path]:
    """These files, by the names of their modules, with those of all modules that are imported from them, directly or not, as far
    as `locate` finds them: the file of a module, perhaps with those of the packages around it; nothing for one that does not
    count, or is none."""
    found: dict[str, Path] = {}
    waiting = list(start.items())
    while waiting:
        name, path = waiting.pop()
        if name not in found:
            found[name] = path
            for other in _imports(name, path):
                waiting += locate(other).items()
    return found


def _imports(name: str, path: Path) -> set[str]:
    """The modules that a module may import, anywhere in it, and the packages around them; of ``from a import b`` both ``a`` and
    ``a.b``."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = set()
    with contextlib.suppress(OSError):
        for other in _read(path)[1]:
            with contextlib.suppress(ImportError):  # it begins with more dots than there are packages
                found.add(resolve_name(other, package))
    return found


def state(sources: Mapping[str, Path]) -> str:
    """A name for what stands in these files, and for where they lie."""
    digest = hashlib.sha256()
    for path in sorted(set(sources.values())):
        digest.update(f"{path} {_read(path)[0]} ".encode())
    return digest.hexdigest()[:16]


def _may_be_own(name: str) -> bool:
    top = name.partition(".")[0]
    return bool(top) and top not in sys.stdlib_module_names and top not in (*PACKAGES, "vindibot")


def _same_package(name: str, other: str) -> bool:
    return name.partition(".")[0] == other.partition(".")[0]


def _is_installed(path: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts)


def _located(name: str) -> Path | None:
    """The source of the module of this name, found without importing anything; None if there is no such module."""
    spec, search = None, None
    parts = name.split(".")
    for count in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: count + 1]), search)
        if spec is None:
            return None
        search = spec.submodule_search_locations or []
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    return origin.resolve() if origin is not None and origin.suffix == ".py" and origin.is_file() else None


def _read(path: Path) -> tuple[str, frozenset[str]]:
    """A digest of a source, and the names that it imports; relative ones begin with dots, and some are no modules."""
    status = path.stat()
    return _read_once(path, status.st_mtime_ns, status.st_size)


@cache
def _read_once(path: Path, modified: int, size: int) -> tuple[str, frozenset[str]]:
    source = path.read_bytes()
    found: set[str] = set()
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                found.update(name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                found.add(base)
                found.update(f"{base}{'' if base.endswith('.') else '.'}{name.name}" for name in node.names)
    parents = {name.rpartition(".")[0] for name in found}
    return hashlib.sha256(source).hexdigest(), frozenset((found | parents) - {""})
