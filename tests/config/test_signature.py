"""Which build and which bot played a game: digests that change with what moves follow from, and results that tell them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from sim.cache import sources
from tests.support.commands import invoke
from tests.support.paths import TOP
from vindibot import __version__
from vindibot.arena.results import read_results
from vindibot.arena.seats.entrants import read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.config.bots import load_bot
from vindibot.config.load import load_config
from vindibot.config.signature import Build, build

COWARD = (TOP / "config" / "project" / "coward.py").read_text()
GAMES = ["--map", "m1", "--rounds", "2", "--seed", "3"]


@pytest.fixture(autouse=True)
def modules_of_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield
    forget()


def forget() -> None:
    """Have the modules of this file's bots imported anew."""
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pack", "helper", "more")]:
        del sys.modules[name]


def arena(folder: Path, *words: object) -> tuple[int, str]:
    return invoke(folder, "arena", *words)


# ---- Builds ----


def test_the_digest_of_sources_follows_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("sim", "behaviours"):
        (tmp_path / package / "deep").mkdir(parents=True)
    monkeypatch.setattr(sources, "__file__", str(tmp_path / "sim" / "cache" / "sources.py"))
    found = [sources.digest()]
    for path, text in (("sim/a.py", "1"), ("sim/a.py", "2"), ("behaviours/deep/b.py", "1"), ("behaviours/deep/c.py", "")):
        (tmp_path / path).write_text(text)
        found.append(sources.digest())
    (tmp_path / "behaviours/deep/b.py").rename(tmp_path / "behaviours/b.py")
    found.append(sources.digest())
    assert len(set(found)) == len(found)
    (tmp_path / "sim" / "notes.txt").write_text("no source")
    assert sources.digest() == found[-1]


def test_how_builds_differ() -> None:
    now = build()
    assert now.vindibot == __version__
    assert now.sources == sources.digest()
    then = replace(now, numba="0.1", sources="0" * 16)
    assert now.changes(now) == []
    assert now.changes(then) == [f"sources was {'0' * 16} and is {now.sources}", f"numba was 0.1 and is {now.numba}"]
    assert then.digest != now.digest == Build(**asdict(now)).digest
    shown = CliRunner().invoke(main, ["--version"]).output
    assert shown == f"vindibot, version {__version__}\nbuild {now.digest}: {now}\n"


# ---- Bots ----


def bot(folder: Path, text: str, files: Mapping[str, str] | None = None) -> str:
    """The digest of a bot file with these files beside it."""
    for name, content in {"bot.toml": text, **(files or {})}.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(content)
    forget()
    return load_bot(folder / "bot.toml").digest


def test_the_digest_of_a_bot_is_that_of_its_traits(tmp_path: Path) -> None:
    plain = "[traits.stay]\n[traits.mine-finder]\nlife_threshold = 30\n"
    same = bot(tmp_path / "a", plain)
    assert len(same) == 16
    (tmp_path / "base.toml").write_text("[traits.stay]\nweight = 1\n")
    extending = 'extends = "../base.toml"\n# a comment\n[traits.mine-finder]\nlife_threshold = 30\nweight = 1.0\n'
    assert bot(tmp_path / "b", extending) == same, "the same bot, said otherwise"
    (tmp_path / "base.toml").write_text("[traits.stay]\nweight = 2\n")
    assert load_bot(tmp_path / "b" / "bot.toml").digest != same, "what it extends has changed"
    for other in (plain.replace("30", "31"), plain + "weight = 2\n", "[traits.stay]\n"):
        assert bot(tmp_path / "c", other) != same


def test_the_sources_of_own_traits_count_with_all_that_they_import_from_there(tmp_path: Path) -> None:
    text = '[traits.coward]\nuse = "pack.coward:Coward"\n'
    own = f"from helper import *\nfrom . import near\nimport json\n{COWARD}"
    files = {"pack/__init__.py": "", "pack/coward.py": own, "pack/near.py": "import more", "helper.py": "", "more.py": ""}
    first = bot(tmp_path / "a", text, files)
    assert bot(tmp_path / "b", text, files | {"other.py": ""}) == first, "elsewhere, beside what it does not import"
    for name, source in files.items():
        assert bot(tmp_path / "c", text, files | {name: f"{source}\n# changed"}) != first, name
    circle = "if False:\n    import pack.coward, helper\n"
    assert bot(tmp_path / "d", text, files | {"helper.py": circle}) != first


