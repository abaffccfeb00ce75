"""The seatings, maps and seeds of a tournament, and the configurations that are refused."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from sim.game import SEATS
from tests.support.arenabots import line_bot, schedule
from vindibot.arena.games import play_task
from vindibot.arena.schedule import read_map_set, seatings
from vindibot.arena.settings import ArenaSettings, MapSettings
from vindibot.arena.tournament import prepare
from vindibot.base.errors import UsageError
from vindibot.config.load import load_config
from vindibot.games import game_record as gamerecord

# ---- Seatings ----


@given(st.integers(3, 9))
def test_every_four_meet_and_every_bot_sits_everywhere_equally_often(count: int) -> None:
    found = seatings("all", count)
    assert len(set(found)) == len(found)
    for seat in range(SEATS):
        assert len(set(Counter(seating[seat] for seating in found).values())) == 1
    if count >= SEATS:
        assert {frozenset(seating) for seating in found} == set(map(frozenset, combinations(range(count), SEATS)))


@given(st.integers(2, 8))
def test_a_gauntlet_has_the_first_in_every_game(count: int) -> None:
    found = seatings("gauntlet", count)
    assert all(0 in seating for seating in found)
    assert {seating.index(0) for seating in found} == set(range(SEATS))
    against = Counter(index for seating in found for index in seating if index)
    assert set(against) == set(range(1, count))
    assert len(set(against.values())) == 1


@given(st.integers(2, 8))
def test_a_rotation_plays_the_games_of_a_gauntlet_one_group_per_block(count: int) -> None:
    gauntlet = sorted(tuple(sorted(seating)) for seating in seatings("gauntlet", count))
    groups = len(gauntlet) // SEATS
    for begin in (0, groups):
        blocks = [seatings("rotation", count, begin + block) for block in range(groups)]
        assert {len(block) for block in blocks} == {SEATS}
        assert all(len({tuple(sorted(seating)) for seating in block}) == 1 for block in blocks)
        assert sorted(tuple(sorted(seating)) for block in blocks for seating in block) == gauntlet
    if groups > 1:
        assert seatings("rotation", count, 0) != seatings("rotation", count, groups), "the second pass begins with another group"


@pytest.mark.parametrize(
    ("kind", "count"), [("all", 4), ("all", 5), ("gauntlet", 4), ("gauntlet", 6), ("rotation", 4), ("rotation", 5)]
)
def test_over_many_blocks_every_bot_is_beside_every_other_equally_often(kind: Any, count: int) -> None:
    """A weak neighbour is an advantage, so no bot may have the same neighbours in all blocks."""
    groups = len(seatings("gauntlet", count)) // SEATS if kind == "rotation" else 1
    followers: dict[frozenset[int], Counter[tuple[int, int]]] = {}
    for block in range(36 * groups):
        for seating in seatings(kind, count, block):
            found = followers.setdefault(frozenset(seating), Counter())
            found.update(zip(seating, (*seating[1:], seating[0]), strict=True))
    for found in followers.values():
        assert len(found) == SEATS * (SEATS - 1)
        assert max(found.values()) == min(found.values())


def test_a_match_has_six_seatings() -> None:
    found = seatings("ab", 2)
    assert len(set(found)) == 6
    assert all(seating.count(0) == seating.count(1) == 2 for seating in found)
    assert seatings("all", 2) == found


# ---- Games and seeds ----


BOTS = ("seed", "malvert", "random", "stay")


def test_a_schedule_is_the_same_every_time() -> None:
    one, other = (list(schedule(*BOTS, blocks=3).tasks()) for _ in range(2))
    assert one == other
    assert len({task.name for task in one}) == len(one) == 12
    assert [task.map_text for task in one[:4]] == [one[0].map_text] * 4
    assert one[0].map_text != one[4].map_text
    few, more = (schedule(*BOTS, blocks=blocks) for blocks in (2, 3))
    assert few.digest() == more.digest()
    assert list(few.tasks()) == one[:8], "more blocks begin with the same games"


def test_every_bot_has_its_own_stream_in_every_game_also_against_itself() -> None:
    tasks = list(schedule("seed", "seed", format="ab", rounds=40, size=14, blocks=2).tasks())
    seeds = [seat.seed for task in tasks for seat in task.seats]
    assert len(set(seeds)) == len(seeds) == 48
    assert {seat.entrant.label for task in tasks for seat in task.seats} == {"seed", "seed-2"}
    assert len({gamerecord.loads(play_task(task).record).moves for task in tasks[:3]}) == 3


def test_other_settings_make_another_tournament_and_a_changed_bot_does_not(tmp_path: Path) -> None:
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"seed": 6},
        {"rounds": 13},
        {"limits__nodes": 5},
        {"size": 12},
        {"adjudicate": "decided"},
    )
    assert len({schedule(*BOTS, **change).digest() for change in changes}) == len(changes)
    bot = tmp_path / "mine.toml"
    bot.write_text("[traits.stay]\n")
    first = schedule(str(bot), "stay")
    bot.write_text("[traits.stay]\nweight = 2\n")
    changed = schedule(str(bot), "stay")
    assert changed.digest() == first.digest()
    assert changed.entrants[0].digest != first.entrants[0].digest
    assert changed.entrants[1].digest == first.entrants[1].digest


# ---- Maps ----


def test_map_sets(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("@1      @4\n  ##  ##  \n    []    \n$-##  ##$-\n@2      @3")
    named = read_map_set(MapSettings(names=["m1", str(own)]), 1)
    assert [named.of_block(block).size for block in range(4)] == [10, 5, 10, 5]
    sized = read_map_set(MapSettings(sizes=[12, 28]), 1)
    assert {found.size for found in sized.maps} == {12, 28}
    assert len(sized.maps) == 8
    fresh = read_map_set(MapSettings(set="random", sizes=[10, 20]), 1)
    assert [fresh.of_block(block).size for block in range(4)] == [10, 20, 10, 20]
    assert fresh.of_block(0) != fresh.of_block(2)
    assert fresh.of_block(0) == read_map_set(MapSettings(set="random", sizes=[10, 20]), 1).of_block(0)
    assert fresh.of_block(0) != read_map_set(MapSettings(set="random", sizes=[10, 20]), 2).of_block(0)


# ---- Entrants and configuration ----


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('bots = ["http:nowhere-to-be-found x", "stay"]', "no program 'nowhere-to-be-found'"),
        ('bots = ["stdio:", "stay"]', "the command is missing"),
        ('bots = ["a=seed", "a=stay"]', "two bots are called 'a'"),
        ('bots = ["x", "stay"]\n[entrants.x]\nmove_ms = 5', "needs one of bot and command"),
        ('bots = ["x", "stay"]\n[entrants.x]\ncommand = "true"\nnodes = 5', "nodes are for bot files"),
        ('bots = ["x", "stay"]\n[entrants.x]\ncommand = "true"\nmove_sm = 5', "line 4: entrants.x.move_sm is an unknown key"),
        ('[maps]\nnames = ["m7"]', "m7"),
        ("[maps]\nblocks = 3", "line 2: maps.blocks is an unknown key here; move it to the top, above the first [table]"),
        ('bots = ["seed"]', "line 1: bots do not fit the format"),
        ('bots = ["seed", "stay", "random"]\nformat = "ab"', "between two bots, not 3"),
        ("[sprt]\nelo0 = 9\nelo1 = 8", "sprt.elo1 must be more than elo0"),
        ("[sprt]\nstop = true", "line 2: sprt.stop is for matches of two bots"),
    ],
)
def test_configurations_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cup.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        prepare(load_config(ArenaSettings, tmp_path / "cup.toml", environ={})).store.close()
    assert words in caught.value.message
    assert not (tmp_path / "results").exists()


def test_labels_of_programs_are_their_scripts() -> None:
    task = next(schedule(line_bot("good"), line_bot("good"), "stay", "a.b=random").tasks())
    assert [seat.entrant.label for seat in task.seats] == ["line_bot", "line_bot-2", "stay", "a.b"]
