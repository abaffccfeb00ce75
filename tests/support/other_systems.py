"""Runs a module as on another system: ``python -m tests.support.other_systems windows vindibot play``.

What a system lacks is taken from the stubs of the standard library that mypy brings (typeshed): the modules and the names that it
has on Linux and not on the other system. Only our own modules (`OURS`) miss them. They also see the other `sys.platform` and
`os.name`. Python itself and other packages keep Linux, since they have code of their own for each system. In addition:

- there is no ``/proc`` and no ``/sys``.
- on Windows, event loops watch no descriptors and no signals, as Windows's own event loop does.
- sockets of sequenced packets, which only Linux has, cannot be made.

So a run shows that our code asks for nothing that the system lacks. It cannot show what the system does differently: how Windows
ends processes, deletes open files and writes to its terminal, how exact its clock is, and what other packages do there.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import ctypes
import errno
import importlib
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

#: `sys.platform` and `os.name` of each system.
SYSTEMS = {"windows": ("win32", "nt"), "macos": ("darwin", "posix")}
#: The packages that run on the other system. ``__main__`` is the program.
OURS = ("vindibot", "sim", "behaviours", "__main__")
#: The modules of the standard library that differ between systems.
MODULES = (
    "fcntl",
    "grp",
    "mmap",
    "os",
    "posix",
    "pty",
    "pwd",
    "resource",
    "select",
    "signal",
    "socket",
    "sys",
    "termios",
    "time",
    "tty",
)
#: What the stubs do not say: macOS has the number of these sockets, but makes none.
UNSAID = {"windows": dict[str, set[str]](), "macos": {"socket": {"SOCK_SEQPACKET"}}}


@cache
def _stub(name: str) -> ast.Module:
    folder = Path(importlib.import_module("mypy").__file__ or "").parent / "typeshed" / "stdlib"
    path = next(path for path in (folder / f"{name}.pyi", folder / name / "__init__.pyi") if path.exists())
    return ast.parse(path.read_text("utf-8"))


@cache
def names_of(module: str, platform: str) -> frozenset[str]:
    """Return the names that a module of the standard library has on a platform, by its stub."""
    here = {"sys": SimpleNamespace(platform=platform, version_info=sys.version_info)}
    found = set[str]()
    left = list(_stub(module).body)
    for node in left:
        if isinstance(node, ast.If):
            left += node.body if eval(ast.unparse(node.test), dict(here)) else node.orelse  # of typeshed
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            found.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname for alias in node.names if alias.asname)  # `import x as x` is a name of the module
    return frozenset(name for name in found if not name.startswith("_"))


@cache
def lacking(module: str, system: str) -> frozenset[str]:
    """Return the names that a module has on Linux and not on another system."""
    return names_of(module, "linux") - names_of(module, SYSTEMS[system][0]) | UNSAID[system].get(module, set())


@cache
def is_lacking(module: str, system: str) -> bool:
    """Return whether another system has nothing of a module."""
    return module in MODULES and names_of(module, "linux") <= lacking(module, system)


class OtherModule(ModuleType):
    """A module as the other system has it. All else is the module of this system."""

    def __init__(self, here: ModuleType, lacks: frozenset[str], other: dict[str, Any]) -> None:
        super().__init__(here.__name__)
        object.__getattribute__(self, "__dict__").update(_here=here, _lacks=lacks, _other=other)

    def __getattribute__(self, name: str) -> Any:
        own = object.__getattribute__(self, "__dict__")
        if name in own["_lacks"]:
            raise AttributeError(f"module {own['_here'].__name__!r} has no attribute {name!r} on this system")
        return own["_other"][name] if name in own["_other"] else getattr(own["_here"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(object.__getattribute__(self, "__dict__")["_here"], name, value)


def become(system: str) -> None:
    """Let our modules, which are imported from now on, run as on another system."""
    platform, name = SYSTEMS[system]
    library = _without_prctl if system == "macos" else _no_library
    libraries: dict[str, ModuleType] = {"ctypes": OtherModule(ctypes, frozenset(), {"CDLL": library})}
    other: dict[str, dict[str, Any]] = {"sys": {"platform": platform}, "os": {"name": name}}
    seen = libraries | {
        module: OtherModule(importlib.import_module(module), lacking(module, system), other.get(module, {}))
        for module in MODULES
        if not is_lacking(module, system)
    }
    imported = builtins.__import__

    def import_as_there(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
        ours = _is_ours(globals or {})
        if ours and is_lacking(name, system):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        found = imported(name, globals, locals, fromlist, level)
        return seen.get(found.__name__, found) if ours else found

    builtins.__import__ = import_as_there
    sys.addaudithook(_refuse_proc)
    if system == "windows":
        loops: Any = asyncio.SelectorEventLoop
        for method in (
            "add_signal_handler",
            "remove_signal_handler",
            "add_reader",
            "remove_reader",
            "add_writer",
            "remove_writer",
        ):
            setattr(loops, method, _not_for_ours(getattr(loops, method)))


def _no_library(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("bad argument type for built-in operation")  # what Windows says to None


def _without_prctl(*_: Any, **__: Any) -> object:
    return object()


def _refuse_proc(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse the files of `/proc` and `/sys` to our modules, also if they open them with pathlib."""
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(("/proc/", "/sys/")):
        caller = sys._getframe(1)
        while caller.f_back is not None and caller.f_globals.get("__name__") in ("pathlib", "os"):
            caller = caller.f_back
        if _is_ours(caller.f_globals):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(arguments[0]))


def _not_for_ours(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that raises NotImplementedError if one of our modules calls it."""

    def called(*arguments: Any) -> Any:
        if _is_ours(sys._getframe(1).f_globals):
            raise NotImplementedError
        return method(*arguments)

    return called


def _is_ours(names: Mapping[str, Any]) -> bool:
    """Return whether these are the names of one of our modules."""
    return str(names.get("__name__", "")).partition(".")[0] in OURS


if __name__ == "__main__":
    become(sys.argv[1])
    del sys.argv[:2]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
