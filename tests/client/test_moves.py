"""Moves: the rows of the faults that a server or the network can have in a game."""

from __future__ import annotations

import asyncio
import random
import time

import pytest

from sim.game import Game
from tests.support.clientkit import Pauses, Player, ReceivedEvents, finish, play, settings_for
from tests.support.faulty_server import LATE, OVER, TOKEN, Fault, FaultyServer
from vindibot.client.game_client import GameClient
from vindibot.games.outcome import Reason
from vindibot.games.protocol import Answer, ProtocolError

LOSSES = ["reset", "close", "cut", "page", "text"]
ILL_TYPED = Fault("state", "after", changes={"game.heroes.1.gold": "a lot"})
CRASHED = {"hero.crashed": True, "game.finished": True, "game.turn": 8}


@pytest.fixture(autouse=True)
def slow_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a refusal take long, as on a busy machine, before the client takes a move as accepted."""
    monkeypatch.setattr("vindibot.client.game_client.ACCEPTED_AFTER", 10.0)


def moves_once(server: FaultyServer) -> bool:
    """Whether each turn was played exactly once."""
    turns = [turn for turn, _ in server.moves]
    return turns == sorted(set(turns))


@pytest.mark.parametrize("understands_turn", [False, True])
@pytest.mark.parametrize("kind", LOSSES)
async def test_a_reply_lost_before_the_move_was_seen(kind: str, understands_turn: bool) -> None:
    """One repeat at once on a fresh connection, and nothing is lost."""
    player, pauses = Player(), Pauses()
    async with FaultyServer(moves={3: Fault(kind)}, understands_turn=understands_turn) as server:
        result = await finish(server, player, pauses=pauses)
    assert server.moves == player.decided
    assert player.turns == [0, 4, 8, 12, 16]
    assert pauses.asked == []
    assert server.connections == 2
    assert (result.faults, result.lost_turns) == (1, 0)


@pytest.mark.parametrize("kind", LOSSES)
async def test_a_reply_lost_after_the_move_was_accepted(kind: str) -> None:
    """The repeat comes out of turn; then a harmless move every 150 ms, until one brings the next state."""
    player, pauses = Player(), Pauses(0.02)
    async with FaultyServer(moves={3: Fault(kind, "after")}, opponent_seconds=0.02) as server:
        # The answer is lost when it is our turn again: of the clock of that turn nothing has passed.
        result = await finish(server, player, pauses=pauses)
    assert moves_once(server)
    assert len(server.moves) == 5
    assert result.lost_turns == 1
    assert [turn for turn, _ in player.decided] == [0, 4, 8, 16]


@pytest.mark.parametrize("kind", [*LOSSES, "hang", "dribble"])
async def test_a_move_with_its_turn_is_repeated_safely(kind: str) -> None:
    """Where the server knows a repeat by its turn, no move is lost and none is played twice."""
    player = Player()
    fault = Fault(kind, "after")
    faults = {2: fault, 4: fault}
    async with FaultyServer(moves=faults, understands_turn=True, stated_limit=0.05, opponent_seconds=0.01) as server:
        result = await finish(server, player, move_timeout=0.2)
    assert server.moves == player.decided
    assert len(player.turns) == 5
    assert result.lost_turns == 0


async def test_the_turn_is_sent_only_to_servers_that_understand_it() -> None:
    async with FaultyServer(plies=8) as original, FaultyServer(plies=8, understands_turn=True) as own:
        await play(original)
        await play(own)
    assert [form for _, form in original.forms[1:]] == [{"dir": "North"}, {"dir": "South"}]
    assert [form for _, form in own.forms[1:]] == [{"dir": "North", "turn": "0"}, {"dir": "South", "turn": "4"}]


async def test_out_of_step_a_request_is_sent_every_150_ms() -> None:
    pauses, events = Pauses(0.1), ReceivedEvents()
    async with FaultyServer(moves={1: Fault("reset", "after")}, plies=12) as server:
        # Reset at once, while the opponents still think: the move is in, and its answer will never come.
        server.move_faults = {1: Fault("status", status=400, body="Vindinium - Not your turn to move")}
        server.move_faults |= {2: Fault("status", status=400, body="Vindinium - Wait, you're not supposed to play now")}
        await finish(server, events=events, pauses=pauses)
    assert pauses.asked == [0.15, 0.15]
    assert [form["dir"] for _, form in server.forms[1:4]] == ["North", "Stay", "Stay"]


async def test_a_reply_lost_late_means_that_the_move_was_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server keeps an accepted move until our next turn: the repeat must not be a second blind move."""
    monkeypatch.setattr("vindibot.client.game_client.ACCEPTED_AFTER", 0.02)
    player = Player()
    async with FaultyServer(moves={2: Fault("reset", "after")}, opponent_seconds=0.1) as server:
        result = await finish(server, player)
    assert server.moves[2] == (8, "Stay")
    assert result.lost_turns == 1


