"""What the README shows is what there is: its trait, its test, its bot, and its commands with those of docs/commands.md.

What holds for all documents is in test_docs.py.
"""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.documents import TOP, blocks, commands
from tests.support.installed import shims
from vindibot.config.bots import load_bot
from vindibot.config.files import shipped

README = (TOP / "README.md").read_text()


def test_the_trait_the_test_and_the_bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    coward, test, _ = (block.text for block in blocks(README, "python"))
    (bot,) = (block.text for block in blocks(README, "toml"))
    assert coward in shipped("project/coward.py").read_text(), "it is what `vindibot init` writes, and so tried in every way"
    (tmp_path / "coward.py").write_text(coward)
    (tmp_path / "test_coward.py").write_text(test)
    (tmp_path / "bot.toml").write_text(bot)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "coward", raising=False)
    tests = runpy.run_path(str(tmp_path / "test_coward.py"))
    tests["test_a_coward_steps_away"]()
    spec, behaviour = load_bot(tmp_path).build()[-1]
    assert (spec.label, spec.weight, type(behaviour).__name__) == ("coward", 10, "Coward")
    sys.modules.pop("coward")  # others have one too


# Its commands, one after the other in one folder

#: Parts of commands that a test replaces: by shorter games, and by nothing where a person would look at the browser.
SHORTER = (
    (r"^python3 -m venv .* && (?=vindibot)", ""),
    (r"\bplay --open", "play --display none"),
    (r"--games 10\b", "--games 2"),
    (r"--games 40", "--games 4"),
    (r"\btune play", "tune play --batch 1 --games 100 --rounds 5 --nodes 50"),
    (r"--blocks \d+", "--blocks 1 --rounds 5"),
    (r"\breview last", "review last --nodes 1000"),
    (r"\bserve (?=--port)", "serve --rounds 5 "),
    (r"\bserve (?=--lan)", "serve --port 0 "),
)
#: Commands that run until Ctrl-C, with the words that they print when they are ready.
ENDLESS = {"challenge": "play at ", "serve": "serving on "}
#: Clients of a server, and how many of them at once make a game.
ARENA = "--config arena"
SEATS = 4


class Reader:
    """A person who types the commands of the README, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / ".venv").mkdir()
        shims(folder / ".venv" / "bin")  # on the path, as after `activate`
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHONPATH", "VINDIBOT_"))}
        path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        self.environment = plain | {"PATH": path, "BROWSER": "true", "VINDIBOT_ROUNDS": "60"}
        self.port = ""

    def start(self, words: str) -> subprocess.Popen[str]:
        """Start a command, with its output in one pipe."""
        words = re.sub(r"(?<=127\.0\.0\.1:)9000", self.port or "9000", words)
        return subprocess.Popen(
            f"exec env {words}",
            shell=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def type(self, words: str) -> str:
        """Run a command to its end and return its output; of an arena game, for all four players."""
        print("$", words, flush=True)  # for a run that does not end
        running = [self.start(words) for _ in range(SEATS if ARENA in words else 1)]
        printed = [process.communicate(timeout=900)[0] for process in running]
        assert [process.returncode for process in running] == [0] * len(running), f"{words}\n{printed[0]}"
        return printed[0]

    @contextmanager
    def running(self, words: str, ready: str) -> Iterator[None]:
        """Run a command in a second terminal for the length of the block; then press Ctrl-C."""
        process = self.start(words.replace("--port 9000", "--port 0"))
        assert process.stdout is not None
        try:
            line, until = "", time.monotonic() + 600
            while ready not in line:
                line = process.stdout.readline()
                assert line, f"{words}: it ended"
                assert time.monotonic() < until, f"{words}: it was not ready in time"
            address = re.search(r"http://[\d.]+:(\d+)", line)
            assert address, line
            self.port = address[1]
            yield
            process.send_signal(signal.SIGINT)
            printed, _ = process.communicate(timeout=60)
            assert process.returncode in (0, 130), f"{words}\n{printed}"
        finally:
            process.kill()
            process.wait()


def shorter(words: str) -> str:
    """A command without its comment, shortened for a test."""
    words = re.sub(r"\s+#.*", "", words)
    for pattern, instead in SHORTER:
        words = re.sub(pattern, instead, words)
    return words


@pytest.mark.timeout(3600)
@pytest.mark.slow_long
def test_its_commands_work_one_after_the_other(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    page = (TOP / "docs" / "commands.md").read_text()
    texts = README.partition("## Work on it")[0], page
    typed = [shorter(command.words) for text in texts for command in commands(text)]
    printed = {}
    while typed:
        words = typed.pop(0)
        name = words.partition("vindibot ")[2].partition(" ")[0]
        if name not in ENDLESS:
            printed[words] = reader.type(words)
            continue
        with reader.running(words, ENDLESS[name]):
            while typed and "--server" in typed[0]:
                words = typed.pop(0)
                printed[words] = reader.type(words)
    assert len(printed) >= 20
    names = {word for words in printed for word in words.split()}
    assert {"init", "play", "replay", "explain", "turn", "bench", "doctor", "arena", "league"} <= names
    assert len(list((tmp_path / "recordings").glob("*-mybot-*.jsonl"))) == 3, "a game against hunters, two from a turn of it"
    assert "vindibot replay last --open" in printed["vindibot play"], "the first game ends with advice"
    assert "vindibot init mybot" not in printed["vindibot play --bot mybot --against sparring/hunter"]
    assert "spring.league.json" in {path.name for path in tmp_path.iterdir()}
