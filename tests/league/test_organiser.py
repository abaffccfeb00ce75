"""The organiser of a league over real sockets: starting, pausing, absences that are counted per match day and can be undone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.league.test_league import (
    ORGANISER_KEY,
    by_name,
    clients,
    league_of,
    new_league,
    only_result,
    play_all,
    play_until_over,
    roster,
)
from tests.support.commands import printed
from tests.support.serving import Bot, serving
from tests.support.waiting import until
from vindibot.base.errors import UsageError
from vindibot.league.director import Director
from vindibot.league.league import League
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import FixtureResult

ADMIN_KEY = "a long secret"


def decided(league: League) -> dict[int, list[str]]:
    """Return the kinds of the results so far by day."""
    return {
        day: [fixture.result.kind for fixture in league.fixtures if fixture.day == day and fixture.result]
        for day in range(1, league.days + 1)
    }


@asynccontextmanager
async def joined(*bots: Bot) -> AsyncIterator[list[asyncio.Task[httpx.Response]]]:
    """Let these bots wait for a game, and yield their open requests."""
    tasks = [asyncio.create_task(bot.join("arena")) for bot in bots]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def pass_time(director: Director, seconds: float) -> None:
    """Let the clock of absence run forward for bots that are absent, then let the director check several times."""
    for bot in director._bots:
        if not bot.present:
            bot.last_seen -= seconds
    for _ in range(3):
        director.check()


# ---- Start ----


async def test_before_the_start_bots_join_and_no_game_begins_or_is_lost(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", "cid", start=None, seatings=1) as (director, bots):
        async with joined(*bots[:2]):
            await until(lambda: len(director.waiting()) == 2)
            pass_time(director, 9000)
            page = (await bots[0].client.get("/leagues/cup/projector")).text
            assert "not started, 2 of 3 bots are here" in page
            assert re.findall(r"<bdi>(\w+)</bdi></th><td class=\"here\">([\w ]+)<", page) == [
                ("ann", "here"), ("bob", "here"), ("cid", "not yet")
            ]  # fmt: skip
            assert f"vindibot play --config arena --server {bots[0].server.url} " in re.sub("<[^>]*>", "", page)
            assert "Connected: <bdi>ann</bdi>, <bdi>bob</bdi>" in (await bots[0].client.get("/leagues/cup")).text
            assert not director.running
            assert len(director.league.pending()) == 1
        director.set_state("running")
        assert await play_all(bots) == [1, 1, 1]


async def test_a_league_starts_at_its_time(tmp_path: Path) -> None:
    start = datetime.now().astimezone() + timedelta(hours=1)
    async with league_of(tmp_path, "ann", "bob", start=start, seatings=1) as (director, bots):
        page = (await bots[0].client.get("/leagues/cup")).text
        assert re.search(
            rf"starts at <time datetime=\"[^\"]+\">{start.astimezone(UTC):%Y-%m-%d %H:%M} UTC</time>, in (1 h|59 min)\b", page
        )
        async with joined(*bots):
            await until(lambda: len(director.waiting()) == 2)
            director.check()
            assert director.league.state == "waiting"
        director.league.settings = director.league.settings.model_copy(update={"start": start - timedelta(hours=2)})
        director.league.state = "paused"  # a paused league does not start at its time
        director.check()
        assert director.league.state == "paused"
        director.league.state = "waiting"
        assert await play_all(bots) == [1, 1]
        await director.close()
        assert League.load(tmp_path / "cup.league.json").settings.start == start - timedelta(hours=2)


@pytest.mark.parametrize("text", ["14:30", "9:05", "2030-05-31T14:30:10+02:00", "NOW "])
def test_starts(text: str) -> None:
    now = datetime.now().astimezone()
    start = LeagueSettings.model_validate({"start": text}).start
    assert start is not None
    assert start.tzinfo is not None
    assert now - timedelta(seconds=1) <= start <= (now + timedelta(days=1) if len(text) < 6 else start)
    assert LeagueSettings.model_validate_json(LeagueSettings(start=start).model_dump_json()).start == start


@pytest.mark.parametrize("value", ["25:00", "1430", "2030-05-31", "soon", "", 5, [1]])
def test_values_that_are_no_start(value: Any) -> None:
    with pytest.raises(ValueError, match="must be a time"):
        LeagueSettings.model_validate({"start": value})


# ---- Absence ----


async def test_each_match_day_counts_absence_anew(tmp_path: Path) -> None:
    names = [f"bot{number}" for number in range(8)]
    async with league_of(tmp_path, *names, absence_timeout_s=500, table="duel", seatings=2) as (director, bots):
        league = director.league
        assert (league.days, len(league.fixtures)) == (7, 56)
        async with joined(*clients(bots[:1], 2)):
            await until(director.waiting)
            for day in range(1, 4):
                pass_time(director, 400)
                assert league.day == day, "a day was decided before its absent bots had their time"
                pass_time(director, 200)
                assert league.day == day + 1
            assert {kind for kinds in decided(league).values() for kind in kinds} == {"absent"}
            assert [len(kinds) for kinds in decided(league).values()] == [8, 8, 8, 0, 0, 0, 0]


async def test_absence_counts_anew_after_the_start_and_after_a_pause(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", start=None, absence_timeout_s=500) as (director, bots), joined(bots[0]):
        await until(director.waiting)
        pass_time(director, 9000)
        for _ in range(2):
            director.set_state("running")
            pass_time(director, 400)
            director.set_state("paused")
            pass_time(director, 9000)
            assert len(director.league.pending()) == 2
        director.set_state("running")
        pass_time(director, 600)
        assert director.league.over


async def test_a_bot_with_one_of_two_clients_is_missing(tmp_path: Path) -> None:
    async with (
        league_of(tmp_path, "ann", "bob", table="duel", start=None) as (director, bots),
        joined(*clients(bots[:1], 2), bots[1]),
    ):
        await until(lambda: director.waiting() == {"ann": 2, "bob": 1})
        assert (director.present(), director.missing()) == (["ann"], ["bob"])
        page = (await bots[0].client.get("/leagues/cup")).text
        assert "two clients at once" in page
        assert "--parallel 2" in page


async def test_the_day_goes_on_without_the_bots_that_are_awaited(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", "cid", seatings=1) as (director, bots):
        playing = [asyncio.create_task(play_until_over(bot)) for bot in bots[:2]]
        await until(lambda: len(director.present()) == 2)
        client = bots[0].client
        await client.post(PAGE, data={"key": ORGANISER_KEY})
        page = (await client.get(PAGE)).text
        assert re.search(r"<h2>Waiting for <bdi>cid</bdi> \((60|59) s\)</h2>", page)
        assert re.search(r'<p class="missing"><bdi>cid</bdi> \((60|59) s\)', (await client.get("/leagues/cup/projector")).text)
        assert "Go on without them" in page
        answer = await client.post(PAGE, data={"form": form_of(page), "action": "skip"})
        assert answer.status_code == 303, answer.text
        assert await asyncio.gather(*playing) == [0, 0]
        result = only_result(director)
        assert (result.kind, result.absent) == ("absent", (2,))


@pytest.mark.parametrize("back", [False, True])
async def test_a_bot_that_crashed_twice_on_a_day_is_awaited_only_once_its_client_is_back(
    tmp_path: Path, back: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vindibot.league.director.CHECK_SECONDS", 1000)
    async with league_of(tmp_path, "ann", "bob", seatings=3, reruns=0) as (director, [ann, bob]):
        playing = asyncio.create_task(play_until_over(ann))
        for crashes in (1, 2):
            assert (await bob.join("arena")).status_code == 200
            room = bob.server.lobby.rooms[bob.game["id"]]
            room.withdraw(room.seats[bob.state["hero"]["id"] - 1])  # its client is gone
            await until(lambda crashes=crashes: director._bots[1].crashes == crashes)
            assert director.awaited()["bob"] == (60 if crashes == 1 else 0)
        if back:
            assert await play_until_over(bob) == 1
        else:
            await until(lambda: director.waiting() == {"ann": 1})
            director.check()
        assert await playing == 2 + back
        last = director.league.fixtures[2].result
        assert last is not None
        assert (last.kind, last.absent) == (("played", ()) if back else ("absent", (1,)))


async def test_each_day_waits_for_the_organiser_if_there_are_breaks(tmp_path: Path) -> None:
    wanted: dict[str, Any] = {"seatings": 1, "system": "swiss", "days": 2, "final": 4, "breaks": True, "start": None}
    async with league_of(tmp_path, "ann", "bob", "cid", "dot", **wanted) as (director, bots):
        client, playing = bots[0].client, [asyncio.create_task(play_until_over(bot)) for bot in bots]
        await client.post(PAGE, data={"key": ORGANISER_KEY})
        for day, name in enumerate(("the league", "day 2 of 2", "final")):
            await until(lambda: len(director.waiting()) == 4)
            assert director.league.state == ("paused" if day else "waiting")
            page = (await client.get(PAGE)).text
            assert f"<button>Start {name}</button>" in page
            answer = (await client.post("/api/waiting", data={"key": bots[0].key})).json()
            words = f"has a break; next: {name}" if day else "has not started; 4 of 4 are here"
            assert answer["waitingFor"] == f"the league cup {words}"
            assert sum(fixture.attempts for fixture in director.league.fixtures) == day
            await client.post(PAGE, data={"form": form_of(page), "action": "resume"})
            await until(lambda day=day: sum(fixture.attempts for fixture in director.league.fixtures) == day + 1)
        assert await asyncio.gather(*playing) == [3] * 4


# ---- Undoing absences ----


async def test_an_absence_is_undone_and_its_games_are_played(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", "cid", table="duel", seatings=1, absence_timeout_s=500) as (director, bots):
        league = director.league
        first = league.fixtures[0]
        playing, others = [bots[number] for number in first.entrants], next(n for n in range(3) if n not in first.entrants)
        async with joined(*clients(playing[:1], 2)):
            await until(director.waiting)
            pass_time(director, 900)
            assert first.result is not None
        late = league.names[first.entrants[1]]
        assert director.reversible()[late] == 1
        with pytest.raises(UsageError, match="no absence of a bot named 'nobody'"):
            director.undo_absences("nobody")
        director.undo_absences(late)
        assert first.result is None
        await director.store()
        assert League.load(tmp_path / "cup.league.json").fixtures[0].result is None
        assert await play_all(clients(bots, 2)) == [2] * 6
        assert {fixture.result.kind for fixture in league.fixtures if fixture.result} == {"played"}
        assert by_name(league.table())[league.names[others]].games == 2
        assert director.reversible() == {}


async def test_the_organisers_end_is_not_undone(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", "cid", table="duel", seatings=1) as (director, _):
        absent = director.league.fixtures[0]
        director.league.decide(absent, FixtureResult(kind="absent", absent=absent.entrants))
        assert director.reversible()
        director.set_state("over")
        with pytest.raises(UsageError, match="no absence to undo"):
            director.undo_absences()


PLAYED = {"kind": "played", "gold": (4, 3, 2, 1), "crashed": (False,) * 4}


def test_days_on_which_nobody_played_are_undone_together() -> None:
    league = League.create("cup", LeagueSettings(table="duel", seatings=1), roster("ann", "bob", "cid", "dot"))
    for fixture in list(league.fixtures):
        league.decide(fixture, FixtureResult(kind="absent", absent=fixture.entrants))
    assert league.over
    assert len(league.undo_absences("ann")) == 3
    assert (league.state, len(league.pending())) == ("paused", 3)


def test_a_swiss_league_is_paired_again_after_an_undo() -> None:
    settings = LeagueSettings(table="duel", system="swiss", seatings=1)
    league = League.create("cup", settings, roster("ann", "bob", "cid", "dot"))
    one, other = league.fixtures
    league.decide(one, FixtureResult(kind="absent", absent=one.entrants[:1]))
    league.decide(other, FixtureResult(**PLAYED))
    following = [fixture for fixture in league.fixtures if fixture.day == 2]
    assert len(following) == 2
    assert league.reversible(running={id(following[0])}) == []  # its pairing follows from the result
    assert league.undo_absences() == [one]
    assert league.fixtures == [one, other]
    league.decide(one, FixtureResult(**PLAYED))
    assert league.day == 2
    following[0].attempts = 1
    league.fixtures[2].attempts = 1  # a game of the next day was played, and is played again
    assert league.reversible() == []


# ---- The page, and the log ----


@asynccontextmanager
async def organised(tmp_path: Path, **settings: Any) -> AsyncIterator[tuple[Director, httpx.AsyncClient]]:
    path = tmp_path / "cup.league.json"
    new_league(path, roster("ann", "<b>"), start=None, **settings)
    async with serving(league=path, admin_key=ADMIN_KEY) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        yield server.leagues.directors["cup"], client


PAGE = "/leagues/cup/organiser"


def form_of(page: str) -> str:
    found = re.search(r'name="form" value="([^"]+)"', page)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("key", [ORGANISER_KEY, f" {ORGANISER_KEY}\n", ADMIN_KEY])
async def test_the_organiser_logs_in_starts_pauses_and_undoes(tmp_path: Path, key: str) -> None:
    async with organised(tmp_path, seatings=1) as (director, client):
        form = await client.get(PAGE)
        assert 'type="password"' in form.text
        assert "Start the league" not in form.text
        answer = await client.post(PAGE, data={"key": key})
        assert (answer.status_code, answer.headers["location"]) == (303, PAGE)
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert f"Path={PAGE}" in cookie
        page = await client.get(PAGE)
        assert page.headers["cache-control"] == "no-store"
        assert "0 of 2 bots are here" in page.text
        assert "<bdi>&lt;b&gt;</bdi>" in page.text
        assert key.strip() not in page.text

        async def press(action: str, **more: str) -> str:
            secret = form_of((await client.get(PAGE)).text)
            pressed = await client.post(PAGE, data={"form": secret, "action": action, **more}, follow_redirects=True)
            return unescape(pressed.text)

        assert "Pause" in await press("start")
        assert director.league.state == "running"
        assert "Go on" in await press("pause")
        assert "Pause" in await press("resume")
        fixture = director.league.fixtures[0]
        director.league.decide(fixture, FixtureResult(kind="absent", absent=(1,)))
        assert "Let it play" in (await client.get(PAGE)).text
        assert "no absence of a bot named 'ann'" in await press("undo", bot="ann")
        assert "Let it play" not in await press("undo", bot="<b>")
        assert fixture.result is None
        assert "there is no action 'fly'" in await press("fly")
        director.league.path = tmp_path / "nowhere" / "cup.league.json"
        assert "it cannot be stored" in await press("resume")
        assert director.league.state == "running"
        refused = await client.post(PAGE, data={"key": key, "action": "pause"})
        assert (refused.status_code, "it cannot be stored" in refused.text) == (500, True)


async def test_nobody_else_organises_the_league(tmp_path: Path) -> None:
    async with organised(tmp_path) as (director, client):
        wrong = ["", "x", ORGANISER_KEY[:-1], ADMIN_KEY.upper(), "key-ann_", "\ud800".encode("utf-8", "replace").decode(), "é"]
        for key in wrong:
            assert (await client.post(PAGE, data={"key": key})).status_code == 401, key
            assert (await client.post(PAGE, data={"key": key, "action": "start"})).status_code == 401, key
        assert (await client.post(PAGE, data={"action": "start"})).status_code == 401
        await client.post(PAGE, data={"key": ORGANISER_KEY})
        for form in ("", "x", "é"):  # another site knows the cookie's name, but not the secret of the form
            assert (await client.post(PAGE, data={"action": "start", "form": form})).status_code == 401
        async with httpx.AsyncClient(base_url=str(client.base_url)) as stranger:
            form = form_of((await client.get(PAGE)).text)
            assert (await stranger.post(PAGE, data={"action": "start", "form": form})).status_code == 401
        assert director.league.state == "waiting"
        for method in ("GET", "POST"):
            assert (await client.request(method, "/leagues/other/organiser", data={"key": "x"})).status_code == 404
        assert ORGANISER_KEY not in (tmp_path / "cup.league.json").read_text()


async def test_without_any_key_the_page_says_what_to_do(tmp_path: Path) -> None:
    League.create("cup", LeagueSettings(), roster("ann", "bob"), tmp_path / "cup.league.json").save()
    async with serving(league=tmp_path) as server, httpx.AsyncClient(base_url=server.url) as client:
        page = await client.get(PAGE)
        assert "--admin-key-file" in page.text
        assert (await client.post(PAGE, data={"key": "None", "action": "start"})).status_code == 401


async def test_the_commands_of_the_organiser(tmp_path: Path) -> None:
    for name, key in (("cup-organiser.key", ORGANISER_KEY), ("other.key", "wrong-key-of-somebody")):
        (tmp_path / name).write_text(key)
        (tmp_path / name).chmod(0o600)
    async with organised(tmp_path, seatings=1) as (director, client):

        async def typed(action: str, *words: object, code: int = 0) -> str:
            command = ("league", action, tmp_path / "cup.league.json", *words, "--server", client.base_url)
            return " ".join((await asyncio.to_thread(printed, *command, code=code)).split())

        refused = await typed("start", "--key-file", tmp_path / "other.key", code=1)
        assert ("not the organiser's key" in refused, "somebody" in refused) == (True, False)
        begun = await typed("start")
        assert "cup: running, day 1 of 1, 0 of 1 game decided; 0 of 2 bots are here not connected: ann, <b>" in begun
        pass_time(director, 9000)
        assert director.league.pending(), "no bot loses before the first has come"
        director.league.decide(director.league.fixtures[0], FixtureResult(kind="absent", absent=(1,)))
        assert "cup: paused" in await typed("undo", "<b>"), "it was over, and its clients have ended"
        assert "no absence of a bot named '<b>' to undo" in await typed("undo", "<b>", code=1)
        assert "cup: running" in await typed("resume")
        assert "cup: paused" in await typed("pause")


async def test_the_administrator_undoes(tmp_path: Path) -> None:
    async with organised(tmp_path, seatings=1) as (director, client):
        client.headers["Authorization"] = f"Bearer {ADMIN_KEY}"
        director.league.decide(director.league.fixtures[0], FixtureResult(kind="absent", absent=(1,)))
        assert (await client.get("/leagues/cup/standings.json")).json()["absences"] == {"<b>": 1}
        refused = await client.post("/api/admin/leagues/cup/undo", params={"bot": "ann"})
        assert (refused.status_code, "no absence of a bot named 'ann'" in refused.text) == (400, True)
        assert (await client.post("/api/admin/leagues/cup/undo", params={"bot": "<b>"})).json()["absences"] == {}