async def test_an_unreachable_server_has_not_received_the_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vindibot.client.game_client.ACCEPTED_AFTER", -1.0)
    player, pauses = Player(), Pauses()
    server = await FaultyServer(moves={2: Fault("bye", "after")}, plies=12).start()

    async def decide(answer: Answer, games: Game, received_at: float) -> int:
        if answer.game.turn == 8:
            assert server._server is not None
            server._server.close()
            await server._server.wait_closed()
        return await player(answer, games, received_at)

    async def pause(seconds: float) -> None:
        await pauses(seconds)
        if len(pauses.asked) == 3:
            await server.start(server.port)

    async with GameClient(settings_for(server), pause=pause) as client:
        result = await client.play(decide)
    await server.__aexit__(None, None, None)
    assert result.outcome.reason is Reason.FINISHED
    assert server.moves == player.decided
    assert result.lost_turns == 0


async def test_an_idle_connection_closed_by_the_server_is_no_fault() -> None:
    player = Player(thinks=0.005)
    async with FaultyServer(moves={number: Fault("bye", "after") for number in range(1, 9)}, plies=32) as server:
        result = await finish(server, player)
    assert server.moves == player.decided
    assert result.faults == 0 or server.requests > len(server.moves)
    assert len(player.turns) == 8


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_move_is_repeated_to_an_overloaded_server_within_the_turn(status: int) -> None:
    player, pauses = Player(), Pauses()
    fault = Fault("status", status=status, headers={"Retry-After": "60"})
    async with FaultyServer(moves={2: fault, 3: fault, 4: fault}) as server:
        await finish(server, player, pauses=pauses)
    assert server.moves == player.decided
    assert len(pauses.asked) == 3
    assert all(0.05 <= pause <= 0.15 for pause in pauses.asked)


@pytest.mark.parametrize(
    ("number", "fault", "reason", "words"),
    [
        (3, Fault("status", status=400, body=LATE), Reason.TIMEOUT, ["turn 8", LATE]),
        (3, Fault("state", changes=CRASHED), Reason.TIMEOUT, ["turn 8"]),
        (2, Fault("status", status=404, body="Unknown game game0001"), Reason.UNKNOWN_GAME, ["Unknown game game0001"]),
        (2, Fault("status", status=403, body="bad weather"), Reason.REFUSED, ["bad weather"]),
        (2, Fault("status", status=503, body="down"), Reason.UNREACHABLE, ["turn 4", "down"]),
        (2, ILL_TYPED, Reason.PROTOCOL_ERROR, ["game.heroes[1].gold"]),
    ],
    ids=["late", "crashed", "unknown", "refused", "down", "unreadable"],
)
async def test_a_permanent_fault_ends_the_game(number: int, fault: Fault, reason: Reason, words: list[str]) -> None:
    pauses = Pauses()
    async with FaultyServer(moves=dict.fromkeys(range(number, 9999), fault), plies=4000) as server:
        result = await play(server, pauses=pauses, resync_timeout=3)
    assert (result.outcome.reason, result.outcome.exit_code) == (reason, 1)
    assert all(word in result.outcome.message for word in words)
    assert result.last is not None
    assert result.last.game.turn == (8 if reason is Reason.TIMEOUT else 4)
    repeated = reason in (Reason.UNREACHABLE, Reason.PROTOCOL_ERROR)
    assert repeated or server.requests == number + (reason is Reason.REFUSED), "a refusal without a known reason is repeated once"
    assert sum(pauses.asked) < 4
    assert sum(pauses.asked) > 0.5 or not repeated, "the rest of the 3 s is the time of the requests"


async def test_the_last_state_can_be_lost() -> None:
    player = Player()
    async with FaultyServer(moves={5: Fault("reset", "after")}) as server:
        result = await finish(server, player)
    assert OVER in result.outcome.message
    assert result.last is not None
    assert result.last.game.turn == 16
    assert server.moves == player.decided


@pytest.mark.parametrize("fault", [Fault("status", status=400, body="bad weather"), ILL_TYPED], ids=["refused", "unreadable"])
async def test_one_odd_answer_is_survived(fault: Fault) -> None:
    async with FaultyServer(moves={2: fault}) as server:
        await finish(server)


