"""Files of games with a byte order mark, and with numbers that no file may have."""

from __future__ import annotations

import copy
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import invoke
from vindibot.arena.results import read_results
from vindibot.base.text import decode_json
from vindibot.config.maps import load_map

#: What stands in place of a number.
WRONG = ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[1]", "{}", "1" + "0" * 30]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recording, game records and results, which whole commands have made."""
    path = tmp_path_factory.mktemp("made")
    play = "play --bot stay --rounds 2 --map m1 --display none --in-process --recordings recordings"
    arena = "arena stay random --rounds 2 --blocks 1 --workers 1 --no-report --seed 1 --results cup.jsonl"
    for words in (play, arena):
        code, said = invoke(path, *words.split())
        assert code == 0, said
    (next((path / "recordings").iterdir())).rename(path / "game.jsonl")
    return path


def numbers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(inner, int | float) and not isinstance(inner, bool):
            yield (*path, key)
        else:
            yield from numbers(inner, (*path, key))


def spoilt(lines: Sequence[str]) -> Iterator[str]:
    """The text of the lines with one wrong number, for one number of each kind and each wrong one."""
    seen = set()
    for place, line in enumerate(lines):
        for path in numbers(json.loads(line)):
            kind = (place > 0, *("0" if isinstance(key, int) else key for key in path))
            if kind in seen:
                continue
            seen.add(kind)
            for wrong in WRONG:
                value = copy.deepcopy(json.loads(line))
                table = value
                for key in path[:-1]:
                    table = table[key]
                table[path[-1]] = "@@"
                text = json.dumps(value, separators=(",", ":")).replace('"@@"', wrong)
                yield "\n".join([*lines[:place], text, *lines[place + 1 :]]) + "\n"


@pytest.mark.parametrize("name", ["game.jsonl", "cup.games.jsonl"])
def test_wrong_numbers_in_games(name: str, folder: Path, tmp_path: Path) -> None:
    for text in spoilt((folder / name).read_text().splitlines()[:3]):
        (tmp_path / name).write_text(text)
        code, said = invoke(
            tmp_path, "replay", tmp_path / name, "--html", tmp_path / "page.html", *(("--game", "1") if "games" in name else ())
        )
        assert code in (0, 1, 2)
        assert "Traceback" not in said


@pytest.mark.slow
def test_wrong_numbers_in_results_are_refused(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "cup.jsonl").read_text().splitlines()[:2]
    count = len(read_results(folder / "cup.jsonl"))
    assert count > 1
    for text in spoilt(lines):
        (tmp_path / "cup.jsonl").write_text(text)
        code, said = invoke(tmp_path, "review", tmp_path / "cup.jsonl")
        assert code == 2
        assert len(said.splitlines()) == 1
        assert len(said) < 1000


@pytest.mark.parametrize("wrong", WRONG)
def test_decoded_json_has_finite_numbers_of_64_bits(wrong: str) -> None:
    if wrong in ("[1]", "{}"):
        assert decode_json(wrong) in ([1], {})
    else:
        with pytest.raises(ValueError, match="number"):
            decode_json(f'{{"a": {wrong}}}')


def test_a_byte_order_mark_changes_nothing(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "b.map").write_text("@1    @2\n  ##  $-\n        \n@3    @4\n", encoding="utf-8-sig")
    assert load_map(str(tmp_path / "b.map")) is not None
    for name in ("game.jsonl", "cup.games.jsonl", "cup.jsonl"):
        path = tmp_path / name
        path.write_bytes(BOM_UTF8 + (folder / name).read_bytes())
        code, said = invoke(tmp_path, "replay", path, "--game", "1", "--html", tmp_path / "page.html")
        assert code == 0, said
    assert read_results(path) == read_results(folder / "cup.jsonl")
