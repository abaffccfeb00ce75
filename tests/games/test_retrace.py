"""``vindibot verify`` on recordings of ours and on game records: do the states follow from the moves?"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sim.game import DIRECTIONS
from sim.generator import generate
from tests.support.recorded import HEADER, raw, record, record_of, states_of
from vindibot.cli.main import main
from vindibot.games.ballot import Ballot
from vindibot.games.files.recording import Recorder
from vindibot.games.game_record import dumps
from vindibot.games.outcome import Outcome, Reason


def verify(*paths: Path) -> tuple[int, list[str]]:
    result = CliRunner().invoke(main, ["verify", *map(str, paths)])
    return result.exit_code, result.output.splitlines()


def faithful(folder: Path, seed: int, hero: int) -> Path:
    """A recording whose moves are those that were played."""
    states = states_of(seed)
    with Recorder(folder, HEADER.model_copy(update={"hero": hero})) as recorder:
        for turn in range(hero - 1, 120, 4):
            played = int(states[turn + 1][0]["hero"][hero - 1]["last_dir"])
            recorder.turn(raw(states[turn]), Ballot(direction=played))
        recorder.finish(Outcome(), raw(states[-1]))
    assert recorder.path is not None
    return recorder.path


def change(path: Path, number: int, alter: Callable[[dict[str, Any]], object]) -> None:
    lines = path.read_text().splitlines()
    line = json.loads(lines[number])
    alter(line)
    lines[number] = json.dumps(line)
    path.write_text("\n".join(lines) + "\n")


def test_recordings_are_played_again(tmp_path: Path) -> None:
    paths = [faithful(tmp_path, seed, hero) for seed, hero in [(1, 1), (2, 3)]]
    assert verify(*paths) == (0, ["2 games, 242 states, 0 mismatches, 0 skipped"])
    crashed = record(tmp_path, states_of(9, crashes=0.02), 4).path
    assert verify(crashed)[0] == 0


@pytest.mark.parametrize("key", ["gold", "life", "tiles"])
def test_a_state_that_does_not_follow_is_shown(tmp_path: Path, key: str) -> None:
    path = faithful(tmp_path, 1, 1)

    def alter(line: dict[str, Any]) -> None:
        state = line["state"]
        if key == "tiles":
            tiles = state["board"]["tiles"]
            place = next(place for place in range(0, len(tiles), 2) if tiles[place : place + 2] == "  ")
            state["board"]["tiles"] = tiles[:place] + "##" + tiles[place + 2 :]
        else:
            state["heroes"][2][key] += 1 if key != "life" else -1

    change(path, 6, alter)
    code, lines = verify(path)
    assert code == 1
    assert lines[-1].endswith("1 mismatch, 0 skipped")
    assert lines[0].startswith("game abcd1234, ply 16: ")
    assert any(" ! " in line for line in lines)


def test_lost_turns_are_skipped_and_reported(tmp_path: Path) -> None:
    path = record(tmp_path, states_of(3), 2, without=frozenset({41, 45})).path
    code, lines = verify(path)
    assert code == 0
    assert f"skipped: {path.name}, game abcd1234: turns 37 to 49 were lost" in lines
    assert lines[-1] == "1 game, 110 states, 0 mismatches, 1 skipped"


def test_a_move_that_never_arrived_is_noted(tmp_path: Path) -> None:
    path = faithful(tmp_path, 1, 1)
    lines = path.read_text().splitlines()
    played = json.loads(lines[3])["move"]
    other = DIRECTIONS[(DIRECTIONS.index(played) + 1) % 5]
    change(path, 3, lambda line: line.update(move=other))
    code, said = verify(path)
    assert code == 0
    assert said[0] == f"note: {path.name}, turn 8: we moved {other}, the game shows {played}"


def test_game_records(tmp_path: Path) -> None:
    board = generate(1, size=8)
    path = tmp_path / "cup.games.jsonl"
    good = record_of(board, [1, 2, 3, 4], id="good")
    path.write_bytes(dumps(good) + b"\n" + dumps(record_of(board, [1] * 8, id="full", max_turns=8, ending=Reason.FINISHED)))
    assert verify(path) == (0, ["2 games, 14 states, 0 mismatches, 0 skipped"])
    bad = tmp_path / "bad.games.jsonl"
    bad.write_bytes(
        dumps(record_of(board, [1, 2], id="short", ending=Reason.FINISHED))
        + b"\n"
        + dumps(record_of(board, [1] * 9, id="long", max_turns=8, ending=Reason.FINISHED))
    )
    code, lines = verify(bad)
    assert code == 1
    assert lines == [
        "wrong: bad.games.jsonl: game short, after 2 plies: the record says finished, but the game is still running",
        "wrong: bad.games.jsonl: game long, ply 8: a move after the end of the game",
        "2 games, 12 states, 2 mismatches, 0 skipped",
    ]


def test_files_of_no_kind_keep_their_message(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"format": "vindibot-recording", "version": 99}\n')
    code, lines = verify(path)
    assert code == 1
    assert "update vindibot" in lines[0]
    path.write_text("{}\n")
    assert "this is no recorded game" in verify(path)[1][0]
    assert "No such file" in verify(tmp_path / "none")[1][0]
