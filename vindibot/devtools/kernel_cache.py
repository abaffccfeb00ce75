"""``vindibot warm``: compile the kernels (functions in machine code) of all commands and traits in advance."""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console

from sim import kernels
from vindibot.base.text import counted
from vindibot.config.bots import load_bot
from vindibot.engine.warmup import warm

_TOP = Path(__file__).resolve().parents[2]
#: The packages whose modules may declare kernels, and the text with which a kernel is declared.
_PACKAGES, _DECLARATION = ("sim", "behaviours", "vindibot"), "\n@entry("
#: Rooms whose modules need packages that are not always installed, and these packages.
_EXTRAS = {"vindibot.env": ("gymnasium", "pettingzoo")}


def fill_cache(bots: Sequence[str], console: Console) -> int:
    """Compile the kernels of `bots` (names or bot files), or of the whole project if there are none. Return the exit code 0.

    The kernels of the server are among both. Raises `VindibotError` for a bot that cannot be loaded.
    """
    modules = ("vindibot.server.match", *(() if bots else modules_with_kernels()))
    began = time.monotonic()
    for module in modules:
        importlib.import_module(module)
    for bot in bots:
        load_bot(bot)
    cached = kernels.cached()
    warm(console)
    number, folder = counted(len(kernels.entries()), "kernel"), kernels.cache_folder()
    how = "were compiled before" if cached else f"are ready after {time.monotonic() - began:.0f} s"
    console.print(f"{number} {how}: {folder}", markup=False, highlight=False, soft_wrap=True)
    return 0


def modules_with_kernels() -> list[str]:
    """Return the names of all modules of this project that declare kernels, sorted.

    The modules of a room whose packages are not installed are left out: nobody can use their kernels.
    """
    missing = tuple(f"{room}." for room, packages in _EXTRAS.items() if not all(map(find_spec, packages)))
    paths = [path for package in _PACKAGES for path in (_TOP / package).rglob("*.py") if _DECLARATION in path.read_text("utf-8")]
    names = (".".join(path.relative_to(_TOP).with_suffix("").parts) for path in paths)
    return sorted(name for name in names if not name.startswith(missing))
