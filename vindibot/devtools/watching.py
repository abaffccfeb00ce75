"""``vindibot turn --watch``: run the command again whenever a file of the bot changes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from vindibot.base.console import say
from vindibot.base.text import counted, printable
from vindibot.base.writing import short

#: Seconds between two looks at the files.
LOOK_SECONDS = 0.25
#: Largest number of watched files.
MOST_FILES = 2000
#: The ends of the names of watched files, and folders that are not watched.
SUFFIXES, SKIPPED = (".py", ".toml", ".npz", ".json"), {"__pycache__", "node_modules", "recordings", "results"}
#: Depth of the subfolders that are watched.
DEPTH = 3

_Stamps = dict[Path, tuple[int, int]]


def run_at_each_change(console: Console, words: Sequence[str], folders: Sequence[Path]) -> None:
    """Run ``vindibot WORDS`` now, and again whenever a file in `folders` changes. Return after Ctrl-C.

    Each run is a process of its own, so it imports the files anew. A run that fails does not end the watch.
    """
    folders = list(dict.fromkeys(folder.resolve() for folder in folders))
    try:
        while True:
            before = _stamps(folders)
            subprocess.run([sys.executable, "-m", "vindibot", *words], check=False)
            say(console, f"watching {counted(len(before), 'file')} in {', '.join(map(short, folders))}; Ctrl-C ends it", "dim")
            changed = _wait_for_change(folders, before)
            console.print()
            say(console, printable(f"changed: {', '.join(changed)}"), "bold")
    except KeyboardInterrupt:
        console.print()


def _wait_for_change(folders: Sequence[Path], before: _Stamps) -> list[str]:
    """Wait until files have changed and are written completely. Return the names of the changed files."""
    now = _stamps(folders)
    while now == before:
        time.sleep(LOOK_SECONDS)
        now = _stamps(folders)
    while (later := _stamps(folders)) != now:
        time.sleep(LOOK_SECONDS)
        now = later
    return sorted(path.name for path in {*now, *before} if now.get(path) != before.get(path))


def _stamps(folders: Sequence[Path]) -> _Stamps:
    """Return the time of the last change and the size of each file that may belong to a bot, without virtual environments."""
    stamps: _Stamps = {}
    for place, subfolders, names in (entry for folder in folders for entry in os.walk(folder)):
        depth = min(len(Path(place).relative_to(folder).parts) for folder in folders if Path(place).is_relative_to(folder))
        subfolders[:] = [name for name in subfolders if depth < DEPTH and name not in SKIPPED and not name.startswith(".")]
        if "pyvenv.cfg" in names:
            subfolders.clear()
            continue
        for path in (Path(place, name) for name in names if name.endswith(SUFFIXES)):
            with suppress(OSError):  # it was just removed
                stamps[path] = path.stat().st_mtime_ns, path.stat().st_size
            if len(stamps) >= MOST_FILES:
                return stamps
    return stamps