def test_a_version_of_a_bot(tmp_path: Path) -> None:
    path = tmp_path / "bot.toml"
    path.write_text("version = 7\n[traits.stay]\n")
    assert load_bot(path).version == 7
    assert "version = 7" in CliRunner().invoke(main, ["config", str(path)]).output
    (tmp_path / "more.toml").write_text('extends = "bot"\n')
    assert load_bot(tmp_path / "more.toml").version == 1, "of a file of its own"
    assert load_bot(tmp_path / "more.toml").digest == load_bot(path).digest
    for value in ("0", "true", '"1"', "1.5"):
        path.write_text(f"version = {value}\n[traits.stay]\n")
        with pytest.raises(UsageError, match=r"bot\.toml, line 1: version must be (a whole number|at least 1), not "):
            load_bot(path)


def test_the_digest_of_a_program_is_that_of_the_files_in_its_command(tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text("1")
    (tmp_path / "own").write_text("#!/bin/sh\n")
    (tmp_path / "own").chmod(0o755)

    def digests() -> list[str]:
        given = {"bots": ["stdio:python3 client.py", "stdio:./own", "stdio:sleep 1", "stay"]}
        with contextlib.chdir(tmp_path):
            return [entrant.digest for entrant in read_entrants(load_config(ArenaSettings, None, given, environ={}))]

    first = digests()
    (tmp_path / "client.py").write_text("2")
    assert [now == then for now, then in zip(digests(), first, strict=True)] == [False, True, True, True]
    (tmp_path / "own").write_text("#!/bin/sh\n\n")
    assert [now == then for now, then in zip(digests(), first, strict=True)] == [False, False, True, True]
    assert first[3] == ""


# ---- Results ----


def test_every_line_of_results_tells_build_and_bots(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("version = 3\n[traits.stay]\n")
    assert arena(tmp_path, "mine.toml", "seed", "random", "stay", "--blocks", 1, *GAMES, "--results", "r.jsonl")[0] == 0
    seed = load_bot("seed")
    for line in map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines()):
        assert line["build"] == asdict(build())
        told = {seat["bot"]: (seat["version"], seat["digest"]) for seat in line["seats"]}
        assert told["seed"] == (seed.version, seed.digest)
        assert told["mine"][0] == 3
        assert told["random"] == told["stay"] == (None, "")
    assert f"vindibot {build()}" in (tmp_path / "r.html").read_text()


@pytest.mark.slow
def test_games_of_another_bot_or_build_are_only_added_where_that_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("[traits.stay]\n")
    assert arena(tmp_path, "mine.toml", "stay", "--blocks", 1, *GAMES, "--results", "r.jsonl")[0] == 0
    more = ["--resume", "r.jsonl", "--blocks"]
    mine.write_text("version = 2\n[traits.random]\n")
    code, said = arena(tmp_path, *more, 2)
    assert (code, "the files of mine have changed (version 1, now 2)" in said, "--mix-versions" in said) == (2, True, True), said
    code, said = arena(tmp_path, *more, 2, "--mix-versions")
    assert (code, "played by 2 versions of mine" in said) == (0, True), said
    assert arena(tmp_path, *more, 3)[0] == 0, "as the last of its games were"
    other = replace(build(), numba="0.1", vindibot="0.0.1")
    monkeypatch.setattr("vindibot.arena.store.build", lambda: other)
    code, said = arena(tmp_path, *more, 4)
    assert (code, f"vindibot was {__version__} and is 0.0.1; numba was {build().numba} and is 0.1" in said) == (2, True), said
    assert len(read_results(tmp_path / "r.jsonl")) == 18
    monkeypatch.setattr("vindibot.arena.schedule.build", lambda: other)
    code, said = arena(tmp_path, *more, 4, "--mix-versions")
    assert (code, "played by 2 builds of vindibot and 2 versions of mine" in said) == (0, True), said
    assert [game.build for game in read_results(tmp_path / "r.jsonl")] == [build()] * 18 + [other] * 6
    code, said = arena(tmp_path, "mine.toml", "stay", "--mix-versions")
    assert (code, "--mix-versions is only for --resume" in said) == (2, True), said
