"""``vindibot turn --watch``: the votes again whenever a file of the bot changes."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.commands import begin, ended, line_with
from vindibot.cli.main import main
from vindibot.config.files import shipped
from vindibot.devtools.watching import MOST_FILES, _stamps

pytestmark = pytest.mark.timeout(300)
TRAIT = """from behaviours import Behaviour, View, Votes


class Coward(Behaviour):
    fear: float = 1.0

    def vote(self, view: View) -> Votes:
        return {{0: {vote}}}
"""


@pytest.mark.slow
async def test_a_change_of_a_trait_is_seen(tmp_path: Path) -> None:
    shutil.copytree(shipped("project"), tmp_path, dirs_exist_ok=True)
    words = ("turn", "recordings/sample.jsonl", "--turn", "28", "--bot", "bot.toml", "--trait", "coward", "--watch")
    process = await begin(tmp_path, *words)
    try:
        assert " -5 " in await line_with(process, "coward")
        await line_with(process, "watching")
        (tmp_path / "coward.py").write_text(TRAIT.format(vote=7))
        assert "changed: coward.py" in await line_with(process, "changed")
        assert " 70 " in await line_with(process, "coward")
        await line_with(process, "watching")
        (tmp_path / "coward.py").write_text("class Coward(\n")
        assert "was never closed" in await line_with(process, "never closed")
        await line_with(process, "watching")
        (tmp_path / "coward.py").write_text(TRAIT.format(vote=9))
        assert "changed: coward.py" in await line_with(process, "changed")
        assert " 90 " in await line_with(process, "coward")
        await line_with(process, "watching")
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in await ended(process)
        assert process.returncode == 0
    finally:
        if process.returncode is None:
            process.kill()


def test_the_debugger_does_not_watch() -> None:
    sample = str(shipped("project/recordings/sample.jsonl"))
    done = CliRunner().invoke(main, ["turn", sample, "--turn", "28", "--watch", "--pdb"])
    assert (done.exit_code, "give only one of --watch and --pdb" in done.output) == (2, True)


def test_files_that_are_watched(tmp_path: Path) -> None:
    for name in (
        "a.py",
        "b.toml",
        "net.npz",
        "pack/c.py",
        "x.log",
        ".git/d.py",
        "env/pyvenv.cfg",
        "env/e.py",
        "__pycache__/f.py",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert {str(path.relative_to(tmp_path)) for path in _stamps([tmp_path])} == {"a.py", "b.toml", "net.npz", "pack/c.py"}
    assert _stamps([tmp_path / "nosuch"]) == {}
    for number in range(MOST_FILES):
        (tmp_path / "pack" / f"{number}.py").touch()
    assert len(_stamps([tmp_path])) == MOST_FILES
