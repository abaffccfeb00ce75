"""`vindibot league slips`: a page with a slip per bot, and what it refuses."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from tests.support.commands import environment, printed
from tests.support.documents import follow
from tests.support.installed import shims
from tests.support.paths import TOP

SERVER = "http://192.0.2.7:9000"


@pytest.fixture
def spring(here: Path) -> Path:
    """The current folder, with a league of two bots. The bot bob has brought its own key."""
    (here / "class.csv").write_text("name,key\n<ann>,\nbob,b$b o'bs\n")
    printed("league", "new", "spring", "class.csv")
    return here


def make_slips(*words: str, code: int = 0) -> str:
    return " ".join(printed("league", "slips", "spring.league.json", *words, code=code).split())


def slips(page: str) -> list[str]:
    return [html.unescape(slip) for slip in re.findall(r"<li>.*?</li>", page, re.DOTALL)]


def test_each_bot_has_a_slip_with_all_that_its_author_needs(spring: Path) -> None:
    key = (spring / "spring-keys.csv").read_text(encoding="utf-8-sig").splitlines()[1].partition(",")[2]
    assert key not in make_slips("--server", SERVER)
    path = spring / "spring-slips.html"
    assert path.stat().st_mode & 0o777 == 0o600, "it has keys"
    page = path.read_text()
    assert "<bdi>&lt;ann&gt;</bdi>" in page
    ann, bob = slips(page)
    assert f"VINDIBOT_KEY={key} vindibot play --config arena --server {SERVER}" in ann
    assert f"{SERVER}/leagues/spring" in ann
    assert f"{SERVER}/starters" in ann
    assert f"python3 bot.py {SERVER} {key}" in ann
    assert "<svg" in ann
    assert f'aria-label="QR code: {SERVER}/leagues/spring"' in page, "the QR code has no key"
    assert """VINDIBOT_KEY='b$b o'"'"'bs' vindibot play""" in bob
    assert f"""python3 bot.py {SERVER} 'b$b o'"'"'bs'""" in bob
    (spring / "bobs.csv").write_text("name,key\nbob,b$b o'bs\n")
    again = make_slips("--keys", "bobs.csv", "--server", "https://host.example/vin")
    assert "for the server https://host.example/vin;" in again
    ann, bob = slips(path.read_text())
    assert key not in ann
    assert "VINDIBOT_KEY=YOUR-KEY" in ann
    assert 'class="gap"' in ann
    assert "--server https://host.example/vin " in bob
    assert "<dd>https://host.example/vin</dd>" in bob
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("my own page")
    assert "was not made by vindibot league slips spring" in make_slips(code=2)
    assert path.read_text() == "my own page"


@pytest.mark.parametrize(
    ("line", "words"), [("zoe,abcdabcd", "has no bot 'zoe'"), ("bob,abcdabcd", "is not its key in the league spring")]
)
def test_keys_of_another_league_are_refused(spring: Path, line: str, words: str) -> None:
    (spring / "other.csv").write_text(f"name,key\n{line}\n")
    refused = make_slips("--keys", "other.csv", code=2)
    assert (words in refused, "abcdabcd" in refused) == (True, False)
    assert not (spring / "spring-slips.html").exists()


@pytest.mark.slow
def test_the_sample_of_a_lesson(tmp_path: Path) -> None:
    text = (TOP / "docs" / "league.md").read_text().partition("## A lesson\n")[2].partition("\n## ")[0]
    (tmp_path / "class.csv").write_text("\n".join(f"pupil{number}" for number in range(12)))
    around = environment()
    assert len(follow(text, tmp_path, around | {"PATH": f"{shims(tmp_path / 'bin')}:{around['PATH']}"})) == 1
