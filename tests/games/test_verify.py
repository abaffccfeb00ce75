"""Recorded games of the original server: every state, and the errors of invalid files."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.worlds import ORACLE, SAMPLE
from vindibot.games.retrace import Tally
from vindibot.games.verify import VerifyError, first_state, read_games, report, side_by_side, verify, verify_files, verify_game


def run(*paths: Path) -> tuple[int, str]:
    output = io.StringIO()
    code = verify_files(paths, Console(file=output, width=80))
    return code, output.getvalue()


def sample(name: str) -> dict[str, Any]:
    return next(game for _, game in read_games(SAMPLE) if game["id"].endswith(name))


def written(path: Path, *games: object) -> Path:
    path.write_text("".join(json.dumps(game) + "\n" for game in games))
    return path


def test_the_sample() -> None:
    code, output = run(SAMPLE)
    assert code == 0
    assert output.splitlines()[-1] == "17 games, 2838 states, 0 mismatches, 1 skipped"
    assert "skipped: games.jsonl.gz, line" in output
    assert "a square board of size 7 has 98 characters, not 112" in output


@pytest.mark.skipif(not ORACLE.is_dir(), reason="all the recorded games are not at hand; the sample has been checked")
def test_all_recorded_games() -> None:
    tally = Tally()
    for path in sorted(ORACLE.glob("*.jsonl.gz")):
        verify(path, tally)
    assert (tally.games, tally.states, tally.mismatches, len(tally.skipped)) == (65, 27218, 0, 2)


@pytest.mark.parametrize("change", ["turn", "finished", "tiles", "life", "gold", "mines", "pos", "last", "crashed", "end"])
def test_any_difference_is_found_and_shown(change: str, tmp_path: Path) -> None:
    game = sample("scenario-0515")
    state = game["states"][9]
    heroes = state[3]
    if change == "turn":
        state[0] += 1
    elif change == "finished":
        state[1] = True
    elif change == "tiles":
        place = state[2].index("$")
        state[2] = state[2][:place] + "##" + state[2][place + 2 :]
    elif change == "end":
        game["end"] = "AllCrashed"
    else:
        place = ["pos", "y", "life", "gold", "mines", "last", "crashed"].index(change)
        heroes[1][place] = {"pos": heroes[1][0] + 1, "last": "North", "crashed": True}.get(change, 77)
    states, difference = verify_game(game)
    assert difference is not None
    assert states == (len(game["moves"]) if change == "end" else 10)
    code, output = run(written(tmp_path / "changed.jsonl", sample("scenario-0508"), game))
    assert code == 1
    assert output.splitlines()[-1] == f"2 games, {100 + states} states, 1 mismatch, 0 skipped"
    assert f"game {game['id']}, ply {difference.ply}: {difference.move}" in output
    if change != "end":
        assert difference.expected != difference.got
        assert any("  !  " in line for line in output.splitlines())


def test_an_unknown_move_is_a_difference(tmp_path: Path) -> None:
    game = sample("scenario-0508")
    game["moves"][3] = "Jump"
    assert run(written(tmp_path / "jump.jsonl", game))[0] == 1


def test_the_first_state_of_a_training_game() -> None:
    assert first_state(sample("arena-crash12-0000"))[0]["training"] == 1


def damaged_gzip(path: Path) -> Path:
    data = bytearray(SAMPLE.read_bytes())
    data[3000:3010] = bytes(10)
    path.write_bytes(data)
    return path


def cut_gzip(path: Path) -> Path:
    path.write_bytes(SAMPLE.read_bytes()[:20000])
    return path


def cut_text(path: Path) -> Path:
    text = gzip.decompress(SAMPLE.read_bytes())
    path.write_bytes(text[: text.index(b"\n") + 4000])
    return path


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        ("cut.jsonl.gz", cut_gzip, "the file is cut off"),
        ("damaged.jsonl.gz", damaged_gzip, "damaged|line"),
        ("cut.jsonl", cut_text, "line 2: .* column"),
        ("plain.jsonl.gz", lambda path: written(path, {}), "cut off or damaged"),
        ("other.jsonl", lambda path: written(path, {"a": 1}), "line 1: this is no recorded game"),
        ("list.jsonl", lambda path: written(path, [1]), "line 1: this is no recorded game"),
        ("deep.jsonl", lambda path: path.write_text("[" * 100_000 + "\n"), "line 1: .*recursion.*; every line is one game"),
        ("long.jsonl", lambda path: path.write_text("9" * 5000 + "\n"), "line 1: .*digits.*; every line is one game"),
        ("binary.jsonl", lambda path: path.write_bytes(bytes(range(128, 256))), "line 1: .*codec"),
        ("missing.jsonl", lambda path: None, "No such file"),
        ("shorter.jsonl", lambda path: written(path, {**sample("turns22-0000"), "states": []}), "1 moves and 0 states"),
        ("holes.jsonl", lambda path: written(path, {**sample("turns22-0000"), "states": [[1]]}), "no recorded game"),
        ("strange.jsonl", lambda path: written(path, {**sample("turns22-0000"), "states": [7]}), "no recorded game"),
    ],
)
def test_a_file_that_cannot_be_read(name: str, make: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(VerifyError, match=message) as caught:
        verify(path, Tally())
    assert str(path) in caught.value.message
    # The command says so, and goes on with the next file.
    code, output = run(path, SAMPLE)
    assert code == 1
    assert str(path) in output
    assert " 0 mismatches" in output


def test_side_by_side() -> None:
    assert side_by_side("a\nlong line\nc", "a\nb") == "recorded      ours\na             a\nlong line  !  b\nc          !"
    assert report(Tally()) == "0 games, 0 states, 0 mismatches, 0 skipped"
