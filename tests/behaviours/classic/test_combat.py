"""Combat: the map around enemies in both versions, and the votes that follow from it."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from behaviours.classic.combat import Combat
from behaviours.common.combat_map import combat_map, danger
from sim.board import parse
from sim.game import ABSENT, AIR, EAST, NORTH, OFFSET, SOUTH, STAY, TAVERN, TILE_BITS, WEST, Games, mover, row_column, square
from tests.support.paths import TOP
from tests.support.worlds import odd_games
from vindibot.testing import view


def drawn(games: Games, me: int, duel: bool = False) -> str:
    """The combat map as text: a square is ``.`` without value, else its value times ten."""
    size, values = int(games[0]["size"]), combat_map(games, me, duel=duel)
    rows = [[values[square(row, column)] for column in range(size)] for row in range(size)]
    return "\n".join(" ".join("  ." if math.isnan(value) else f"{10 * value:3.0f}" for value in row).rstrip() for row in rows)


def same(text: str, expected: str) -> bool:
    return [line.split() for line in text.splitlines()] == [line.split() for line in expected.strip().splitlines()]


OPEN = """
    |            |
    |            |
    |    @2      |
    |            |
    |          @1|
    |        $2  |
"""


def test_a_weak_enemy_with_a_mine_in_the_open() -> None:
    games = parse(OPEN + "@2 life 60")
    expected = """
        . . -10   . . .
        . -10 5 -10 . .
        -10 5 . 5 -10 .
        . -10 5 -10 . .
        . . -10   . . .
        . .   .   . . .
    """
    assert same(drawn(games, 0), expected)
    # The later one would win even if it strikes first: the squares at two steps are no danger.
    assert same(drawn(games, 0, duel=True), expected.replace("-10", "0"))


def test_squares_near_a_stronger_enemy_are_negative() -> None:
    games = parse(OPEN + "@1 life 39\n@2 life 60")
    expected = """
        . .   -10   . .   .
        . -10 -10 -10 .   .
        -10 -10 . -10 -10 .
        . -10 -10 -10 .   .
        . .   -10   . .   .
        . .   .     . .   .
    """
    assert same(drawn(games, 0), expected)
    assert same(drawn(games, 0, duel=True), expected)


def test_an_enemy_without_mines_is_not_worth_a_fight_unless_he_is_almost_dead() -> None:
    board = OPEN.replace("$2", "$-")
    beside = square(1, 2)
    assert math.isnan(combat_map(parse(board), 0)[beside])
    assert combat_map(parse(board + "@2 life 20"), 0)[beside] == 0.5
    assert math.isnan(combat_map(parse(board + "@2 life 21"), 0)[beside])


def test_an_enemy_at_a_tavern_is_left_alone_unless_he_dies_at_once() -> None:
    board = """
        |        |
        |  @2[]  |
        |        |
        |$2    @1|
    """
    above = square(0, 1)
    assert combat_map(parse(board + "@2 life 21"), 0)[above] == -1
    assert combat_map(parse(board + "@2 life 20"), 0)[above] == 0.5
    # A square beside the tavern is safe, though two steps from it.
    assert combat_map(parse(board), 0)[square(0, 2)] == 0
    assert combat_map(parse(board + "@1 life 20\n@2 life 20"), 0)[square(0, 2)] == -1
    assert combat_map(parse(board + "@1 life 21"), 0, duel=True)[square(0, 2)] == -1
    assert combat_map(parse(board + "@1 life 22"), 0, duel=True)[square(0, 2)] == 0


@pytest.mark.parametrize(
    ("mine", "enemy_life", "worth", "duel_worth"),
    [
        # Write-up: twenties compared. Later: blow by blow, the striker loses a life to thirst.
        (100, 100, 0.5, 0.5),
        (81, 100, -1, -1),
        (81, 99, 0.5, -1),
        (80, 100, -1, -1),
        (60, 79, 0.5, -1),
        (59, 60, -1, 0.5),
        (43, 60, -1, 0.5),
        (42, 60, -1, -1),
        (22, 40, -1, 0.5),
        (21, 40, -1, -1),
        (1, 20, -1, 0.5),
        (1, 21, -1, -1),
    ],
)
def test_striking_first(mine: int, enemy_life: int, worth: float, duel_worth: float) -> None:
    games = parse(OPEN + f"@1 life {mine}\n@2 life {enemy_life}")
    assert combat_map(games, 0)[square(1, 2)] == worth
    assert combat_map(games, 0, duel=True)[square(1, 2)] == duel_worth


def test_walls_mines_and_taverns_have_no_value_and_no_way_leads_through_them() -> None:
    games = parse("""
        |    ##    |
        |  ##@2$-  |
        |    []    |
        |@1        |
    """)
    assert np.isnan(combat_map(games, 0)).all()


def test_values_of_several_enemies_are_added() -> None:
    games = parse("""
        |  @2  @3  |
        |          |
        |@1      $2|
        @2 life 20
        @3 life 100
    """)
    assert combat_map(games, 0)[square(0, 2)] == 0.5  # beside @3, which has no mine: nothing
    assert combat_map(games, 0)[square(1, 2)] == -2


def test_votes_are_the_values_where_the_moves_lead() -> None:
    here = view("""
        |  $1      |
        |@1    @2  |
        |      $2  |
        @2 life 60
    """)
    # Stay is three squares away and has no value; East is two away; after the mine it still stands there.
    assert Combat().vote(here) == {EAST: -1}
    assert Combat(duel=True).vote(here) == {EAST: 0}


def test_without_mines_to_lose_there_is_no_fear() -> None:
    board = """
        |          |
        |@1    @2$2|
        |          |
    """
    assert Combat().vote(view(board)) is None
    assert Combat().vote(view(board.replace("|@1    @2$2|", "|  @1  @2$2|"))) == {EAST: 0.5}


def test_own_square_counts_for_staying_and_drinking() -> None:
    here = view("""
        |  []  $1|
        |  @1@2  |
        |      $2|
        @1 gold 2 life 70
        @2 life 60
    """)
    # @2 stands in the open and loses; Stay and the beer leave us where we strike it.
    said = Combat().vote(here)
    assert isinstance(said, dict)
    assert said[STAY] == said[NORTH] == 0.5
    assert said[SOUTH] == said[WEST] == -1


def test_the_later_one_does_not_kill_itself() -> None:
    board = """
        |$-    |
        |@1@2  |
        |$1  $2|
        @1 life 20 spawn 0,1
        @2 life 20
    """
    first, later = Combat().vote(view(board)), Combat(duel=True, keep_mines=True).vote(view(board))
    assert isinstance(first, dict)
    assert isinstance(later, dict)
    assert NORTH in first
    assert NORTH not in later
    assert later[STAY] == 0.5


def test_danger_is_what_lies_below_zero() -> None:
    here = view(OPEN + "@2 life 60", me=0)
    assert danger(here, duel=False).sum() == 8
    assert danger(here, duel=True).sum() == 0
    assert danger(here).dtype == np.uint8


# ---- The slow twin, straight from the description ----


def wins(mine: int, enemy_life: int, first: bool) -> bool:
    """The duel played out."""
    while True:
        if first:
            enemy_life -= 20
            if enemy_life <= 0:
                return True
            mine = max(1, mine - 1)
        first = True
        mine -= 20
        if mine <= 0:
            return False
        enemy_life = max(1, enemy_life - 1)


def twin(games: Games, me: int, duel: bool) -> dict[int, float]:
    game = games[0]
    steps = [int(offset) for offset in OFFSET[1:]]

    def tile(place: int) -> int:
        return int(game["cell"][place]) & TILE_BITS

    def at_tavern(place: int) -> bool:
        return any(tile(place + step) == TAVERN for step in steps)

    total: dict[int, float] = {}
    for enemy in range(4):
        pos = int(game["hero"][enemy]["pos"])
        if enemy == me or pos == ABSENT[enemy]:
            continue
        mine, enemy_life = int(game["hero"][me]["life"]), int(game["hero"][enemy]["life"])
        near = {pos + step for step in steps if tile(pos + step) == AIR}
        far = {place + step for place in near for step in steps if tile(place + step) == AIR} - {pos}
        values = {place: 0.0 if duel and wins(max(1, mine - 1), enemy_life, first=False) else -1.0 for place in far}
        loses = not wins(mine, enemy_life, first=True) if duel else mine // 20 <= enemy_life // 20 - 1
        if (at_tavern(pos) and enemy_life > 20) or loses:
            values.update(dict.fromkeys(near, -1.0))
        elif game["hero"][enemy]["mines"] > 0 or enemy_life <= 20:
            values.update(dict.fromkeys(near, 0.5))
        for place, value in values.items():
            safe = at_tavern(place) and mine > (21 if duel else 20)
            total[place] = total.get(place, 0.0) + (max(0.0, value) if safe else value)
    return total


@pytest.mark.slow
@given(odd_games(), st.booleans())
@settings(max_examples=150)
def test_the_map_equals_its_description(games: Games, duel: bool) -> None:
    me = mover(games)
    values = combat_map(games, me, duel=duel)
    expected = twin(games, me, duel)
    found = {int(place): float(values[place]) for place in np.flatnonzero(~np.isnan(values))}
    assert found == expected, {row_column(place) for place in found.keys() ^ expected.keys()}


def test_the_example_in_the_documentation() -> None:
    text = (TOP / "docs" / "traits.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "docs/traits.md", "exec"), {})
