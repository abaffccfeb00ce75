"""``vindibot review``: a game, many games, continuing, and asking a bot again."""

from __future__ import annotations

import io
import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.review.conftest import PLIES, TURNS
from tests.support.arenabots import schedule
from tests.support.reviewed import REVIEW, SAMPLE
from vindibot.arena.dispatch import given_up
from vindibot.arena.games import play_task
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.files import shipped
from vindibot.games.files.game_files import records_path
from vindibot.games.files.review import losses_by_bot, read_review, read_reviews
from vindibot.games.history import GameHistory
from vindibot.games.protocol import Player
from vindibot.review import review_run
from vindibot.review.command import run_review
from vindibot.review.report import many_games, show_profile, show_review
from vindibot.testing import best_moves, view

#: Number of plies that are played out per turn.
NODES = 3000


def review(console: Console, path: Path, **options: Any) -> str:
    """Run the command in this process, and return what it printed."""
    run_review(console, path, **{"nodes": NODES, "workers": 1, **options})
    return console.export_text()


def test_a_recording_is_reviewed_beside_the_file(recording: Path, console: Console) -> None:
    before = recording.read_bytes()
    printed = review(console, recording, inaccuracy=0.1, errors=0)
    assert recording.read_bytes() == before
    assert "mean loss per move, in gold" in printed
    assert all(len(line) <= 80 for line in printed.splitlines() if not line.startswith("the review is in"))
    assert "…" not in printed
    output = recording.with_name("game.review.jsonl")
    found = read_review(output)
    assert found is not None
    assert found.header.heroes == (1,)
    assert len(found.turns) == TURNS
    for turn in found.turns:
        assert turn.value(turn.best).less == 0
        assert turn.loss == turn.value(turn.move).less >= 0
        assert "1. turn" in printed or not found.worst()


def test_a_second_call_reviews_nothing_again(recording: Path, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=80, record=True)
    review(terminal, recording)
    shown = terminal.file.getvalue()
    assert 0 < shown.index(f"{TURNS}/{TURNS}") < shown.index("\x1b[1A\x1b[2K"), "the bar is removed at the end"
    output = recording.with_name("game.review.jsonl")
    before = output.read_bytes()
    monkeypatch.setattr(review_run, "review_turn", lambda *_: pytest.fail("reviewed again"))
    review(console, recording, nodes=None)
    assert output.read_bytes() == before
    review(console, output, nodes=None)
    assert output.read_bytes() == before, "the file of the review names itself"
    review(console, recording, nodes=None, blunder=30)
    found = read_review(output)
    assert found is not None
    assert found.header.thresholds.blunder == 30


