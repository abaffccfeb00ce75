"""Checks of the environment of a command, before the command runs: the current folder, and the settings of numba."""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, Self

from vindibot.base.errors import UsageError

#: The file in the current folder from which numba reads settings.
NUMBA_FILE = ".numba_config.yaml"
#: The variables of numba that need no check.
_PATHS = ("NUMBA_CACHE_DIR",)


def check_environment() -> None:
    """Raise `UsageError` if the current folder was removed, or if numba cannot use a setting of the environment."""
    try:
        here = Path.cwd()
    except OSError:
        raise UsageError("the current folder does not exist any more: change to another folder") from None
    names = [name for name in os.environ if name.startswith("NUMBA_") and name not in _PATHS]
    if (here / NUMBA_FILE).exists():
        names.append(NUMBA_FILE)
    if names:
        _check_numba(names)


def _check_numba(names: list[str]) -> None:
    """Import numba, and raise `UsageError` if it cannot use a setting. `names` are the variables and the file with settings."""
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        try:
            import numba
            from llvmlite import binding
        except Exception as problem:  # numba checks each setting in its own way
            raise _refused(_suspects(names, str(problem)), problem) from None
    for complaint in complaints:
        text = str(complaint.message)
        if "NUMBA_" in text:
            found = [name for name in names if f"'{name}'" in text] or [NUMBA_FILE]
            raise _refused(found, (text.splitlines() or [""])[-1])
    config: Any = numba.config
    processor = {"NUMBA_CPU_NAME": config.CPU_NAME, "NUMBA_CPU_FEATURES": config.CPU_FEATURES}
    if any(name in names for name in processor):
        binding.initialize_native_target()
        name, features = (str(value or "") for value in processor.values())
        if any(not flag.startswith(("+", "-")) for flag in filter(None, features.split(","))):
            raise _refused(["NUMBA_CPU_FEATURES"], "each feature must begin with + or -")
        target = binding.Target.from_default_triple()
        with _StandardError() as printed:
            target.create_target_machine(cpu=name, features=features)
        if printed.text:
            raise _refused([name for name in processor if name in names], printed.text.partition("(")[0].strip())


def _suspects(names: list[str], text: str) -> list[str]:
    """Return the names that an error of numba may concern: names in its text, else all names."""
    threads = ["NUMBA_NUM_THREADS"] if "threads" in text else []
    return [name for name in names if name in text or name in threads] or names


def _refused(names: list[str], problem: object) -> UsageError:
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    what = " or ".join(f"{name}={os.environ[name]!r:.60}" if name in os.environ else f"the file {name}" for name in names)
    return UsageError(f"numba cannot use {what}: {lines[0].rstrip('.:')}; correct it, or remove it")


class _StandardError:
    """A context manager that collects what C code prints to standard error. Afterwards `text` has it."""

    text = ""

    def __enter__(self) -> Self:
        self._file = tempfile.TemporaryFile()
        self._before = os.dup(2)
        os.dup2(self._file.fileno(), 2)
        return self

    def __exit__(self, *_: object) -> None:
        os.dup2(self._before, 2)
        os.close(self._before)
        self._file.seek(0)
        self.text = self._file.read().decode(errors="replace")
        self._file.close()
