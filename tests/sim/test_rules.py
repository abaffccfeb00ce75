"""The rules: case by case, against a reference on odd boards, and taken back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sim.board import draw, parse
from sim.game import CRASH, DIRECTIONS, STAY, UNDO, Games, equal
from sim.rules import effective_moves, position_hash, position_rehash, step, step_all, step_back, step_saving
from tests.support.reference import reference, snapshot
from tests.support.worlds import DATA, moves, odd_games, played_games

MOVES = {**{name: direction for direction, name in enumerate(DIRECTIONS)}, "Crash": CRASH}


def cases() -> list[Any]:
    """Return (board, moves, board) for every case of the file."""
    found = []
    for case in (DATA / "rules.txt").read_text().split("\n== ")[1:]:
        name, _, rest = case.partition("\n")
        before, _, rest = rest.partition("-- ")
        given_moves, _, after = rest.partition("\n")
        found.append(pytest.param(before, given_moves.split(), after, id=name))
    return found


@pytest.mark.parametrize(("before", "given_moves", "after"), cases())
def test_case(before: str, given_moves: list[str], after: str) -> None:
    games = parse(before)
    for move in given_moves:
        step(games, 0, MOVES[move])
    assert draw(games).strip() == after.strip()


@settings(max_examples=150)
@given(st.one_of(odd_games(), odd_games(), played_games(plies=1200)), st.lists(moves, min_size=1, max_size=40))
def test_every_state_agrees_with_the_second_opinion(games: Games, given_moves: list[int]) -> None:
    opinion = reference(games)
    for move in given_moves:
        opinion.play(move)
        step(games, 0, move)
        assert snapshot(games) == opinion.snapshot()


@settings(max_examples=100)
@given(st.one_of(odd_games(), played_games()), st.lists(st.integers(0, 4), min_size=1, max_size=40))
def test_undo_takes_back_everything_and_the_hash_follows(games: Games, given_moves: list[int]) -> None:
    undos = np.zeros(len(given_moves), UNDO)
    seen = [games.copy()]
    digest = position_hash(games, 0)
    for slot, move in enumerate(given_moves):
        plain = games.copy()
        if not step_saving(games, 0, move, undos, slot):
            assert games[0]["status"]
            break
        step(plain, 0, move)
        assert equal(plain, games)
        digest = position_rehash(digest, games, 0, undos, slot)
        assert digest == position_hash(games, 0)
        seen.append(games.copy())
    for slot in reversed(range(len(seen) - 1)):
        step_back(games, 0, undos, slot)
        assert equal(games, seen[slot])


@given(odd_games())
def test_the_hash_leaves_out_gold_and_the_turn_number_but_no_more(games: Games) -> None:
    before = position_hash(games, 0)
    other = games.copy()
    other[0]["hero"]["gold"] += 7
    other[0]["turn"] += 4
    assert position_hash(other, 0) == before
    for change in ("turn", "life", "pos", "crashed"):
        other = games.copy()
        if change == "turn":
            other[0]["turn"] += 1
        elif change == "crashed":
            other[0]["hero"][2]["crashed"] ^= 1
        else:
            other[0]["hero"][2][change] += 1
        assert position_hash(other, 0) != before


@given(odd_games())
def test_a_move_without_an_effect_equals_stay(games: Games) -> None:
    me = int(games[0]["turn"]) % 4
    mask = effective_moves(games, 0, me)
    stayed = games.copy()
    step(stayed, 0, STAY)
    for move in range(5):
        tried = games.copy()
        step(tried, 0, move)
        tried[0]["hero"][me]["last_dir"] = STAY
        if not mask >> move & 1:
            assert equal(tried, stayed)
        elif move != STAY and not stayed[0]["shared"]:
            # A fall to one's own feet (a death on a mine, spawning here) is the one effect that may not show.
            assert not equal(tried, stayed) or games[0]["hero"][me]["life"] <= 20


def test_a_crash_is_not_taken_back() -> None:
    games = parse("|@1  |\n|    |")
    before = games.copy()
    assert not step_saving(games, 0, CRASH, np.zeros(1, UNDO), 0)
    assert equal(games, before)


@settings(max_examples=20)
@given(st.lists(odd_games(), min_size=1, max_size=6), st.data())
def test_a_batch_is_its_games(batch: list[Games], data: st.DataObject) -> None:
    games = np.concatenate(batch)
    alone = games.copy()
    for _ in range(5):
        chosen = np.array(data.draw(st.lists(moves, min_size=len(games), max_size=len(games))), np.int8)
        moved = step_all(games, chosen)
        assert moved == sum(step(alone, index, int(move)) for index, move in enumerate(chosen))
        assert equal(games, alone)
