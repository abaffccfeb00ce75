"""Rosters: what a file that is none is told, and the file of keys."""

from __future__ import annotations

from codecs import BOM_UTF8
from pathlib import Path

import pytest

from tests.support.commands import invoke
from vindibot.base.errors import UsageError
from vindibot.server.admin.roster import MAX_BYTES, read_roster


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"name\n" + b"x" * MAX_BYTES, f"it has more than {MAX_BYTES} bytes"),
        (b"name\ncaf\x81\n", "a roster is UTF-8 text"),
        (b"name,key\nfirst,abcd1234\nsecond,abcd1234\n", "line 3: the key is already at line 2"),
        (
            b"Class 7b\nAnn;7b\n",
            "line 2 has several cells, but no line says which one is the name: put the heading  name;key  above",
        ),
        (b"ann,abcd1234\n", "Line 1 was taken for the first bot"),
        (b"sep=;\nname;key\nann;abc\n", "line 3: a key has 8 visible characters, this one has 3"),
    ],
)
def test_a_file_that_is_no_roster(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "class.csv"
    path.write_bytes(content)
    with pytest.raises(UsageError) as error:
        read_roster(path)
    assert str(path) in error.value.message
    assert words in error.value.message
    assert "abcd1234" not in error.value.message
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_roster(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("content", "roster", "notices"),
    [
        (b"sep=;\r\nName;Key\r\nann;abcd1234\r\n", ["ann abcd1234"], []),
        (b"Class 7b, 2026\n;;\nNo.;Name;Key\n1;ann;abcd1234\n2;bob;\n", ["ann abcd1234", "bob"], ["line 3 is the heading"]),
        ("name,group\nJürgen,7b\n".encode("cp1252"), ["Jürgen"], ["it was read as Windows-1252; check these names: Jürgen"]),
        ("name\nJürgen\n".encode("utf-8-sig"), ["Jürgen"], []),
        ("name\tkey\nJürgen\tabcd1234\n".encode("utf-16"), ["Jürgen abcd1234"], []),
        (b"ann\nbob\n", ["ann", "bob"], []),
    ],
)
def test_the_roster_of_a_spreadsheet(tmp_path: Path, content: bytes, roster: list[str], notices: list[str]) -> None:
    path = tmp_path / "class.csv"
    path.write_bytes(content)
    heard: list[str] = []
    assert [entry.name if entry.made else f"{entry.name} {entry.key}" for entry in read_roster(path, heard.append)] == roster
    assert len(heard) == len(notices)
    assert all(notice in text for notice, text in zip(notices, heard, strict=True))


def test_keys_are_written_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("name\nfirst\nJürgen\n")
    code, _ = invoke(tmp_path, "league", "new", "spring", "class.csv")
    keys = tmp_path / "spring-keys.csv"
    assert (code, keys.stat().st_mode & 0o777) == (0, 0o600)
    assert b"\r" not in keys.read_bytes()  # a shell would take it for a part of the key
    assert keys.read_text(encoding="utf-8-sig").startswith("name,key\nfirst,")
    assert keys.read_bytes().startswith(BOM_UTF8), "a spreadsheet shows the umlaut"
    assert [entry.name for entry in read_roster(keys)] == ["first", "Jürgen"]
    (tmp_path / "spring.league.json").unlink()
    code, output = invoke(tmp_path, "league", "new", "spring", "class.csv")
    assert (code, "already exists" in output) == (2, True)


def test_new_keys_have_no_characters_that_look_alike_on_paper(tmp_path: Path) -> None:
    path = tmp_path / "class.csv"
    path.write_text("\n".join(f"pupil{number}" for number in range(200)))
    keys = "".join(entrant.key for entrant in read_roster(path))
    assert len(set(keys)) == 31
    assert not set(keys) & set("il1o0")
