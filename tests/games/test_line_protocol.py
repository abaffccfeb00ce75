"""The player's side of the line protocol: the states that it reads are those of the game."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sim.board import parse
from sim.game import CRASH, EAST, NORTH, OFFSET, RUNNING, SOUTH, STAY, WEST, Game, copy_of, row_column
from sim.generator import generate
from sim.rules import step
from vindibot.base.errors import UsageError
from vindibot.games.line_protocol import (
    LineGame,
    last_moves,
    read_answer,
    write_answer,
    write_opening,
    write_state,
    write_targets,
)

SEEDS = st.integers(0, 2**32)
HEROES = st.integers(0, 3)


def feed(reader: LineGame, text: str) -> Game | None:
    """The state that the last line completes."""
    games = None
    for line in text.splitlines():
        assert games is None, "a state before the last line"
        games = reader.feed(line)
    return games


def told(seed: int, me: int, rounds: int, *, expert: bool) -> Iterator[tuple[Game, Game]]:
    """The states of a hero's plies in a game of random moves, each as it is and as it is read."""
    games = generate(seed, size=8, walls=10, mines=20).new_game(4 * rounds)
    rng, reader = np.random.default_rng(seed), LineGame(rounds)
    before = games["hero"]["pos"][0].tolist()
    text = write_opening(games, me)
    while games["status"].item(0) == RUNNING:
        move = int(rng.integers(0, 5))
        if games["turn"].item(0) % 4 == me:
            read = feed(reader, text + write_state(games))
            assert read is not None
            yield copy_of(games), read
            reader.moved(move)
            before, text = games["hero"]["pos"][0].tolist(), ""
        step(games, 0, move)
        if expert and games["turn"].item(0) % 4 == me and games["turn"].item(0) >= 4:
            text = targets(games, before, me)
            assert text == write_targets(games, me, before)


def targets(games: Game, before: list[int], me: int) -> str:
    aims = [pos + int(OFFSET[games["hero"]["last_dir"].item(hero)]) for hero, pos in enumerate(before)]
    return "".join(f"{hero} {row_column(aim)[1]} {row_column(aim)[0]}\n" for hero, aim in enumerate(aims) if hero != me)


@settings(max_examples=15)
@given(SEEDS, HEROES)
def test_the_states_are_those_of_the_game(seed: int, me: int) -> None:
    for number, (games, read) in enumerate(told(seed, me, 20, expert=True)):
        if number == 0:  # a move before our first ply may have had no effect
            games["hero"]["last_dir"] = read["hero"]["last_dir"]
            before_us = games["hero"]["last_dir"][0, :me]
            assert (before_us >= STAY).all()
        assert read.tobytes() == games.tobytes()


@settings(max_examples=15)
@given(SEEDS, HEROES)
def test_without_targets_the_last_moves_lead_to_the_state(seed: int, me: int) -> None:
    before: Game | None = None
    for games, read in told(seed, me, 20, expert=False):
        if before is not None:
            for hero in (me, me + 1, me + 2, me + 3):
                step(before, 0, read["hero"]["last_dir"].item(hero % 4))
            assert before.tobytes() == read.tobytes()
        games["hero"]["last_dir"] = read["hero"]["last_dir"]
        assert read.tobytes() == games.tobytes()
        before = copy_of(read)


def test_a_state_that_does_not_follow_shows_where_the_heroes_went() -> None:
    """A crash, or a referee with other rules."""
    before = parse("@1  $-\n  ##[]\n@2  @3")
    after = copy_of(before)
    after["turn"] = 4
    for hero, direction in ((0, 3), (1, 1)):
        after["hero"]["pos"][0, hero] += OFFSET[direction]
    after["hero"]["life"][0, 2] = 7
    assert last_moves(before, after, None, {})[:3] == [3, 1, STAY]
    assert last_moves(before, after, None, {2: before["hero"]["pos"].item(2) + int(OFFSET[4])})[:3] == [3, 1, 4]


def test_a_game_that_goes_on_has_more_rounds() -> None:
    reader = LineGame(1)
    games = generate(1, size=8).new_game()
    text = write_opening(games, 2)
    for turn, last in ((2, 4), (6, 8), (10, 12)):
        read = feed(reader, text + write_state(games))
        assert read is not None
        assert (read["turn"].item(0), read["max_turns"].item(0)) == (turn, last)
        reader.moved(STAY)
        text = ""


def test_begins_is_true_between_turns() -> None:
    reader = LineGame(150)
    seen = []
    for line in (OPENING + STATE + STATE).splitlines():
        seen.append(reader.begins)
        reader.feed(line)
    assert [number for number, begins in enumerate(seen) if begins] == [0, 6, 12]
    assert reader.begins


