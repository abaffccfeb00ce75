"""``vindibot watch``: live and recorded games, the keys, and the lines that it prints without a terminal."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from sim.game import CRASH, equal
from sim.generator import generate
from tests.support.recorded import record, record_of, states_of
from tests.support.serving import match_of_four, playing, rounds_of_the_loop, serving
from tests.support.terminals import TerminalProgram
from tests.support.waiting import until
from vindibot.base.errors import UsageError, VindibotError
from vindibot.cli.main import main
from vindibot.games.game_record import dumps
from vindibot.games.history import GameHistory
from vindibot.games.protocol import GameState
from vindibot.terminal.keyboard import keyboard, keys_in
from vindibot.terminal.lines import ending_text, lines_of
from vindibot.terminal.stream import GameAddress, Watcher, events
from vindibot.terminal.watch import FASTEST, SLOWEST, Playback

# ---- Games ----


def test_the_history_of_a_recording(tmp_path: Path) -> None:
    states = states_of(5, plies=80)
    recording = record(tmp_path, states, 2)
    history = GameHistory.of(recording)
    assert (len(history), history.me, history.complete, ending_text(history)) == (80, 1, True, "finished")
    assert all(equal(games, state) for games, state in zip(history.states(), states, strict=True))
    assert [history.turn(number) for number in history.ballots] == [own.turn for own in recording.turns]
    assert [ply.mover for ply in history][:5] == [0, 1, 2, 3, 0]
    assert history.names == recording.names
    assert (history.at_turn(0), history.at_turn(41), history.at_turn(999)) == (0, 41, 80)


def test_the_history_of_an_incomplete_recording_has_gaps_and_no_ending(tmp_path: Path) -> None:
    history = GameHistory.of(record(tmp_path, states_of(3), 2, without=frozenset({41, 45}), outcome=False))
    assert ending_text(history) == "it broke off"
    (gap,) = history.gaps
    assert next(lines_of(history, gap + 1)) == "turn 49: what came before is not known"


def test_the_history_of_a_record() -> None:
    history = GameHistory.of(record_of(generate(1, size=8), [1, 2, CRASH, 0]))
    assert history.turn(0) == 0
    assert [(ply.turn, ply.mover, ply.move) for ply in history] == [
        (1, 0, 1),
        (2, 1, 2),
        (3, 2, CRASH),
        (4, 3, 0),
    ]
    assert ending_text(history) == "interrupted"
    lines = list(lines_of(history))
    assert len(lines) == 5
    assert lines[0] == "turn 0: the first state"
    assert "@3 drei ☃ crashed, at (" in lines[3]


# ---- Keys ----


STATES = states_of(1, plies=40)


def a_game(states: int, complete: bool = True) -> GameHistory:
    history = GameHistory("x")
    for state in STATES[:states]:
        history.append(state)
    if complete:
        history.end()
    return history


def test_keys_as_terminals_send_them() -> None:
    assert list(keys_in("q \x1b[C\x1bOD\x1b[A\x1b[B\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[5~+-")) == [
        *["q", " ", "right", "left", "up", "down", "home", "end", "home", "end", "+", "-"]
    ]


async def test_a_key_that_comes_in_pieces_is_one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = os.openpty()
    pressed: list[str] = []

    async def stopping() -> None: ...

    with os.fdopen(theirs) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        with keyboard(pressed.append, stopping, lambda: None) as has_keys:
            assert has_keys
            for piece, keys in ((b"q\x1b", ["q"]), (b"[", ["q"]), (b"Bn", ["q", "down", "n"])):
                os.write(ours, piece)
                await until(lambda keys=keys: pressed == keys)
                await rounds_of_the_loop()
    os.close(ours)


def test_playback_runs_pauses_and_steps() -> None:
    playback = Playback(a_game(41), 100.0)
    assert playback.wait(100.0) == pytest.approx(0.25)
    playback.advance(101.0)
    assert playback.position == 4, "a round a second"
    playback.press("+", 101.0)
    playback.advance(102.0)
    assert playback.position == 12
    playback.press(" ", 102.0)
    playback.advance(200.0)
    assert (playback.position, playback.wait(200.0)) == (12, None)
    for key, position in [
        ("right", 13),
        ("left", 12),
        ("down", 16),
        ("up", 12),
        ("home", 0),
        ("left", 0),
        ("end", 40),
        ("n", 40),
    ]:
        playback.press(key, 200.0)
        assert playback.position == position
    playback.press(" ", 300.0)
    assert (playback.position, playback.paused) == (0, False), "at the end, space begins anew"
    playback.press("q", 300.0)
    assert playback.quit


def test_a_live_game_shows_the_newest_state_until_a_step_back() -> None:
    history = a_game(10, complete=False)
    playback = Playback(history, 0.0, following=True)
    playback.advance(0.0)
    assert playback.position == 9
    history.append(STATES[10])
    playback.advance(0.1)
    assert playback.position == 10
    playback.press("left", 1.0)
    playback.advance(50.0)
    assert playback.position == 9
    playback.press(" ", 50.0)
    playback.advance(51.0)
    assert (playback.position, playback.following) == (10, True), "at the newest it is live again"


@given(
    st.lists(st.tuples(st.sampled_from([*"q +-npjkgG0$x", "up", "down", "left", "right", "home", "end"]), st.floats(0, 10))),
    st.integers(1, 12),
    st.booleans(),
)
def test_the_position_stays_within_the_game(keys: list[tuple[str, float]], states: int, complete: bool) -> None:
    history = a_game(states, complete)
    playback, now = Playback(history, 0.0), 0.0
    for key, seconds in keys:
        now += seconds
        playback.press(key, now)
        playback.advance(now)
        assert 0 <= playback.position < states
        assert SLOWEST <= playback.speed <= FASTEST
        assert equal(playback.frame().games, STATES[playback.position])
        wait = playback.wait(now)
        assert wait is None or (wait >= 0 and not playback.paused)


# ---- Streams ----


@asynccontextmanager
async def cutting(port: int, after: list[int]) -> AsyncIterator[str]:
    """A proxy of a server that breaks each connection after a number of bytes of the answer: the numbers in `after`."""
    cuts = iter(after)
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        far, back = await asyncio.open_connection("127.0.0.1", port)
        left = next(cuts, 1 << 30)

        async def there() -> None:
            while piece := await reader.read(4096):
                back.write(piece)

        sending = asyncio.create_task(there())
        with suppress(ConnectionError, asyncio.CancelledError):
            while left > 0 and (piece := await far.read(min(4096, left))):
                writer.write(piece)
                await writer.drain()
                left -= len(piece)
        sending.cancel()
        back.close()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def followed(url: str) -> tuple[list[GameState], GameHistory, list[str]]:
    address = GameAddress.parse(url)
    notes: list[str] = []
    watcher, history = Watcher(address.server, notes.append), GameHistory()
    states = []
    try:
        async for state in watcher.states(address.game or await watcher.newest()):
            states.append(state)
            history.append(state)
    finally:
        await watcher.aclose()
    history.end()
    return states, history, notes


@pytest.mark.slow
async def test_a_live_game_is_followed_through_broken_connections() -> None:
    async with serving() as server, playing(server, "one") as (bot,):
        await bot.join("training", turns=10)
        game = bot.game["id"]
        async with cutting(server.port, [100, 900, 7000, 9000]) as url:
            watching = asyncio.create_task(followed(f"{url}/{game}"))
            await bot.play_on("North")
            states, history, notes = await watching
        assert [state.turn for state in states] == list(range(1, 41))
        assert len(notes) >= 3
        assert [history.turn(number) for number in range(len(history) + 1)] == list(range(41))
        assert not history.gaps
        assert ending_text(history) == "finished"
        again, _, _ = await followed(f"{server.url}/events/{game}?x#y")
        assert again == states, "a finished game is seen like a live one"


async def test_the_newest_game_of_a_server_and_a_crash_at_the_end() -> None:
    async with serving(time_limit_ms=150) as server, match_of_four(server, rounds=5) as (bots, _):
        watching = asyncio.create_task(followed(server.url))
        await bots[0].move("North")
        _, history, _ = await watching
        assert ending_text(history) == "all-crashed"
        assert history.moves[-3:] == [CRASH] * 3


async def test_a_missing_game_and_a_missing_server_are_errors() -> None:
    async with serving() as server:
        with pytest.raises(VindibotError, match=f"there is no game 'nosuch' on {server.url}"):
            await followed(f"{server.url}/nosuch")
    with pytest.raises(VindibotError, match="cannot connect"):
        await followed(f"{server.url}/abcd")


def test_addresses() -> None:
    for text, server, game in [
        ("http://localhost:9000", "http://localhost:9000", ""),
        ("http://localhost:9000/", "http://localhost:9000", ""),
        ("localhost:9000/abcd1234", "http://localhost:9000", "abcd1234"),
        ("https://host/abcd1234?turn=3#x", "https://host", "abcd1234"),
        ("http://host/some/where/events/abcd1234", "http://host/some/where", "abcd1234"),
    ]:
        address = GameAddress.parse(text)
        assert (str(address.server), address.game) == (server, game)
    with pytest.raises(UsageError) as refused:
        GameAddress.parse("http://localhost:9000/api/abcd1234/t0k3/play")
    assert "t0k3" not in str(refused.value)


@given(st.lists(st.integers(1, 40), max_size=20), st.sampled_from([b"\n", b"\r\n"]))
def test_events_in_pieces(cuts: list[int], end: bytes) -> None:
    body = b": hello\n\ndata: {\n\ndata: a\nid: 7\n\n:\n\ndata: b\ndata: c\nid: 8\nevent: x\n\ndata: cut".replace(b"\n", end)

    async def pieces() -> AsyncIterator[bytes]:
        rest = body
        for cut in cuts:
            yield rest[:cut]
            rest = rest[cut:]
        yield rest

    async def all_of() -> list[tuple[str, str]]:
        return [(event.data, event.id) async for event in events(pieces())]

    assert asyncio.run(all_of()) == [("{", ""), ("a", "7"), ("b\nc", "8")]


# ---- The command ----


def test_a_recording_as_lines(tmp_path: Path) -> None:
    path = record(tmp_path, states_of(5, plies=40), 2).path
    result = CliRunner().invoke(main, ["watch", str(path)])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == 42
    assert lines[0] == "turn 0: the first state"
    assert re.fullmatch(r"turn 2: @2 \[red\]two\[/\] \w+, at \(\d+, \d+\), life \d+, gold \d+, mines \d+", lines[2])
    assert re.fullmatch(r"game abcd1234 ended: finished; @. .*", lines[-1])
    assert len(CliRunner().invoke(main, ["watch", str(path), "--turn", "30"]).output.splitlines()) == 12


def test_a_game_of_a_file_of_records(tmp_path: Path) -> None:
    path = tmp_path / "cup.games.jsonl"
    board = generate(1, size=8)
    path.write_bytes(b"\n".join(dumps(record_of(board, moves, id=name)) for name, moves in [("a", [1]), ("b", [2, 2])]))
    assert "turn 2: @2" in CliRunner().invoke(main, ["watch", str(path), "--game", "b"]).output
    assert CliRunner().invoke(main, ["watch", str(path)]).exit_code == 2


@pytest.mark.slow
def test_a_recording_in_a_terminal_by_keys(tmp_path: Path) -> None:
    path = record(tmp_path, states_of(5, plies=40), 2).path
    with TerminalProgram("watch", str(path), folder=tmp_path, size=(100, 40)) as terminal:
        terminal.until(r"turn 0 ")
        terminal.press(" ")
        terminal.until(r"paused")
        terminal.press("g\x1b[B\x1b[C")
        terminal.until(r"turn 5 ")
        terminal.press("\x1b[F")
        terminal.until(r"turn 40  finished")
        terminal.until(r"votes of turn \d+: South")
        terminal.until(r"the end")
        terminal.press("q")
        terminal.until(r"game abcd1234 ended: finished")
        assert terminal.end() == 0
        assert terminal.is_restored, "the terminal is left as it was"


@pytest.mark.slow
def test_a_stopped_program_goes_on_where_it_was(tmp_path: Path) -> None:
    path = record(tmp_path, states_of(5, plies=40), 2).path
    with TerminalProgram("watch", str(path), "--turn", "7", folder=tmp_path, shell=True) as terminal:
        terminal.until(r"turn 7 ")
        terminal.press("\x1a")
        assert terminal.report() == {"stopped": True, "echo": True}
        terminal.go_on()
        terminal.press("n")
        terminal.until(r"turn 8 ")
        terminal.press("q")
        assert terminal.report() == {"stopped": False, "echo": True}


def test_an_error_restores_the_terminal(tmp_path: Path) -> None:
    program = (
        "import asyncio\n"
        "from vindibot.terminal.keyboard import keyboard\n"
        "async def main():\n"
        "    pressed = asyncio.Event()\n"
        "    with keyboard(lambda key: pressed.set(), None, None) as has_keys:\n"
        "        print('keys', has_keys, flush=True)\n"
        "        await pressed.wait()\n"
        "        raise ValueError('an error')\n"
        "asyncio.run(main())\n"
    )
    with TerminalProgram(program=program, folder=tmp_path) as terminal:
        terminal.until("keys True")
        assert not terminal.is_restored
        terminal.press("x")
        terminal.until("ValueError: an error")
        assert terminal.end() == 1
        assert terminal.is_restored


@pytest.mark.parametrize("me", [0, 3])
def test_votes_stay_until_the_next_ones(tmp_path: Path, me: int) -> None:
    history = GameHistory.of(record(tmp_path, states_of(5, plies=40), me + 1))
    playback = Playback(history, 0.0)
    for state in range(41):
        frame = playback.frame()
        own = [turn for turn in range(me, 40, 4) if turn <= state]
        assert frame.voted == (own[-1] if own else None)
        assert frame.ballot is (history.ballots[own[-1]] if own else None)
        assert frame.decided_now == (state in own)
        assert frame.ending == ("finished" if state == 40 else "")
        playback.press("right", 0.0)


async def test_a_live_game_as_lines() -> None:
    async with serving() as server, playing(server, "<b>one</b>") as (bot,):
        await bot.join("training", turns=3)
        address = f"{server.url}/{bot.game['id']}"
        watching = asyncio.create_task(asyncio.to_thread(CliRunner().invoke, main, ["watch", address]))
        assert CliRunner().invoke(main, ["watch", address, "--game", "abcd"]).exit_code == 2
        await bot.move("North")
        await bot.play_on()
        result = await watching
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == 14
    assert lines[0] == "turn 0: the first state"
    assert lines[1].startswith("turn 1: @1 <b>one</b> North, at (")
    assert lines[-1].startswith(f"game {bot.game['id']} ended: finished; ")


@pytest.mark.parametrize("listed", [b"<b>", b"[" * 100_000])
def test_a_list_of_games_that_is_not_json(listed: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            with server.accept()[0] as connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: " + listed + b"\n\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        result = CliRunner().invoke(main, ["watch", address])
        thread.join()
    assert result.exit_code == 1
    assert result.stderr == f"error: {address} sends a list of games that is not JSON\n"
