"""``vindibot replay``: recordings and game records as single files, and the errors for other files."""

from __future__ import annotations

import base64
import gzip
import json
import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sim.generator import generate
from tests.support.recorded import record, states_of
from vindibot.cli.main import main
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.outcome import Reason
from vindibot.viewer.page import whole_page

NASTY = "</script><script>alert(1)</script>"


def replay(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


def bundle_in(page: Path) -> dict[str, Any]:
    found = re.findall(r'<script type="application/json" id="game">(.*?)</script>', page.read_text())
    bundle: dict[str, Any] = json.loads(found[0])
    return bundle


def record_of(game: str) -> GameRecord:
    return GameRecord.of(
        generate(5, size=10).new_game(8),
        id=game,
        names=(NASTY, "b", "c", "d"),
        moves=(1, 2, 3, 4, 0, 1, 2, 3),
        ending=Reason.FINISHED,
        started=datetime(2026, 1, 2, tzinfo=UTC),
        finished=datetime(2026, 1, 2, tzinfo=UTC),
    )


def test_a_recording_becomes_one_file_that_loads_nothing(here: Path) -> None:
    recording = record(here / "recordings", states_of(2), 1)
    out = here / "new" / "game.html"
    pages = []
    for path in (recording.path.relative_to(here), recording.path):
        result = replay(path, "--html", out)
        assert result.exit_code == 0, result.output
        assert str(out) in result.output
        pages.append(out.read_text())
    assert pages[0] == pages[1]
    assert file_in(out) == (recording.path.name, recording.path.read_bytes())
    bundle = bundle_in(out)
    assert bundle["me"] == 0
    assert len(bundle["why"]["turns"]) == len(recording.turns)
    page = pages[0]
    assert str(here) not in page
    assert not re.search('(src|href)="(?!data:)', page.split("</head>")[0])
    assert not re.search(r'"(https?:)?//', page)
    assert "default-src 'none'" in unescape(page)
    assert "connect-src" not in page


def file_in(page: Path) -> tuple[str, bytes]:
    """Return the file that a page has for its download: name and content."""
    found = re.search(r'<template id="file" data-name="(.*?)">(.*?)</template>', page.read_text())
    assert found is not None
    return found.group(1), gzip.decompress(base64.b64decode(found.group(2)))


def test_the_page_of_one_of_several_games_has_only_that_record(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(dumps(record_of(game)) for game in ("first000", "../second"))))
    out = tmp_path / "out.html"
    assert "choose one with --game" in replay(path, "--html", out).output
    assert "there is no game" in replay(path, "--html", out, "--game", "third").output
    for game in ("first000", "2"):
        assert replay(path, "--html", out, "--game", game).exit_code == 0
    assert file_in(out) == ("-second.games.jsonl", dumps(record_of("../second")) + b"\n")


def test_without_a_name_the_page_goes_into_the_current_folder(here: Path) -> None:
    games = here / "games"
    games.mkdir()
    (games / "one.jsonl").write_bytes(dumps(record_of("abcdefgh")) + b"\n")
    assert "one.html" in replay(games / "one.jsonl").output
    bundle = bundle_in(here / "one.html")
    assert bundle["id"] == "abcdefgh"
    assert bundle["players"][0]["name"] == NASTY
    assert (here / "one.html").read_text().count("</script>") == 2
    assert bundle["why"] is None
    assert bundle["me"] is None
    assert len(bundle["plies"]) == 8


def test_a_title_and_a_name_of_signs_are_text() -> None:
    name = "<script>\"'&"
    page = whole_page({"title": name, "players": [{"name": name}]})
    assert page.count("<script") == page.count("</script>") == 2
    assert f"<title>{name}</title>" in unescape(page)
    assert json.loads(page.partition(' id="game">')[2].partition("</script>")[0])["players"] == [{"name": name}]


@pytest.mark.filterwarnings("default:.*the last line is unfinished")
@pytest.mark.parametrize("damage", ["cut", "middle", "empty", "text", "states"])
def test_damaged_files_are_named_with_the_reason(tmp_path: Path, damage: str) -> None:
    recording = record(tmp_path, states_of(2), 1)
    lines = recording.path.read_bytes().splitlines(keepends=True)
    path = tmp_path / "bad.jsonl"
    content = {
        "cut": b"".join(lines)[:-40],
        "middle": b"".join([*lines[:3], lines[3][:50] + b"\n", *lines[4:]]),
        "empty": b"",
        "text": b"\x89PNG what is this\n",
        "states": lines[0],
    }[damage]
    path.write_bytes(content)
    result = replay(path, "--html", tmp_path / "out.html")
    if damage == "cut":  # what a crash leaves can be seen all the same
        assert result.exit_code == 0
        assert bundle_in(tmp_path / "out.html")["ending"]["kind"] == "interrupted"
    else:
        assert result.exit_code in (1, 2)
        assert "bad.jsonl" in result.output
        assert ("line 4" in result.output) == (damage == "middle")
        assert "Traceback" not in result.output
        assert not (tmp_path / "out.html").exists()


def test_files_that_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(dumps(record_of("abcdefgh")) + b"\n")
    assert replay(tmp_path / "none.jsonl").exit_code == 2
    assert replay(tmp_path).exit_code == 2
    assert "is the game itself" in replay(path, "--html", path).output
    assert path.read_bytes() == dumps(record_of("abcdefgh")) + b"\n"
    assert "is a folder" in replay(path, "--html", tmp_path).output
    damaged = path.read_bytes().replace(b'"ending":"finished"', b'"ending":"all-crashed"')
    path.write_bytes(damaged)
    assert "the record says all-crashed" in replay(path, "--html", tmp_path / "x.html").output
