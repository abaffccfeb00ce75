"""``vindibot play`` as a user runs it: a process, its output, its files and its exit code."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import httpx
import pytest

from tests.support.clientkit import settings_for
from tests.support.commands import SECRET, begin, ended, invoke, line_with, play, printed, recorded, recordings
from tests.support.faulty_server import Fault, FaultyServer
from tests.support.paths import TOP
from tests.support.serving import playing, serving
from vindibot.config.bots import load_bot
from vindibot.engine.agent import in_process_voters
from vindibot.games.files.recording import read_recording
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Reason
from vindibot.session.player import GamePlayer

BOTS = TOP / "tests" / "bots"
LEAGUE_OVER = "Vindinium - The league is over"


GAME = ("--rounds", "20", "--seed", "3")


def slow_bot(folder: Path) -> None:
    """Write a bot `slow.toml` with two traits. Each takes 1.1 seconds for its first turn in each process."""
    table = '[traits.{0}]\nuse = "bad_traits:SlowAtFirst"\nseconds = 1.1\n'
    (folder / "slow.toml").write_text("".join(map(table.format, ("one", "two"))))
    (folder / "bad_traits.py").write_text((BOTS / "bad_traits.py").read_text())


@pytest.mark.slow
def test_a_training_game_on_our_own_server_and_its_seed_repeats_it(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    out = play(first, *GAME)
    assert "seed came " in out
    assert "recording: recordings/" in out
    assert out.count("ms left") == 20, "a plain line per own turn where there is no terminal"
    recording = recorded(first)
    assert (len(recording.turns), recording.outcome.reason) == (20, "finished")
    assert all(turn.ballot.margin_ms > 0 and not turn.ballot.fallback for turn in recording.turns)
    assert all(entry.status == "ok" for turn in recording.turns for entry in turn.ballot.entries)
    assert not GameHistory.of(recording).gaps
    play(second, *GAME, "--display", "none", "--log-level", "error")
    played = [[(turn.ballot.direction, turn.state.board.tiles) for turn in one.turns] for one in (recording, recorded(second))]
    assert played[0] == played[1]


@pytest.mark.slow
def test_several_games_at_once_against_a_bot_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "random"\nname = "mine"\n')
    (tmp_path / "match.toml").write_text('bot = "mine.toml"\nagainst = "stay"\ngames = 3\nparallel = 2\nrounds = 5\nmap = "m1"\n')
    assert "mine: 3 games" in play(tmp_path, "-c", "match.toml", "--log-level", "error", "--display", "none", VINDIBOT_ROUNDS="6")
    paths = recordings(tmp_path)
    assert len(paths) == 3
    for path in paths:
        recording = read_recording(path)
        assert sorted(recording.names) == ["mine", "stay", "stay", "stay"]
        assert recording.names[recording.me] == "mine"
        assert len(recording.turns) == 6
    assert {read_recording(path).me for path in paths} == {0, 1, 2}, "the seats are taken in turn"


def test_several_games_print_their_numbers_and_no_turns(tmp_path: Path) -> None:
    code, out = invoke(tmp_path, "play", "--bot", "stay", "--games", "2", "--rounds", "2", "--map", "m1", "--in-process")
    assert code == 0, out
    assert "game 1 of 2: finished" in out
    assert "game 2 of 2: finished" in out
    assert "round 1/2" not in out
    assert [path for path in recordings(tmp_path) if read_recording(path).last is None] == []


@pytest.mark.slow
def test_random_choices_do_not_repeat_from_game_to_game(tmp_path: Path) -> None:
    """In each game, each hero makes other moves than in the other games."""
    words = ("--bot", "random", "--against", "random", "--map", "m1", "--rounds", "20", "--seed", "3", "--games", "4")
    play(tmp_path, *words, "--display", "none", "--log-level", "error")
    begun: list[tuple[int, ...]] = []
    for path in recordings(tmp_path):
        plies = list(GameHistory.of(read_recording(path)).plies())
        begun += [tuple(ply.move or 0 for ply in plies[hero : 4 * 12 : 4]) for hero in range(4)]
    assert len(begun) == 16
    assert len(set(begun)) == 16, "two heroes, or a hero in two games, made the same choices"


@pytest.mark.slow
@pytest.mark.parametrize(("prints", "turns"), [("few", [0, 1, 3, 7]), ("all", list(range(12)))])
def test_the_terminal_shows_all_or_some_of_what_a_trait_prints(tmp_path: Path, prints: str, turns: list[int]) -> None:
    (tmp_path / "talks.toml").write_text('[traits.talker]\nuse = "talker:Talker"\n')
    (tmp_path / "talker.py").write_text(
        "from behaviours import Behaviour\n\n\nclass Talker(Behaviour):\n    def vote(self, view):\n"
        "        print(f'this is round {view.turn // 4}.')\n        return 0\n"
    )
    # With a second worker, a trait that does not begin at once is given to that worker too, and both print.
    words = ("--bot", "talks.toml", "--rounds", "12", "--display", "none", "--workers", "1")
    out = play(tmp_path, *words, VINDIBOT_LOG__PRINTS=prints)
    assert [int(number) for number in re.findall(r"this is round (\d+)\.", out)] == turns


@pytest.mark.slow
def test_work_of_the_first_turn_is_done_before_the_game(tmp_path: Path) -> None:
    """Two traits take longer than the time limit when a process first runs them, in each of two workers."""
    slow_bot(tmp_path)
    out = play(tmp_path, "--bot", "slow.toml", "--rounds", "6", "--workers", "2", "--limit-ms", "1000", "--display", "none")
    turns = recorded(tmp_path).turns
    assert [[entry.status for entry in turn.ballot.entries] for turn in turns] == [["ok", "ok"]] * 6
    assert "the first turn of this process" not in out, "the output of the rehearsal is not the game's"


@pytest.mark.slow
async def test_four_clients_meet_in_the_arena_of_a_server(tmp_path: Path) -> None:
    server = await begin(tmp_path, "serve", "--port", "0", "--rounds", "12", "--seed", "5")
    url = (await line_with(server, "serving on")).split()[2]
    clients = []
    for seat, bot in enumerate(("seed", "malvert", "random", "stay")):
        folder = tmp_path / str(seat)
        folder.mkdir()
        words = ("play", "--mode", "arena", "--server", url, "--bot", bot, "--display", "none", "--log-level", "debug")
        more = {"VINDIBOT_KEY": f"{SECRET[:-1]}{seat}", "VINDIBOT_LOG__FILE": "log.jsonl"}
        clients.append(await begin(folder, *words, **more))
    outputs = [await ended(client) for client in clients]
    assert [client.returncode for client in clients] == [0] * 4, outputs
    ids, heroes = set(), set()
    for seat, output in enumerate(outputs):
        recording = recorded(tmp_path / str(seat))
        ids.add(recording.header.game)
        heroes.add(recording.me)
        assert len(recording.turns) == 12
        log = (tmp_path / str(seat) / "log.jsonl").read_text()
        assert all(json.loads(line)["event"] for line in log.splitlines())
        assert '"traits"' in log
        assert SECRET[:-1] not in output + log + recording.path.read_text(), "a key was told"
    assert len(ids) == 1
    assert heroes == {0, 1, 2, 3}
    server.send_signal(signal.SIGTERM)
    await ended(server)
    assert server.returncode == 0


@pytest.mark.slow
async def test_an_interrupt_ends_the_game_after_the_turn_and_keeps_its_recording(tmp_path: Path) -> None:
    process = await begin(tmp_path, "play", "--games", "50", "--display", "lines", "--rounds", "600")
    await line_with(process, "round 3/600")
    process.send_signal(signal.SIGINT)
    out = await ended(process)
    assert process.returncode == 130, out
    assert "stopping after this turn" in out
    assert "--games 50 plays the rest" in out
    assert recorded(tmp_path).outcome.reason == "interrupted"


@pytest.mark.slow
async def test_a_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text('[traits.sleeper]\nuse = "bad_traits:Sleeps"\n')
    (tmp_path / "bad_traits.py").write_text((BOTS / "bad_traits.py").read_text())
    words = ("play", "--bot", "slow.toml", "--limit-ms", "60000", "--display", "lines")
    process = await begin(tmp_path, *words)
    await line_with(process, "begins")
    process.send_signal(signal.SIGINT)
    await line_with(process, "once more")
    process.send_signal(signal.SIGTERM)
    out = await ended(process)
    assert process.returncode == 130, out
    assert "Traceback" not in out


@pytest.mark.slow
async def test_interrupt_while_a_server_cannot_be_reached(tmp_path: Path) -> None:
    more = {"VINDIBOT_KEY": SECRET, "VINDIBOT_CONNECT_TIMEOUT_S": "1000"}
    process = await begin(tmp_path, "play", "--server", "http://127.0.0.1:9", **more)
    await line_with(process, "trying again")
    process.send_signal(signal.SIGINT)
    out = await ended(process)
    assert process.returncode == 130, out
    assert "Traceback" not in out
    assert SECRET not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server", "no url at all"], "server"),
        (["--server", "http://vindinium.org"], "no longer belongs"),
        (["--bot", "sead"], "seed"),
        (["--bot", "broken.toml"], "broken.toml"),
        (["--bot", "unknown.toml"], "mine-finder"),
        (["--bot", "parameter.toml"], "life_threshold"),
        (["--config", "config.toml"], "rounds"),
        (["--map", "bad.txt"], "line 2"),
        (["--map", "m99"], "m99"),
        (["--recordings", "bad.txt/inside"], "bad.txt is not a folder"),
        (["--recordings", "/proc/self"], "option --recordings"),
        (["--rounds", "0"], "--rounds"),
        (["--roundz", "3"], "--rounds"),
        (["--mode", "arena"], "arena"),
        (["--config", "key.toml", "--server", "http://127.0.0.1:9"], "missing.key"),
    ],
)
def test_invalid_settings_give_one_message(here: Path, words: Sequence[str], said: str) -> None:
    Path("broken.toml").write_text("[traits.combat\n")
    Path("unknown.toml").write_text("[traits.mine-findr]\nweight = 1\n")
    Path("parameter.toml").write_text("[traits.tavern-finder]\nlife_treshold = 3\n")
    Path("config.toml").write_text("ronds = 3\n")
    Path("bad.txt").write_text("@1    @4\n  $?#?  \n@2    @3\n")
    Path("key.toml").write_text('key_file = "missing.key"\n')
    key = {} if "key.toml" in words else {"VINDIBOT_KEY": SECRET}
    output = printed("play", "--rounds", "3", *words, code=2, **key)
    assert (said in output, SECRET in output) == (True, False), output
    assert not recordings(here)


def test_an_unreachable_server(here: Path) -> None:
    more = {"VINDIBOT_KEY": SECRET, "VINDIBOT_CONNECT_TIMEOUT_S": "0"}
    output = printed("play", "--server", "http://127.0.0.1:9", "--bot", "stay", "--in-process", code=1, **more)
    assert ("unreachable" in output, SECRET in output) == (True, False)
    assert not recordings(here)


@pytest.mark.slow
async def test_one_line_per_problem_with_joining_and_exit_code_0_when_the_league_is_over(tmp_path: Path) -> None:
    full_up, lost = [Fault("status", body="The server is full", headers={"Retry-After": "0"})] * 4, [Fault("reset")] * 2
    faults = [*full_up, *lost, Fault("status", status=400, body=LEAGUE_OVER)]
    async with FaultyServer(joins=dict(enumerate(faults, 1))) as server:
        words = ("--config", "arena", "--server", server.url, "--bot", "stay", "--games", "3", "--in-process")
        client = await begin(tmp_path, "play", *words, VINDIBOT_KEY=SECRET)
        out = await ended(client)
    assert client.returncode == 0, out
    assert server.joins == len(faults), "no game is asked for after the league is over"
    waiting, full, reset, over = out.splitlines()
    assert waiting == f"waiting for a game on {server.url}: it begins when four clients wait"
    assert "The server is full (status 503); trying again in" in full
    assert "; trying again in" in reset
    assert over == f"the league on {server.url} has no more games"


@pytest.mark.slow
async def test_the_number_of_missing_clients_and_the_page_to_watch(tmp_path: Path) -> None:
    """The numbers come from our server, also when other clients join or leave. Each number is printed once."""
    async with serving(rounds=1) as server, playing(server, *"abc") as bots:
        user = server.lobby.users.find(server.register("mine", SECRET))
        assert user is not None
        words = ("--config", "arena", "--server", server.url, "--bot", "stay", "--in-process", "--display", "none")
        client = await begin(tmp_path, "play", *words, VINDIBOT_KEY=SECRET)
        assert "it begins when four clients wait" in await line_with(client, "waiting")
        assert await line_with(client, "") == f"watch our games on {server.url}/ai/{user.id}"
        assert await line_with(client, "") == "waiting for 3 more clients"
        joins = [asyncio.create_task(bot.join("arena")) for bot in bots[:2]]
        assert await line_with(client, "waiting for 1 more") == "waiting for 1 more client"
        joins.append(asyncio.create_task(bots[2].join("arena")))
        page = (await line_with(client, "its page: ")).removeprefix("its page: ")
        async with httpx.AsyncClient() as browser:
            assert (await browser.get(page)).status_code == 200
        for bot, join in zip(bots, joins, strict=True):
            await join
            bot.start()
        out = await ended(client)
        await asyncio.gather(*(bot.ended() for bot in bots))
    assert client.returncode == 0, out
    assert page in [f"{server.url}/{bot.game['id']}" for bot in bots]
    assert "waiting" not in out


@pytest.mark.slow
@pytest.mark.parametrize(("pace", "status"), [("original", 404), ("watch", 200)])
async def test_our_own_server_has_pages_if_a_person_watches(tmp_path: Path, pace: str, status: int) -> None:
    words = ("--bot", "stay", "--games", "2", "--pace", pace, "--in-process", "--display", "none")
    client = await begin(tmp_path, "play", *words)
    url = (await line_with(client, "our own server listens on ")).rpartition(" ")[2]
    async with httpx.AsyncClient(base_url=url) as browser:
        assert (await browser.get("/")).status_code == status
        assert (await browser.post("/api/training")).status_code == 400, "the routes for players are always there"
    client.send_signal(signal.SIGINT)
    out = await ended(client)
    assert client.returncode in (0, 130), out


@pytest.mark.slow
async def test_a_server_that_does_not_know_the_number_is_asked_once(tmp_path: Path) -> None:
    async with FaultyServer(joins={1: Fault("hang")}) as server:
        words = ("--config", "arena", "--server", server.url, "--bot", "stay", "--in-process")
        client = await begin(tmp_path, "play", *words, VINDIBOT_KEY=SECRET, VINDIBOT_JOIN_TIMEOUT_S="4")
        out = await ended(client)
    assert out.splitlines()[1] == f"watch our games on {server.url}/", out
    assert "more client" not in out
    assert server.questions == 1


async def test_a_line_while_a_client_waits_for_a_game() -> None:
    lines: list[str] = []
    bot = load_bot("stay")

    def notify(text: str) -> None:
        lines.append(text)
        if len(lines) == 2:
            player.stop_after_turn()

    async with FaultyServer(joins={1: Fault("hang")}) as server:
        settings = settings_for(server, mode="arena", report_every=0.05)
        player = GamePlayer(settings, bot, in_process_voters(bot), seed=1, margin=0.1, notify=notify)
        report = await player.play()
    assert report.outcome.reason is Reason.INTERRUPTED
    assert all(re.fullmatch(r"waiting for the game to begin, \d+ s so far", line) for line in lines), lines


@pytest.mark.slow
async def test_the_summary_has_the_name_of_the_standings(tmp_path: Path) -> None:
    async with serving() as server:
        server.register("ann", SECRET)
        words = ("play", "--server", server.url, "--bot", "stay", "--rounds", "2", "--games", "2", "--no-recording")
        out = await ended(await begin(tmp_path, *words, "--in-process", VINDIBOT_KEY=f" {SECRET} "))
    assert re.findall(r"game (\d) of 2: finished: (\w+) (?:came|tied)", out) == [("1", "ann"), ("2", "ann")]
    assert re.search(r"^ann: 2 games", out, re.MULTILINE)
    assert "stay" not in out


async def test_an_unknown_key_ends_with_the_servers_text(tmp_path: Path) -> None:
    async with serving() as server:
        words = ("--server", server.url, "--games", "9", "--bot", "stay", "--in-process")
        done = await begin(tmp_path, "play", *words, VINDIBOT_KEY=SECRET)
        out = await ended(done)
    assert done.returncode == 1
    assert out.count("Key not found") == 1, "what is refused once is not asked for eight times more"
    assert SECRET not in out