OPENING = "4\n0.M1\n.T..\n.#..\n3..2\n1\n"
STATE = "5\nHERO 0 0 0 100 0\nHERO 1 3 0 100 0\nHERO 2 3 3 100 0\nHERO 3 0 3 100 0\nMINE -1 2 0 -1 -1\n"


def test_columns_come_first() -> None:
    read = feed(LineGame(150), OPENING + STATE.replace("HERO 1 3 0 100 0", "HERO 1 2 1 70 5").replace("MINE -1", "MINE 3"))
    assert read is not None
    hero = read["hero"][0, 1]
    assert (row_column(hero["pos"].item()), hero["life"].item(), hero["gold"].item()) == ((1, 2), 70, 5)
    assert read["hero"]["mines"][0].tolist() == [0, 0, 0, 1]
    assert read["turn"].item(0) == 1
    assert read["max_turns"].item(0) == 600


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("4\n0", "four\n0", "line 1: the board's size must be a whole number from 1 to 28, not 'four'"),
        (".T..", ".T.", "line 3: a row of the board must have 4 characters, not 3: '.T.'"),
        (".T..", ".X..", "line 3: the board has 'X' in column 1; known are . # T M 0 1 2 3"),
        (".T..", ".T.0", "line 3: the board has a second spawn square 0"),
        ("3..2", "...2", "line 5: the board has no spawn square 3; a game needs four heroes, 0 to 3"),
        ("\n1\n", "\n4\n", "line 6: the id of our hero must be a whole number from 0 to 3, not '4'"),
        ("5\nH", "6\nH", "line 7: there must be 5 entities, four heroes and 1 mine, not 6"),
        ("5\nH", "1 2 x\n5\nH", "line 7: y must be a whole number from -1000000 to 1000000, not 'x'"),
        ("HERO 1", "HERO 0", "line 9: hero 0 occurs twice: 'HERO 0 3 0 100 0'"),
        ("HERO 1 3 0", "HERO 1 1 1", "line 9: hero 1 is not on an empty square: 'HERO 1 1 1 100 0'"),
        ("HERO 1 3 0 100", "HERO 1 3 0 101", "line 9: life must be a whole number from 0 to 100, not '101'"),
        ("HERO 1 3 0", "ELF 1 3 0", "line 9: an entity is HERO id x y life gold, or MINE owner x y -1 -1, not 'ELF 1 3 0 100 0'"),
        ("MINE -1 2 0", "MINE -1 1 0", "line 12: the mine is not on the board: 'MINE -1 1 0 -1 -1'"),
    ],
)
def test_wrong_lines(old: str, new: str, words: str) -> None:
    text = OPENING + STATE
    assert text.count(old) == 1
    with pytest.raises(UsageError) as caught:
        feed(LineGame(150), text.replace(old, new))
    assert caught.value.message == words


def test_a_hero_that_crashes_is_not_told() -> None:
    """A crashed hero strikes nobody: then no move leads to the state, and the hero seems to stay."""
    games = parse("@1@2  $-\n        \n[]      \n@4    @3")
    later = copy_of(games)
    step(later, 0, STAY)
    step(later, 0, CRASH)
    found = last_moves(games, later, STAY, {})
    assert found[:2] == [STAY, STAY]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("WAIT", (STAY, "")),
        ("north to the mine", (NORTH, "to the mine")),
        ("MOVE 2 0; a mine", (EAST, "a mine")),
        ("MOVE 0 2", (SOUTH, "")),
        ("MOVE 0 0", (STAY, "")),
        ("MOVE 1 1", (EAST, "")),  # a wall: to the first of the squares beside it
        ("MOVE -9 9", (SOUTH, "")),  # beyond the board: to the nearest square
        (" WEST;a;b", (WEST, "a;b")),
        ("west\r", (WEST, "")),
    ],
)
def test_an_answer_is_a_direction_and_a_message(answer: str, expected: tuple[int, str]) -> None:
    games = parse("@1  $-\n  ##[]\n  @2@3")
    assert read_answer(answer, games, 0) == expected
    assert read_answer(write_answer(*expected).rstrip("\n"), games, 0) == expected


@pytest.mark.parametrize("answer", ["jump\n", "", "NORTHWEST", "MOVE 1", "MOVE a b", "MOVE 1 2000000000", "\x00"])
def test_an_answer_that_cannot_be_read(answer: str) -> None:
    with pytest.raises(UsageError, match=r"^answered '"):
        read_answer(answer, parse("@1@2"), 0)
