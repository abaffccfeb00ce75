"""The lines of a results file: written, read, cut off."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.support.arenagames import game_line
from tests.support.paths import TOP
from vindibot.arena.results import GameLine, MapLine, ResultsError, SeatLine, decode, places, read_results
from vindibot.base.errors import VindibotError


def line(block: int = 0, game: int = 0, golds: tuple[int, int, int, int] = (10, 40, 20, 20), **changes: object) -> GameLine:
    return game_line("abcd", golds, block=block, game=game, games=4, **changes)


def write(path: Path, *games: GameLine, tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(game.encode().encode() + b"\n" for game in games) + tail)
    return path


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4))
def test_places_share_their_mean(golds: list[int]) -> None:
    found = places(golds)
    assert sum(found) == pytest.approx(sum(range(1, len(golds) + 1)))
    for one, place in zip(golds, found, strict=True):
        for other, worse in zip(golds, found, strict=True):
            assert (one > other) == (place < worse)


@given(st.text(min_size=1), st.integers(0, 10**9), st.tuples(*[st.integers(0, 3)] * 4))
def test_a_line_comes_back_as_it_was(name: str, seed: int, golds: tuple[int, int, int, int]) -> None:
    game = line(golds=golds, seed=seed, map={"name": name, "size": 28, "digest": "00"})
    text = game.encode()
    assert "\n" not in text
    assert decode(text) == game
    assert decode(text[:-1] + ', "weather": "rain"}') == game, "unknown fields are ignored"


def test_the_winner_has_the_most_gold_alone() -> None:
    assert line().winner == "b"
    assert line(golds=(3, 3, 0, 0)).winner is None


def test_a_cut_last_line_is_left_out_wherever_it_is_cut(tmp_path: Path) -> None:
    first, second = line(0, 0), line(0, 1)
    tail = second.encode().encode()
    for end in range(1, len(tail) + 1, 37):
        assert read_results(write(tmp_path / "r.jsonl", first, tail=tail[:end])) == [first]
    assert read_results(write(tmp_path / "r.jsonl", first, second)) == [first, second]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 2: this is no JSON"),
        (line(1).encode().replace('"version":3', '"version":7'), "version is 7, this program reads 3: use the vindibot that"),
        (line(1).encode().replace('"gold":40', '"gold":"much"'), "seats.1.gold: Input should be a valid integer"),
        (line(1, tournament="u").encode(), "another tournament"),
        (line(0).encode(), "this game is already in line 1"),
    ],
)
def test_errors_have_file_and_line(tmp_path: Path, text: str, reason: str) -> None:
    path = write(tmp_path / "r.jsonl", line(0), tail=text.encode() + b"\n")
    with pytest.raises(ResultsError, match=reason) as caught:
        read_results(path)
    assert isinstance(caught.value, VindibotError)
    assert "r.jsonl" in caught.value.message


def test_every_field_is_described() -> None:
    text = (TOP / "docs" / "arena.md").read_text("utf-8")
    described = set(re.findall(r"`(\w+)`", text.partition("## The results, field by field")[2]))
    for model in (GameLine, MapLine, SeatLine):
        assert not {field.name for field in fields(model)} - described
