"""The choice of a game in a file, and the errors without a valid choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.generator import generate
from tests.support.recorded import record_of
from vindibot.base.errors import UsageError, VindibotError
from vindibot.games.files.game_file import read_game_file
from vindibot.games.game_record import GameRecord, dumps


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A file of two games, `one` and `two`."""
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"".join(dumps(record_of(generate(1, size=8), [1, 2], id=name)) + b"\n" for name in ("one", "two")))
    return path


@pytest.mark.parametrize(("game", "found"), [("1", "one"), ("2", "two"), ("two", "two")])
def test_a_game_is_chosen_by_number_or_id(two: Path, game: str, found: str) -> None:
    record = read_game_file(two, game)
    assert isinstance(record, GameRecord)
    assert record.id == found


@pytest.mark.parametrize(
    ("game", "words"), [(None, r"holds 2 games: choose one .* \(one, two\)"), ("3", r"no game '3'; it holds 2 \(one, two\)")]
)
def test_the_error_lists_the_games_if_none_is_chosen(two: Path, game: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_game_file(two, game)


def test_a_folder_is_no_file_of_games(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        read_game_file(tmp_path, None)


def test_records_of_the_first_version_are_recognised(two: Path) -> None:
    old = json.loads(two.read_bytes().splitlines()[0]) | {"version": 1}
    old["orders"], old["who"] = old.pop("moves"), old.pop("player_ids")
    two.write_text(json.dumps(old) + "\n")
    with pytest.raises(VindibotError, match=r"the format's version is 1, this program reads 2: vindibot 0\.1\.0 reads it"):
        read_game_file(two)
