"""Challenges without a browser: the host, its routes, and a person over HTTP."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from click.testing import CliRunner

from sim.board import tile_text
from tests.support.challenges import NASTY, Visitor, alone, hosting, request_of
from tests.support.commands import begin, ended, invoke, line_with, recordings
from tests.support.recorded import record, states_of
from tests.support.waiting import until
from vindibot.base.errors import UsageError
from vindibot.cli.playing.challenge import challenge_command
from vindibot.games.files.recorded_turn import Continuation
from vindibot.games.files.recording import read_recording
from vindibot.games.history import GameHistory
from vindibot.games.position import LETTERS
from vindibot.games.protocol import Player
from vindibot.server.embedded import EmbeddedServer


async def test_a_person_plays_to_the_end_and_gets_the_votes(tmp_path: Path) -> None:
    async with hosting(tmp_path, ("seed", "malvert")) as (host, _, client):
        person, state = await alone(client, rounds=5, hero=2, name=NASTY)
        game_id, bundle = state["game"]["id"], await person.game()
        assert [player["name"] for player in bundle["players"]] == ["seed", NASTY, "malvert", "seed"]
        assert (state["alone"], state["organises"], state["me"], bundle["me"]) == (True, True, 1, 1)
        await person.play(["North"] * 5)
        turns = await person.votes(15)
        await until(lambda: host.notes)
        public = await client.get(f"/records/{game_id}")
        assert public.json()["ending"] == "finished"
    assert host.notes[0].startswith(f"game {game_id}: {NASTY} came ")
    moves = public.json()["moves"]
    assert [LETTERS.index(moves[turn["ply"]]) for turn in turns] == [turn["move"] for turn in turns], (
        "what was decided was played"
    )
    assert sorted(turn["turn"] for turn in turns) == [turn for turn in range(20) if turn % 4 != 1]
    found = {(turn["hero"], turn["turn"]): turn for turn in turns}
    recorded_games = [read_recording(path) for path in recordings(tmp_path)]
    assert sorted(recording.header.bot for recording in recorded_games) == ["malvert", "seed", "seed"]
    for recording in recorded_games:
        for recorded in recording.turns:
            shown = found[recording.me, recorded.turn]
            assert shown["bot"] == recording.header.bot
            assert shown["move"] == recorded.ballot.direction
            assert [vote["trait"] for vote in shown["votes"]] == [entry.label for entry in recorded.ballot.entries]
            assert shown["sums"] == pytest.approx(recorded.ballot.sums, rel=1e-5)
            for vote, entry in zip(shown["votes"], recorded.ballot.entries, strict=True):
                assert (vote["votes"] is None) == (entry.votes is None)
                assert vote["votes"] is None or vote["votes"] == pytest.approx(entry.votes, rel=1e-5)


async def test_a_person_goes_on_from_a_turn_of_an_earlier_game(tmp_path: Path) -> None:
    states = states_of(5, plies=60)
    history = GameHistory.of(record(tmp_path, states, 2))
    history.players = tuple(Player(name) for name in ("random", "hunter", "nobody here", "malvert"))
    start = Continuation(history, history.at_turn(29), 1)
    async with hosting(tmp_path, (), start) as (host, server, client):
        assert host.offers.missing == ["nobody here"]
        offers = (await client.get("/challenge/offers")).json()
        names = {bot["id"]: bot["name"] for bot in offers["bots"]}
        assert [names[chosen] for chosen in offers["first"]["bots"]] == ["random", "seed", "malvert"]
        assert (offers["first"]["map"], offers["first"]["hero"]) == ("turn", 2)
        drawn = (await client.get("/challenge/maps/turn")).json()
        heroes = states[29]["hero"][0]
        assert [hero["life"] for hero in drawn["heroes"]] == heroes["life"].tolist()
        assert [drawn["owners"].count(hero) for hero in (1, 2, 3, 4)] == heroes["mines"].tolist()
        assert drawn["rounds"] == 8
        person, state = await alone(client, hero=2)
        room = server.lobby.room(state["game"]["id"])
        assert (state["game"]["turn"], room.games["max_turns"].item(0)) == (29, 60)
        assert tile_text(room.history.first) == tile_text(states[29])
        bundle = await person.game()
        assert (bundle["start"]["turn"], bundle["me"]) == (29, 1)
        await person.play(["Stay"] * 8)
        await person.state_with("over")
        assert room.turn == 60
        (malvert,) = (one for one in map(read_recording, recordings(tmp_path)) if one.header.bot == "malvert")
        assert malvert.turns[0].turn == 31


async def test_the_person_has_a_longer_limit_than_the_bots(tmp_path: Path) -> None:
    async with hosting(tmp_path, limit_ms=500, your_limit_s=60) as (_, server, client):
        _, state = await alone(client, rounds=2)
        assert state["game"]["limits_ms"] == [60_000, 500, 500, 500]
        assert 50_000 < server.lobby.room(state["game"]["id"]).left_ms() <= 60_000
    async with hosting(tmp_path, your_limit_s=0) as (_, _, client):
        _, state = await alone(client, hero=4)
        assert state["game"]["limits_ms"][3] == 86_400_000, "no limit is a day"


@pytest.mark.slow
async def test_a_late_hero_stays_and_the_game_ends_when_no_page_asks_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vindibot.challenge.people.AWAY_SECONDS", 3.0)
    async with hosting(tmp_path, your_limit_s=1) as (host, server, client):
        person, state = await alone(client, rounds=50)
        room = server.lobby.room(state["game"]["id"])
        await person.play(["North"])
        await until(lambda: room.turn >= 5)
        assert room.moves[::4][:2] == [1, 0]
        assert not room.crashed(room.seats[0])
        await until(lambda: host.notes)
        assert host.notes == ["ann: the game was ended early"]
        assert (await person.state_with("over"))["game"]["id"] == room.id
        assert (await person.start()).status_code == 204
        assert (await person.state_with("playing"))["game"]["id"] != room.id


async def test_leaving_ends_the_game_at_once(tmp_path: Path) -> None:
    async with hosting(tmp_path) as (host, server, client):
        person, state = await alone(client, rounds=50)
        waiting = asyncio.create_task(person.votes(99))
        assert (await client.delete("/challenge/game")).status_code == 403
        assert (await person.ask("DELETE", "")).status_code == 204
        await until(lambda: host.notes)
        await until(lambda: server.lobby.room(state["game"]["id"]).finished)
        with pytest.raises(AssertionError, match="no more"):
            await waiting
    assert all(read_recording(path).outcome is None for path in recordings(tmp_path)), "they were interrupted"


async def test_a_page_that_is_loaded_again_goes_on_and_a_closed_one_ends_the_game(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with hosting(tmp_path) as (host, server, client):
        person, state = await alone(client)
        await person.ask("POST", "/closed")
        again = Visitor(client, person.token, "another page")
        assert (await again.state())["game"]["id"] == state["game"]["id"]
        await again.play(["North"])
        assert server.lobby.room(state["game"]["id"]).moves[0] == 1
        monkeypatch.setattr("vindibot.challenge.people.CLOSED_SECONDS", 0.0)
        await again.ask("POST", "/closed")
        await until(lambda: host.notes)
        assert host.notes == ["ann: the game was ended early"]


async def test_a_person_gets_nothing_of_the_game_of_another_one(tmp_path: Path) -> None:
    async with hosting(tmp_path, games=2) as (_, _, client):
        (ann, _), (bob, _) = await alone(client), await alone(client, name="bob")
        assert (await client.post("/challenge/games", json=await request_of(client))).status_code == 400, "a third game"
        assert (await ann.game())["players"][0]["name"] == "ann"
        assert (await bob.game())["players"][0]["name"] == "bob"
        for method, path in (("GET", ""), ("GET", "/bundle"), ("GET", "/votes"), ("DELETE", ""), ("POST", "/start")):
            for stranger in (Visitor(client), Visitor(client, ann.token[::-1])):
                assert (await stranger.ask(method, path)).status_code in (403, 404), (method, path)


async def test_offers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bots").mkdir()
    (tmp_path / "bots" / "mine.toml").write_text(f'name = "{NASTY}"\nversion = 2\nextends = "stay"\n')
    (tmp_path / "slip.toml").write_text("[traits.combat\n")
    (tmp_path / "train.toml").write_text('bot = "mine"\n')
    async with hosting(tmp_path, ("mine", "malvert")) as (_, _, client):
        offers = (await client.get("/challenge/offers")).json()
        bots = offers["bots"]
        assert (bots[0]["name"], bots[0]["where"]) == (NASTY, "bots/mine.toml")
        assert [bot["name"] for bot in bots].count(NASTY) == 1
        assert "not TOML" in next(bot["problem"] for bot in bots if bot["name"] == "slip")
        assert {"seed", "stay", "random", "malvert"} <= {bot["name"] for bot in bots}
        assert "train" not in {bot["name"] for bot in bots}
        names = {bot["id"]: bot["name"] for bot in bots}
        assert [names[chosen] for chosen in offers["first"]["bots"]] == [NASTY, "malvert", NASTY]
        groups = [one["group"] for one in offers["maps"]]
        assert groups.count("The arena's standard set") == 40
        assert offers["first"]["map"] == "named"
        for one in offers["maps"][::7]:
            drawn = (await client.get(f"/challenge/maps/{one['id']}", params={"seed": 5, "size": 12})).json()
            assert len(drawn["tiles"]) == drawn["size"] ** 2
            assert drawn["size"] == (one["size"] or 12)
            assert all(drawn["tiles"][spawn] == "." for spawn in drawn["spawns"])
        slip = next(bot["id"] for bot in bots if bot["name"] == "slip")
        refused = await client.post("/challenge/games", json=await request_of(client, bots=[slip] * 3))
        assert refused.status_code == 400
        assert "slip.toml" in refused.json()["error"]


async def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    wrongs: list[dict[str, Any]] = [
        {"bots": ["../../etc/passwd"] * 3},
        {"map": "/etc/passwd"},
        {"map": "random", "size": 9},
        {"rounds": 0},
        {"name": "a\nb"},
        {"hero": 5},
        {"limit_ms": 100, "what": 1},
    ]
    async with hosting(tmp_path) as (host, _, client):
        for wrong in wrongs:
            refused = await client.post("/challenge/games", json=await request_of(client, **wrong))
            assert refused.status_code == 400, wrong
            assert refused.json()["error"]
        assert not host._tasks


async def test_other_pages_in_the_same_browser_get_nothing(tmp_path: Path) -> None:
    tried: list[tuple[dict[str, str], int]] = [
        ({}, 201),
        ({"Host": "localhost:1234"}, 201),
        ({"Host": "[::1]:1234"}, 201),
        ({"Host": "evil.example:1234"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ]
    async with hosting(tmp_path, games=9) as (_, _, client):
        for headers, status in tried:
            answer = await client.post("/challenge/games", json=await request_of(client), headers=headers)
            assert answer.status_code == status, headers
            assert "access-control-allow-origin" not in answer.headers
        page = await client.get("/challenge")
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert (await client.get("/challenge", headers={"Host": "evil.example"})).status_code == 403


@pytest.mark.slow
async def test_the_command_from_start_to_interrupt(tmp_path: Path) -> None:
    """With worker processes, from a turn of a game. Ctrl-C in the middle of a game ends the server and the workers."""
    earlier = record(tmp_path, states_of(5, plies=160), 1).path.name
    process = await begin(tmp_path, "challenge", "stay", "--your-limit", "0", "--from", earlier, "--turn", "20")
    url = (await line_with(process, "play at")).split()[2]
    async with httpx.AsyncClient(base_url=url.removesuffix("/challenge"), timeout=60) as client:
        person, state = await alone(client)
        assert state["game"]["turn"] == 20
        await person.play(["North", "South"])
        assert len(await person.votes(6)) == 6
        workers = psutil.Process(process.pid).children(recursive=True)
        assert workers
        process.send_signal(signal.SIGINT)
        out = await ended(process)
    assert process.returncode == 0, out
    assert "Traceback" not in out
    assert not psutil.wait_procs(workers, timeout=10)[1]


@pytest.mark.parametrize(
    ("words", "start", "reach"),
    [
        ([], r"play at http://127\.0\.0\.1:\d+/challenge \(", ""),
        (["--lan"], "play at http://", "in this network: .* may play, and see the votes of your bots"),
        (["--people", "2"], r"start page: http://127\.0\.0\.1:\d+/challenge#\S+ ", "work on this machine only"),
        (["--people", "2", "--lan"], "start page: .*keep this address secret", "in this network: .* may watch the game"),
    ],
)
def test_the_command_says_who_can_play(
    here: Path, monkeypatch: pytest.MonkeyPatch, words: Sequence[str], start: str, reach: str
) -> None:
    async def end_at_once(server: EmbeddedServer, ready: Callable[[EmbeddedServer], None]) -> None:
        ready(server)

    monkeypatch.setattr(EmbeddedServer, "until_signal", end_at_once)
    code, output = invoke(here, "challenge", "stay", "--port", "0", *words)
    shown = " ".join(output.split())
    assert (code, bool(re.search(start, shown)), bool(re.search(reach, shown))) == (0, True, True), output
    assert ("network" in shown) == ("network" in reach or "machine" in reach), output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["sead"], "seed"),
        (["--map", "m99"], "m99"),
        (["--turn", "3"], "choose a turn of the file that --from names"),
        (["--limit-ms", "100", "--margin-ms", "100"], "margin"),
        (["--recordings", "/dev/null/inside"], "/dev/null is not a folder"),
        (["--people", "5"], "people must be at most 4"),
        (["--people", "2", "--seconds", "0"], "seconds must be at least 1"),
        (["--people", "4", "stay", "stay"], "4 people leave no seat for bots, not 2"),
        (["--people", "3", "stay", "stay"], "3 people leave 1 seat for bots, not 2"),
        (["--people", "2", "sead"], "seed"),
    ],
)
def test_wrong_options_are_refused_at_once(words: Sequence[str], said: str) -> None:
    done = CliRunner().invoke(challenge_command, words)
    assert isinstance(done.exception, UsageError)
    assert said in done.exception.message
