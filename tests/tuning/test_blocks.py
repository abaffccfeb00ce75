"""Blocks: the two games of a block differ in the seats of plus and minus alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from tests.support.arenagames import game_line
from vindibot.arena.schedule import read_map_set
from vindibot.arena.seats.entrants import Entrant, Limits
from vindibot.arena.settings import MapSettings
from vindibot.config.bots import load_bot
from vindibot.tuning.blocks import BlockMaker, difference, mean_score, seat_scores


def maker(self_share: float = 0.25, pool: int = 3) -> BlockMaker:
    limits = Limits(nodes=100)
    rivals = tuple(Entrant(f"rival-{number}", "bot", limits, load_bot("seed")) for number in range(pool))
    return BlockMaker("id", 7, read_map_set(MapSettings(sizes=[10]), 0), rivals, self_share, limits, 20)


@pytest.mark.slow
def test_plus_and_minus_exchange_their_seats() -> None:
    plus, minus = load_bot("seed"), load_bot("malvert")
    alone, seats = 0, Counter[int]()
    for number in range(80):
        first, second = maker().tasks(1000 + number, number, plus, minus)
        assert (first.map_text, first.seed, first.rounds) == (second.map_text, second.seed, second.rounds)
        labels = [[seat.entrant.label for seat in task.seats] for task in (first, second)]
        assert labels[1] == [{"plus": "minus", "minus": "plus"}.get(label, label) for label in labels[0]]
        assert [seat.seed for seat in first.seats] == [seat.seed for seat in second.seats]
        assert {seat.entrant.bot for seat in first.seats if seat.entrant.label == "plus"} == {plus}
        alone += labels[0].count("plus") == 2
        seats.update(place for place, label in enumerate(labels[0]) if label == "plus")
        if labels[0].count("plus") == 1:
            assert len({label for label in labels[0] if label.startswith("rival")}) == 2
    assert 10 <= alone <= 32, "a quarter of the blocks has no rivals"
    assert min(seats.values()) >= 12, "every seat"
    assert all(
        label in ("plus", "minus") for label in (seat.entrant.label for seat in maker(pool=0).tasks(0, 0, plus, minus)[0].seats)
    )


def test_the_result_of_a_block() -> None:
    lines = [
        game_line(["plus", "a", "minus", "b"], [300, 200, 100, 0], block=2, game=0, games=2),
        game_line(["minus", "a", "plus", "b"], [300, 200, 200, 0], block=2, game=1, games=2),
    ]
    assert seat_scores(lines[1], "place") == [1, 0.5, 0.5, 0]
    assert seat_scores(lines[1], "win") == [1, 0, 0, 0]
    assert mean_score(lines[0], "win", "plus") == 1
    assert difference(lines, "place") == pytest.approx((1 + 0.5) / 2 - (1 / 3 + 1) / 2, abs=1e-5)
    assert difference(lines, "win") == 0
    assert math.isnan(difference([lines[0], replace(lines[1], ending="aborted")], "place"))
