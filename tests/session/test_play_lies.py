"""``vindibot play`` against a server that contradicts itself: such a game ends, and the others go on."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.commands import SECRET, begin, ended, opened, recorded, recordings
from tests.support.faulty_server import TOKEN, Fault, FaultyServer
from vindibot.games.files.recording import read_recording


def lie(**changes: Any) -> Fault:
    """Return a false answer. In the names of the fields, ``__`` stands for a dot."""
    return Fault("state", "after", changes={name.replace("__", "."): value for name, value in changes.items()})


#: By the number of the game: the answer that is a lie (0: to the join), the lie, and what the outcome says of it.
LIES = {
    1: (2, lie(game__board__tiles="##"), "game.board.tiles"),
    2: (1, lie(game__heroes__2__life=9999), "game.heroes[2].life"),
    3: (3, lie(game__heroes__0__pos={"x": 40, "y": -1}), "game.heroes[0].pos"),
    4: (2, lie(hero__id=9), "hero.id"),
    5: (2, lie(game__turn=2**31 - 1), "game.turn"),
    6: (0, lie(game__heroes__1__gold=-5), "game.heroes[1].gold"),
    7: (4, lie(game__finished=True, game__heroes__3__spawnPos={"x": 99, "y": 0}), "game.heroes[3].spawnPos"),
    9: (0, lie(hero__id=9), "hero.id"),
}
#: An answer that cannot be read: it is asked for again.
NESTED = Fault("text", body='{"x":' + "[" * 5000 + "]" * 5000 + "}")


@pytest.mark.slow_faults
async def test_a_game_with_an_impossible_state_ends_and_the_others_go_on(tmp_path: Path) -> None:
    joins: dict[int, Fault] = {10: NESTED}
    moves: dict[int, Fault] = {}
    requests = 0
    for number in range(1, 11):
        answer, fault, _ = LIES.get(number, (5, None, ""))
        requests += answer
        if fault is not None:
            (moves if answer else joins)[requests if answer else number] = fault
    async with FaultyServer(joins=joins, moves=moves) as server:
        words = ("play", "--server", server.url, "--bot", "stay", "--games", "10", "--display", "none")
        process = await begin(tmp_path, *words, VINDIBOT_KEY=SECRET)
        out = await ended(process)
    assert process.returncode == 1, out
    assert "Traceback" not in out
    assert "recursion limit exceeded" in out
    ends = re.findall(r"^game (\d+) of 10: ([a-z-]+): (.*)$", out, re.MULTILINE)
    assert [int(number) for number, *_ in ends] == list(range(1, 11)), out
    for number, reason, message in ends:
        *_, words_of_lie = LIES.get(int(number), ("",))
        assert (reason, words_of_lie in message) == ("protocol-error" if words_of_lie else "finished", True), out
    found = [read_recording(path) for path in recordings(tmp_path)]
    # The recordings have the turns before the lie, and the last state that was sound. Without a first state there is none.
    assert sorted(len(recording.turns) for recording in found) == [0, 1, 2, 2, 2, 3, 4, 5, 5]
    for recording in found:
        assert [turn.turn for turn in recording.turns] == list(range(0, 4 * len(recording.turns), 4))
        assert (recording.last is None) == (not recording.turns)


@pytest.mark.slow_faults
async def test_a_server_that_always_answers_invalidly_is_given_up(tmp_path: Path) -> None:
    async with FaultyServer(joins=dict.fromkeys(range(1, 99), lie(token=7))) as server:
        process = await begin(tmp_path, "play", "--server", server.url, "--bot", "stay", "--games", "50", VINDIBOT_KEY=SECRET)
        out = await ended(process)
    assert process.returncode == 1, out
    assert out.count(": protocol-error: ") == server.joins == 3, out


TOLD = f"<{SECRET}> {TOKEN} https://h/?key={SECRET}"
#: The key and the token in all texts and unknown fields that a client could show or store.
TELLING = {
    f"game.heroes.{number}.{name}": value
    for number in range(4)
    for name, value in {
        "name": f"{TOLD} {number}",
        "userId": TOLD,
        "motto": TOLD,
        SECRET: [TOLD, {TOLD: int("8" * 8)}],
        "pos.note": TOLD,
    }.items()
} | {
    "game.id": f"g-{SECRET}",
    "game.note": [TOLD],
    "game.nested": {"key": "other", "deep": {"token": TOLD}},
    f"game.{TOKEN}": 1,
    "game.board.author": TOLD,
    "note": TOLD,
}


@pytest.mark.slow_faults
@pytest.mark.parametrize("broken", [False, True])
async def test_a_key_and_a_token_in_names_and_unknown_fields_are_shown_nowhere(tmp_path: Path, broken: bool) -> None:
    """They stand neither in the recording nor in the log, on the terminal, on the live page or in an error message."""
    telling = Fault("state", "after", changes=TELLING)
    moves = dict.fromkeys(range(1, 7), telling)
    if broken:
        moves[2] = Fault("state", "after", changes={**TELLING, "game.board.tiles": SECRET})
    async with FaultyServer(joins={1: telling}, moves=moves, plies=24) as server:
        words = ("play", "--server", server.url, "--bot", "stay", "--display", "lines", "--log-level", "debug")
        async with opened(tmp_path, *words, VINDIBOT_KEY=SECRET, VINDIBOT_LOG__FILE="log.jsonl") as (process, page):
            async with httpx.AsyncClient(timeout=60) as client:
                shown = [(await client.get(page)).text]
                async with client.stream("GET", page.replace("/game/", "/plies/")) as answer:
                    shown += [piece async for piece in answer.aiter_text()]
            shown.append(await ended(process))
    assert process.returncode == broken, shown[-1]
    recording = recorded(tmp_path)
    shown += [page, str(recording.path), recording.path.read_text(), (tmp_path / "log.jsonl").read_text()]
    assert [text for text in shown if SECRET in text or re.search(rf"\b{TOKEN}\b", text)] == []
    assert len(recording.turns) == (2 if broken else 6), "the game itself is as before"
    assert len(set(recording.names)) == 4, "the names are still told apart"
