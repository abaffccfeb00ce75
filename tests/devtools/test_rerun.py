"""``vindibot turn`` and ``vindibot bench``: a recorded turn again, and the times of traits."""

from __future__ import annotations

import gc
import io
import json
import os
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from sim.game import RUNNING, mover
from sim.generator import generate
from sim.rules import step
from tests.support.paths import DATA
from vindibot.cli.main import main
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import shipped
from vindibot.devtools.bench import generated_positions
from vindibot.devtools.rerun import recorded_bot
from vindibot.engine.agent import Agent, voters
from vindibot.engine.asking import ask_here
from vindibot.engine.deadline import Deadline
from vindibot.games.files.recording import Header, Recorder, Recording, read_recording
from vindibot.games.protocol import Player, from_games
from vindibot.session.player import TraitHeader
from vindibot.testing import view

PLAYERS = [Player(name) for name in "abcd"]
TRAITS = '''
from collections.abc import Iterator
from pydantic import Field
from behaviours import Behaviour, SearchInfo, View, Votes

class Greets(Behaviour):
    """Votes for the direction that it is told."""
    where: int = Field(1, ge=0, le=4)

    def vote(self, view: View) -> Votes:
        print("hello from turn", view.turn)
        return self.where

class Deepens(Behaviour):
    """Thinks until its nodes are used up."""

    def vote(self, view: View) -> Iterator[SearchInfo]:
        depth = 0
        while not view.budget.expired() and (view.budget.nodes is None or depth * 100 < view.budget.nodes):
            depth += 1
            yield SearchInfo(2, depth=depth, nodes=depth * 100)

class Fails(Behaviour):
    """Raises."""

    def vote(self, view: View) -> Votes:
        raise RuntimeError("out of [ideas]")
'''
BOT = """
[traits.greets]
use = "mine:Greets"
where = 3
weight = 2

[traits.deepens]
use = "mine:Deepens"
weight = 0.5
"""


