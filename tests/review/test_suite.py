"""``vindibot positions make``: balanced positions of all phases, without repetition, in two files without a common game."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.board import parse
from sim.game import STRIDE
from tests.support.commands import printed
from tests.support.paths import DATA
from vindibot.arena.suites import read_suite
from vindibot.config.bots import load_bot
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import dumps
from vindibot.review.suite import _digest, _expected
from vindibot.review.values import Valuer, rollout_of

FAST = ("--nodes", "5000", "--rounds", "20")


@pytest.fixture
def games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with two games of 300 rounds, and the same games again under other ids."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "cup.games.jsonl"
    records = list(read_records(DATA / "good.games.jsonl"))
    records += [replace(record, id=f"again-{record.id}") for record in records]
    path.write_bytes(b"".join(dumps(record) + b"\n" for record in records))
    return path


def make(*words: str) -> str:
    return printed("positions", "make", *words)


def test_two_files_need_positions_of_two_games(games: Path) -> None:
    every = games.read_bytes().splitlines(keepends=True)
    games.write_bytes(every[0])
    assert "the two files need positions of different games, and there is 1 game here" in printed(
        "positions", "make", "mine", games.name, *FAST, code=2
    )
    games.write_bytes(every[0] + every[2])
    assert "all balanced positions are of one game" in printed(
        "positions", "make", "mine", games.name, "--count", "1", "--margin", "80", *FAST, code=2
    )
    assert sorted(path.name for path in games.parent.iterdir()) == [games.name]


def test_positions_are_balanced_and_in_two_files(games: Path) -> None:
    printed = make("mine", games.name, "--count", "6", "--margin", "80", *FAST)
    assert "mine.jsonl has " in printed
    halves = [read_suite(name).positions for name in ("mine.jsonl", "mine-end.jsonl")]
    sources = [{one.source.partition(",")[0] for one in half} for half in halves]
    assert not sources[0] & sources[1]
    every = [*halves[0], *halves[1]]
    assert len({(one.source.partition(",")[0], one.phase) for one in every}) == len(every), "one per game and phase"
    assert len({one.id for one in every}) == len(every)
    valuer = Valuer(rollout_of(load_bot("versions/strong-1")), 5000, 40)
    for one in every:
        board = parse(one.start)
        assert max(one.gold) - min(one.gold) <= 80
        assert one.gold == _expected(board, 20, valuer)
        turn = one.source.rpartition(" ")[2]
        assert int(board["turn"].item(0)) == int(turn)
        assert int(turn) % 4 == 0
    assert make("mine", games.name, "--count", "6", "--margin", "80", *FAST) == printed, "the same command makes the same suite"


def test_no_position_is_balanced(games: Path) -> None:
    assert "is balanced within 0 gold: raise --margin" in printed(
        "positions", "make", "mine", games.name, "--margin", "0", "--most", "2", *FAST, code=2
    )
    assert not Path("mine.jsonl").exists()
    Path("mine-end.jsonl").write_text("my notes\n")
    assert "mine-end.jsonl" in printed("positions", "make", "mine", games.name, *FAST, code=2)


def test_turned_and_mirrored_boards_count_as_one() -> None:
    board = parse("@1  $-##\n##[]@2  \n  @3$1  \n    @4  ")
    size = int(board["size"].item(0))
    cells = board["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    for change in (np.rot90, np.fliplr, np.transpose):
        other = board.copy()
        other["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1] = change(cells)
        assert _digest(other) == _digest(board)
    hurt = board.copy()
    hurt["hero"]["life"][0, 2] = 50
    assert _digest(hurt) != _digest(board)
