"""Bundles: their plies lead to the same states without the rules, with the events of the rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sim.board import parse
from sim.game import CRASH, EAST, STAY, WEST, Games
from sim.rules import step
from tests.support.recorded import BALLOT, PLAYERS, record, states_of
from vindibot.games.history import Ply
from vindibot.viewer.bundle import StateWriter, bundle_of


def shown(games: Games) -> tuple[list[list[int]], str, int]:
    """Return heroes, tiles and turn of a state in the form of a bundle."""
    start = StateWriter(games).start()
    return start["heroes"], StateWriter(games).tiles(), start["turn"]


class Follower:
    """Applies plies as the page does, without the rules."""

    def __init__(self, start: dict[str, Any], tiles: str) -> None:
        self.heroes = [list(hero) for hero in start["heroes"]]
        self.tiles = list(tiles)
        self.turn = start["turn"]

    def apply(self, ply: dict[str, Any]) -> tuple[list[list[int]], str, int]:
        for hero, *now in ply.get("c", []):
            self.heroes[hero] = now
        for square, owner in ply.get("m", []):
            self.tiles[square] = "-" if owner is None else str(owner)
        self.turn = ply["t"]
        return self.heroes, "".join(self.tiles), self.turn


HEROES = """
@1 life {life} gold 2 mines 1 spawn 3,3 last Stay
@2 life 20 gold 0 mines 1 spawn {spawn} last Stay
@3 life 50 gold 0 mines 1 spawn 2,2 last Stay
"""
CHAIN = "@1@2    $2\n        $3\n        $1\n          \n@3        "
TABLE = "[]@1$2    \n        $3\n    $1  @2\n          \n@3        "


@pytest.mark.parametrize(
    ("board", "life", "move", "events", "mines"),
    [
        # Hero 2 dies of a blow and respawns on the square of hero 3, which dies as well.
        (
            CHAIN,
            90,
            STAY,
            [
                ["blow", 0, 1],
                ["kill", 0, 1, "blow"],
                ["heir", 1, 0, 1],
                ["respawn", 1, 1, 20],
                ["kill", 1, 2, "spawn"],
                ["heir", 2, 1, 1],
                ["respawn", 2, 20, 12],
            ],
            [[4, 0], [9, 1]],
        ),
        (TABLE, 90, EAST, [["mine", 0, 2, 1]], [[2, 0]]),
        (TABLE, 40, WEST, [["beer", 0, 0, 50]], []),
        (TABLE, 20, EAST, [["death", 0, 2], ["heir", 0, None, 1], ["respawn", 0, 1, 18]], [[12, None]]),
        (TABLE, 90, CRASH, [["crash", 0]], []),
    ],
    ids=["chain", "mine", "beer", "death", "crash"],
)
def test_a_ply_has_its_events(board: str, life: int, move: int, events: list[Any], mines: list[Any]) -> None:
    spawn = "4,0" if board == CHAIN else "1,1"
    before = parse(f"{board}\nturn 0 of 100{HEROES.format(life=life, spawn=spawn)}")
    after = before.copy()
    assert step(after, 0, move)
    writer = StateWriter(before)
    ply = writer.ply(Ply(0, before, after, 0, move))
    assert ply["e"] == events
    assert sorted(ply.get("m", [])) == mines
    assert Follower(writer.start(), writer.tiles()).apply(ply) == shown(after)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.sets(st.integers(0, 29), max_size=8))
def test_the_plies_of_a_recording_lead_to_all_its_states(tmp_path_factory: Any, seed: int, hero: int, lost: set[int]) -> None:
    """Also between two turns of ours, with our votes at the right states. Lost turns are a gap."""
    folder: Path = tmp_path_factory.mktemp("recording")
    states = states_of(seed, 120)
    recording = record(folder, states, hero, without=frozenset(4 * turn + hero - 1 for turn in lost))
    bundle = bundle_of(recording)
    follower = Follower(bundle["start"], bundle["tiles"])
    by_ply = {why["ply"]: why for why in bundle["why"]["turns"]}
    assert len(by_ply) == len(recording.turns)
    for number, ply in enumerate([None, *bundle["plies"]]):
        state = follower.apply(ply) if ply is not None else (follower.heroes, "".join(follower.tiles), follower.turn)
        assert state == shown(states[state[2]])
        why = by_ply.get(number)
        if why is not None:
            own = recording.turn(why["turn"])
            assert why["turn"] == state[2]
            assert why["move"] == own.ballot.direction
            assert why["sums"] == own.ballot.sums
            assert [vote["votes"] for vote in why["votes"]] == [entry.votes for entry in BALLOT.entries]
            assert [vote["status"] for vote in why["votes"]] == ["ok", "ok", "late"]
    assert state == shown(states[-1])
    assert bundle["ending"] == {"kind": "finished", "message": ""}
    assert [player["name"] for player in bundle["players"]] == [player.name for player in PLAYERS]
    gaps = [ply for ply in bundle["plies"] if ply.get("gap")]
    missing = len(bundle["plies"]) + bundle["start"]["turn"] < len(states) - 1
    assert bool(gaps) == missing
