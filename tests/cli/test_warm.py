"""`vindibot warm`: the kernels that it compiles, and what it prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim import kernels
from tests.support.paths import TOP
from vindibot.devtools.kernel_cache import modules_with_kernels


def warm(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vindibot", "warm", *words]
    return subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False)


def test_every_module_that_declares_a_kernel_is_known() -> None:
    """Each kernel that this process has imported belongs to one of these modules."""
    import vindibot.learning.gradient  # noqa: F401

    declared = {function.__module__ for function, _ in kernels.entries()}
    ours = {name for name in declared if name.partition(".")[0] in ("sim", "behaviours", "vindibot")}
    assert {"sim.rules", "behaviours.search.engine", "vindibot.learning.gradient"} <= ours
    assert ours <= set(modules_with_kernels())


@pytest.mark.slow
def test_without_the_packages_of_environments_all_other_modules_can_be_imported() -> None:
    """Two commands of the README install vindibot without the packages of environments, and `vindibot warm` works there too."""
    absent = ("gymnasium", "pettingzoo", "scipy", "optuna", "cmaes", "distributed", "hypothesis", "schemathesis")
    lines = (
        f"import sys, importlib; sys.modules.update(dict.fromkeys({absent}))",
        "from vindibot.devtools.kernel_cache import modules_with_kernels",
        "print(*map(importlib.import_module, modules_with_kernels()), sep='\\n')",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "vindibot.learning.gradient" in done.stdout
    assert "vindibot.env" not in done.stdout


@pytest.mark.slow
def test_the_second_time_nothing_is_left_to_do(tmp_path: Path) -> None:
    first = warm("seed")
    assert first.returncode == 0, first.stderr
    again = warm("seed")
    assert re.fullmatch(rf"\d+ kernels were compiled before: {re.escape(str(kernels.cache_folder()))}\n", again.stdout)
