"""`vindibot learn selfplay`: whole runs of the command."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behaviours.net.network import load_nets
from tests.support.commands import begin, command, ended, environment, invoke, line_with, run

#: A small run: three pieces of one thread.
SMALL = ("--decisions", "40000", "--threads", "1", "--hidden", "16", "--seed", "3", "--against", "stay")


def selfplay(folder: Path, *words: str, code: int = 0) -> str:
    done = run(folder, "learn", "selfplay", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def facts(folder: Path) -> dict[str, Any]:
    with np.load(folder / "run.npz", allow_pickle=False) as arrays:
        found: dict[str, Any] = json.loads(str(arrays["facts"]))
        return found


def weights(folder: Path) -> list[bytes]:
    (net,) = load_nets(folder / "net.npz")
    assert net.value is not None
    return [array.tobytes() for part in (net.policy, net.value) for array in (part.rows, part.linear, part.out)]


@pytest.mark.usefixtures("few_games")
def test_a_small_run_goes_on_with_more_moves(tmp_path: Path) -> None:
    words = ["learn", "selfplay", "mine", "--threads", "2", "--hidden", "16", "--seed", "3", "--set", "rounds=20"]
    code, said = invoke(tmp_path, *words, "--against", "stay", "--decisions", "3000")
    assert code == 0, said
    heads, row, *matches = said.splitlines()[1:5]
    assert heads.split() == ["done", "moves", "a", "second", "games", "reward", "entropy", "error", "deaths", "beats", "guests"]
    assert row.split()[:2] == ["100%", "0.00M"]
    for line, rival in zip(matches, ("last snapshot", "stay"), strict=True):
        assert re.fullmatch(rf"    alone against three of {rival}: \d+% of games won \(\d+% .. \d+%\)", line)
    kept = facts(tmp_path / "mine")
    means, match = kept["rows"][0]["means"], kept["rows"][0]["match"]
    assert 3000 <= kept["rows"][0]["decisions"] < 6000
    assert (len(kept["rows"]), kept["limit"], kept["taken"] > 0) == (1, {"decisions": 3000, "minutes": None}, True)
    assert 0 < means["entropy"] <= np.log(5)
    assert 0 <= means["won"] <= 1
    assert means["games"] > 0 < means["value_error"]
    assert all(0 <= won <= 1 and low < high for won, low, high in match.values())
    assert row.split()[3:] == [
        f"{means['games']:,.0f}", f"{means['reward']:+.4f}", f"{means['entropy']:.3f}", f"{means['value_error']:.3f}",
        f"{means['deaths']:.2f}", f"{means['won']:.0%}",
    ]  # fmt: skip
    before = weights(tmp_path / "mine")
    code, said = invoke(tmp_path, "learn", "selfplay", "mine", "--resume", "--against", "stay")
    assert code == 0
    assert re.search(r"nothing is left to train: this run made \d,\d\d\d moves in 0\.\d minutes of training", said)
    code, said = invoke(tmp_path, "learn", "selfplay", "mine", "--resume", "--against", "stay", "--decisions", "6000")
    assert code == 0, said
    again = facts(tmp_path / "mine")
    assert again["rows"][0] == kept["rows"][0]
    assert again["rows"][1]["decisions"] >= 6000
    assert again["seconds"] > kept["seconds"]
    assert weights(tmp_path / "mine") != before
    page = (tmp_path / "mine" / "report.html").read_text()
    assert "2 threads, 16 hidden units, seed 3." in page
    assert page.count("<svg") == 5, "four curves and the matches"
    code, said = invoke(tmp_path, "learn", "selfplay", "next", *words[3:], "--from", "mine/net.npz", "--decisions", "1")
    assert code == 0, said
    assert (tmp_path / "next" / "bot.toml").read_text().startswith('# A net that learned by self-play.\nname = "next"\n')


@pytest.mark.slow
def test_a_run_writes_a_bot_that_plays(tmp_path: Path) -> None:
    said = selfplay(tmp_path, "mine", *SMALL)
    assert "alone against three of stay" in said
    played = run(tmp_path, "play", "--bot", "mine", "--display", "none", "--rounds", "3", "--pace", "none")
    assert played.returncode == 0, played.stderr
    shown = run(tmp_path, "config", "mine")
    assert shown.returncode == 0, shown.stderr


@pytest.mark.slow
async def test_after_kill_9_a_run_goes_on_to_the_same_net(tmp_path: Path) -> None:
    selfplay(tmp_path, "whole", *SMALL)
    process = await begin(tmp_path, "learn", "selfplay", "killed", *SMALL)
    await line_with(process, "entropy")
    process.kill()
    await process.wait()
    said = selfplay(tmp_path, "killed", "--resume", "--against", "stay")
    assert "100%" in said
    assert weights(tmp_path / "killed") == weights(tmp_path / "whole")


@pytest.mark.slow
async def test_a_folder_has_one_run(tmp_path: Path) -> None:
    words = ["--decisions", "100000000", "--threads", "1", "--hidden", "16", "--against", "stay"]
    process = await begin(tmp_path, "learn", "selfplay", "mine", *words)
    await line_with(process, "entropy")  # the head of the table
    for again in (["--resume"], ["--resume", "--decisions", "9"]):
        said = selfplay(tmp_path, "mine", *again, code=2)
        assert "mine/run.npz: another vindibot learn trains this run; stop it first" in said
    process.send_signal(signal.SIGINT)
    await ended(process)
    assert process.returncode == 130
    assert sorted(os.listdir(tmp_path / "mine")) == ["bot.toml", "net.npz", "report.html", "run.npz"]


@pytest.mark.slow
async def test_ctrl_c_saves_the_run(tmp_path: Path) -> None:
    words = ["--decisions", "100000000", "--threads", "1", "--hidden", "16", "--against", "stay"]
    process = await begin(tmp_path, "learn", "selfplay", "mine", *words)
    await line_with(process, "M")  # the first row: after ten seconds
    process.send_signal(signal.SIGINT)
    said = await ended(process)
    assert process.returncode == 130, said
    assert "go on with: vindibot learn selfplay mine --resume" in said
    kept = facts(tmp_path / "mine")
    assert kept["rows"]
    assert kept["limit"] == {"decisions": 100000000, "minutes": None}
    again = selfplay(tmp_path, "mine", "--resume", "--decisions", "1000", "--against", "stay")
    assert "interrupted" not in again


@pytest.mark.slow
def test_last_saving_on_a_full_disk_keeps_the_net(tmp_path: Path) -> None:
    """A limit of the size of files stands for the disk: the net has room, the state of the run has none."""
    selfplay(tmp_path, "mine", *SMALL)
    before = weights(tmp_path / "mine")
    full = ["bash", "-c", 'ulimit -f 1000; exec "$@"', "full"]
    words = command("learn", "selfplay", "mine", "--resume", "--decisions", "80000", "--against", "stay")
    done = subprocess.run([*full, *words], cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "mine: cannot be written: File too large" in done.stderr
    assert weights(tmp_path / "mine") != before
    assert facts(tmp_path / "mine")["limit"]["decisions"] == 40000


def test_idle_gives_precedence_to_other_sessions_too() -> None:
    if not Path("/proc/self/autogroup").exists():
        pytest.skip("this kernel does not group processes by session")
    code = (
        "import atexit, os\nfrom pathlib import Path\nfrom vindibot.base.system import lower_priority\n"
        "shown = lambda: print(os.nice(0), Path('/proc/self/autogroup').read_text().split()[-1])\n"
        "atexit.register(shown)\nlower_priority()\nshown()\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environment(), start_new_session=True, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["19 19", "19 0"], done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine", "--set", "colour=3"], "the names are"),
        (["mine", "--set", "discount=2"], "discount"),
        (["full", "--minutes", "1"], "is there already"),
        (["none", "--resume"], "run.npz is missing"),
        (["damaged", "--resume"], "run.npz cannot be read"),
        (["mine", "--resume", "--seed", "3"], "with its own settings"),
        (["mine", "--rivals", "nowhere.npz"], "cannot be read"),
        (["mine", "--against", "nobody"], "there is no bot"),
    ],
)
def test_wrong_usage_is_refused_and_nothing_is_written(tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "run.npz").write_bytes(b"PK" + bytes(1000))
    code, said = invoke(tmp_path, "learn", "selfplay", *words)
    assert code == 2, said
    assert message in said
    assert not (tmp_path / "mine").exists()
    assert (tmp_path / "full" / "file").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_few_minutes_of_training_beat_random_bots(tmp_path: Path) -> None:
    done = run(tmp_path, "learn", "selfplay", "mine", "--decisions", "2000000", timeout=800)
    assert done.returncode == 0, done.stderr
    played = run(tmp_path, "arena", "mine/bot.toml", "random", "--format", "gauntlet", "--blocks", "10", timeout=100)
    assert played.returncode == 0, played.stderr
    row = next(line for line in played.stdout.splitlines() if line.startswith("mine ") and "%" in line)
    assert int(row.partition("%")[0].split()[-1].lstrip(">")) >= 90, row
