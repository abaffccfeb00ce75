"""What the processes of vindibot import, from where, and with which environment; each test runs whole commands."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import invoke
from tests.support.paths import TOP

LINE_BOT = TOP / "tests" / "bots" / "line_bot.py"
SHOW = """
import json, subprocess, sys
import behaviours

class Show(behaviours.Behaviour):
    file: str

    def vote(self, view):
        code = "import json, os; print(json.dumps(dict(os.environ)))"
        environment = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd="/").stdout
        with open(self.file, "w") as file:
            json.dump({"environment": json.loads(environment), "path": sys.path, "behaviours": behaviours.__file__}, file)
"""
PROGRAM = """
import json, os, runpy, sys
with open(sys.argv[1], "w") as file:
    json.dump({"environment": dict(os.environ)}, file)
sys.argv[1:] = ["good"]
runpy.run_path(%r, run_name="__main__")
"""


def user_environment(**more: str) -> dict[str, str]:
    """What a user has: nothing of ours but a key and a setting, and a path of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("VINDIBOT_", "PYTEST_", "COV_"))}
    path = os.pathsep.join((str(TOP), "/nowhere"))
    return {**kept, "LANG": "C.UTF-8", "COLUMNS": "200", "VINDIBOT_KEY": "s3cretk8", "PYTHONPATH": path, **more}


def run(
    folder: Path, *words: object, start: tuple[str, ...] = ("-m", "vindibot"), **more: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *start, *map(str, words)],
        cwd=folder,
        env=user_environment(**more),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody's, with a bot whose trait writes down what it sees into seen.json."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "show.py").write_text(SHOW)
    (place / "bot.toml").write_text(f'extends = "stay"\n[traits.show]\nuse = "show:Show"\nfile = "{tmp_path / "seen.json"}"\n')
    return place


# The current folder

DECOYS = ("random.py", "json.py", "socket.py", "signal.py", "pickle.py", "behaviours/__init__.py", "sim/__init__.py")
SCRIPT = "from vindibot.cli.main import main\nif __name__ == '__main__':\n    main()\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "decoys"),
    [
        (("play", "--bot", "bot.toml", "--display", "none"), DECOYS),
        (("arena", "bot.toml", "stay", "--blocks", "1"), (*DECOYS, "vindibot/__init__.py")),
    ],
)
def test_the_imports_and_the_environment_are_the_users(folder: Path, words: tuple[str, ...], decoys: tuple[str, ...]) -> None:
    """No module of the current folder hides one of ours or of Python, whether the command is a module or a script."""
    script = folder.parent / "vindibot"
    script.write_text(SCRIPT)
    for name in decoys:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"open('imported', 'a').write({name!r})\nraise RuntimeError({name!r})\n")
    start = ("-m", "vindibot") if words[0] == "play" else (str(script),)
    done = run(folder, *words, "--rounds", "2", start=start, VINDIBOT_LOG__LEVEL="error")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (folder / "imported").exists()
    seen = json.loads((folder.parent / "seen.json").read_text())
    assert seen["environment"] == user_environment(VINDIBOT_LOG__LEVEL="error"), "what a trait starts has that of the user"
    assert seen["behaviours"] == str(TOP / "behaviours" / "__init__.py")
    assert str(folder) in seen["path"][-2:], "the bot's folder comes last, but for that of the bot it extends"


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
    users = user_environment(PYTHONSAFEPATH="")
    del users["VINDIBOT_KEY"]
    for kind, count in (("stdio", 0), ("http", 3)):
        variables = json.loads((tmp_path / f"{kind}.json").read_text())["environment"]
        ours = [variables.pop(name) for name in ("VINDINIUM_SERVER", "VINDINIUM_KEY", "VINDIBOT_KEY") if name in variables]
        assert (len(ours), "s3cretk8" in ours) == (count, False)
        if kind == "http":  # its server is on this machine, so no proxy is asked
            assert {variables.pop(name) for name in ("no_proxy", "NO_PROXY")} == {"127.0.0.1,localhost"}
        assert variables == users


# Modules that end the process


@pytest.mark.parametrize(
    ("words", "code"), [(("play", "--bot", "bot.toml"), 2), (("arena", "bot.toml", "stay"), 2), (("doctor", "bot.toml"), 1)]
)
def test_a_module_that_ends_the_process_is_named(folder: Path, words: tuple[str, ...], code: int) -> None:
    (folder / "quits.py").write_text("import sys\n\nsys.exit(0)\n")
    (folder / "bot.toml").write_text('[traits.quick]\nuse = "quits:Quits"\n')
    seen, printed = invoke(folder, *words)  # if it did end the process, this one would end
    assert seen == code
    output = " ".join(printed.split())
    assert "bot.toml, line 2: the trait 'quits:Quits': its module quits cannot be imported: " in output
    assert f"it ends the program: SystemExit(0) in {folder / 'quits.py'}, line 3" in output


@pytest.mark.slow
def test_an_import_that_takes_long_is_named(folder: Path) -> None:
    (folder / "slow.py").write_text(f"import time\ntime.sleep(4)\n{SHOW}")
    (folder / "bot.toml").write_text('[traits.slow]\nuse = "slow:Show"\nfile = "x"\n')
    done = run(folder, "config", "bot.toml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == "bot.toml, line 2: still importing the module of the trait 'slow:Show' ...\n"
