"""Recordings: writing and reading, lost lines, and the plies between two recorded turns."""

from __future__ import annotations

import contextlib
import json
import resource
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from sim.game import CRASH, RUNNING, equal
from tests.support.oracle import read_games, shown as facts, states_of as recorded_states
from tests.support.paths import SHARED
from tests.support.recorded import BALLOT, HEADER, PLAYERS, raw, record, states_of
from tests.support.reviewed import SAMPLE, WORST
from vindibot.base.errors import UsageError
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recorded_turn import choose_turn
from vindibot.games.files.recording import Header, Recorder, RecordingError, read_recording
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Outcome, Reason
from vindibot.games.protocol import ProtocolError, read_game, to_games

ORACLE = SHARED / "oracle"


def test_a_recording_is_read_as_written(tmp_path: Path) -> None:
    states = states_of(1)
    recording = record(tmp_path / "new" / "folder", states, 1)
    assert recording.header == HEADER
    assert recording.names == tuple(player.name for player in PLAYERS)
    assert [own.turn for own in recording.turns] == list(range(0, 120, 4))
    assert recording.turns[3].ballot == BALLOT
    assert recording.turns[3].state == read_game(raw(states[12]))
    assert equal(recording.turn(12).games, states[12])
    assert recording.last is not None
    assert recording.outcome is not None
    assert recording.outcome.reason == "finished"
    assert recording.last.state.finished
    assert equal(recording.recent(12)[1:], np.concatenate([states[4], states[8]]))
    assert len(recording.recent(12)) == 3
    assert len(recording.recent(0)) == 0
    with pytest.raises(RecordingError, match="turn 13 is not a recorded turn of hero 1; the nearest are 12 and 16"):
        recording.turn(13)


def test_protocol_models_and_infinite_deadlines_can_be_recorded(tmp_path: Path) -> None:
    with Recorder(tmp_path, HEADER) as recorder:
        recorder.turn(read_game(raw(states_of(1)[0])), Ballot([BallotEntry("x", 1, None, np.inf)], margin_ms=float("inf")))
    assert recorder.path is not None
    (own,) = read_recording(recorder.path).turns
    assert np.isnan(own.ballot.margin_ms)
    assert own.state == read_game(raw(states_of(1)[0]))


# ---- The plies in between ----


@pytest.mark.parametrize("training", [False, True])
def test_the_plies_between_own_turns_are_recomputed(tmp_path: Path, training: bool) -> None:
    crashed = 0
    for seed in range(12):
        states = states_of(seed, plies=90 + seed, crashes=0.02, training=training)
        hero = seed % 4 + 1
        end = next((k for k, state in enumerate(states) if state[0]["hero"][hero - 1]["crashed"]), len(states))
        recording = record(tmp_path, states, hero, outcome=end == len(states))
        history = GameHistory.of(recording)
        assert not history.gaps
        assert not history.begins_late
        # After our own crash nobody tells us anything.
        known = states if end == len(states) else states[: recording.turns[-1].turn + 1]
        assert [facts(games) for games in history.states()] == [facts(state) for state in known]
        assert [facts(ply.after) for ply in history] == [facts(state) for state in known[1:]]
        assert [ply.mover for ply in history] == [number % 4 for number in range(len(history))]
        assert [history.turn(number) for number in history.ballots] == [own.turn for own in recording.turns]
        crashed += history.moves.count(CRASH)
    assert crashed > 5


def test_lost_turns_are_a_gap(tmp_path: Path) -> None:
    states = states_of(3)
    recording = record(tmp_path, states, 2, without=frozenset({1, 41, 45}))
    history = GameHistory.of(recording)
    assert (history.begins_late, history.turn(0)) == (True, 5)
    assert [ply.turn for ply in history if ply.gap] == [49]
    expected = [*range(5, 38), *range(49, 121)]
    assert [history.turn(number) for number in range(len(history) + 1)] == expected
    assert all(facts(games) == facts(states[turn]) for games, turn in zip(history.states(), expected, strict=True))


