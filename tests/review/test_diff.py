"""``vindibot diff``: the share of different moves, the traits that decide them, their values, links, commands and tests."""

from __future__ import annotations

import re
import runpy
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.commands import printed
from tests.support.paths import DATA
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import dumps
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.review.diff import Game, ask_both, chosen_turns, run_diff
from vindibot.review.turns import SITUATIONS, phase_of

REVIEWER = "versions/strong-1"
#: Options that make the command fast.
FAST = ("--nodes", "1000", "--value-nodes", "3000")


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the first 60 of 300 rounds of two games, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "good.games.jsonl"
    records = [replace(one, moves=one.moves[:240], ending=Reason.INTERRUPTED) for one in read_records(DATA / path.name)]
    path.write_bytes(b"".join(dumps(record) + b"\n" for record in records))
    return path


def histories(path: Path, heroes: tuple[int, ...] = (0, 1, 2, 3)) -> list[Game]:
    return [Game(GameHistory.of(record), block, heroes) for block, record in enumerate(read_records(path))]


@pytest.mark.slow
def test_a_change_of_one_trait_decides_each_difference(games: Path) -> None:
    Path("mine.toml").write_text('extends = "seed"\n[traits.combat]\nenabled = false\n')
    bots = load_bot("seed"), load_bot("mine.toml")
    turns = ask_both(bots, chosen_turns(histories(games), 80), 1000, lambda: None)
    different = [turn for turn in turns if turn.differs]
    assert len(turns) > 70
    assert 0 < len(different) < 40
    assert {turn.traits for turn in different} == {("combat",)}
    assert all(turn.situation in SITUATIONS and turn.phase == phase_of(turn.position.turn, 1200) for turn in turns)
    near = [turn for turn in different if turn.situation in SITUATIONS[:2]]
    assert len(near) == len(different), "without combat, it moves differently only near enemies"


def test_turns_are_chosen_at_random_once_for_all(games: Path) -> None:
    found = [(game.block, one.turn, one.me) for game, one in chosen_turns(histories(games, (1, 2)), 100)]
    assert len(found) == 100
    assert found == sorted(found)
    assert found == [(game.block, one.turn, one.me) for game, one in chosen_turns(histories(games, (1, 2)), 100)]
    assert {me for *_, me in found} == {1, 2}
    assert {block for block, *_ in found} == {0, 1}
    assert len(list(chosen_turns(histories(games, (0,)), 10_000))) == 120, "no more than there are"


@pytest.mark.slow
def test_the_command_shows_links_and_commands_that_work(games: Path) -> None:
    done = CliRunner().invoke(main, ["diff", "seed", "malvert", games.name, "--turns", "30", "--worst", "3", *FAST])
    assert done.exit_code == 0, done.output
    head, *lines = done.output.splitlines()
    assert head == "seed and malvert on 30 turns of 2 games"
    rows = {row[0]: row[1:] for row in (re.split(r"  +", line.strip()) for line in lines) if len(row) >= 4}
    asked, different = int(rows["all"][0]), int(rows["all"][1])
    assert (asked, rows["all"][2]) == (30, f"{different / 30:.1%}")
    for group in (("first third",), SITUATIONS):
        assert sum(int(rows[name][1]) for name in group if name in rows) == different
    gains = [float(gain) for gain in re.findall(r", ([\d.]+) ± [\d.]+ more", done.output)]
    assert gains == sorted(gains, reverse=True)
    assert len(gains) == 3
    links = [line.partition("#turn=") for line in lines if "#turn=" in line]
    assert len(links) == 3
    for page, _, turn in links:
        game = Path(page).stem
        assert game in Path(page).read_text()
        assert f"--game {game} --turn {turn} --bot seed" in done.output
    command = next(line for line in lines if line.startswith("vindibot turn ") and line.endswith("--bot malvert"))
    shown = printed(*shlex.split(command)[1:], "--nodes", "1000")
    assert "bot malvert, hero @" in shown
    assert "ahead of" in shown
    again = CliRunner().invoke(main, ["diff", "seed", "malvert", games.name, "--turns", "30", "--worst", "3", *FAST])
    assert again.stdout == done.stdout, "the same command gives the same numbers, and replaces its pages"


@pytest.mark.slow
def test_tests_of_the_moves_that_lose_gold_against_the_other_bot(games: Path) -> None:
    words = ["diff", "stay", "seed", games.name, "--turns", "24", "--worst", "4", "--tests", "test_idle.py", "--no-pages"]
    assert "test_idle.py has 4 tests" in printed(*words, *FAST, "--inaccuracy", "0.5", "--errors", "0")
    assert not list(games.parent.glob("*.diff"))
    tests = [(name, one) for name, one in runpy.run_path("test_idle.py").items() if name.startswith("test_")]
    assert len(tests) == 4
    for name, one in tests:
        assert re.fullmatch(r"test_b0000\dg001_turn_\d+", name), "the tests are of several games"
        with pytest.raises(AssertionError, match="Stay loses "):
            one()


def test_three_games_are_enough_for_an_interval(records: Path, console: Console) -> None:
    run_diff(console, "stay", "seed", records, reviewer=REVIEWER, nodes=200, value_nodes=500, worst=1)
    assert re.search(r"all +72 +\d+ +[\d.]+% +[\d.]+% \.\. [\d.]+%", console.export_text())


@pytest.mark.slow
def test_a_recording_is_compared_on_the_turns_of_its_hero(recording: Path, console: Console) -> None:
    run_diff(console, "seed", "seed", recording, reviewer=REVIEWER, nodes=1000, value_nodes=3000)
    printed = console.export_text()
    assert "seed and seed on 6 turns of 1 game" in printed
    assert re.search(r"all +6 +0 +0\.0%", printed)
    run_diff(console, "stay", "seed", recording, reviewer=REVIEWER, nodes=1000, value_nodes=3000, worst=1)
    printed = console.export_text()
    assert re.search(r"vindibot turn \S*game\.jsonl --turn \d+ --bot stay", printed)
    with pytest.raises(UsageError, match="has no trait rollout"):
        run_diff(console, "stay", "seed", recording, reviewer="seed")
