"""Digests of sources: of the rules and the traits, and of the user's own files on which a kernel depends."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

#: The packages in the digest.
PACKAGES = ("sim", "behaviours")


def digest(packages: Iterable[str] = PACKAGES) -> str:
    """Return a digest of the names and contents of all Python files of these packages of ours: 16 hexadecimal digits."""
    checksum = hashlib.sha256()
    top = Path(__file__).resolve().parents[2]
    for package in packages:
        for source in sorted((top / package).rglob("*.py")):
            checksum.update(str(source.relative_to(top)).encode())
            checksum.update(source.read_bytes())
    return checksum.hexdigest()[:16]


#: The folder with our packages.
TOP = Path(__file__).resolve().parents[2]


def own_sources(function: Callable[..., Any]) -> dict[str, Path]:
    """Return the user's own files on which a function depends, by the names of their modules.

    These are the file of the function and the files that it imports, directly or indirectly. Modules of Python, of this project
    and of other installed packages are left out. For a function of `PACKAGES`, and for a function without a file, the result is
    empty. For a function of vindibot, the result has the files of its package that it imports.
    """
    source = Path(function.__code__.co_filename).resolve()
    if not source.is_file() or any(source.is_relative_to(TOP / package) for package in PACKAGES):
        return {}
    room = f"{function.__module__.rpartition('.')[0]}." if source.is_relative_to(TOP / "vindibot") else ""

    def locate(name: str) -> dict[str, Path]:
        path = _find(name) if _may_be_own(name) or (room and name.startswith(room)) else None
        if path is None:
            return {}
        same_package = name.partition(".")[0] == function.__module__.partition(".")[0]
        return {name: path} if same_package or {"site-packages", "dist-packages"}.isdisjoint(path.parts) else {}

    return follow({function.__module__: source}, locate)


def follow(start: Mapping[str, Path], locate: Callable[[str], Mapping[str, Path]]) -> dict[str, Path]:
    """Return the files in `start` and all files that they import, directly or indirectly, by the names of their modules.

    `locate` takes the name of a module and returns a mapping of this name to the module's file. The mapping may also hold the
    files of the packages that contain the module. The mapping is empty for a module that does not exist or is to be left out.
    """
    files: dict[str, Path] = {}
    waiting = list(start.items())
    while waiting:
        name, path = waiting.pop()
        if name not in files:
            files[name] = path
            for other in _imports(name, path):
                waiting += locate(other).items()
    return files


def _imports(name: str, path: Path) -> set[str]:
    """Return the names of the modules that a module may import, anywhere in its source, and of the packages that contain them.

    ``from a import b`` counts as an import of ``a`` and of ``a.b``.
    """
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    modules = set()
    with contextlib.suppress(OSError):
        for other in _read(path)[1]:
            with contextlib.suppress(ImportError):  # the relative name has more dots than there are packages
                modules.add(resolve_name(other, package))
    return modules


def digest_of(sources: Mapping[str, Path]) -> str:
    """Return a digest of the contents and the paths of the files in `sources`: 16 hexadecimal digits.

    The paths of our own files begin at `TOP`. So each copy of the project has the same digests.
    """
    paths = {path.relative_to(TOP) if path.is_relative_to(TOP) else path: path for path in sources.values()}
    text = "".join(f"{name} {_read(paths[name])[0]} " for name in sorted(paths))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _may_be_own(name: str) -> bool:
    top = name.partition(".")[0]
    return bool(top) and top not in sys.stdlib_module_names and top not in (*PACKAGES, "vindibot")


def _find(name: str) -> Path | None:
    """Return the path of a module's source file, or None if there is no such file. Nothing is imported."""
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
    """Return the digest of a source file, and all names that it imports.

    Relative names begin with dots. Some of the names are not modules, but functions or classes in modules.
    """
    status = path.stat()
    return _read_once(path, status.st_mtime_ns, status.st_size)


@cache
def _read_once(path: Path, modified: int, size: int) -> tuple[str, frozenset[str]]:
    source = path.read_bytes()
    modules: set[str] = set()
    with contextlib.suppress(SyntaxError, ValueError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                modules.update(name.name for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                modules.add(base)
                modules.update(f"{base}{'' if base.endswith('.') else '.'}{name.name}" for name in node.names)
    parents = {name.rpartition(".")[0] for name in modules}
    return hashlib.sha256(source).hexdigest(), frozenset((modules | parents) - {""})
