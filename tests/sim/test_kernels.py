"""Kernels run three ways give the same, each has one signature, and playouts equal those of the yardstick in C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sim import kernels
from sim.cache import machine_code
from sim.maps import named_map
from sim.playout import play_out_all
from tests.sim.selfcheck import digest
from tests.support.paths import TESTS
from tests.support.worlds import YARDSTICK

SCRIPT = TESTS / "sim" / "selfcheck.py"


def run_otherwise(tmp_path: Path, **settings: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != machine_code.FOLDER_VARIABLE}
    environment |= {"NUMBA_CACHE_DIR": str(tmp_path), **settings}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_uncompiled_kernels_compute_the_same(tmp_path: Path) -> None:
    assert run_otherwise(tmp_path, NUMBA_DISABLE_JIT="1") == digest()


@pytest.mark.slow_long
def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    assert run_otherwise(tmp_path, NUMBA_BOUNDSCHECK="1") == digest()


def test_every_kernel_has_exactly_one_signature() -> None:
    digest()
    for dispatcher, _ in kernels.entries():
        assert len(dispatcher.signatures) <= 1, dispatcher.py_func.__qualname__


def test_playouts_depend_on_seed_and_index_alone() -> None:
    start = np.repeat(named_map("garden").new_game(max_turns=200), 4)
    one, again, other = start.copy(), start.copy(), start.copy()
    assert play_out_all(one, 5) == play_out_all(again, 5) == 800
    play_out_all(other, 6)
    assert one.tobytes() == again.tobytes() != other.tobytes()
    assert len({game.tobytes() for game in one}) == 4
    assert play_out_all(one, 5) == 0
    longer = np.repeat(start[:1], 6)
    play_out_all(longer, 5)
    assert longer[:4].tobytes() == one.tobytes()


@pytest.mark.slow
@pytest.mark.skipif(not YARDSTICK.exists() or not shutil.which("gcc"), reason="the yardstick in C, or gcc, is not at hand")
@pytest.mark.parametrize("size", [10, 18, 28])
def test_playouts_equal_the_yardstick(size: int, tmp_path: Path) -> None:
    from tests.support.yardstick import Yardstick, play_out

    yardstick = Yardstick.build(YARDSTICK, tmp_path)
    theirs = yardstick.playouts(seed=3, games=40, size=size)
    plies, state_hash = play_out(yardstick.maps(seed=3, size=size), 3, 40)
    assert (plies, f"{state_hash:016x}") == (theirs.plies, theirs.state_hash)