async def play(bot: Bot, folder: Path, seed: int, plies: int = 80) -> Recording:
    """What the bot's agent does in a game of its own, recorded; hero 1 is ours, the others stay."""
    games = generate(seed, size=10).new_game(max_turns=plies)
    traits = tuple(
        TraitHeader(label=spec.label, weight=spec.weight, use=spec.use, parameters=dict(spec.parameters)) for spec in bot.traits
    )
    asked = voters(bot, workers=1, in_process=True)
    agent = Agent(asked, 0, seed, Deadline(0.05), nodes=500)
    await asked.start()
    with Recorder(folder, Header(bot=bot.name, traits=traits, game="abcd1234", hero=1, mode="arena", seed=seed)) as recorder:
        while games[0]["status"] == RUNNING:
            move = 0
            if mover(games) == 0:
                ballot = await agent.decide(games.copy(), time.monotonic(), 60.0)
                recorder.turn(from_games(games, game_id="abcd1234", players=PLAYERS), ballot)
                move = ballot.direction
            step(games, 0, move)
    await asked.close()
    assert recorder.path is not None
    return read_recording(recorder.path)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bot and its traits, in which we are."""
    (tmp_path / "mine.py").write_text(TRAITS)
    (tmp_path / "bot.toml").write_text(BOT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


def rows(result: Result) -> list[list[str]]:
    assert result.exit_code == 0, result.output
    return [line.split() for line in result.output.splitlines()]


# ---- A turn ----


async def test_a_turn_of_seed_has_the_same_votes_again(tmp_path: Path) -> None:
    recording = await play(load_bot("seed"), tmp_path, seed=4)
    for own in recording.turns[::4]:
        told = run("turn", recording.path, "--turn", str(own.turn))
        seen = rows(told)
        labels = [entry.label for entry in own.ballot.entries]
        assert [row[:2] for row in seen if row and row[0] in labels] == [[label, "same"] for label in labels]
        now, then = (line.partition(": ")[2] for line in told.output.splitlines() if line.startswith(("now: ", "then: ")))
        assert now == then, "the same random choice in a tie"


async def test_traits_of_the_user_are_found_and_compared(mine: Path) -> None:
    recording = await play(load_bot("bot.toml"), mine / "recordings", seed=1)
    told = run("turn", recording.path, "--turn", "8", "--nodes", "500")
    assert "hello from turn 8" in told.output
    assert ["greets", "same"] in [row[:2] for row in rows(told)]
    assert "deepens: depth 5, 500 nodes" in told.output
    (mine / "bot.toml").write_text(BOT.replace("where = 3", "where = 1").replace("deepens]", "thinks]"))
    told = run("turn", recording.path, "--turn", "8", "--nodes", "500", "--bot", "bot.toml")
    kinds = [row[:2] for row in rows(told) if row]
    for row in (["greets", "now"], ["thinks", "now"], ["deepens", "then"], ["sum", "now"]):
        assert row in kinds
    only = run("turn", recording.path, "--turn", "8", "--trait", "greets")
    assert [row[0] for row in rows(only) if row and row[0] in ("greets", "deepens", "sum")] == ["greets"]


async def test_errors_of_turns_that_cannot_run_again(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording = await play(load_bot("bot.toml"), mine / "recordings", seed=1, plies=12)
    for words, message in [
        (["--turn", "9"], "turn 9 is not a recorded turn of hero 1; the nearest are"),
        (["--turn", "8", "--trait", "nosuch"], f"the bot {mine.name} has no trait 'nosuch'; it has greets, deepens"),
        (["--turn", "8", "--bot", "nosuch"], "nosuch"),
    ]:
        result = run("turn", recording.path, *words)
        assert result.exit_code == 2
        assert message in result.output
    monkeypatch.chdir("/")
    load_bot("seed")  # another bot: ours is no longer importable
    result = run("turn", recording.path, "--turn", "8")
    assert result.exit_code == 2
    assert f"'greets' of the bot '{mine.name}' cannot be built here" in result.output
    assert "name the bot's file with --bot" in result.output
    lines = recording.path.read_text().splitlines()
    header = json.loads(lines[0])
    header["traits"] = [{"label": "x", "weight": 1, "use": "stay", "parameters": {"no": 1}}]
    recording.path.write_text("\n".join([json.dumps(header), *lines[1:]]) + "\n")
    with pytest.raises(Exception, match=f"'x' of the bot '{mine.name}' cannot be built"):
        recorded_bot(read_recording(recording.path))


async def test_under_the_debugger(mine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    recording = await play(load_bot("bot.toml"), mine / "recordings", seed=1, plies=12)
    (mine / "fails.toml").write_text('[traits.fails]\nuse = "mine:Fails"\n')

    def debug(keys: str, *more: str) -> str:
        monkeypatch.setattr(sys, "stdin", io.StringIO(keys))
        gc.disable()  # Hypothesis times the garbage collection, and the debugger would quit in its function
        try:
            main(["turn", str(recording.path), "--turn", "8", "--pdb", *more], standalone_mode=False)
        finally:
            gc.enable()
        return capsys.readouterr().out

    stopped = debug("p 1000 + view.turn\nc\n", "--trait", "greets")
    assert "mine.py" in stopped
    assert "1008" in stopped
    assert "hello from turn 8" in stopped
    assert re.search(r"greets +same", stopped)
    assert "weight" not in debug("q\n"), "no table after a quit"
    failed = debug("p 'here ' + type(self).__name__\nc\n", "--bot", "fails.toml")
    assert "here Fails" in failed
    assert "fails: error: RuntimeError: out of [ideas]" in failed


def test_game_record_has_no_votes_until_a_bot_is_named(mine: Path) -> None:
    words = ["turn", DATA / "good.games.jsonl", "--game", "1", "--turn"]
    told = " ".join(run(*words, "8", "--bot", "bot.toml", "--nodes", "500").output.split())
    assert re.search(
        r"at \(1, 2\), life 98, gold 0, mines 0 trait weight Stay North South East West ms greets 2 0 - 0 2 0 [\d.]+ deepens"
        r" 0.5 0 - 0.50 0 0 [\d.]+ sum 0 - 0.50 2 0 East, 1.50 ahead of South deepens: depth 5, 500 nodes$",
        told,
    )
    assert rows(run(*words, "8", "--bot", "bot.toml", "--trait", "greets"))[-1] == ["sum", "0", "-", "0", "2", "0"], "no choice"
    assert "has no votes: name the bot to ask with --bot" in run(*words, "8").output
    assert "there is no turn 1300: the file has the turns 0 to" in run(*words, "1300", "--bot", "bot.toml").output


# ---- Times ----


def test_times_of_recorded_turns(mine: Path) -> None:
    sample = shipped("project/recordings/sample.jsonl")
    told = run("bench", "bot.toml", sample, "--nodes", "300")
    table = {row[0]: row for row in rows(told) if row}
    turns = len(read_recording(Path(str(sample))).turns)
    assert table["trait"] == ["trait", "turns", "median", "ms", "p99", "ms", "worst", "ms", "depth", "knodes/s"]
    assert int(table["greets"][1]) == int(table["deepens"][1]) == turns
    assert table["deepens"][5] == "3"
    assert re.search(r"^deepens: worst turn \d+\.\d+ ms, turn \d+ of .*sample.jsonl$", told.output, re.MULTILINE)
    (mine / "fails.toml").write_text('[traits."[b]fails"]\nuse = "mine:Fails"\n')
    failed = run("bench", "fails.toml", sample, "--turns", "3")
    assert ["[b]fails", "3"] == next(row for row in rows(failed) if row and row[0] == "[b]fails")[:2]
    assert "RuntimeError: out of [ideas]" in failed.output
    assert run("bench", "bot.toml", "nosuch.jsonl").exit_code == 2


def test_times_in_new_games(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.devtools.bench.BOARDS", ((10, None, None),))
    told = run("bench", "seed", "--turns", "20", "--trait", "combat")
    assert ["combat", "20"] in [row[:2] for row in rows(told)]
    assert re.search(r"combat: worst turn \d+\.\d+ ms, turn \d+ of new game [123]", told.output)


def test_new_games_follow_from_the_seed() -> None:
    first, second = ([next(positions) for _ in range(30)] for positions in (generated_positions(3), generated_positions(3)))
    for one, other in zip(first, second, strict=True):
        assert (one.name, one.me) == (other.name, other.me)
        assert np.array_equal(one.games, other.games)
        assert np.array_equal(one.recent, other.recent)
    assert [len(position.recent) for position in first[::4]] == list(range(8))


def test_ctrl_c_gets_through_a_trait(mine: Path) -> None:
    """An interrupt ends the command while a trait runs; the runner takes any other exception for one of the trait.

    Python only prints an exception that is raised in a callback of the garbage collection, and Hypothesis has such a callback.
    """
    gc.disable()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for its jobs in the background
    try:
        _interrupted_by_a_trait(mine)
    finally:
        signal.signal(signal.SIGINT, before)
        gc.enable()


def _interrupted_by_a_trait(mine: Path) -> None:
    (mine / "presses.py").write_text(
        "import os, signal, time\nfrom behaviours import Behaviour\nclass Presses(Behaviour):\n    def vote(self, view):\n"
        f"        os.kill({os.getpid()}, signal.SIGINT)\n"
        f"        time.sleep(0 if os.getpid() == {os.getpid()} else 60)\n        return 1\n"
    )
    (mine / "presses.toml").write_text('[traits.presses]\nuse = "presses:Presses"\n')
    (trait,) = [behaviour for _, behaviour in load_bot("presses.toml").build()]
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        ask_here([(0, trait)], view("|@1@2|\n|    |"), None)
    assert signal.getsignal(signal.SIGINT) == before
    result = run("bench", "presses.toml", shipped("project/recordings/sample.jsonl"))
    assert result.exit_code == 130, result.output
    result = run("turn", shipped("project/recordings/sample.jsonl"), "--turn", "0", "--bot", "presses.toml")
    assert (result.exit_code, result.output) == (130, "interrupted\n")
