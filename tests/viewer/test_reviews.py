"""The review of a game in the page of its record or recording."""

from __future__ import annotations

from pathlib import Path

from sim.maps import map_of
from tests.support.recorded import record_of
from tests.support.reviewed import BAD, HISTORY, REVIEW, SAMPLE, TURNS
from vindibot.games.files.recording import read_recording
from vindibot.games.files.review import read_review, write_review_line
from vindibot.games.game_record import dumps
from vindibot.games.outcome import Reason
from vindibot.viewer.replay import replay_file, source_file


def test_the_page_of_a_game_record_has_its_review(tmp_path: Path) -> None:
    record = record_of(map_of(HISTORY.first), HISTORY.moves, id="7fme9hnz", max_turns=192, ending=Reason.FINISHED)
    path = tmp_path / "x.review.jsonl"
    path.write_bytes(b"\n".join([dumps(record), *map(write_review_line, (REVIEW.header, *TURNS))]) + b"\n")
    page = replay_file(path, tmp_path / "x.html").read_text()
    assert page.count('"best_line":[') == len(BAD)
    offered = source_file(record, read_review(path))
    assert (offered.name, offered.content) == ("7fme9hnz.review.jsonl", path.read_bytes())


def test_the_page_of_a_recording_has_the_review_beside_it(tmp_path: Path) -> None:
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    recording, beside = tmp_path / "x.jsonl", tmp_path / "x.review.jsonl"
    recording.write_bytes(b"".join(line for line in lines if not line.startswith(b'{"review')))
    page = replay_file(recording, tmp_path / "x.html").read_text()
    assert '"review":null' in page
    beside.write_bytes(SAMPLE.read_bytes())
    page = replay_file(recording, tmp_path / "x.html").read_text()
    assert page.count('"best_line":[') == len(BAD)
    assert source_file(read_recording(recording)).content == recording.read_bytes()
    beside.write_bytes(SAMPLE.read_bytes().replace(b"7fme9hnz", b"another0"))
    assert '"review":null' in replay_file(recording, tmp_path / "x.html").read_text()
