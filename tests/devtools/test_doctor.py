"""`vindibot doctor`: it sees what is broken and says what to do; and the completion of commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from tests.support.commands import printed
from tests.support.paths import TOP
from vindibot.base.console import terminal
from vindibot.cli.main import main
from vindibot.config.load import load_play
from vindibot.devtools.doctor import Finding, examine
from vindibot.devtools.scaffold import write_project
from vindibot.server.embedded import EmbeddedServer


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    write_project(tmp_path)
    return tmp_path


async def findings(**overrides: object) -> dict[str, Finding]:
    """What is found, by what was looked at; the last word on each."""
    given = {key.replace("__", "."): value for key, value in overrides.items()}
    config = load_play(None, given, environ={"VINDIBOT_KEY": "secret42"})
    return {finding.what: finding async for finding in examine(config, terminal())}


@pytest.mark.slow
def test_all_is_well_with_a_new_project(project: Path) -> None:
    """As a user runs it, in a process of its own."""
    command = [sys.executable, "-m", "vindibot", "doctor", "bot.toml", "--limit-ms", "20000"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(TOP)}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ready to play" in done.stdout
    for what in ("machine", "time", "trait coward", "moves"):
        assert f" {what}: " in done.stdout, what
    assert "broken" not in done.stdout


@pytest.mark.slow
async def test_traits_that_fail_or_hang_are_found(project: Path) -> None:
    (project / "mine.py").write_text(
        "import time\nfrom behaviours import Behaviour\n\n\nclass Raises(Behaviour):\n    def vote(self, view):\n"
        "        raise RuntimeError('no idea')\n\n\nclass Sleeps(Behaviour):\n    def vote(self, view):\n        time.sleep(9)\n"
    )
    traits = "".join(f'[traits.{name.lower()}]\nuse = "mine:{name}"\n' for name in ("Raises", "Sleeps"))
    (project / "sick.toml").write_text(f"{traits}[traits.stay]\n")
    found = await findings(bot="sick.toml", time__limit_ms="900", time__margin_ms="100")
    assert found["trait raises"].level == "broken"
    assert "RuntimeError: no idea" in found["trait raises"].words
    assert found["trait sleeps"].level == "broken"
    assert "late in" in found["trait sleeps"].words
    assert "yield a first answer at once" in found["trait sleeps"].advice
    assert found["trait stay"].level == "ok"


@pytest.mark.slow
async def test_a_server_is_measured_and_gets_no_key(project: Path) -> None:
    async with EmbeddedServer() as server:
        found = await findings(server=server.url, bot="stay")
        assert found["server"].level == "ok"
        assert server.url in found["server"].words
        url = server.url
    found = await findings(server=url, bot="stay", time__limit_ms="150")
    assert found["server"].level == "broken"
    assert "connection refused" in found["server"].words
    assert found["time"].level == "broken", "with 75 ms margin hardly any time is left"
    assert "secret42" not in str(found)


def test_something_broken_is_exit_code_1(project: Path) -> None:
    (project / "sick.toml").write_text("[traits.tavern-findr]\n")
    done = printed("doctor", "sick.toml", code=1)
    assert "1 thing to repair before a game" in done
    assert "did you mean 'tavern-finder'?" in done
    assert CliRunner().invoke(main, ["doctor", "nowhere.toml"]).exit_code == 2


# ---- Completion ----


def completions(*words: str) -> set[str]:
    """What the shell is told when Tab is pressed at the end of these words."""
    shell = ShellComplete(main, {}, "vindibot", "_VINDIBOT_COMPLETE")
    return {item.value for item in shell.get_completions(list(words[:-1]), words[-1])}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("beh",), {"behaviours"}),
        (("play", "--bot", "mal"), {"malvert"}),
        (("play", "--against", "bot."), {"bot.toml"}),
        (("play", "--map", "c"), {"courtyard", "crossroads", "catacombs"}),
        (("play", "--config", "tr"), {"training"}),
        (("behaviours", "mov"), {"movement-premium"}),
        (("arena", "seed", "mal"), {"malvert"}),
        (("doctor", "--ser"), {"--server"}),
        (("stdio", "mal"), {"malvert"}),
    ],
)
def test_completion_of_words(project: Path, words: tuple[str, ...], expected: set[str]) -> None:
    assert completions(*words) == expected


def test_completion_is_quick_to_start(project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(TOP), "_VINDIBOT_COMPLETE": "bash_complete"}
    environment |= {"COMP_WORDS": "vindibot play --map court", "COMP_CWORD": "3"}
    code = "import sys; from vindibot.cli.main import main\ntry:\n    main(prog_name='vindibot')\nfinally:\n"
    code += "    assert not {'numba', 'numpy', 'fastapi', 'structlog'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("plain,courtyard\n", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell(shell: str) -> None:
    script = printed("completion", shell)
    assert f"_VINDIBOT_COMPLETE={shell}_complete" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