def test_an_interrupted_review_goes_on(recording: Path, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = review_run.review_turn

    def interrupted(*arguments: Any) -> Any:
        asked.append(1)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(review_run, "review_turn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        review(console, recording)
    output = recording.with_name("game.review.jsonl")
    first = read_review(output)
    assert first is not None
    assert len(first.turns) == 3
    with output.open("ab") as file:
        file.write(b'{"reviewed":{"turn"')  # a crash while a line is written
    review(console, recording)
    found = read_review(output)
    assert found is not None
    assert len(found.turns) == TURNS
    assert found.turns[:3] == first.turns
    assert len(asked) == TURNS + 1


def test_other_settings_need_another_file_or_again(recording: Path, console: Console, tmp_path: Path) -> None:
    review(console, recording)
    with pytest.raises(UsageError, match="with other settings or another version: --again replaces it, --output names"):
        review(console, recording, nodes=2000)
    review(console, recording, nodes=2000, again=True)
    found = read_review(recording.with_name("game.review.jsonl"))
    assert found is not None
    assert found.header.nodes == 2000
    other = tmp_path / "other.txt"
    other.write_text("mine")
    with pytest.raises(UsageError, match=r"other\.txt is there already and has no review"):
        review(console, recording, output=other)
    with pytest.raises(UsageError, match="is the game itself"):
        review(console, recording, output=recording)
    with pytest.raises(UsageError, match="the bot seed has no trait rollout"):
        review(console, recording, bot="seed", output=tmp_path / "new.review.jsonl")
    assert other.read_text() == "mine"
    assert not (tmp_path / "new.review.jsonl").exists()


def test_more_heroes_are_added_to_a_review(records: Path, console: Console) -> None:
    review(console, records, game="g1", heroes=(0,))
    review(console, records, game="g1", heroes=(1,))
    found = read_review(records.with_name("cup.games.review.jsonl"))
    assert found is not None
    assert found.header.heroes == (1, 2)
    assert {turn.hero for turn in found.turns} == {1, 2}


@pytest.mark.slow
def test_many_games_are_a_table_of_bots(records: Path, console: Console) -> None:
    printed = review(console, records)
    assert "in 3 games" in printed
    assert "drank too late" in printed
    rows = {line.split()[0]: line.split() for line in printed.splitlines() if line[:2] in ("a ", "b ", "c ")}
    assert {name: row[1] for name, row in rows.items()} == {
        "a": str(3 * PLIES // 2),
        "b": str(3 * PLIES // 4),
        "c": str(3 * PLIES // 4),
    }
    assert rows["a"][3].startswith("["), "three games are three blocks, enough for an interval"
    assert all(len(line) <= 80 for line in printed.splitlines() if not line.startswith("the reviews are in"))
    reviews = read_reviews(records.with_name("cup.games.review.jsonl"))
    assert [one.header.game for one in reviews] == ["g0", "g1", "g2"]
    assert all(len(one.turns) == PLIES for one in reviews)
    with pytest.raises(UsageError, match="has several games: choose one with --game"):
        review(console, records, tests=Path("test_worst.py"), bot="seed")


def test_the_worst_moves_become_tests_that_fail(records: Path, console: Console, tmp_path: Path) -> None:
    path = tmp_path / "test_worst.py"
    options: dict[str, Any] = {"game": "g0", "heroes": (0,), "inaccuracy": 0.01, "errors": 0}
    review(console, records, **options)
    printed = review(console, records, bot="stay", tests=path, worst=3, **options)
    assert "test_worst.py has" in printed
    made = runpy.run_path(str(path))
    tests = [made[name] for name in made if name.startswith("test_g0_turn_")]
    assert tests
    for test in tests:
        with pytest.raises(AssertionError, match=r"loses [0-9.]+ gold against"):
            test()
    states = tmp_path / "test_worst.states.jsonl"
    record = json.loads(states.read_text().splitlines()[0])
    assert record["names"] == ["a", "b", "a", "c"]
    game = record["id"]
    turn = int(game.rpartition("-")[2])
    here = view(states, turn=turn, game=game)
    assert here.turn == turn
    assert len(here.recent) == turn // 4
    assert best_moves("stay", here) == {"Stay"}
    review(console, records, bot="stay", tests=path, worst=3, **options)  # our own file is replaced
    path.write_text("# mine\n")
    with pytest.raises(UsageError, match="is there already and was not made by vindibot review"):
        review(console, records, bot="stay", tests=path, worst=3, **options)
    with pytest.raises(UsageError, match="needs the name of a Python file"):
        review(console, records, bot="stay", tests=tmp_path / "worst-moves.py", worst=3, **options)


@pytest.mark.slow
def test_several_processes_find_the_same(records: Path, console: Console, tmp_path: Path) -> None:
    review(console, records, output=tmp_path / "one.review.jsonl")
    review(console, records, output=tmp_path / "two.review.jsonl", workers=2)
    assert (tmp_path / "one.review.jsonl").read_bytes() == (tmp_path / "two.review.jsonl").read_bytes()


@pytest.mark.slow
def test_a_crash_of_a_trait_is_reported_with_its_reason(console: Console, tmp_path: Path) -> None:
    code = (
        "import os\nfrom behaviours import Behaviour\n\nclass Crash(Behaviour):\n    def vote(self, view):\n        os._exit(3)\n"
    )
    (tmp_path / "crash.py").write_text(code)
    game = shipped("project/recordings/sample.jsonl")
    (tmp_path / "crash.toml").write_text('extends = "strong"\n[traits.crash]\nuse = "crash:Crash"\n')
    with pytest.raises(VindibotError, match=r"turn \d+ of hero 1 cannot be reviewed: its process ended with exit code 3"):
        review(console, game, bot=str(tmp_path / "crash.toml"), output=tmp_path / "game.review.jsonl")


def test_a_game_that_could_not_be_played_is_in_no_profile(tmp_path: Path) -> None:
    tasks = list(schedule("seed", "stay", "stay", "stay", rounds=5).tasks())[:3]
    games = [given_up(tasks[0], "its worker died"), play_task(tasks[1]), play_task(tasks[2])]
    results = tmp_path / "cup.jsonl"
    results.write_text("".join(game.line.encode() + "\n" for game in games))
    records_path(results).write_bytes(b"".join(game.record + b"\n" for game in games))
    played = [task.name for task in tasks[1:]]
    for path in (results, records_path(results)):
        assert [record.id for record in many_games(path).records] == played
        assert [record.id for record in many_games(path, 1).records] == played[:1]


def test_long_names_are_not_cut_at_80_columns(console: Console) -> None:
    names = tuple(f"a-bot-with-a-name-of-many-letters-{number}" for number in range(4))
    history = GameHistory.read(SAMPLE)
    history.players = tuple(map(Player, names))
    show_review(console, history, REVIEW, 2)
    show_profile(console, losses_by_bot([(block, names, REVIEW.turns, 1200) for block in range(4)]), 4)
    printed = console.export_text()
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= 80
    assert "(1 drink, 1 kill)" in printed
    assert "(6 drinks, 3 kills, 1 death)" in printed
    assert "bot                 moves  loss/move          95 %  inaccur.  mistakes  blunders" in printed
