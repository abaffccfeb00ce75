"""Game records: there and back, recomputed states against those that were played, and records that are refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from sim.game import CRASH, Games, equal
from sim.generator import generate
from sim.maps import Map, parse_map
from sim.rules import step
from tests.support.recorded import record_of
from tests.support.worlds import moves
from vindibot.base.errors import UsageError
from vindibot.games.files.game_files import read_records
from vindibot.games.game_record import (
    GameRecord,
    GameRecordError,
    dumps,
    loads,
)
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason, reason_of


def play(games: Games, wanted: list[int]) -> tuple[list[int], list[Games]]:
    """The moves that were played, as a record has them, and all states."""
    played, states = [], [games.copy()]
    for move in wanted:
        if step(games, 0, move):
            played.append(move)
            states.append(games.copy())
    return played, states


def last(record: GameRecord) -> Games:
    return GameHistory.of(record).last


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.lists(moves, max_size=60), st.booleans(), st.sampled_from([-4, 0, 1, 40, 1200]))
def test_a_record_is_read_as_written_and_gives_every_state(seed: int, wanted: list[int], training: bool, max_turns: int) -> None:
    game_map = generate(seed, size=10)
    played, states = play(game_map.new_game(max_turns, training), wanted)
    ending = reason_of(int(states[-1][0]["status"]))
    record = record_of(game_map, played, max_turns=max_turns, training=training, ending=ending, seed=seed, extra={"pace": [1]})
    line = dumps(record)
    assert b"\n" not in line
    assert loads(line) == record
    assert loads(line.decode()) == record
    assert record.game_map() == game_map
    again = list(GameHistory.of(loads(line)).states())
    assert len(again) == len(states)
    assert all(map(equal, again, states))
    assert equal(last(record), states[-1])


def test_every_first_state_is_stored() -> None:
    """Spawn squares that do not mirror each other, mines with owners, a hero that is absent, on a mine, or on another hero."""
    drawn = parse_map("@1$2$0  \n    []$-\n@2    @4\n  ##  @3")
    spawns = [(0, 0), (0, 0), (1, 1), (3, 3)]
    absent = Map(drawn.tiles, [*drawn.starts[:3], None], [*drawn.spawns[:3], None])
    stacked = Map(drawn.tiles, [(0, 0), (0, 0), (2, 2), (0, 3)], drawn.spawns)
    on_mine = Map(drawn.tiles, [(0, 1), *drawn.starts[1:]], drawn.spawns)
    for game_map in (drawn, Map(drawn.tiles, drawn.starts, spawns), absent, stacked, on_mine):
        record = loads(dumps(record_of(game_map, [2, 1, 4, CRASH])))
        assert equal(record.first(), game_map.new_game())
        assert record.max_turns == 1200


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"moves": ".NS.z"}, "moves: .*move 4 is 'z'"),
        ({"moves": [7]}, "moves.0"),
        ({"ending": "Won"}, "ending"),
        ({"names": ["a", "b", "c"]}, "names"),
        ({"version": 4}, "version is 4, .* use the vindibot that wrote it"),
        ({"version": 1, "ending": "TurnMax"}, "version is 1, .* use the vindibot that wrote it"),
        ({"started": "2030-01-01T00:00:00"}, "started"),
    ],
)
def test_errors_of_unreadable_records_name_the_place(change: dict[str, Any], place: str) -> None:
    line = json.loads(dumps(record_of(generate(1, size=8), []))) | change
    with pytest.raises(GameRecordError, match=f"^line 7: .*{place}"):
        loads(json.dumps(line), "line 7")


def test_unknown_fields_are_ignored_and_broken_lines_are_refused() -> None:
    record = record_of(generate(1, size=8), [1, 2])
    assert loads(json.dumps(json.loads(dumps(record)) | {"later": 1})) == record
    for broken in (b"", b"{", b"[]", b"\xff", dumps(record)[:-9]):
        with pytest.raises(GameRecordError, match=r"^game record: "):
            loads(broken)


def test_errors_of_impossible_records_name_the_place() -> None:
    game_map = generate(1, size=8)
    with pytest.raises(GameRecordError, match="ply 4: a move after the end"):
        last(record_of(game_map, [0] * 5, max_turns=4, ending=Reason.FINISHED))
    with pytest.raises(GameRecordError, match="after 3 plies: the record says finished, but the game is still running"):
        last(record_of(game_map, [0] * 3, max_turns=4, ending=Reason.FINISHED))
    with pytest.raises(GameRecordError, match="says interrupted, but the game has ended: all-crashed"):
        last(record_of(game_map, [CRASH], training=True))
    broken = json.loads(dumps(record_of(game_map, [])))
    for start, problem in (("", "there is no board"), (broken["start"].replace("of 1200", f"of {2**31}"), "'2147483648' is no")):
        with pytest.raises(GameRecordError, match=f"abcd1234: the start: .*{problem}"):
            loads(json.dumps(broken | {"start": start})).first()


@pytest.mark.parametrize("name", ["games.jsonl", "games.jsonl.gz"])
def test_files_of_records(tmp_path: Path, name: str) -> None:
    records = [record_of(generate(seed, size=8), [seed % 5]) for seed in range(3)]
    text = b"\n".join(map(dumps, records)) + b"\n\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    assert list(read_records(path)) == records
    path.write_bytes(path.read_bytes()[:-30])
    if name.endswith(".gz"):
        with pytest.raises(GameRecordError, match="the file is cut off or damaged"):
            list(read_records(path))
    else:
        with pytest.warns(RuntimeWarning, match="line 3: the last line is unfinished"):
            assert list(read_records(path)) == records[:2]
    with pytest.raises(UsageError, match="No such file"):
        list(read_records(tmp_path / "none"))
