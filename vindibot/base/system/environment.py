"""Checks of the environment of a command, before the command runs: the current folder, and the settings of numba."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

from vindibot.base.errors import UsageError

#: The file in the current folder from which numba reads settings.
NUMBA_FILE = ".numba_config.yaml"
#: A program that makes LLVM compile for the processor that the settings name. LLVM prints what is wrong with them.
_COMPILES = """
from llvmlite import binding
from numba import config
binding.initialize_native_target()
features = config.CPU_FEATURES or ""
if any(feature[0] not in "+-" for feature in features.split(",") if feature):
    raise SystemExit("each feature must begin with + or -")
binding.Target.from_default_triple().create_target_machine(cpu=config.CPU_NAME or "", features=features)
"""


def check_environment() -> None:
    """Raise `UsageError` if the current folder was removed, or if numba cannot use a setting of the environment."""
    try:
        folder = Path.cwd()
    except OSError:
        raise UsageError("the current folder does not exist any more: change to another folder") from None
    names = [name for name in os.environ if name.startswith("NUMBA_") and name != "NUMBA_CACHE_DIR"]
    names += [NUMBA_FILE] * (folder / NUMBA_FILE).exists()
    if not names:
        return
    with warnings.catch_warnings(record=True) as complaints:
        warnings.simplefilter("always")
        try:
            import numba  # noqa: F401
        except Exception as problem:  # numba checks each setting in its own way
            raise _refused(names, str(problem) or type(problem).__name__) from None
    for complaint in complaints:
        if "NUMBA_" in str(complaint.message):
            raise _refused(names, str(complaint.message))
    if processor := [name for name in names if name.startswith("NUMBA_CPU_")]:
        done = subprocess.run([sys.executable, "-c", _COMPILES], capture_output=True, text=True, check=False)
        if done.stderr:
            raise _refused(processor, done.stderr.partition("(")[0])


def _refused(names: list[str], problem: str) -> UsageError:
    """Return the error about the settings that the text `problem` names, about all settings if it names none."""
    suspects = [name for name in names if name in problem] or names
    shown = " or ".join(f"{name}={os.environ[name]!r:.60}" if name in os.environ else f"the file {name}" for name in suspects)
    lines = problem.strip().splitlines() or [""]
    text = lines[-1] if "NUMBA_" in lines[0] else lines[0]
    return UsageError(f"numba cannot use {shown}: {text.rstrip('.:')}; correct it, or remove it")
