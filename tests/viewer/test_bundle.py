"""Bundles: their plies lead to the same states without the rules, and their events explain every change."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hypothesis import given, settings, strategies as st

from sim.board import parse
from sim.game import CRASH, Games
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


def account(before: Games, ply: dict[str, Any], spawns: list[int]) -> list[list[int]]:
    """Return the heroes after a ply, from those before it and the events. Only the mover's square comes from the changes."""
    heroes = [list(hero) for hero in StateWriter(before).start()["heroes"]]
    me = ply["h"]
    moved = {hero: square for hero, square, *_ in ply.get("c", [])}
    events = ply.get("e", [])
    if not any(event[0] == "respawn" and event[1] == me for event in events):
        heroes[me][0] = moved.get(me, heroes[me][0])
    for name, hero, *rest in events:
        if name == "mine":
            heroes[hero][1] -= 20
            heroes[hero][3] += 1
            if rest[1] is not None:
                heroes[rest[1]][3] -= 1
        elif name == "beer":
            heroes[hero][1] += rest[1]
            heroes[hero][2] -= 2
        elif name == "blow":
            heroes[rest[0]][1] -= 20
        elif name == "heir":
            assert heroes[hero][3] == rest[1]
            heroes[hero][3] = 0
            if rest[0] is not None:
                heroes[rest[0]][3] += rest[1]
        elif name == "respawn":
            assert rest[1] == spawns[hero]
            heroes[hero][:2] = rest[1], 100
        elif name == "crash":
            heroes[hero][4] = 1
    heroes[me][1] = max(1, heroes[me][1] - 1)
    heroes[me][2] += heroes[me][3]
    return heroes


def check(before: Games, move: int) -> dict[str, Any]:
    """Return a ply in the form of a bundle, checked against the state after it."""
    after = before.copy()
    assert step(after, 0, move)
    writer = StateWriter(before)
    ply = writer.ply(Ply(0, before, after, int(before[0]["turn"]) % 4, move))
    assert Follower(writer.start(), writer.tiles()).apply(ply) == shown(after)
    assert account(before, ply, writer.spawns()) == shown(after)[0]
    return ply


@settings(max_examples=6, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.02]))
def test_events_explain_every_change(seed: int, crashes: float) -> None:
    states = states_of(seed, 160, crashes)
    for before, after in pairwise(states):
        hero = int(before[0]["turn"]) % 4
        last = after[0]["hero"][hero]
        crashed = last["crashed"] and not before[0]["hero"][hero]["crashed"]
        check(before, CRASH if crashed else int(last["last_dir"]))


def test_deaths_chains_and_inherited_mines() -> None:
    """A hero dies of a blow and respawns on a square where a third hero is: this one dies as well."""
    games = parse(
        "@1@2    $2\n        $3\n          \n          \n@3        \n"
        "turn 0 of 100\n"
        "@1 life 90 gold 0 mines 0 spawn 3,3 last Stay\n"
        "@2 life 20 gold 0 mines 1 spawn 4,0 last Stay\n"
        "@3 life 50 gold 0 mines 1 spawn 2,2 last Stay\n"
    )
    ply = check(games, 0)
    assert ply["e"] == [
        ["blow", 0, 1],
        ["kill", 0, 1, "blow"],
        ["heir", 1, 0, 1],
        ["respawn", 1, 1, 20],
        ["kill", 1, 2, "spawn"],
        ["heir", 2, 1, 1],
        ["respawn", 2, 20, 12],
    ]
    assert sorted(ply["m"]) == [[4, 0], [9, 1]]


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
