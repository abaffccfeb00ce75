"""The games in a file: the choice of one, files that another program still writes, and files of another kind."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from sim.generator import generate
from tests.support.commands import invoke
from tests.support.recorded import raw, record, record_of, states_of
from vindibot.base.errors import UsageError, VindibotError
from vindibot.games.files.game_files import read_game_file, read_records
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.history import GameHistory


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A file of two games, `one` and `two`."""
    path = tmp_path / "games.jsonl"
    path.write_bytes(b"".join(dumps(record_of(generate(1, size=8), [1, 2], id=name)) + b"\n" for name in ("one", "two")))
    return path


@pytest.mark.parametrize(("game", "found"), [("1", "one"), ("2", "two"), ("two", "two")])
def test_a_game_is_chosen_by_number_or_id(two: Path, game: str, found: str) -> None:
    record = read_game_file(two, game)
    assert isinstance(record, GameRecord)
    assert record.id == found


@pytest.mark.parametrize(
    ("game", "words"), [(None, r"holds 2 games: choose one .* \(one, two\)"), ("3", r"no game '3'; it holds 2 \(one, two\)")]
)
def test_the_error_lists_the_games_if_none_is_chosen(two: Path, game: str | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_game_file(two, game)


def test_a_recording_has_one_game(tmp_path: Path) -> None:
    recording = record(tmp_path, states_of(4, plies=8), 1).path
    with pytest.raises(UsageError, match="the recording of game abcd1234 alone"):
        read_game_file(recording, "x")


def test_records_of_earlier_versions_are_recognised(two: Path) -> None:
    old = json.loads(two.read_bytes().splitlines()[0]) | {"version": 2}
    old["map"] = old.pop("start")
    two.write_text(json.dumps(old) + "\n")
    with pytest.raises(VindibotError, match=r"the format's version is 2, this program reads 3: use the vindibot that wrote it"):
        read_game_file(two)


@pytest.mark.parametrize("rest", [b'{"id":"three","map":', bytes(300), bytes(300) + b"\n"])
@pytest.mark.parametrize(
    "command",
    ["replay {} --game two --html x.html", "turn {} --game two --turn 1 --bot stay", "review {} --game two --nodes 1000"],
)
def test_an_unfinished_last_line_is_left_out_with_a_warning(two: Path, tmp_path: Path, command: str, rest: bytes) -> None:
    two.write_bytes(two.read_bytes() + rest)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        code, printed = invoke(tmp_path, *command.format(two.name).split())
    assert code == 0, printed
    assert printed.count("warning: games.jsonl, line 3: the last line is unfinished and was left out\n") == 1


def test_a_recording_and_a_stream_are_read_while_they_are_written(tmp_path: Path) -> None:
    states = states_of(4, plies=40)
    recording = record(tmp_path, states, 1).path
    recording.write_bytes(recording.read_bytes()[:-30])
    stream = tmp_path / "events.txt"
    stream.write_bytes(b"".join(b"data: %b\n\n" % json.dumps(raw(state)).encode() for state in states[1:])[:-40])
    for path, last in ((recording, 36), (stream, 39)):
        with pytest.warns(RuntimeWarning, match=f"{path.name}, line .*: the last line is unfinished"):
            assert GameHistory.read(path).turn(-1) == last


@pytest.mark.parametrize("ratings", [[1], {"a": 1}])
def test_data_of_another_program_in_a_record_spoils_nothing(two: Path, tmp_path: Path, ratings: object) -> None:
    """The ratings of the players are no list of four, so they are not known."""
    odd = json.loads(two.read_bytes().splitlines()[0]) | {"id": "odd", "extra": {"elo": ratings, "time_limit_ms": "soon"}}
    two.write_bytes(two.read_bytes() + json.dumps(odd).encode() + b"\n")
    for game in ("two", "odd"):
        code, printed = invoke(tmp_path, "replay", two.name, "--game", game, "--html", "x.html")
        assert code == 0, printed
    history = GameHistory.read(two, "odd")
    assert [player.elo for player in history.players] == [None] * 4
    assert history.limit_ms is None


def test_results_of_an_arena_stand_for_the_game_records_beside_them(two: Path, tmp_path: Path) -> None:
    results = tmp_path / "cup.jsonl"
    results.write_text('{"version":3,"tournament":""}\n')
    commands = (
        ("replay", results.name, "--game", "two", "--html", "x.html"),
        ("learn", "imitate", results.name, "--net", "x.npz"),
    )
    for words in commands:
        assert (
            "cup.jsonl: its game records are missing (cup.games.jsonl): play with records = true" in invoke(tmp_path, *words)[1]
        )
    two.rename(tmp_path / "cup.games.jsonl")
    assert invoke(tmp_path, *commands[0])[0] == 0
    assert "no finished game" in invoke(tmp_path, *commands[1])[1], "it reads the games"
    with pytest.raises(UsageError, match="is a recording: give game records"):
        list(read_records(record(tmp_path, states_of(1, plies=8), 1).path))


def test_a_state_needs_no_turn_and_must_agree_with_itself(tmp_path: Path) -> None:
    path, state = tmp_path / "state.json", raw(states_of(5, plies=40)[26])
    path.write_text(json.dumps(state))
    code, printed = invoke(tmp_path, "turn", path.name, "--bot", "stay", "--nodes", "100")
    assert (code, "turn 26" in printed) == (0, True), printed
    for key, value, words in (("mineCount", 4, r"mineCount: 4, but the board shows 0"), ("life", 0, r"life: 0")):
        changed = json.loads(json.dumps(state))
        changed["heroes"][1][key] = value
        path.write_text(json.dumps(changed))
        for command in (("play", "--from", path.name, "--against", "stay"), ("turn", path.name, "--bot", "stay")):
            code, printed = invoke(tmp_path, *command)
            assert code == 2, printed
            assert printed.endswith(f"error: state.json, turn 26: game.heroes[1].{words}, so no game can go on from here\n")


@pytest.mark.parametrize(("name", "head"), [("w.npy", b"\x93NUMPY"), ("w.pt", b"PK\x03\x04\xff"), ("w.pkl", b"\x80\x04x")])
def test_a_net_in_place_of_a_bot_is_named(tmp_path: Path, name: str, head: bytes) -> None:
    (tmp_path / name).write_bytes(head)
    for command in (("play", "--bot"), ("arena", "stay"), ("learn", "match", "learned", "--against")):
        code, printed = invoke(tmp_path, *command, name)
        assert code == 2
        assert f"{name}: this is a" in printed, printed
        assert "docs/learn.md" in printed
