"""``vindibot play`` against a server that contradicts itself: such a game ends, and the others go on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.session.lying_server import changed, lying, nested
from tests.support.commands import SECRET, begin, ended, opened, recorded, recordings
from vindibot.games.files.recording import Recording, read_recording

#: By the number of the game: the answer that is a lie, the lie, and what the outcome says of it.
LIES = {
    1: (2, changed(game__board__tiles="##"), "game.board.tiles"),
    2: (1, changed(game__heroes__2__life=9999), "game.heroes[2].life"),
    3: (3, changed(game__heroes__0__pos={"x": 40, "y": -1}), "game.heroes[0].pos"),
    4: (2, changed(hero__id=9), "hero.id"),
    5: (2, changed(game__turn=2**31 - 1), "game.turn"),
    6: (0, changed(game__heroes__1__gold=-5), "game.heroes[1].gold"),
    7: (4, changed(game__finished=True, game__heroes__3__spawnPos={"x": 99, "y": 0}), "game.heroes[3].spawnPos"),
    9: (0, changed(hero__id=9), "hero.id"),
}


def by_game(folder: Path) -> dict[str, Recording]:
    return {recording.header.game: recording for recording in map(read_recording, recordings(folder))}


@pytest.mark.slow_faults
async def test_a_game_with_an_impossible_state_ends_and_the_others_go_on(tmp_path: Path) -> None:
    async with lying({number: (answer, lie) for number, (answer, lie, _) in LIES.items()}) as (server, app):
        words = ("play", "--server", server.url, "--bot", "stay", "--games", "10", "--parallel", "2", "--rounds", "4")
        process = await begin(tmp_path, *words, "--display", "none", VINDIBOT_KEY=SECRET)
        out = await ended(process)
    assert process.returncode == 1, out
    assert "Traceback" not in out
    assert out.count(": protocol-error: ") == len(LIES), out
    assert out.count(": finished: ") == 2, out
    found = by_game(tmp_path)
    for number, game in enumerate(app.games, 1):
        if number == 9:  # without a hero's number there is nothing to record
            assert game not in found
            continue
        outcome = found[game].outcome
        assert outcome is not None
        if number not in LIES:
            assert outcome.reason == "finished"
            continue
        answer, _, path = LIES[number]
        assert outcome.reason == "protocol-error"
        assert path in outcome.message
        assert [turn.turn for turn in found[game].turns] == list(range(0, 4 * answer, 4)), "turns before the lie"
        assert (found[game].last is None) == (answer == 0), "the last state is the last one that was sound"


@pytest.mark.slow_faults
async def test_the_next_game_follows_after_an_invalid_answer_to_a_join(tmp_path: Path) -> None:
    async with lying(dict.fromkeys((1, 2, 3), (0, nested))) as (server, _):
        words = ("play", "--server", server.url, "--bot", "stay", "--games", "3", "--rounds", "2", "--display", "none")
        process = await begin(tmp_path, *words, VINDIBOT_KEY=SECRET)
        out = await ended(process)
    assert process.returncode == 1, out
    assert "Traceback" not in out
    assert out.count(": protocol-error: ") == 1, out
    assert "recursion limit exceeded" in out
    assert out.count(": finished: ") == 2, out


@pytest.mark.slow_faults
async def test_a_server_that_always_answers_invalidly_is_given_up(tmp_path: Path) -> None:
    async with lying(dict.fromkeys(range(1, 99), (0, changed(token=7)))) as (server, app):
        words = ("play", "--server", server.url, "--bot", "stay", "--games", "50", "--rounds", "2", "--display", "none")
        process = await begin(tmp_path, *words, VINDIBOT_KEY=SECRET)
        out = await ended(process)
    assert process.returncode == 1, out
    assert out.count(": protocol-error: ") == len(app.games) == 3, out


def telling(state: Any) -> bytes:
    """Return the answer with the key and the token in all texts and unknown fields that a client could show or store."""
    told = f"<{SECRET}> {state['token']} https://h/?key={SECRET}"
    game = state["game"]
    for number, hero in enumerate(game["heroes"]):
        hero |= {"name": f"{told} {number}", "userId": told, "motto": told, SECRET: [told, {told: int("8" * 8)}]}
        hero["pos"]["note"] = told
    game |= {"id": f"g-{SECRET}", "note": [told], "nested": {"key": "other", "deep": {"token": told}}, state["token"]: 1}
    game["board"]["author"] = told
    state["hero"] = game["heroes"][state["hero"]["id"] - 1]
    return json.dumps(state | {"note": told}).encode()


@pytest.mark.slow_faults
@pytest.mark.parametrize("broken", [False, True])
async def test_a_key_and_a_token_in_names_and_unknown_fields_are_shown_nowhere(tmp_path: Path, broken: bool) -> None:
    """They stand neither in the recording nor in the log, on the terminal, on the live page or in an error message."""
    tokens = set()

    def lie(state: Any) -> bytes:
        tokens.add(state["token"])
        if broken and state["game"]["turn"] >= 8:
            state["game"]["board"]["tiles"] = SECRET + state["game"]["board"]["tiles"][len(SECRET) :]
        return telling(state)

    async with lying({1: (None, lie)}) as (server, _):
        words = ("play", "--server", server.url, "--bot", "stay", "--rounds", "6", "--display", "lines")
        more = {"VINDIBOT_KEY": SECRET, "VINDIBOT_LOG__FILE": "log.jsonl"}
        async with opened(tmp_path, *words, "--log-level", "debug", **more) as (process, page):
            async with httpx.AsyncClient(timeout=60) as client:
                shown = [(await client.get(page)).text]
                async with client.stream("GET", page.replace("/game/", "/plies/")) as answer:
                    shown += [piece async for piece in answer.aiter_text()]
            shown.append(await ended(process))
    assert process.returncode == broken, shown[-1]
    recording = recorded(tmp_path)
    shown += [page, str(recording.path), recording.path.read_text(), (tmp_path / "log.jsonl").read_text()]
    for secret in (SECRET, *tokens):
        assert [text for text in shown if re.search(rf"\b{re.escape(secret)}\b", text)] == []
    assert SECRET not in "".join(shown)
    assert len(recording.turns) == (2 if broken else 6), "the game itself is as before"
    assert len(set(recording.names)) == 4, "the names are still told apart"