@pytest.mark.parametrize(
    "fault",
    [
        Fault("stale", turn=4),
        Fault("stale", turn=-4),
        Fault("state", changes={"game.id": "another1", "game.turn": 8}),
        Fault("state", changes={"hero.id": 3, "game.turn": 8}),
    ],
    ids=["same", "earlier", "game", "hero"],
)
async def test_a_state_of_an_earlier_turn_or_another_game_or_hero_is_ignored(fault: Fault) -> None:
    player = Player()
    async with FaultyServer(moves={2: fault, 3: fault}) as server:
        result = await finish(server, player)
    assert player.turns == [0, 4, 8, 12, 16]
    assert server.moves == player.decided
    assert result.faults == 2


async def test_the_wall_clock_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, -(10**9), -86400))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    player = Player()
    async with FaultyServer(moves={2: Fault("reset"), 3: Fault("status")}) as server:
        await finish(server, player)
    assert server.moves == player.decided


async def test_a_protocol_error_of_decide_ends_the_game_and_any_other_error_is_raised() -> None:
    error: Exception = ProtocolError("game.board.size: boards of 1 to 28 rows can be played, this one has 2")

    async def decide(answer: Answer, games: Game, received_at: float) -> int:
        raise error

    async with FaultyServer() as server:
        result = await play(server, decide)
        error = RuntimeError("no idea")
        with pytest.raises(RuntimeError, match="no idea"):
            await play(server, decide)
    assert result.outcome.reason is Reason.PROTOCOL_ERROR
    assert "game.board.size" in result.outcome.message
    assert result.last is not None


# ---- Ending early ----


async def test_stopping_finishes_the_turn() -> None:
    player = Player()
    async with FaultyServer() as server, GameClient(settings_for(server)) as client:

        async def decide(answer: Answer, games: Game, received_at: float) -> int:
            if answer.game.turn == 8:
                client.stop_after_turn()
                client.stop_after_turn()
            return await player(answer, games, received_at)

        result = await client.play(decide)
    assert result.outcome.reason is Reason.INTERRUPTED
    assert result.outcome.exit_code == 130
    assert player.turns == [0, 4, 8]
    assert server.moves == player.decided
    assert result.last is not None
    assert result.last.game.turn == 12


async def test_stopping_out_of_step_ends_at_once() -> None:
    async with FaultyServer(moves={2: Fault("reset", "after")}, opponent_seconds=0.01) as server:
        server.move_faults |= {number: Fault("status", status=400, body="Not your turn to move") for number in range(3, 999)}
        async with GameClient(settings_for(server), pause=Pauses()) as client:

            async def decide(answer: Answer, games: Game, received_at: float) -> int:
                if answer.game.turn == 4:
                    client.stop_after_turn()
                return 1

            result = await client.play(decide)
    assert result.outcome.reason is Reason.INTERRUPTED
    assert server.requests == 3


@pytest.mark.parametrize("kind", ["hang", "thinking", "pause"])
async def test_cancelling_ends_at_once_wherever_it_is(kind: str) -> None:
    reached = asyncio.Event()

    async def decide(answer: Answer, games: Game, received_at: float) -> int:
        if answer.game.turn == 4 and kind == "thinking":
            reached.set()
            await asyncio.sleep(3600)
        return 1

    async def pause(seconds: float) -> None:
        reached.set()
        await asyncio.sleep(3600)

    faults = {"hang": {2: Fault("hang")}, "thinking": {}, "pause": {2: Fault("status")}}[kind]
    async with FaultyServer(moves=faults) as server, GameClient(settings_for(server), pause=pause) as client:
        task = asyncio.create_task(client.play(decide))
        await (server.misbehaving if kind == "hang" else reached).wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.slow
async def test_random_faults_never_play_a_turn_twice() -> None:
    """A hundred moves and a fault in every third request: each turn is played once, and without a decision only where the
    server cannot tell repeats."""
    rng = random.Random(20240229)
    kinds = [*LOSSES, "bye", "status", "stale"]
    for understands_turn in (True, False):
        faults = {number: Fault(rng.choice(kinds), rng.choice(("before", "after"))) for number in rng.sample(range(1, 300), 100)}
        player = Player()
        async with FaultyServer(moves=faults, plies=400, understands_turn=understands_turn) as server:
            result = await finish(server, player)
        assert moves_once(server)
        if understands_turn:
            assert server.moves == player.decided
            assert result.lost_turns == 0
        else:
            assert len(server.moves) == 100
            assert len(player.turns) + result.lost_turns == 100
    assert TOKEN not in repr(result)
