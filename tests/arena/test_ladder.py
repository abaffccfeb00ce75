"""``vindibot ladder``: which bots play next, bots that come, change and go, one results file, and the page."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from vindibot.arena.ladder import Ladder, choose
from vindibot.arena.results import read_results
from vindibot.arena.settings import RUNGS, LadderSettings
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.config.load import load_config
from vindibot.devtools.catalogue import shipped_bots, strengths
from vindibot.statistics.ratings import Rating

WEAK = ("stay", "random", "calm=stay", "wild=random")
QUICK = ("--rounds", "3", "--size", "8", "--maps", "random", "--seed", "5", "--workers", "2")


def ladder_of(folder: Path, most: int | None = None, *rungs: str) -> tuple[Ladder, list[str]]:
    """Return a ladder and the list of its notes."""
    given = {"bots": list(rungs or WEAK), "rounds": 3, "maps.set": "random", "maps.sizes": [8], "seed": 5, "workers": 1}
    ladder, notes = Ladder(load_config(LadderSettings, None, given, environ={}), folder, most), list[str]()
    ladder.note = notes.append  # type: ignore[assignment, method-assign]
    return ladder, notes


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["ladder", str(folder), *arguments])


def bot(folder: Path, name: str, trait: str = "stay") -> None:
    (folder / f"{name}.toml").write_text(f"[traits.{trait}]\n")


@pytest.mark.slow
def test_the_command_plays_writes_one_file_a_page_and_a_table_and_goes_on(tmp_path: Path) -> None:
    folder, table = tmp_path / "bots", tmp_path / "table.toml"
    folder.mkdir()
    bot(folder, "mine")
    bot(folder, ".hidden")
    result = run(folder, *WEAK, *QUICK, "--games", "24", "--table", str(table))
    assert result.exit_code == 0, result.output
    assert "saved: 24 games in" in result.output
    lines = read_results(folder / "ladder.jsonl")
    assert len(lines) == 24
    page = (folder / "ladder.html").read_text()
    assert "ladder of bots" in page
    assert 'http-equiv="refresh"' not in page, "the ladder has ended"
    known = tomllib.loads(table.read_text())
    assert known["command"].startswith("vindibot ladder")
    assert {seat.bot for line in lines for seat in line.seats} == set(known["bots"]) == {"stay", "random", "calm", "wild", "mine"}
    assert run(folder, *WEAK, *QUICK, "--games", "24", "--table", str(table)).exit_code == 0  # nothing is left to play
    assert tomllib.loads(table.read_text())["bots"] == known["bots"]
    assert (folder / "ladder.html").read_text() == page
    again = run(folder, *WEAK, *QUICK, "--games", "28")
    assert again.exit_code == 0, again.output
    keys = [line.key for line in read_results(folder / "ladder.jsonl")]
    assert keys[:24] == [line.key for line in lines]
    assert len(set(keys)) == 28


@pytest.mark.parametrize(
    ("arguments", "difference"),
    [
        (("--rounds", "4"), "rounds was 3 and is 4"),
        (("--nodes", "50"), "limits.nodes was not set and is 50"),
        (("--positions", "standard"), 'positions was "" and is "standard"'),
    ],
)
def test_a_changed_setting_is_refused_by_name(tmp_path: Path, arguments: tuple[str, str], difference: str) -> None:
    ladder_of(tmp_path, 4)[0].play()
    settings = ("--rounds", "3", "--seed", "5", "--workers", "1", "--maps", "random", "--games", "4")
    sizes = () if "--positions" in arguments else ("--size", "8")
    result = run(tmp_path, *WEAK, *settings, *sizes, *arguments)
    assert result.exit_code == 2, result.output
    assert difference in result.output


def test_a_bot_without_a_name_is_named_after_its_folder_and_hidden_files_do_not_play(tmp_path: Path) -> None:
    for name in ("ann/bot.toml", "bob/bot.toml", "eve.toml", ".eve.toml", ".git/bot.toml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("[traits.stay]\n")
    for name in ("cid/main.py", "dan/src/main.py"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("")
    programs = (f"stdio:{sys.executable} {tmp_path / name}" for name in ("cid/main.py", "dan/src/main.py"))
    ladder, _ = ladder_of(tmp_path, None, *programs)
    ladder.read_bots()
    ladder.store.close()
    assert {*ladder.bots} == {"ann", "bob", "cid", "dan", "eve"}


TRAIT = "from behaviours import Behaviour\n\n\nclass Mine(Behaviour):\n    def vote(self, view):\n        return {}\n"


@pytest.mark.slow
def test_bots_come_change_and_go_while_it_plays(tmp_path: Path) -> None:
    (ladder, notes), seen = ladder_of(tmp_path, 40), list[set[str]]()

    def finished() -> None:
        count = len(ladder.lines)
        seen.append(set(ladder.lines[-1].bots))
        if count == 4:
            (tmp_path / "own.py").write_text(TRAIT.format(0))
            (tmp_path / "mine.toml").write_text('[traits.mine]\nuse = "own:Mine"\n')
        elif count == 12:
            (tmp_path / "own.py").write_text("def broken(:\n")
        elif count == 16:
            (tmp_path / "own.py").write_text(TRAIT.format(1) + "# changed\n")
            bot(tmp_path, "broken", "no-such-trait")
        elif count == 28:
            (tmp_path / "mine.toml").unlink()

    ladder.play(finished)
    assert not ladder.error
    assert not any("mine" in bots or "mine-2" in bots for bots in seen[:4])
    assert any("mine" in bots for bots in seen[4:12]), "a new bot has the widest interval, so it plays at once"
    assert any("mine-2" in bots for bots in seen[17:28])
    assert not any("mine" in bots for bots in seen[17:])
    assert not any("mine-2" in bots for bots in seen[29:])
    assert [text for text in notes if text[0] in "+-"] == ["+ mine", "- mine", "+ mine-2", "- mine-2"]
    for fault in ("own:Mine", "no-such-trait"):
        assert any(fault in text for text in notes if text.startswith("left out")), notes
    assert set(ladder.bots) == {"stay", "random", "calm", "wild"}
    assert {one.bot for one in ladder.summary(0).standings} == set(ladder.bots), "the table has the bots that play"


def test_an_interrupted_ladder_goes_on_with_new_blocks(tmp_path: Path) -> None:
    ladder, notes = ladder_of(tmp_path)

    def finished() -> None:
        if len(ladder.lines) == 6:
            ladder.stop.soon = True

    ladder.play(finished)
    assert re.fullmatch(r"4 games, \d+ a minute; .*", notes[0]), "a line per block"
    before = [line.key for line in ladder.lines]
    later, _ = ladder_of(tmp_path, len(before) + 4)
    later.play()
    keys = [line.key for line in later.lines]
    assert keys[: len(before)] == before
    last = max(block for block, _ in before)
    assert all(block > last for block, _ in keys[len(before) :])
    assert len({line.tournament for line in later.lines}) == 1


def test_a_bot_that_cannot_be_started_is_left_out(tmp_path: Path) -> None:
    program = tmp_path / "ends.sh"
    program.write_text("echo no settings >&2; exit 3\n")
    ladder, notes = ladder_of(tmp_path, 24, *WEAK, f"stdio:sh {program}")
    ladder.play()
    assert any(text.startswith("left out: ends forfeited each of its first 3 games") for text in notes)
    assert "ends" not in ladder.bots


def test_the_bot_with_the_widest_interval_plays_with_its_neighbours() -> None:
    ratings = [Rating(f"bot{number}", 1000 - 10 * number, 990 - 10 * number, 1010 - 10 * number) for number in range(20)]
    ratings[4] = Rating("new", 960, 700, 1200)
    rng, games = np.random.default_rng(1), {one.bot: 40 for one in ratings}
    chosen = [choose(ratings, games, rng) for _ in range(300)]
    assert {bots[0] for bots in chosen} == {"new"}
    assert {bot for bots in chosen for bot in bots[1:3]} == {f"bot{number}" for number in (1, 2, 3, 5, 6, 7)}
    assert {bot for bots in chosen for bot in bots[3:]} == {one.bot for one in ratings} - {"new"}, "weak and strong are connected"
    assert all(len(set(bots)) == 4 for bots in chosen)
    many = games | {"new": 4000}
    assert choose(ratings, many, rng)[0] != "new", "further games of a bot that loses every game say little"


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        ladder_of(tmp_path / "none")


def test_the_bots_that_ship_are_listed_with_their_strength() -> None:
    result = CliRunner().invoke(main, ["bots"], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    bots = shipped_bots()
    assert {bot.name for bot in bots} >= set(RUNGS)
    assert all(re.search(rf"(?m)^{re.escape(bot.name)} ", result.output) and bot.plays.endswith(".") for bot in bots)
    rated = {bot.name: bot for bot in bots if bot.rating is not None}
    assert set(rated) >= set(RUNGS)
    assert rated["random"].rating < rated["seed"].rating == 0 < rated["strong"].low  # type: ignore[operator]
    assert strengths()["command"] in result.output.replace("\n", " ")
