"""``vindibot serve`` and ``vindibot league`` as commands."""

from __future__ import annotations

import asyncio
import csv
import os
import re
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result

from tests.support.commands import begin, ended, line_with
from vindibot.cli.main import main
from vindibot.league.settings import LeagueServerSettings

BARE = "name\nann\nbob\ncid\n"


def run(*words: str | Path, environ: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], env=environ)


@asynccontextmanager
async def serving(folder: Path, *words: object) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Start a server, and yield its process and its address."""
    process = await begin(folder, "serve", "--port", "0", *map(str, words))
    try:
        yield process, (await line_with(process, "serving on")).split()[2]
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def stop(process: asyncio.subprocess.Process) -> str:
    """Interrupt the server, and return what it had to add."""
    process.send_signal(signal.SIGINT)
    rest = await ended(process)
    assert process.returncode == 0
    return rest


@pytest.mark.parametrize("command", ["serve", "challenge"])
def test_a_port_in_use_is_one_line_and_an_exit_code(command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run(command, "--port", str(taken.getsockname()[1]))
    assert result.exit_code == 2
    assert "the port is in use; choose another one" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--lan", "--host", "127.0.0.1"], "--lan listens on all interfaces, --host on one"),
        (["--port", "70000"], "option --port: port must be at most 65535"),
        (["--limit-ms", "soon"], "option --limit-ms: time_limit_ms must be a whole number"),
        (["--pace", "fast"], "option --pace: pace must be 'none' or 'original'"),
        (["--league", "nosuch.league.json"], "the league nosuch.league.json cannot be read"),
        (["--admin-key-file", "nosuch.key"], "the key file nosuch.key cannot be read"),
        (["--host", "nosuch.invalid"], "cannot listen on nosuch.invalid"),
        (["--host", "192.0.2.1"], "cannot listen on 192.0.2.1, port 9000: Cannot assign requested address"),
        (["--db", "nosuch/server.db"], "there is no folder nosuch; make it first"),
        (["--db", __file__], "this is not a database"),
    ],
)
def test_an_invalid_value_is_named_with_its_option(words: list[str], says: str) -> None:
    result = run("serve", *words)
    assert result.exit_code == 2
    assert says in result.output


@pytest.mark.parametrize(
    ("words", "keys", "host"),
    [([], "any", "127.0.0.1"), (["--any-key", "--lan"], "any", "0.0.0.0"), (["--registered-keys"], "registered", "127.0.0.1")],
)
def test_who_may_play(monkeypatch: pytest.MonkeyPatch, words: list[str], keys: str, host: str) -> None:
    given: list[LeagueServerSettings] = []
    monkeypatch.setattr("vindibot.league.server.run_server", lambda settings, *_: given.append(settings))
    assert run("serve", *words).exit_code == 0
    assert [(settings.keys, settings.host) for settings in given] == [(keys, host)]


def test_the_administrators_key_is_checked_but_not_shown(tmp_path: Path) -> None:
    short = run("serve", environ={"VINDIBOT_ADMIN_KEY": "tooshort"})
    assert short.exit_code == 2
    assert "at least 12 characters" in short.output
    assert "tooshort" not in short.output
    assert "--admin-key " not in run("serve", "--help").output, "every user of the machine can read a command line"
    file = tmp_path / "admin.key"
    file.write_text("secret\n")
    file.chmod(0o600)
    assert "secret" not in run("serve", "--admin-key-file", file).output


@pytest.mark.slow_faults
async def test_no_warning_on_the_default_address(tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text('rounds = 7\nadmin_key = "a long enough key"\n')
    async with serving(tmp_path, "--config", file, "--limit-ms", "777") as (process, url):
        assert url.startswith("http://127.0.0.1:")
        async with httpx.AsyncClient(base_url=url) as client:
            joined = await client.post("/api/training", data={"key": "anykey12"})
            assert joined.json()["game"]["maxTurns"] == 28
            assert 0 < int(joined.headers["x-vindibot-time-limit"]) <= 777  # what is left of it
            bots = await client.get("/api/admin/matches", headers={"Authorization": "Bearer a long enough key"})
            assert bots.json() == []
        assert await stop(process) == ""


# ---- The database ----


@pytest.mark.slow_faults
async def test_a_database_has_one_server_under_all_its_names(tmp_path: Path) -> None:
    path = tmp_path / "server.db"
    # Two programs start between the two turns of the game.
    async with serving(tmp_path, "--db", path, "--limit-ms", "300000") as (_, url):
        (tmp_path / "symbolic.db").symlink_to(path)
        async with httpx.AsyncClient(base_url=url) as client:
            state = (await client.post("/api/training", data={"key": "anykey12", "turns": 1})).json()
            for name in ("server.db", "symbolic.db"):
                result = await asyncio.to_thread(run, "serve", "--port", "0", "--db", tmp_path / name)
                assert result.exit_code == 2
                assert "another vindibot server uses this file; stop it first" in result.output.replace("\n", " ")
            state = (await client.post(state["playUrl"], data={"dir": "Stay"})).json()
            record = (await client.get(f"/records/{state['game']['id']}")).json()
            assert record["ending"] == "finished"


# ---- Leagues ----


def test_a_league_is_made_from_a_roster(tmp_path: Path) -> None:
    roster = tmp_path / "class.csv"
    roster.write_text("key;Name\n;ann\nbobsbobs;bob\n\n;cid\n", encoding="utf-8-sig")
    made = run("league", "new", "spring", roster, "--folder", tmp_path, "--table", "duel", "--seatings", "4")
    assert made.exit_code == 0, made.output
    assert "3 bots, 12 games on 3 days" in made.output.replace("\n", "")
    keys = dict(csv.reader((tmp_path / "spring-keys.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert keys["bob"] == "bobsbobs"
    assert len(keys["ann"]) == len(keys["cid"]) == 8
    assert (tmp_path / "spring-keys.csv").stat().st_mode & 0o077 == 0
    organiser = tmp_path / "spring-organiser.key"
    assert organiser.stat().st_mode & 0o077 == 0
    kept = (tmp_path / "spring.league.json").read_text()
    secret = [key for name, key in keys.items() if name != "name"] + [organiser.read_text().strip()]
    assert not [key for key in secret if key in kept + made.output]
    assert f"vindibot serve --lan --league {tmp_path}/spring.league.json" in made.output.replace("\n", "")
    assert f"vindibot league start {tmp_path}/spring.league.json" in made.output.replace("\n", "")
    again = run("league", "new", "spring", roster, "--folder", tmp_path)
    assert again.exit_code == 2
    assert "already exists" in again.output
    for shape, says in (("table", "ann"), ("csv", "rank,name,points"), ("json", '"rank": 1')):
        assert says in run("league", "standings", tmp_path / "spring.league.json", "--format", shape).output


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("spring", "ann\nann\n", [], "line 2: the name 'ann' is already at line 1"),
        ("spring", "name,key\nann,short\nbob\n", [], "line 2: a key has 8 visible characters, this one has 5"),
        ("spring", "name,key\nann,samesame\nbob,samesame\n", [], "line 3: the key is already at line 2"),
        ("spring", f"ann\n{'b' * 21}\n", [], "line 2: Name is too long"),
        ("spring", "ann\n", [], "at least two bots"),
        ("spring", 'ann,"x\n', [], "this is not CSV"),
        ("Spring!", BARE, [], "small letters, digits and hyphens"),
        ("spring", BARE, ["--maps", "m1,m77"], "no map named 'm77'"),
        ("spring", BARE, ["--system", "cup"], "option --system"),
        ("spring", BARE, ["--start", "25:00"], "option --start: start must be a time (14:30)"),
        ("spring", BARE, ["--final", "8"], "a final of 8 needs 8 bots; the roster has 3"),
        ("spring", BARE, ["--final", "6"], "option --final: final must be 4, 8, 16, 32 or 64, not 6"),
        ("spring", BARE, ["--fillers", "seed,../seed"], "must be names of bots that come with vindibot"),
    ],
)
def test_invalid_leagues(tmp_path: Path, name: str, content: str, options: list[str], says: str) -> None:
    roster = tmp_path / "class.csv"
    roster.write_text(content)
    result = run("league", "new", name, roster, "--folder", tmp_path, *options)
    assert result.exit_code == 2
    assert says in result.output.replace("\n", " ")
    assert [file.name for file in tmp_path.iterdir()] == ["class.csv"]


@pytest.mark.slow_faults
async def test_a_league_has_one_server(tmp_path: Path) -> None:
    path, roster = tmp_path / "spring.league.json", tmp_path / "class.csv"
    roster.write_text(BARE)
    assert run("league", "new", "spring", roster, "--folder", tmp_path).exit_code == 0
    files = sorted(os.listdir(tmp_path))
    (tmp_path / "symbolic.league.json").symlink_to(path)
    async with serving(tmp_path, "--league", path) as (process, url):
        async with httpx.AsyncClient(base_url=url) as client:
            for name in ("spring.league.json", "symbolic.league.json", "."):
                result = await asyncio.to_thread(run, "serve", "--port", "0", "--league", tmp_path / name)
                assert result.exit_code == 2
                assert "another vindibot server plays this league; stop it first" in result.output.replace("\n", " ")
            assert (await client.get("/leagues/spring/standings.json")).json()["state"] == "waiting"
        await stop(process)
    (tmp_path / "symbolic.league.json").unlink()
    assert sorted(os.listdir(tmp_path)) == files
    async with serving(tmp_path, "--league", path) as (process, _):
        process.kill()
        await process.wait()
    async with serving(tmp_path, "--league", path) as (process, _):
        await stop(process)
    assert sorted(os.listdir(tmp_path)) == files, "also the lock of the process that was killed is gone"


def test_days_of_a_swiss_league_are_days(tmp_path: Path) -> None:
    roster, file = tmp_path / "class.csv", tmp_path / "spring.league.json"
    roster.write_text(BARE)
    made = run("league", "new", "spring", roster, "--folder", tmp_path, "--system", "swiss", "--days", "5")
    assert "3 bots, 2 games on day 1 of 5" in made.output.replace("\n", "")
    shown = run("league", "standings", file).output
    assert "spring: day 1 of 5, 2 games left on this day" in shown
    assert "opponents beaten" in shown
    assert "opponents_beaten,opponents_drawn,opponents_lost_to" in run("league", "standings", file, "--format", "csv").output


@pytest.mark.parametrize(
    ("zone", "code", "says"),
    [
        ("CET-1CEST", 0, r"begin at (\d{4}-\d\d-\d\d )?14:30 \w+, (now|in( \d+ h)?( \d+ min)?); to begin earlier"),
        ("Europe/Berln", 2, "TZ names an unknown one: 'Europe/Berln'"),
    ],
)
def test_a_start_has_its_zone_and_its_distance(tmp_path: Path, zone: str, code: int, says: str) -> None:
    (tmp_path / "class.csv").write_text(BARE)
    words = ("league", "new", "spring", tmp_path / "class.csv", "--folder", tmp_path, "--start", "14:30")
    result = run(*words, environ={"TZ": zone})
    assert result.exit_code == code
    assert re.search(says, " ".join(result.output.split()))


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["start", "nosuch.league.json"], 2, "the league nosuch.league.json cannot be read"),
        (["start", "spring.league.json", "--server", "http://127.0.0.1:9"], 1, "cannot connect to http://127.0.0.1:9"),
        (["pause", "spring.league.json", "--server", "ftp://x"], 2, "must begin with http://"),
    ],
)
def test_a_league_that_cannot_be_started(here: Path, words: list[str], code: int, says: str) -> None:
    Path("class.csv").write_text(BARE)
    run("league", "new", "spring", "class.csv")
    result = run("league", *words)
    assert result.exit_code == code, result.output
    assert says in result.output
