"""Rosters: what a file that is none is told, and the file of keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from vindibot.base.errors import UsageError
from vindibot.server.league.roster import MAX_BYTES, read_roster, write_keys


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name\n" + b"x" * MAX_BYTES, f"it has more than {MAX_BYTES} bytes"),
        (b"name\ncaf\xe9\n", "a roster is UTF-8 text"),
        (b"name,key\nfirst,abcd1234\nsecond,abcd1234\n", "line 3: the key is already at line 2"),
    ],
)
def test_a_file_that_is_no_roster(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "class.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_roster(path)
    assert str(path) in error.value.message
    assert words in error.value.message


def test_a_roster_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_roster(tmp_path / "none.csv")


def test_keys_are_written_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("name\nfirst\nsecond\n")
    entrants, keys = read_roster(tmp_path / "class.csv"), tmp_path / "keys.csv"
    write_keys(entrants, keys)
    assert keys.stat().st_mode & 0o777 == 0o600
    assert b"\r" not in keys.read_bytes()  # a shell would take it for a part of the key
    assert read_roster(keys)[1].key == entrants[1].key
    with pytest.raises(UsageError, match="exists: it may"):
        write_keys(entrants, keys)
    with pytest.raises(UsageError, match="the keys cannot be written"):
        write_keys(entrants, tmp_path / "class.csv" / "keys.csv")
