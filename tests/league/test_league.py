"""Leagues over real sockets: bots that come, go, time out and stay away, and a server that is stopped in the middle."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from tests.support.serving import MAP, Bot, playing, rounds_of_the_loop, serving
from tests.support.waiting import until
from vindibot.base.errors import UsageError, VindibotError
from vindibot.league.director import Director
from vindibot.league.league import League
from vindibot.league.settings import LeagueSettings
from vindibot.league.standings import FixtureResult, StandingsRow
from vindibot.server.admin.roster import RosterEntry

OVER = "Vindinium - The league is over"
ORGANISER_KEY = "the-organisers-key-1"


def roster(*names: str) -> list[RosterEntry]:
    return [RosterEntry(name, f"key-{name:_<4}") for name in names]


def new_league(path: Path, entrants: Sequence[RosterEntry], **settings: Any) -> League:
    """Make a league that starts at once. With `start` None, it waits for its start."""
    wanted = {"rounds": 3, "maps": (MAP,), "start": "now"} | settings
    league = League.create("cup", LeagueSettings(**wanted), entrants, path, ORGANISER_KEY)
    if wanted["start"] == "now":
        league.state = "running"
    league.save()
    return league


@asynccontextmanager
async def league_of(tmp_path: Path, *names: str, **settings: Any) -> AsyncIterator[tuple[Director, list[Bot]]]:
    """A server that plays a league, and its bots with nothing done yet."""
    path = tmp_path / "cup.league.json"
    new_league(path, roster(*names), **settings)
    async with serving(league=path) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        yield server.leagues.directors["cup"], [Bot(server, entrant.key, client) for entrant in roster(*names)]


async def play_until_over(bot: Bot, direction: str = "Stay") -> int:
    """Ask for games and play them until the server says that the league is over; how many that were."""
    games = 0
    while True:
        response = await bot.join("arena")
        if response.status_code == 400:
            assert response.text == OVER
            return games
        assert response.status_code == 200, response.text
        games += 1
        await bot.play_on(direction)


async def play_all(bots: Sequence[Bot]) -> list[int]:
    """Let each bot play until the league is over. Return how many games each has played."""
    return await asyncio.gather(*(play_until_over(bot) for bot in bots))


def only_result(director: Director) -> FixtureResult:
    """Return the result of the only game of a league."""
    [fixture] = director.league.fixtures
    assert fixture.result is not None
    return fixture.result


def clients(bots: Sequence[Bot], each: int) -> list[Bot]:
    return [Bot(bot.server, bot.key, bot.client) for bot in bots for _ in range(each)]


def by_name(rows: Sequence[StandingsRow]) -> dict[str, StandingsRow]:
    return {row.name: row for row in rows}


async def test_a_duel_gives_each_bot_two_heroes_in_mirrored_seats(tmp_path: Path) -> None:
    # "bob" takes the mine of its heroes, "ann" never moves.
    one_mine = "$-@1  $-@4\n          \n  [][][]  \n          \n$-@2  $-@3"
    async with league_of(tmp_path, "ann", "bob", table="duel", seatings=6, maps=(one_mine,)) as (director, bots):
        async with asyncio.TaskGroup() as group:
            for bot in clients(bots, 2):
                group.create_task(play_until_over(bot, "West" if bot.key == bots[1].key else "Stay"))
        fixtures = director.league.fixtures
        assert [fixture.seats for fixture in fixtures] == [
            (0, 1, 1, 0), (1, 0, 0, 1), (0, 1, 0, 1), (1, 0, 1, 0), (0, 0, 1, 1), (1, 1, 0, 0)
        ]  # fmt: skip
        first, second = director.league.table()
        assert (first.name, first.points, first.opponents_beaten, first.games) == ("bob", 6.0, 6, 6)
        assert (second.name, second.points, second.opponents_lost_to, second.gold) == ("ann", 0.0, 6, 0)
        assert first.gold > 0


async def test_games_begin_as_their_bots_come_and_others_stay_out(tmp_path: Path) -> None:
    async with (
        league_of(tmp_path, "ann", "bob", "cid", "dot", table="duel", seatings=1) as (director, bots),
        playing(bots[0].server, "stranger") as [stranger],
    ):
        lone = asyncio.create_task(stranger.join("arena"))
        joins = [asyncio.create_task(bot.join("arena")) for bot in clients(bots[2:], 2)]
        # These two meet, in any order of the schedule: no other bot is here.
        await until(lambda: any(director.room_id(fixture) for fixture in director.league.fixtures))
        [fixture] = [fixture for fixture in director.league.fixtures if director.room_id(fixture)]
        assert set(fixture.entrants) == {2, 3}
        assert director.missing() == ["ann", "bob"]
        assert not lone.done()
        page = (await stranger.client.get("/leagues/cup")).text
        assert "running" in page
        assert "Not connected: <bdi>ann</bdi>, <bdi>bob</bdi>" in page
        trained = await bots[0].join("training")  # practice is always possible
        assert trained.json()["hero"]["name"] == "ann"
        lone.cancel()
        bots[0].server.lobby.close()
        await asyncio.gather(*joins, return_exceptions=True)


async def test_a_forfeited_game_is_played_again_but_not_for_ever(tmp_path: Path) -> None:
    settings = {"reruns": 2, "seatings": 1, "time_limit_ms": 60, "first_limit_ms": 60}

    async def sleepy(bot: Bot, naps: int) -> int:
        """Join and say nothing, so often; then play."""
        while naps and (await bot.join("arena")).status_code == 200:
            naps -= 1
            state = bot.server.lobby.rooms[bot.game["id"]]
            await until(lambda state=state: state.finished)
        return await play_until_over(bot)

    async with league_of(tmp_path, "ann", "bob", **settings) as (director, bots):
        await asyncio.gather(play_until_over(bots[0]), sleepy(bots[1], 1))
        assert director.league.fixtures[0].attempts == 2
        assert only_result(director).crashed == (False,) * 4
        assert by_name(director.league.table())["bob"].timeouts == 0
    async with league_of(tmp_path, "ann", "bob", **settings) as (director, bots):
        with structlog.testing.capture_logs() as lines:
            await asyncio.gather(play_until_over(bots[0]), sleepy(bots[1], 9))
            await rounds_of_the_loop()
        assert [(line["bots"], line["event"]) for line in lines if "timed out" in line["event"]] == [
            *[(["bob"], "bots timed out: the game is played again")] * 2,
            (["bob"], "bots timed out: the game counts"),
        ]
        table = by_name(director.league.table())
        assert (table["ann"].points, table["bob"].points, table["bob"].timeouts) == (1.0, 0.0, 1)


async def test_a_client_that_disconnects_while_waiting_gets_no_game(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob", seatings=1) as (director, [ann, bob]):
        gone = asyncio.create_task(ann.join("arena"))
        await until(director.waiting)
        gone.cancel()
        await until(lambda: not director.waiting())
        # Asking again, as clients do that give up after a while.
        assert await asyncio.gather(play_until_over(ann), play_until_over(bob)) == [1, 1]


async def test_a_client_too_many_is_told_so(tmp_path: Path) -> None:
    async with league_of(tmp_path, "ann", "bob") as (director, [ann, _]):
        joins = [asyncio.create_task(bot.join("arena")) for bot in clients([ann], 9)]
        await until(lambda: any(join.done() for join in joins))
        [refused] = [join.result() for join in joins if join.done()]
        assert (refused.status_code, refused.text) == (400, "Vindinium - Too many clients of this bot are waiting already")
        assert director.waiting() == {"ann": 8}
        await director.close()
        assert {(await join).status_code for join in joins if join is not refused} == {400, 503}


async def test_a_stopped_server_goes_on_where_it_was(tmp_path: Path) -> None:
    names = ("ann", "bob", "cid")
    async with league_of(tmp_path, *names, table="duel", seatings=1) as (director, bots):
        first = asyncio.gather(*(play_until_over(bot) for bot in clients(bots[:2], 2)), return_exceptions=True)
        await until(lambda: len(director.league.pending()) == 2)
        await until(lambda: len(director.waiting()) == 2)
        await bots[0].server.__aexit__(None, None, None)
        await first
        [fixture] = [fixture for fixture in director.league.fixtures if fixture.result]
    path = tmp_path / "cup.league.json"
    assert "key-" not in path.read_text()
    async with serving(league=tmp_path) as server, httpx.AsyncClient(base_url=server.url, timeout=30) as client:
        league = server.leagues.directors["cup"].league
        assert [done for done in league.fixtures if done.result] == [fixture]
        games = await play_all(clients([Bot(server, entrant.key, client) for entrant in roster(*names)], 2))
        assert sum(games) == 8
        assert [row.games for row in league.table()] == [2, 2, 2]


async def test_standings_for_people_and_programs(tmp_path: Path) -> None:
    async with league_of(tmp_path, "=<b>", "bob", seatings=1) as (_, bots):
        await play_all(bots)
        client = bots[0].client
        page = (await client.get("/leagues/cup")).text
        assert "=&lt;b&gt;" in page
        assert "<b>" not in page
        state = (await client.get("/leagues/cup/standings.json")).json()
        assert (state["state"], state["played"], state["games"]) == ("over", 1, 1)
        assert [row["rank"] for row in state["standings"]] == [1, 1]
        answer = await client.get("/leagues/cup/standings.csv")
        assert answer.headers["content-type"].startswith("text/csv")
        rows = list(csv.DictReader(io.StringIO(answer.text)))
        assert {row["name"] for row in rows} == {"'=<b>", "bob"}
        assert "cup" in (await client.get("/leagues")).text
        for page in ("", "/standings.json", "/standings.csv", "/projector"):
            assert (await client.get(f"/leagues/other{page}")).status_code == 404


async def test_the_page_for_a_projector_shows_boards_and_results(tmp_path: Path) -> None:
    names = ("ann", "bob", "cid", "dot", "<e>", "fay", "gus", "hal", "ida", "joe", "kim", "lea")
    async with league_of(tmp_path, *names, system="swiss", days=1, seatings=1) as (director, bots):
        client = bots[0].client

        async def shown() -> str:
            answer = await client.get("/leagues/cup/projector")
            assert (answer.status_code, "key-" in answer.text) == (200, False)
            return answer.text

        empty = await shown()
        assert "Waiting for" in empty
        assert "<bdi>ann</bdi> (60 s)" in empty
        assert "&lt;e&gt;" in empty
        assert f"{bots[0].server.url}/leagues/cup" in empty
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots]
        await until(lambda: len(director.running) == 3 and all(match.room for match in director.running.values()))
        running = await shown()
        assert "Now, and 1 more" in running
        assert running.count('<svg class="board"') == 2
        assert "Latest results" not in running
        bots[0].server.lobby.close()
        await asyncio.gather(*joins, return_exceptions=True)
        for fixture in director.league.pending():
            seats = (7, 5, 3, 1)
            director.league.decide(fixture, FixtureResult(kind="played", gold=seats, crashed=(False,) * 4, game_id="x"))
        over = await shown()
        assert "final standings" in over
        assert "data-refresh" not in over
        assert over.count('<span class="gold">7</span>') == len(director.league.fixtures)


async def test_a_league_that_cannot_be_stored_goes_on_and_is_stored_later(tmp_path: Path) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    async with league_of(folder, "ann", "bob", seatings=1) as (director, bots):
        director.league.path = tmp_path / "nowhere" / "cup.league.json"
        await play_all(bots)
        assert director.league.over
        with pytest.raises(VindibotError, match="it cannot be stored"):
            await director.store()
        director.league.path.parent.mkdir()
        await director.store()
        assert League.load(director.league.path).over


async def test_a_game_that_cannot_begin_pauses_the_league_and_its_clients_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UsageError("no map")

    async with league_of(tmp_path, "ann", "bob", seatings=1) as (director, bots):
        with monkeypatch.context() as patch:
            patch.setattr(director._lobby, "arrange", refuse)
            games = [asyncio.create_task(play_until_over(bot)) for bot in bots]
            await until(lambda: director.league.state == "paused")
            assert not director.running
        director.set_state("running")
        assert await asyncio.gather(*games) == [1, 1]
        assert director.league.over


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"version":2', '"version":1', "version must be 2"),
        ('"name":"cup"', '"name":"../x"', "is not a league: name"),
        ('"entrants":[1,0]', '"entrants":[1,7]', "a game is for a bot that is not in its roster"),
        ('"rounds":3', '"rounds":0', "settings.rounds must be at least 1"),
        ('"name":"cup"', '"name"', r"cup\.league\.json is not a league: Invalid JSON: .* at line 1 column"),
    ],
)
async def test_a_file_that_is_no_league(tmp_path: Path, old: str, new: str, says: str) -> None:
    path = tmp_path / "cup.league.json"
    text = new_league(path, roster("ann", "bob")).text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(UsageError, match=says):
        async with serving(league=path):
            pass
    path.unlink()
    with pytest.raises(UsageError, match=r"cup\.league\.json cannot be read: No such file or directory$"):
        League.load(path)


async def test_two_leagues_of_one_name_are_refused(tmp_path: Path) -> None:
    for file, bots in (("one", ("ann", "bob")), ("two", ("cid", "dot"))):
        new_league(tmp_path / f"{file}.league.json", roster(*bots))
    with pytest.raises(UsageError, match="there is already a league named cup"):
        async with serving(league=tmp_path):
            pass
