"""What the processes of vindibot import, from where, and with which environment; each test runs whole commands."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

from sim.kernels import cache_folder
from tests.support.paths import TOP
from vindibot.cli.main import main

LINE_BOT = TOP / "tests" / "bots" / "line_bot.py"
DECOY = """
with open({marker!r}, "a") as file:
    file.write("{name} ")
raise RuntimeError("{name} was imported from the current folder")
"""
SHOW = """
import json, subprocess, sys
import behaviours
from behaviours import Behaviour, View, Votes

class Show(Behaviour):
    def vote(self, view: View) -> Votes:
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        environment = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/").stdout
        seen = {"environment": json.loads(environment), "path": list(sys.path), "behaviours": behaviours.__file__}
        with open(self.file, "w") as file:
            json.dump(seen, file)
        return None

    file: str
"""
PROGRAM = """
import json, os, runpy, sys
with open(sys.argv[1], "w") as file:
    json.dump({"environment": dict(os.environ)}, file)
sys.argv[1:] = ["good"]
runpy.run_path(%r, run_name="__main__")
"""


def environment(**more: str) -> dict[str, str]:
    """What a user has: nothing of ours but a key and a setting, and a path of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VINDIBOT_", "PYTEST_", "COV_"))}
    path = os.pathsep.join((str(TOP), "/nowhere"))
    return {**kept, "LANG": "C.UTF-8", "COLUMNS": "200", "VINDIBOT_KEY": "s3cretk8", "PYTHONPATH": path, **more}


def run(
    folder: Path, *words: str | Path, start: tuple[str, ...] = ("-m", "vindibot"), **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *start, *map(str, words)],
        cwd=folder,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody's, with a bot whose trait writes down what it sees into seen.json."""
    here = tmp_path / "here"
    here.mkdir()
    (here / "show.py").write_text(SHOW)
    (here / "bot.toml").write_text(f'extends = "stay"\n[traits.show]\nuse = "show:Show"\nfile = "{tmp_path / "seen.json"}"\n')
    return here


def seen(folder: Path) -> dict[str, object]:
    told: dict[str, object] = json.loads((folder.parent / "seen.json").read_text())
    return told


def lay_decoys(folder: Path, *names: str) -> Path:
    """Modules that nobody may import; the file that is returned tells if somebody does."""
    marker = folder.parent / "imported"
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(DECOY.format(marker=str(marker), name=name))
    return marker


# The current folder

