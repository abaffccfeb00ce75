"""``vindibot play`` when processes of it are killed or stopped, when traits leave daemons behind, and on Ctrl-C at any time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.support.commands import begin, ended, environment, family, line_with, recorded
from tests.support.paths import BOTS
from tests.support.waiting import is_alive, until, wait_until
from vindibot.engine.forkserver import NAME as SERVER
from vindibot.engine.worker import WORKER


@pytest.mark.slow_faults
async def test_a_game_goes_on_without_its_fork_server(tmp_path: Path) -> None:
    """It is killed again and again, and the workers too: every turn is in time."""
    process = await begin(tmp_path, "play", "--rounds", "180", "--limit-ms", "500", "--display", "lines")
    for number in range(1, 5):
        await line_with(process, f"round {number * 30}/180")
        for child in [*family(process.pid)[SERVER], *(family(process.pid)[WORKER] if number % 2 == 0 else [])]:
            child.kill()
    out = await ended(process)
    assert process.returncode == 0, out
    turns = recorded(tmp_path).turns
    assert [turn.turn for turn in turns] == list(range(0, 720, 4)), "a turn was lost"
    assert all(turn.ballot.margin_ms > 0 for turn in turns), "a turn was late"
    assert not turns[-1].ballot.fallback


@pytest.mark.slow_long
async def test_a_worker_with_a_split_trait_is_killed_in_the_middle(tmp_path: Path) -> None:
    """No turn of a split trait on two workers is late."""
    (tmp_path / "bot.toml").write_text('extends = "strong"\n[traits.rollout]\nnodes = 1000000000000\n')
    words = ("--bot", "bot.toml", "--seed", "3", "--display", "lines", "--rounds", "60", "--limit-ms", "400", "--workers", "2")
    process = await begin(tmp_path, "play", *words, VINDIBOT_POOL__GRACE_MS="1000")
    await line_with(process, "round 5/60")
    for pause in (0.0, 0.7):
        await asyncio.sleep(pause)
        family(process.pid)[WORKER][0].kill()
    out = await ended(process)
    assert process.returncode == 0, out
    assert "worker replaced" in out
    turns = recorded(tmp_path).turns
    assert [turn.turn for turn in turns] == list(range(0, 240, 4)), "a turn was lost"
    assert all(turn.ballot.margin_ms > 0 for turn in turns), "a turn was late"


@pytest.mark.slow_faults
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_daemons_of_traits_do_not_outlive_the_game(tmp_path: Path, number: signal.Signals) -> None:
    """A child in a session of its own, and one that has left all its parents."""
    notes = tmp_path / "numbers"
    (tmp_path / "bad_traits.py").write_text((BOTS / "bad_traits.py").read_text())
    (tmp_path / "bot.toml").write_text(
        f'extends = "seed"\n[traits.daemons]\nuse = "bad_traits:StartsDaemons"\nnotes = "{notes}"\n'
    )
    process = await begin(tmp_path, "play", "--bot", "bot.toml", "--games", "90", "--display", "none")
    await until(lambda: notes.exists() and len(notes.read_text().split()) >= 2, 100)
    numbers = [int(word) for word in notes.read_text().split()]
    everybody = {child.pid for child in psutil.Process(process.pid).children(recursive=True)} | set(numbers)
    process.send_signal(number)
    out = await ended(process)
    assert process.returncode == (-number if number == signal.SIGKILL else 130), out
    await until(lambda: not any(map(is_alive, everybody)))
    assert not any(is_alive(int(word)) for word in notes.read_text().split())


def interrupted_after(folder: Path, seconds: float, times: int, *words: str, **more: str) -> tuple[int, str]:
    """Send Ctrl-C, as a terminal does, to all processes in the foreground; return the exit code and the output."""
    imports = "import sys; sys.argv[0] = 'vindibot'; import vindibot.base.interrupts; from vindibot.__main__ import main"
    code = f"{imports}; print('here', flush=True); sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"here\n"  # what the interpreter does before is not ours
    everybody: list[psutil.Process] = []
    for _ in range(times):
        time.sleep(seconds)
        everybody += psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        try:
            os.killpg(process.pid, signal.SIGINT)
        except ProcessLookupError:
            break
        seconds = 0.01
    out, _ = process.communicate(timeout=60)
    wait_until(lambda: not any(is_alive(child.pid) for child in everybody), 20.0)
    return process.returncode, out.decode()


def quiet(out: str) -> bool:
    return not any(word in out for word in ("Traceback", "Exception ignored", "Error", "never retrieved", "was destroyed"))


@pytest.mark.slow_faults
@pytest.mark.timeout(600)
@pytest.mark.parametrize("times", [1, 2, 3])
def test_ctrl_c_at_any_time_in_the_first_seconds(tmp_path: Path, times: int) -> None:
    for step in range(40):
        moment = 0.002 + step / 20
        code, out = interrupted_after(tmp_path, moment, times, "play", "--games", "90", "--display", "none")
        assert (code, quiet(out)) == (130, True), (moment, code, out)
        said = [line for line in out.splitlines() if line.startswith(("interrupted", "stopping"))]
        assert len(said) == 1 or ("stopping" in said[0] and len(said) == 2), (moment, out)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["play"], marks=pytest.mark.slow_faults),
        pytest.param(["arena", "seed", "random", "--blocks", "1"], marks=pytest.mark.slow_faults),
        ["serve"],
    ],
    ids=str,
)
def test_ctrl_c_while_kernels_are_compiled(tmp_path: Path, words: list[str]) -> None:
    """Nothing is in the cache: for many seconds there is nothing but the compiler at work."""
    code, out = interrupted_after(tmp_path, 2.0, 2, *words, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert code == 130 or words == ["serve"], (code, out)
    assert quiet(out), out


@pytest.mark.slow_faults
def test_ctrl_c_while_a_module_of_a_bot_is_imported(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)\n")
    (tmp_path / "bot.toml").write_text('[traits.slow]\nuse = "slow:Slow"\n')
    code, out = interrupted_after(tmp_path, 4.0, 1, "bench", "bot.toml")
    assert code == 130
    assert out.splitlines()[-1] == "interrupted"
