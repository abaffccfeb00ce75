"""Several people in one game, without a browser: links, the start, moves, people who leave, the end."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.challenges import NASTY, Visitor, hosting, request_of
from tests.support.commands import begin, ended, line_with, recordings
from tests.support.recorded import record, states_of
from tests.support.waiting import until
from vindibot.base.errors import UsageError
from vindibot.challenge.offers import Offers
from vindibot.games.files.game_files import read_records
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.files.recording import read_recording
from vindibot.games.history import GameHistory

#: The requests of a person's page: method, path and JSON.
REQUESTS = [
    ("GET", "", None),
    ("POST", "/name", {"name": "eve"}),
    ("POST", "/closed", None),
    ("GET", "/bundle", None),
    ("POST", "/move", {"turn": 0, "dir": "North"}),
]


async def visitors(host: Any, client: httpx.AsyncClient) -> tuple[Visitor, list[Visitor]]:
    """Return the organiser and the people."""
    organiser = Visitor(client, host.people.token)
    return organiser, [Visitor(client, token) for token in await organiser.links()]


async def begun(host: Any, client: httpx.AsyncClient, *names: str) -> tuple[Visitor, list[Visitor], dict[str, Any]]:
    """Let all people come, with these names. Return the organiser, the people and the state when their game has begun."""
    organiser, people = await visitors(host, client)
    await come(people, *names)
    return organiser, people, await organiser.state_with("playing")


async def come(people: Sequence[Visitor], *names: str) -> None:
    for person, name in zip(people, names, strict=False):
        await person.come(name)


async def test_the_game_begins_when_all_have_come_and_each_person_steers_one_hero(tmp_path: Path) -> None:
    async with hosting(tmp_path, ("stay",), people=3, rounds=2) as (host, server, client):
        organiser, people = await visitors(host, client)
        assert len({person.token for person in people}) == 3
        before = await Visitor(client).state()
        assert (before["organises"], before["me"], before["state"]) == (False, None, "waiting")
        assert [hero["name"] for hero in before["heroes"]] == ["", "", "", "stay"]
        await come(people, "ann", NASTY)
        waiting = await organiser.state()
        assert [hero.get("here") for hero in waiting["heroes"]] == [True, True, False, None]
        await people[2].come("cid")
        state = await people[1].state_with("playing")
        assert (state["organises"], state["me"], state["game"]["people"]) == (False, 1, [0, 1, 2])
        bundles = [await one.game() for one in (*people, organiser, Visitor(client))]
        assert [bundle["me"] for bundle in bundles] == [0, 1, 2, None, None]
        assert [player["name"] for player in bundles[0]["players"]] == ["ann", NASTY, "cid", "stay"]
        assert (await people[1].move(0, "North")).status_code == 400, "it is not this person's turn"
        ways = (("North", "South"), ("East", "West"), ("Stay", "North"))
        await asyncio.gather(*(person.play(way) for person, way in zip(people, ways, strict=True)))
        over = await organiser.state_with("over")
        moves = server.lobby.room(over["game"]["id"]).moves
        assert [moves[hero::4] for hero in range(3)] == [[1, 2], [3, 4], [0, 1]]
        assert host.notes[0].startswith(f"game {over['game']['id']}: ")
        (recording,) = map(read_recording, recordings(tmp_path))
        assert (recording.header.bot, recording.header.hero) == ("stay", 4)


async def test_a_wrong_token_has_no_effect(tmp_path: Path) -> None:
    async with hosting(tmp_path, people=2) as (host, _, client):
        organiser, (ann, bob) = await visitors(host, client)
        await ann.come("ann")
        before = await organiser.state()
        stranger, spectator = Visitor(client, ann.token[::-1]), Visitor(client)
        for visitor in (stranger, spectator, bob):
            for method, path in (("GET", "/links"), ("POST", "/start"), ("DELETE", "")):
                assert (await visitor.ask(method, path)).status_code == 403, (method, path)
        for method, path, data in REQUESTS:
            assert (await stranger.ask(method, path, json=data)).status_code in (403, 404), (method, path)
            assert method == "GET" or (await spectator.ask(method, path, json=data)).status_code == 403, path
        assert (await ann.move(0, "North")).status_code == 404, "there is no game yet"
        assert (await ann.ask("POST", "/move", json={"turn": 0, "dir": "Up"})).status_code == 400
        for wrong in ({"name": ""}, {"name": "a\nb"}, {"name": "x" * 31}, {"name": "eve", "hero": 2}):
            assert (await bob.ask("POST", "/name", json=wrong)).status_code == 400
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            assert (await client.get("/challenge/game", headers=headers)).status_code == 403
        after = await organiser.state()
        assert after["heroes"] == before["heroes"]
        assert after["state"] == "waiting"
        shown = (await client.get("/challenge/game")).text
        assert not any(token in shown for token in (organiser.token, ann.token, bob.token))
        refused = await client.post("/challenge/games", json=await request_of(client))
        assert (refused.status_code, "ask for a link" in refused.json()["error"]) == (400, True)
        for visitor in (organiser, ann, spectator):
            assert (await visitor.ask("GET", "/votes")).status_code == 403, "no votes for one of several people"


async def test_the_second_page_with_one_link_is_told_and_the_first_keeps_the_seat(tmp_path: Path) -> None:
    async with hosting(tmp_path, people=2) as (host, _, client):
        organiser, (ann, _) = await visitors(host, client)
        first, second = Visitor(client, ann.token, "first"), Visitor(client, ann.token, "second")
        await first.come("ann")
        for method, path, data in REQUESTS:
            refused = await second.ask(method, path, json=data)
            assert (refused.status_code, "Another page plays hero 1" in refused.text) == (409, True), (method, path)
        assert (await organiser.state())["heroes"][0] == {"person": True, "name": "ann", "here": True}
        assert (await first.ask("POST", "/closed")).status_code == 204
        assert (await second.state())["me"] == 0, "the seat is free"
        assert (await first.ask("GET", "")).status_code == 409


async def test_the_organiser_starts_and_bots_play_for_the_others(tmp_path: Path) -> None:
    async with hosting(tmp_path, ("malvert", "stay"), people=2, rounds=1) as (host, _, client):
        organiser, (ann, bob) = await visitors(host, client)
        refused = await organiser.start()
        assert (refused.status_code, "nobody is here" in refused.json()["error"]) == (400, True)
        await bob.come("bob")
        assert (await organiser.start()).status_code == 204
        state = await organiser.state_with("playing")
        assert state["game"]["people"] == [1]
        assert (await organiser.start()).status_code == 400, "a game runs already"
        names = [player["name"] for player in (await bob.game())["players"]]
        assert names == ["malvert", "bob", "malvert", "stay"]
        await ann.come("ann")
        assert (await ann.game())["me"] is None
        assert (await ann.move(0, "North")).status_code == 404
        await bob.play(["North"])
        await organiser.state_with("over")
        assert (await organiser.start()).status_code == 204
        again = await organiser.state_with("playing")
        assert again["game"]["people"] == [0, 1]
        assert again["game"]["id"] != state["game"]["id"]
        assert (await organiser.ask("DELETE", "")).status_code == 204
        await organiser.state_with("over")
        assert host.notes[1] == "ann, bob: the game was ended early"


@pytest.mark.slow
async def test_a_person_who_is_late_stays_for_this_turn_only(tmp_path: Path) -> None:
    async with hosting(tmp_path, people=2, rounds=2, seconds=1) as (host, server, client):
        organiser, (ann, bob), state = await begun(host, client, "ann", "bob")
        assert state["game"]["limits_ms"] == [1000, 1000, 1000, 1000]
        assert 0 < state["game"]["left_ms"] <= 1000
        room = server.lobby.room(state["game"]["id"])
        await until(lambda: room.turn > 0)
        assert (await ann.move(0, "North")).status_code == 204, "it is a repeat, which has no effect"
        await bob.play(["East", "South"])
        await until(lambda: room.finished)
        assert room.moves == [0, 3, 0, 0, 0, 2, 0, 0]
        assert not any(hero["crashed"] for hero in room.games[0]["hero"])
        await organiser.state_with("over")


async def test_a_game_goes_on_without_a_person_who_has_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.challenge.people.CLOSED_SECONDS", 0.0)
    monkeypatch.setattr("vindibot.challenge.people.AWAY_MS", 10)
    async with hosting(tmp_path, people=2, rounds=4, seconds=600) as (host, server, client):
        organiser, (ann, bob), state = await begun(host, client, "ann", "bob")
        assert state["game"]["limits_ms"][:2] == [600_000, 600_000]
        room = server.lobby.room(state["game"]["id"])
        assert (await ann.ask("POST", "/closed")).status_code == 204
        away = await organiser.state()
        assert [hero.get("here") for hero in away["heroes"]] == [False, True, None, None]
        assert away["game"]["limits_ms"][:2] == [10, 600_000]
        await until(lambda: room.turn == 1)
        assert room.left_ms() > 500_000, "the others keep their time"
        await bob.play(["North", "South"])
        await until(lambda: room.turn == 9)
        assert (await ann.state())["heroes"][0]["here"], "the link brings the person back"
        await asyncio.gather(ann.play(["East"], after=8), bob.play(["North", "South"], after=8))
        await organiser.state_with("over")
        assert (room.moves[::4], room.moves[1::4]) == ([0, 0, 0, 3], [1, 2, 1, 2])


async def test_without_a_bot_a_record_of_the_game_is_kept(tmp_path: Path) -> None:
    async with hosting(tmp_path, people=4, rounds=2) as (host, server, client):
        organiser, people, _ = await begun(host, client, "ann", "bob", "cid", "dot")
        await asyncio.gather(*(person.play(["North", "East"]) for person in people))
        over = await organiser.state_with("over")
        rooms = [server.lobby.room(over["game"]["id"])]
        await organiser.start()
        rooms.append(server.lobby.room((await organiser.state_with("playing"))["game"]["id"]))
        await people[0].play(["North"])
    found = {record.id: record for path in recordings(tmp_path) for record in read_records(path)}
    whole, part = (found[room.id] for room in rooms)
    assert (whole.names, whole.moves, whole.ending) == (("ann", "bob", "cid", "dot"), tuple(rooms[0].moves), "finished")
    assert (part.names, part.moves, part.ending) == (whole.names, (1,), "interrupted")
    assert GameHistory.of(whole).complete


async def test_a_bot_that_cannot_be_loaded_is_named_and_the_organiser_tries_again(tmp_path: Path) -> None:
    bot = tmp_path / "mine.toml"
    bot.write_text('extends = "stay"\n')
    async with hosting(tmp_path, (str(bot),), people=2, rounds=1) as (host, _, client):
        organiser, people = await visitors(host, client)
        bot.write_text('extends = "nothing"\n')
        await come(people, "ann", "bob")
        await until(lambda: host.people.problem)
        state = await organiser.state()
        assert (state["state"], "mine.toml" in state["problem"]) == ("waiting", True)
        assert (await people[0].state())["state"] == "waiting", "only the organiser tries again"
        bot.write_text('extends = "stay"\n')
        assert (await organiser.start()).status_code == 204
        assert (await organiser.state_with("playing"))["problem"] == ""


def test_people_take_the_heroes_that_have_not_crashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = GameHistory.of(record(tmp_path, states_of(5, plies=60), 2))
    start = Continuation(history, history.at_turn(29), 1)
    offers = Offers((), "", start)
    assert [offers.heroes_of(number) for number in (1, 2, 3, 4)] == [[1], [1, 2], [1, 2, 3], [0, 1, 2, 3]]
    monkeypatch.setattr(Continuation, "crashed", lambda self, hero: hero in {2, 3})
    assert offers.heroes_of(2) == [0, 1]
    with pytest.raises(UsageError, match="only 2 of 4 heroes can still move"):
        offers.heroes_of(3)


@pytest.mark.slow
async def test_the_whole_command(tmp_path: Path) -> None:
    """Two of three people move; the third is late each time."""
    words = ("--people", "3", "stay", "--rounds", "4", "--seconds", "3", "--in-process")
    process = await begin(tmp_path, "challenge", *words, "--log-level", "debug", VINDIBOT_LOG__FILE="log.jsonl")
    page, _, token = (await line_with(process, "start page")).split()[2].partition("#")
    async with httpx.AsyncClient(base_url=page.removesuffix("/challenge"), timeout=60) as client:
        organiser = Visitor(client, token)
        ann, bob, cid = [Visitor(client, link) for link in await organiser.links()]
        await come((ann, bob, cid), "ann", "bob", "cid")
        game = (await organiser.state_with("playing"))["game"]
        await asyncio.gather(ann.play(["North", "South"] * 2), bob.play(["East", "West"] * 2))
        await organiser.state_with("over")
        public = (await client.get(f"/records/{game['id']}")).json()
    process.send_signal(signal.SIGINT)
    out = await ended(process)
    assert process.returncode == 0, out
    assert public["ending"] == "finished"
    assert [public["moves"][hero::4] for hero in range(3)] == ["NSNS", "EWEW", "...."]
    assert f"game {game['id']}: " in out
    texts = (out, (tmp_path / "log.jsonl").read_text(), *(path.read_text() for path in recordings(tmp_path)))
    assert len(texts) == 3
    assert not any(secret in text for secret in (token, ann.token, bob.token, cid.token) for text in texts)
