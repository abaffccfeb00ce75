"""The review of a game in a bundle: the reviewed turns, and the plies of their lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.game import DIRECTIONS
from sim.maps import map_of
from tests.support.recorded import record_of
from tests.support.reviewed import BAD, HISTORY, REVIEW, SAMPLE, TURNS, heroes_after
from vindibot.games.files.recording import read_recording
from vindibot.games.files.review import read_review, write_review_line
from vindibot.games.game_record import dumps
from vindibot.games.outcome import Reason
from vindibot.viewer.bundle import bundle_of
from vindibot.viewer.replay import replay_file, source_file


@pytest.fixture(scope="module")
def bundle() -> dict[str, Any]:
    return json.loads(json.dumps(bundle_of(read_recording(SAMPLE))))


def test_the_bundle_has_every_reviewed_turn(bundle: dict[str, Any]) -> None:
    review = bundle["review"]
    assert (review["bot"], review["heroes"]) == ("strong", [0])
    assert [turn["turn"] for turn in review["turns"]] == [one.turn for one in TURNS]
    for turn, one in zip(review["turns"], TURNS, strict=True):
        assert (DIRECTIONS[turn["move"]], DIRECTIONS[turn["best"]], turn["mark"]) == (one.move, one.best, one.mark)
        assert {DIRECTIONS[move]: tuple(gold) for move, gold, _, _ in turn["values"]} == {v.move: v.gold for v in one.values}
        assert ("best_line" in turn) == ("played_line" in turn) == bool(one.mark)


def test_the_plies_of_a_line_follow_from_the_state(bundle: dict[str, Any]) -> None:
    for turn in bundle["review"]["turns"]:
        if turn["mark"]:
            one = next(one for one in BAD if one.turn == turn["turn"])
            for plies, line, move in (
                (turn["best_line"], one.best_line, turn["best"]),
                (turn["played_line"], one.played_line, turn["move"]),
            ):
                assert (plies[0]["t"], plies[0]["h"], plies[0]["o"]) == (one.turn + 1, 0, move)
                assert [ply["o"] for ply in plies] == [".NSEW".index(letter) for letter in line]
                values = {hero: (life, gold, mines) for ply in plies for hero, _, life, gold, mines, _ in ply.get("c", [])}
                assert values.items() <= dict(enumerate(heroes_after(one, line, len(line)))).items()


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