STDLIB = ("random.py", "json.py", "socket.py", "signal.py", "selectors.py", "pickle.py")
OURS = ("behaviours/__init__.py", "sim/__init__.py")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("play", "--bot", "bot.toml", "--display", "none"),
        ("arena", "bot.toml", "stay", "--blocks", "1"),
    ],
)
@pytest.mark.parametrize("how", ["module", "script"])
def test_the_imports_and_the_environment_are_the_users(folder: Path, how: str, words: tuple[str, ...]) -> None:
    decoys: tuple[str, ...] = (*STDLIB, *OURS)
    start: tuple[str, ...] = ("-m", "vindibot")
    if how == "script":
        script = folder.parent / "bin" / "vindibot"
        script.parent.mkdir()
        script.write_text("from vindibot.cli.main import main\nif __name__ == '__main__':\n    main()\n")
        decoys, start = (*decoys, "vindibot/__init__.py"), (str(script),)
    marker = lay_decoys(folder, *decoys)
    done = run(folder, *words, "--rounds", "2", start=start, VINDIBOT_LOG__LEVEL="error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not marker.exists(), marker.read_text()
    assert seen(folder)["environment"] == environment(VINDIBOT_LOG__LEVEL="error"), "what a trait starts has that of the user"
    assert seen(folder)["behaviours"] == str(TOP / "behaviours" / "__init__.py")
    path = seen(folder)["path"]
    assert isinstance(path, list)
    assert path.index(str(folder)) >= len(path) - 2, "the bot's folder comes last, but for that of the bot it extends"


@pytest.mark.slow
def test_a_checkout_that_is_not_installed_plays(folder: Path) -> None:
    """Its packages are imported from it by all processes."""
    checkout = folder.parent / "checkout"
    checkout.mkdir()
    for name in ("vindibot", "behaviours", "sim", "config"):
        (checkout / name).symlink_to(TOP / name)
    away = os.pathsep.join(("/nowhere", str(TOP)))  # another vindibot is installed
    words = ("play", "--bot", folder / "bot.toml", "--rounds", "2", "--no-recording")
    done = run(checkout, *words, PYTHONPATH=away, NUMBA_DISABLE_JIT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert seen(folder)["behaviours"] == str(checkout / "behaviours" / "__init__.py")


# The environment


@pytest.mark.slow
def test_a_program_has_the_environment_of_the_user_without_what_is_for_vindibot(tmp_path: Path) -> None:
    entrants = []
    for kind, speaks in (("stdio", LINE_BOT), ("http", LINE_BOT.with_name("web_bot.py"))):
        program = tmp_path / f"{kind}_bot.py"
        program.write_text(PROGRAM % str(speaks))
        entrants.append(f"{kind}={kind}:{shlex.join([sys.executable, str(program), str(tmp_path / f'{kind}.json')])}")
    done = run(tmp_path, "arena", *entrants, "--blocks", "1", "--rounds", "2", PYTHONSAFEPATH="")
    assert done.returncode == 0, done.stdout + done.stderr
    users = environment(PYTHONSAFEPATH="")
    del users["VINDIBOT_KEY"]
    for kind, count in (("stdio", 0), ("http", 3)):
        told = json.loads((tmp_path / f"{kind}.json").read_text())["environment"]
        given = {name: told.pop(name) for name in ("VINDINIUM_SERVER", "VINDINIUM_KEY", "VINDIBOT_KEY") if name in told}
        assert len(given) == count
        assert "s3cretk8" not in given.values()
        if kind == "http":  # its server is on this machine, so no proxy is asked
            assert {told.pop(name) for name in ("no_proxy", "NO_PROXY")} == {"127.0.0.1,localhost"}
        assert told == users


# Modules that end the process


@pytest.mark.parametrize(
    "words",
    [
        ("play", "--bot", "bot.toml"),
        ("play", "--against", "bot.toml"),
        ("config", "bot.toml"),
        ("arena", "bot.toml", "stay"),
        ("doctor", "bot.toml"),
        ("behaviours", "--bot", "bot.toml"),
    ],
    ids=" ".join,
)
def test_a_module_that_ends_the_process_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    (folder / "quits.py").write_text("import sys\n\nsys.exit(0)\n")
    (folder / "bot.toml").write_text('[traits.quick]\nuse = "quits:Quits"\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    done = CliRunner().invoke(main, words)  # if it did end the process, this one would end
    assert done.exit_code == (1 if words[0] == "doctor" else 2)
    told = " ".join(done.output.split())
    assert "bot.toml, line 2: the trait 'quits:Quits': its module quits cannot be imported: " in told
    assert f"it ends the program: SystemExit(0) in {folder / 'quits.py'}, line 3" in told


# Kernels of one's own

DICE = """
from numba import types
from pathlib import Path
from behaviours import Behaviour, View, Votes
from sim.kernels import entry, kernel

@kernel
def worth(number):
    total = number
    for step in range(number & 7):
        total = (total * 31 + step) % 1000003
    return total + {added}

@entry(types.int64(types.int64))
def throw(number):
    return worth(number)

class Dice(Behaviour):
    file: str

    def vote(self, view: View) -> Votes:
        Path(self.file).write_text(str(throw(3)))
        return None
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["play", "arena"])
def test_two_bots_with_kernels_of_one_name_play_each_other(tmp_path: Path, command: str) -> None:
    """Each computes with its own; the second start compiles nothing, neither openly nor in silence."""
    total = 3
    for step in range(3):
        total = (total * 31 + step) % 1000003
    module = f"dice_{command}_{os.getpid()}"  # nobody else writes kernels of this name
    files = [tmp_path / "red" / "bot.toml", tmp_path / "blue" / "bot.toml"]
    words: tuple[str | Path, ...] = ("play", "--bot", files[0], "--against", files[1], "--display", "none")
    if command == "arena":
        words = ("arena", "--match", *(f"{path.parent.name}={path}" for path in files), "--blocks", "1")
    for number, path in enumerate(files):
        path.parent.mkdir()
        path.write_text(f'extends = "stay"\n[traits.dice]\nuse = "{module}:Dice"\nfile = "{path.with_suffix(".txt")}"\n')
        path.with_name(f"{module}.py").write_text(DICE.format(added=number))
    written: list[dict[Path, int]] = []
    for first in (True, False):
        done = run(tmp_path, *words, "--rounds", "2")
        assert done.returncode == 0, done.stdout + done.stderr
        assert ("compiling kernels" in done.stdout + done.stderr) == first
        assert "arning" not in done.stdout + done.stderr
        assert [path.with_suffix(".txt").read_text() for path in files] == [str(total), str(total + 1)]
        written.append({path: path.stat().st_mtime_ns for path in cache_folder().rglob(f"{module}.*.kernel")})
        for path in files:
            path.with_suffix(".txt").unlink()
    assert len(written[0]) == 2, "a kernel of each"
    assert written[1] == written[0]


@pytest.mark.slow
def test_a_kernel_that_cannot_be_compiled_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "dice.py").write_text(DICE.format(added="nothing"))
    (tmp_path / "bot.toml").write_text(f'[traits.dice]\nuse = "dice:Dice"\nfile = "{tmp_path / "told"}"\n')
    done = run(tmp_path, "play", "--bot", "bot.toml")
    assert done.returncode == 2
    assert f"error: the kernel throw ({tmp_path / 'dice.py'}, line 14) cannot be compiled: TypingError" in done.stderr
    assert "Traceback" not in done.stderr


# Modules that take long

TOGETHER = """
import os, time
from pathlib import Path
from behaviours import Behaviour, View, Votes

here = Path({folder!r})
(here / f"pid-{{os.getpid()}}").touch()
end = time.monotonic() + {seconds}
while len(list(here.glob("pid-*"))) < {processes} and time.monotonic() < end:
    time.sleep(0.01)
print("imported")

class Slow(Behaviour):
    def vote(self, view: View) -> Votes:
        return None
"""


@pytest.mark.slow
def test_an_import_that_takes_long_is_told(folder: Path) -> None:
    (folder / "slow.py").write_text(TOGETHER.format(folder=str(folder), seconds=4, processes=9))
    (folder / "bot.toml").write_text('[traits.slow]\nuse = "slow:Slow"\n')
    done = run(folder, "config", "bot.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "bot.toml, line 2: still importing the module of the trait 'slow:Slow' ...\n"


@pytest.mark.slow
def test_ctrl_c_ends_an_import_that_takes_long(folder: Path) -> None:
    (folder / "slow.py").write_text(TOGETHER.format(folder=str(folder), seconds=90, processes=9))
    (folder / "bot.toml").write_text('[traits.slow]\nuse = "slow:Slow"\n')
    words = [sys.executable, "-m", "vindibot", "play", "--bot", "bot.toml"]
    with subprocess.Popen(words, cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while not (found := list(folder.glob("pid-*"))):
            assert time.monotonic() < end
            time.sleep(0.01)
        importing = [psutil.Process(int(path.name.removeprefix("pid-"))) for path in found]
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert complaints.splitlines()[-1] == "interrupted"
    assert psutil.wait_procs(importing, timeout=30)[1] == []
