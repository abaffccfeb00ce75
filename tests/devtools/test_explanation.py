"""``vindibot explain``: the explanation of a recorded turn, and of a direction that lost; and the kinds of game files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st

from behaviours import SearchInfo
from sim.board import parse
from sim.game import EAST, NORTH, square
from tests.support.recorded import HEADER, PLAYERS
from tests.support.worlds import SAMPLE
from vindibot.cli.main import main
from vindibot.devtools.explanation import amount
from vindibot.games.ballot import Ballot, BallotEntry, tally
from vindibot.games.files.recording import Recorder
from vindibot.games.files.review import MoveValue, ReviewedTurn, ReviewHeader, review_path, write_review_line
from vindibot.games.protocol import from_games

#: We stand between a mine (north), a tavern that we cannot pay (south), air (east) and a wall.
BOARD = """
    |  $-    |
    |##@1  @2|
    |  []    |
    |@3    @4|
    turn 212 of 1200
    @1 life 87 gold 1
"""
LINE = (NORTH, 0, EAST, EAST, NORTH)
ENTRIES = [
    BallotEntry("mine-finder", 1.0, [0.0, 1.0, 0.0, 0.0, 0.0], 0.21),
    BallotEntry("fear", 2.0, [0.0, -2.0, 0.0, 0.25, 0.0], 1.5),
    BallotEntry("search[/]", 0.5, [0.0, 0.5, 0.0, 1.0, 0.0], 700.4, info=SearchInfo(None, 9, -12.5, 81234, LINE, square(3, 1))),
    BallotEntry("silent", 1.0, None, 0.1),
    BallotEntry("broken", 1.0, None, 3.0, "killed", "its worker\nprocess ended"),
    BallotEntry("gone", 1.0, None, 0.0, "benched"),
]


def counted(entries: list[BallotEntry], **more: float) -> Ballot:
    return tally(entries, (0, NORTH, EAST), np.random.default_rng(0), margin_ms=212.5, **more)


def recorded_turn(folder: Path, ballot: Ballot) -> str:
    games = parse(BOARD)
    with Recorder(folder, HEADER) as recorder:
        recorder.turn(from_games(games, game_id="abcd1234", players=PLAYERS), ballot)
    assert recorder.path is not None
    return str(recorder.path)


def explain(*words: str) -> Result:
    return CliRunner().invoke(main, ["explain", *words])


def said(*words: str) -> str:
    result = explain(*words)
    assert result.exit_code == 0, result.output
    return re.sub(r"[ \n]+", " ", result.output)


def test_the_table_of_a_turn(tmp_path: Path) -> None:
    result = explain(recorded_turn(tmp_path, counted(ENTRIES)), "--turn", "212")
    assert result.exit_code == 0
    rows = [line.split() for line in result.output.splitlines()]
    assert result.output.startswith(
        "game abcd1234, bot seed, hero @1 seed\nturn 212, round 54 of 300: at (1, 1), life 87, gold 1, mines 0"
    )
    for row in [
        ["trait", "weight", "Stay", "North", "South", "East", "West", "ms"],
        ["mine-finder", "1", "0", "1", "-", "0", "-", "0.2"],
        ["fear", "2", "0", "-4", "-", "0.50", "-", "1.5"],
        ["search[/]", "0.5", "0", "0.25", "-", "0.50", "-", "700.4"],
        ["silent", "1", "0.1"],
        ["broken", "1", "3.0", "killed"],
        ["gone", "1", "benched"],
        ["sum", "0", "-2.75", "-", "1", "-"],
    ]:
        assert row in rows
    for line in [
        "East, 1 ahead of Stay",
        "decided 212 ms before the limit",
        "search[/]: depth 9, score -12.5, 81,234 nodes, expects N.EE N, target (3, 1)",
        "broken: killed: its worker\\nprocess ended",
    ]:
        assert line in result.output.splitlines()


def test_why_not(tmp_path: Path) -> None:
    path = recorded_turn(tmp_path, counted(ENTRIES))
    north = said(path, "--turn", "212", "--why-not", "North")
    assert "Why not North? It lost to East by 3.75: -2.75 against 1." in north
    assert "fear -4 0.50 -4.50 search[/] 0.25 0.50 -0.25 mine-finder 1 0 +1 " in north, "the strongest opponent comes first"
    assert "Without fear it would have been North." in north
    assert "No votes from: broken (killed), gone (benched)." in north
    assert "silent" not in north.partition("Why not")[2]
    for word, why in [
        ("east", "Why not East? It was East."),
        ("stay", "It lost to East by 1: 0 against 1."),
        ("west", "There is a wall: the hero would stay."),
        ("south", "There is a tavern, and a beer costs 2 gold"),
    ]:
        assert why in said(path, "--turn", "212", "--why-not", word)


def test_turns_without_an_ordinary_vote(tmp_path: Path) -> None:
    late = [BallotEntry("slow", 1.0, None, 0.0, "late")]
    fallback = recorded_turn(tmp_path, counted(late, fallback=NORTH))
    assert "North: no trait answered in time, this is the fallback move" in said(fallback, "--turn", "212")
    assert "there are no votes" in said(fallback, "--turn", "212", "--why-not", "east")
    tied = recorded_turn(tmp_path, counted([BallotEntry("both", 1.0, [0.0, 1.0, 0.0, 1.0, 0.0])]))
    words = said(tied, "--turn", "212")
    chosen, other = ("North", "East") if "North, chosen" in words else ("East", "North")
    assert f"{chosen}, chosen at random: {other} has the same sum" in words
    assert f"It has the same sum as {chosen} (1); {chosen} was chosen at random." in said(
        tied, "--turn", "212", "--why-not", other
    )
    alone = recorded_turn(tmp_path, Ballot(candidates=(0,), margin_ms=float("inf")))
    assert said(alone, "--turn", "212").endswith("Stay: no other move has an effect ")


def test_the_board_can_be_shown(tmp_path: Path) -> None:
    path = recorded_turn(tmp_path, counted(ENTRIES))
    assert "##@1  @2" in explain(path, "--turn", "212", "--board").output
    assert "##@1" not in explain(path, "--turn", "212").output


def test_errors_of_explain(tmp_path: Path) -> None:
    path = recorded_turn(tmp_path, counted(ENTRIES))
    for words, message in [
        ((path, "--turn", "213"), "turn 213 is not a recorded turn of hero 1; the nearest are 212"),
        ((path,), "name the turn with one of --turn, --round and --worst"),
        ((path, "--turn", "212", "--round", "3"), "name the turn with one of --turn, --round and --worst"),
        ((path, "--round", "55"), "turn 216 is not a recorded turn of hero 1; the nearest are 212"),
        ((path, "--round", "0"), "0 is not in the range x>=1"),
        ((path, "--worst"), "has no review: make one with vindibot review"),
        ((path, "--turn", "212", "--why-not", "up"), "'up' is not one of"),
        ((str(tmp_path / "none"), "--turn", "1"), "cannot be read: No such file"),
        ((str(tmp_path), "--turn", "1"), "is a folder"),
        ((str(SAMPLE), "--turn", "1"), "this is no game"),
    ]:
        result = explain(*words)
        assert result.exit_code == 2
        assert message in re.sub(r"\s+", " ", result.output)
        assert "Traceback" not in result.output


@given(st.floats(-1e12, 1e12))
def test_only_0_is_shown_as_0(value: float) -> None:
    text = amount(value)
    assert len(text) <= 10
    assert (float(text) == 0) == (value == 0)
    assert float(text) == pytest.approx(value, rel=0.051, abs=0.0051)


# ---- Files ----


def test_a_turn_is_named_by_its_round_or_as_a_bad_move(tmp_path: Path) -> None:
    path = recorded_turn(tmp_path, counted(ENTRIES))
    assert "turn 212, round 54 of 300" in said(path, "--round", "54")
    four = (0.0,) * 4
    values = [
        MoveValue(move=move, gold=four, gold_error=four, less=less, less_error=0) for move, less in [("Stay", 0), ("East", 30)]
    ]
    turns = [
        ReviewedTurn(turn=212, hero=1, move="East", best="Stay", loss=30, loss_error=0, values=tuple(values)),
        ReviewedTurn(turn=208, hero=2, move="East", best="Stay", loss=90, loss_error=0, values=tuple(values)),
    ]
    header = ReviewHeader(game="abcd1234", heroes=(1, 2), bot="seed", nodes=1)
    lines = [Path(path).read_bytes(), *(write_review_line(one) + b"\n" for one in (header, *turns))]
    review_path(Path(path)).write_bytes(b"".join(lines))
    assert "turn 212, round 54 of 300" in said(path, "--worst")
    result = explain(path, "--worst", "2")
    assert (result.exit_code, "has 1 bad move of hero 1" in re.sub(r"\s+", " ", result.output)) == (2, True)