def test_a_state_that_does_not_follow_is_a_gap(tmp_path: Path) -> None:
    recording = record(tmp_path, states_of(3), 1)
    lines = recording.path.read_text().splitlines()
    line = json.loads(lines[6])
    line["state"]["heroes"][2]["gold"] += 1
    lines[6] = json.dumps(line)
    recording.path.write_text("\n".join(lines) + "\n")
    assert [ply.turn for ply in GameHistory.of(read_recording(recording.path)) if ply.gap] == [20, 24]


@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
@pytest.mark.parametrize("name", ["generated", "handmade", "scenario", "odd"])
def test_the_plies_of_the_original_servers_games(name: str, share: int) -> None:
    source = ORACLE / f"{name}.jsonl.gz"
    if not source.exists():
        pytest.skip("the games recorded from the original server are not here")
    for number, game in islice(enumerate(read_games(source)), 0, None, share):
        try:
            states = [to_games(read_game(raw(state))) for state in recorded_states(game)]
        except ProtocolError:
            assert name == "odd"
            continue
        me = number % 4
        history = GameHistory()
        for state in [s for s in states if s[0]["turn"] % 4 == me and s[0]["status"] == RUNNING] + states[-1:]:
            history.append(state)
        if name == "odd":
            continue  # what is hidden below heroes cannot be known; it must not raise
        assert len(history.gaps) + history.begins_late <= (0 if name == "generated" else 1), game["id"]
        first = history.turn(0)
        assert [facts(games) for games in history.states()] == [facts(state) for state in states[first:]], game["id"]


# ---- Secrets, file names, full disks ----


def test_no_secret_is_written(tmp_path: Path) -> None:
    header = Header(bot="seed", game="g", hero=1, server="http://me:s3cret@example.org:8080/api/training?key=s3cret")
    state = raw(states_of(1)[0]) | {"token": "s3cret", "playUrl": "http://h/api/g/s3cret/play"}
    with Recorder(tmp_path, header) as recorder:
        recorder.turn(state, BALLOT)
        recorder.finish(Outcome(Reason.UNREACHABLE, "no answer from http://h/api/g/s3cret/play"))
    assert recorder.path is not None
    text = recorder.path.read_text()
    assert "s3cret" not in text
    assert '"server":"http://example.org:8080"' in text
    assert "http://h/api/g/********/play" in text


def test_a_games_id_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    header = HEADER.model_copy(update={"game": "../../../etc/passwd", "bot": "Ü/..", "started": "2024-05-06T07:08:09+00:00"})
    paths = []
    for _ in range(2):
        with Recorder(tmp_path / "in", header) as recorder:
            paths.append(recorder.path)
    assert [path.name for path in paths if path] == [
        "20240506-070809-x-etc-passwd-hero1.jsonl",
        "20240506-070809-x-etc-passwd-hero1-1.jsonl",
    ]
    assert all(path and path.parent == tmp_path / "in" for path in paths)


def test_a_full_disk_is_logged_once_and_loses_only_its_turns(tmp_path: Path) -> None:
    states = states_of(1)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with capture_logs() as logs, Recorder(tmp_path, HEADER) as recorder:
        recorder.turn(raw(states[0]), BALLOT)
        assert recorder.path is not None
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (recorder.path.stat().st_size + 100, limits[1]))
            recorder.turn(raw(states[4]), BALLOT)
            recorder.turn(raw(states[8]), BALLOT)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        recorder.turn(raw(states[12]), BALLOT)
        recorder.finish(Outcome())
    assert [entry["log_level"] for entry in logs] == ["warning"]
    assert "the recording will lack turns" in logs[0]["event"]
    recording = read_recording(recorder.path)
    assert [own.turn for own in recording.turns] == [0, 12]
    assert recording.outcome is not None


