"""Stand-offs and mine swapping: a review sees them, values them by playouts to the end of the game, and names them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest

from sim.board import draw, parse
from sim.game import EAST, NORTH, SOUTH, STAY, WEST
from sim.maps import parse_map
from tests.support.paths import TOP
from vindibot.config.bots import load_bot
from vindibot.games.files.review import Thresholds
from vindibot.games.game_record import GameRecord, loads
from vindibot.games.history import GameHistory
from vindibot.review.mistakes import STANDOFF_ROUNDS, SWAPS, Cycle, kind_of
from vindibot.review.turns import Reviewer, TurnPosition, positions, review_turn

RECORDED = TOP.parent / "shared" / "standoffs" / "games.jsonl"
#: Heroes 1 and 2 strike each other, each beside a tavern. Hero 3 owns mines.
BLOWS = """
|##[]##[]##  |
|##@1@2##  $-|
|            |
|$3    ##    |
|$3@3      @4|
|$3##  []  ##|
turn 40 of 400
@1 gold 100
@2 gold 100
"""
#: Heroes 1 and 2 take the mine between them from each other.
SWAPPED = """
|##[]##[]##  |
|##@1$1@2  $-|
|##  ##      |
|$3    ##    |
|$3@3      @4|
|$3##  []  ##|
turn 40 of 400
@1 gold 200
@2 gold 200
"""
NOTHING = np.full((1, 4), -1, np.int8)


def position_after(board: str, rounds: int, first: tuple[int, int], second: tuple[int, int]) -> TurnPosition:
    """Return the last turn of hero 1 after some rounds. Heroes 1 and 2 play the moves of `first` and `second` by turns."""
    history = GameHistory(first=parse(board))
    for number in range(rounds):
        history.play_all([first[number % 2], second[number % 2], STAY, STAY])
    history.play(first[rounds % 2])
    return list(positions(history, {0}))[-1]


def standoff(rounds: int = STANDOFF_ROUNDS + 2) -> TurnPosition:
    return position_after(BLOWS, rounds, (EAST, NORTH), (NORTH, WEST))


def swapping(rounds: int = SWAPS + 5, second: tuple[int, int] = (WEST, NORTH)) -> TurnPosition:
    return position_after(SWAPPED, rounds, (EAST, NORTH), second)


def test_a_stand_off_and_its_end() -> None:
    assert standoff().cycle == Cycle("kept up a stand-off", 1)
    assert standoff(STANDOFF_ROUNDS - 2).cycle is None
    apart = BLOWS.replace("@1@2##", "@1##@2")
    assert position_after(apart, STANDOFF_ROUNDS + 2, (STAY, NORTH), (STAY, STAY)).cycle is None


def test_mines_that_change_hands_between_two_heroes() -> None:
    assert swapping().cycle == Cycle("swapped mines", 1)
    assert swapping(12).cycle is None, "not often enough"
    poor = SWAPPED.replace("$3", "  ")
    assert position_after(poor, SWAPS + 5, (EAST, NORTH), (WEST, NORTH)).cycle is None, "no other hero gains more"


def test_the_kind_names_the_move_that_goes_on_with_it() -> None:
    view, cycle = standoff().view(), standoff().cycle
    assert kind_of(view, cycle, EAST, SOUTH, NOTHING, NOTHING) == "kept up a stand-off"
    assert kind_of(view, cycle, NORTH, SOUTH, NOTHING, NOTHING) == "kept up a stand-off"
    assert kind_of(view, cycle, EAST, NORTH, NOTHING, NOTHING) == "left a tavern open", "both moves stay"
    view, cycle = swapping().view(), swapping().cycle
    assert kind_of(view, cycle, EAST, SOUTH, NOTHING, NOTHING) == "swapped mines"


@cache
def reviewer(rounds: int) -> Reviewer:
    return Reviewer(load_bot("versions/strong-1"), 20_000, rounds, Thresholds())


@pytest.mark.parametrize("position", [standoff(), swapping()], ids=["stand-off", "mine swapping"])
def test_in_a_cycle_the_playouts_go_to_the_end_of_the_game(position: TurnPosition) -> None:
    assert review_turn(position, reviewer(5)) == review_turn(position, reviewer(0))


def recorded() -> Iterator[GameRecord]:
    """Yield the recorded stand-offs. Their file has an older format."""
    for line in RECORDED.read_text().splitlines():
        fields = json.loads(line) | {"version": 3, "ending": "finished"}
        moves, fields["player_ids"] = fields.pop("orders"), fields.pop("who")
        fields["moves"] = moves.translate(str.maketrans("012345", ".NSEWx"))
        fields["start"] = draw(parse_map(fields.pop("map")).new_game(max_turns=fields.pop("max_turns")))
        yield loads(json.dumps(fields))


@pytest.mark.slow_long
@pytest.mark.timeout(600)
@pytest.mark.skipif(not RECORDED.is_file(), reason="the recorded stand-offs are not here")
def test_recorded_stand_offs_are_seen() -> None:
    """In two of the five games, the hero and a rival swap mines; in three, they swap blows."""
    seen = {}
    for record in recorded():
        hero = record.names.index("strong")
        cycles = Counter(position.cycle for position in positions(GameHistory.of(record), {hero}))
        del cycles[None]
        ((cycle, turns),) = cycles.items()
        assert turns > 140, "for half of the game"
        seen[record.id] = cycle.kind
    swaps, blows = ["swapped mines"] * 2, ["kept up a stand-off"] * 3
    assert seen == dict(zip([f"standoff-{number}" for number in range(1, 6)], swaps + blows, strict=True))