def test_a_folder_that_cannot_be_created_is_only_logged(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with capture_logs() as logs, Recorder(tmp_path / "file" / "folder", HEADER) as recorder:
        recorder.turn(raw(states_of(1)[0]), BALLOT)
        recorder.finish(Outcome())
    assert recorder.path is None
    assert len(logs) == 1
    assert "not recorded" in logs[0]["event"]


# ---- Files that are not as they should be ----


def test_a_recording_cut_anywhere_has_its_whole_lines(tmp_path: Path) -> None:
    recording = record(tmp_path, states_of(1, plies=12), 1)
    data = recording.path.read_bytes()
    first, last = data.index(b"\n") + 1, data.rindex(b"\n", 0, -1) + 1
    cut = tmp_path / "cut.jsonl"
    for length in range(first, len(data) + 1, 7):
        cut.write_bytes(data[:length])
        unfinished = not data[:length].endswith(b"\n")
        with pytest.warns(RuntimeWarning, match="is unfinished") if unfinished else contextlib.nullcontext():
            read = read_recording(cut)
        assert len(read.turns) == min(3, data[:length].count(b"\n") - 1)
    cut.write_bytes(data[:last] + bytes(500))
    with pytest.warns(RuntimeWarning, match=r"cut\.jsonl, line 5: the last line is unfinished and was left out"):
        assert read_recording(cut).outcome is None
    cut.write_bytes(data[:-1])  # only the end of the line is missing: nothing is lost
    assert read_recording(cut).outcome == recording.outcome


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (1, lambda value: value | {"format": "chess"}, "line 1: this is no recording"),
        (1, lambda value: value | {"version": 99}, "line 1: the format's version is 99, .* use the vindibot that wrote it"),
        (1, lambda value: value | {"hero": 5}, "line 1: hero: "),
        (3, lambda value: value | {"move": "Up"}, "line 3: move: "),
        (
            3,
            lambda value: value | {"votes": [{"label": "x", "weight": 1, "votes": [1]}]},
            r"line 3: votes.0.votes: ",
        ),
        (3, lambda value: value | {"turn": 8}, "line 3: the line is of turn 8, but its state is of turn 4"),
        (3, lambda value: value | {"turn": 0, "state": value["state"] | {"turn": 0}}, "line 3: turn 0 comes after turn 0"),
        (3, lambda value: value | {"turn": 5, "state": value["state"] | {"turn": 5}}, "line 3: turn 5 is not a turn of hero 1"),
        (3, lambda value: value | {"state": value["state"] | {"board": {"size": 10, "tiles": "##"}}}, "line 3: state: .*tiles"),
        (3, lambda value: {"outcome": {"reason": "finished"}}, "line 4: the outcome must be the last line"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, line: int, change: Any, message: str) -> None:
    recording = record(tmp_path, states_of(1, plies=16), 1)
    lines = recording.path.read_text().splitlines()
    lines[line - 1] = json.dumps(change(json.loads(lines[line - 1])))
    recording.path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RecordingError, match=f"{recording.path}, {message}"):
        read_recording(recording.path)


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    with pytest.raises(RecordingError, match="cannot be read: No such file"):
        read_recording(path)
    for content, message in ((b"", "empty"), (b'{"format":"vindibot-rec', "line 1: this is no JSON")):
        path.write_bytes(content)
        with pytest.raises(RecordingError, match=message):
            read_recording(path)


def test_a_turn_is_chosen_by_its_number_its_round_or_its_place_among_the_worst(tmp_path: Path) -> None:
    recording = read_recording(SAMPLE)
    own = [turn.turn for turn in WORST if turn.hero == recording.header.hero]
    assert choose_turn(recording, worst=1).turn == own[0]
    assert choose_turn(recording, worst=2).turn == own[1]
    assert choose_turn(recording, turn=own[0]).turn == own[0]
    assert choose_turn(recording, round_number=3).turn == 8 + recording.me
    with pytest.raises(UsageError, match=f"has {len(own)} bad moves of hero {recording.header.hero}"):
        choose_turn(recording, worst=len(own) + 1)
    with pytest.raises(UsageError, match="one of --turn, --round and --worst"):
        choose_turn(recording, turn=0, worst=1)
    with pytest.raises(UsageError, match="has no review: make one with  vindibot review"):
        choose_turn(record(tmp_path, states_of(1, plies=8), 1), worst=1)
