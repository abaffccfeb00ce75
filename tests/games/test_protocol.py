"""The models of the protocol: exact text, tolerance, precise errors, and the conversion to a game and back."""

from __future__ import annotations

import copy
import json
import tempfile
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from behaviours import View
from sim.game import CRASH, DIRECTIONS, equal
from sim.generator import generate
from sim.rules import step
from tests.support.oracle import read_games
from tests.support.paths import SHARED
from vindibot.base.text import Redactor
from vindibot.client.api import Meaning, judge
from vindibot.client.transport import Reply
from vindibot.engine.agent import fallback
from vindibot.games.ballot import Ballot
from vindibot.games.files.recording import Header, Recorder, read_recording
from vindibot.games.outcome import Outcome
from vindibot.games.protocol import (
    Player,
    ProtocolError,
    answer_games,
    encode_json,
    from_games,
    read_answer,
    read_direction,
    read_game,
    to_games,
)

ORACLE = SHARED / "oracle"
PLAYERS = [Player('a "quoted" bot', "u1234567", 1200), Player("random"), Player("Zoë"), Player("nobody", "u7654321", 0)]

#: One answer of the server, letter by letter: the protocol's order of fields, no blanks, nothing that is null.
TEXT = (
    '{"game":{"id":"s2xh3aig","turn":4,"maxTurns":1200,"heroes":['
    '{"id":1,"name":"seed","userId":"j07ws669","elo":1200,"pos":{"x":0,"y":1},"lastDir":"East","life":99,"gold":1,'
    '"mineCount":1,"spawnPos":{"x":0,"y":0},"crashed":false},'
    '{"id":2,"name":"random","pos":{"x":3,"y":0},"lastDir":"Stay","life":99,"gold":0,'
    '"mineCount":0,"spawnPos":{"x":3,"y":0},"crashed":false},'
    '{"id":3,"name":"random","pos":{"x":3,"y":3},"lastDir":"West","life":99,"gold":0,'
    '"mineCount":0,"spawnPos":{"x":3,"y":3},"crashed":false},'
    '{"id":4,"name":"random","pos":{"x":0,"y":3},"life":99,"gold":0,'
    '"mineCount":0,"spawnPos":{"x":0,"y":3},"crashed":true}'
    '],"board":{"size":4,"tiles":"  @1  @4  $1[]    []$-  @2    @3"},"finished":false},'
    '"hero":{"id":1,"name":"seed","userId":"j07ws669","elo":1200,"pos":{"x":0,"y":1},"lastDir":"East","life":99,"gold":1,'
    '"mineCount":1,"spawnPos":{"x":0,"y":0},"crashed":false},'
    '"token":"lte0","viewUrl":"http://localhost:9000/s2xh3aig","playUrl":"http://localhost:9000/api/s2xh3aig/lte0/play"}'
)


def test_an_answer_is_read_and_written_to_the_letter() -> None:
    answer = read_answer(TEXT.encode())
    assert encode_json(answer.to_json()) == TEXT.encode()
    assert answer.game.max_turns == 1200
    assert answer.game.heroes[3].last_dir is None
    assert answer.game.heroes[1].user_id is None
    assert answer.play_url.endswith("/api/s2xh3aig/lte0/play")


def test_a_game_made_from_an_answer_is_written_to_the_letter() -> None:
    game = read_answer(TEXT).game
    games = to_games(game)
    players = [Player(hero.name, hero.user_id, hero.elo) for hero in game.heroes]
    assert encode_json(from_games(games, game_id=game.id, players=players)) == encode_json(json.loads(TEXT)["game"])
    record = games[0]
    assert (record["turn"], record["max_turns"], record["size"], record["status"]) == (4, 1200, 4, 0)
    assert record["hero"]["gold"].tolist() == [1, 0, 0, 0]
    assert record["hero"]["crashed"].tolist() == [0, 0, 0, 1]
    assert record["hero"]["last_dir"].tolist() == [3, 0, 4, -1]


def test_unknown_fields_and_nulls_are_accepted() -> None:
    wire = json.loads(TEXT)
    wire["news"] = wire["game"]["news"] = wire["game"]["heroes"][0]["hat"] = {"colour": "red"}
    wire["game"]["heroes"][1] |= {"userId": None, "elo": None}
    wire["game"]["heroes"][3]["lastDir"] = None
    read = read_answer(json.dumps(wire)).to_json()
    assert "news" not in read, "around the game anything may be a secret"
    assert read["game"].pop("news") == read["game"]["heroes"][0].pop("hat") == {"colour": "red"}, "for recordings"
    assert encode_json(read) == TEXT.encode()


def change(path: str, value: Any) -> str:
    """The answer with one field changed, or removed if `value` is `...`."""
    wire = copy.deepcopy(json.loads(TEXT))
    place: Any = wire
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(wire)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("game.heroes.2.life", ..., "game.heroes[2].life: "),
        ("game.heroes.2.life", 99.5, "game.heroes[2].life: "),
        ("game.heroes.0.gold", 2**31, "game.heroes[0].gold: "),
        ("game.heroes.1.lastDir", "Up", "game.heroes[1].lastDir: "),
        ("game.heroes", [], "game.heroes[0]: "),
        ("token", 1234, "token: "),
    ],
)
def test_a_wrong_field_is_named_by_its_path(path: str, value: Any, named: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        read_answer(change(path, value))
    assert caught.value.message.startswith(named)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"[]", b"\xff\xfe", TEXT[:-30].encode()])
def test_an_invalid_answer_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_answer(body)


def test_no_token_in_a_repr_or_an_error() -> None:
    assert "lte0" not in repr(read_answer(TEXT))
    for path, value in [("token", ["lte0"]), ("viewUrl", ...), ("game.heroes.2.life", "lte0")]:
        with pytest.raises(ProtocolError) as caught:
            read_answer(change(path, value))
        assert "lte0" not in "".join(traceback.format_exception(caught.value))
        assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        ("board.size", 30, "game.board.size: "),
        ("board.size", 3, "game.board.tiles: "),
        ("board.tiles", "x" * 32, "game.board.tiles: "),
        ("heroes.1.id", 3, "game.heroes[1].id: "),
        ("heroes.1.life", 101, "game.heroes[1].life: "),
        ("heroes.1.gold", -1, "game.heroes[1].gold: "),
        ("heroes.1.mineCount", 5, "game.heroes[1].mineCount: "),
        ("heroes.0.mineCount", 0, "game.heroes[0].mineCount: "),
        ("heroes.1.pos", {"x": 1, "y": 0}, "game.heroes[1].pos: "),
        ("heroes.1.pos", {"x": 0, "y": 1}, ""),  # below hero 1, who hides him: but the board shows him elsewhere
        ("heroes.1.spawnPos", {"x": 4, "y": 0}, "game.heroes[1].spawnPos: "),
        ("turn", -1, "game.turn: "),
        ("turn", 1200, "game.turn: "),
        ("maxTurns", -4, "game.turn: "),
    ],
)
def test_a_game_that_contradicts_itself_is_refused(path: str, value: Any, named: str) -> None:
    game = read_answer(change(f"game.{path}", value)).game
    with pytest.raises(ProtocolError) as caught:
        to_games(game)
    assert caught.value.message.startswith(named)


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [("hero.id", 9, "hero.id: "), ("hero.id", 0, "hero.id: "), ("hero.id", 2, "game.turn: "), ("game.turn", 5, "game.turn: ")],
)
def test_an_answer_for_a_hero_whose_turn_it_is_not_is_refused(path: str, value: Any, named: str) -> None:
    answer_games(read_answer(TEXT))
    with pytest.raises(ProtocolError) as caught:
        answer_games(read_answer(change(path, value)))
    assert caught.value.message.startswith(named)


def test_two_heroes_on_one_square_show_the_lower_id() -> None:
    wire = json.loads(TEXT)["game"]
    wire["heroes"][1]["pos"] = wire["heroes"][0]["pos"]
    wire["board"]["tiles"] = wire["board"]["tiles"].replace("@2", "  ")
    games = to_games(read_game(wire))
    assert games[0]["shared"]
    assert from_games(games, game_id="s2xh3aig", players=PLAYERS)["board"] == wire["board"]


@given(seed=st.integers(0, 10_000), plies=st.integers(0, 300), training=st.booleans())
@settings(max_examples=40)
def test_a_game_is_the_same_after_the_protocol(seed: int, plies: int, training: bool) -> None:
    games = generate(seed, size=8 + 2 * (seed % 11)).new_game(max_turns=250, training=training)
    random = np.random.default_rng(seed)
    for _ in range(plies):
        step(games, 0, CRASH if random.random() < 0.005 else int(random.integers(5)))
    body = encode_json(from_games(games, game_id="abcdefgh", players=PLAYERS))
    back = to_games(read_game(body))
    games["training"] = 0  # the wire does not say
    assert equal(back, games)
    assert encode_json(from_games(back, game_id="abcdefgh", players=PLAYERS)) == body
    assert encode_json(read_game(body).to_json()) == body


@pytest.mark.skipif(not ORACLE.is_dir(), reason="the recorded games of the original engine are not here")
@pytest.mark.parametrize("name", ["handmade", "scenario", "generated"])
def test_recorded_games_are_written_as_by_the_original_server(name: str) -> None:
    for game in read_games(ORACLE / f"{name}.jsonl.gz"):
        start = read_game(game["init"])
        games = to_games(start)
        games["training"] = game["training"]
        players = [Player(hero.name, hero.user_id, hero.elo) for hero in start.heroes]
        assert encode_json(from_games(games, game_id=start.id, players=players)) == encode_json(game["init"])
        for move, (turn, finished, tiles, heroes) in zip(game["moves"], game["states"], strict=True):
            step(games, 0, CRASH if move == "Crash" else DIRECTIONS.index(move))
            wire = from_games(games, game_id=start.id, players=players)
            assert (wire["turn"], wire["finished"], wire["board"]["tiles"]) == (turn, finished, tiles)
            for hero, (x, y, life, gold, mines, last, crashed) in zip(wire["heroes"], heroes, strict=True):
                assert hero["pos"] == {"x": x, "y": y}
                assert (hero["life"], hero["gold"], hero["mineCount"]) == (life, gold, mines)
                assert (hero.get("lastDir"), hero["crashed"]) == (last, crashed)
        status = games[0]["status"]
        seen = to_games(read_game(wire))
        assert seen[0]["status"] == status


# ---- Answers that were tampered with ----

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NUMBERS = st.sampled_from([-(2**31), -1, 0, 1, 5, 9, 28, 29, 99, 100, 101, 9999, 2**31 - 1, 2**31, 10**400])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths to everything in a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in inner for place in places(item, (*path, key)))][1 if not path else 0 :]


@st.composite
def tampered(draw: st.DrawFn) -> bytes:
    """The answer with some fields replaced, removed or added, or with some bytes changed."""
    wire = json.loads(TEXT)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from(places(wire)))
        place = wire
        for part in path:
            place = place[part]
        old = place[last]
        how = draw(st.sampled_from(["any", "number", "remove", "add", "text"]))
        if how == "remove":
            del place[last]
        elif how == "add" and isinstance(old, dict):
            old[draw(st.text(max_size=8))] = draw(JSON)
        elif how == "text" and isinstance(old, str) and old:
            at = draw(st.integers(0, len(old) - 1))
            place[last] = old[:at] + draw(st.text(max_size=2)) + old[at + draw(st.integers(0, 2)) :]
        else:
            place[last] = draw(NUMBERS if how == "number" else JSON)
    body = json.dumps(wire).encode()
    if draw(st.booleans()):
        return body
    at = draw(st.integers(0, len(body)))
    return body[:at] + draw(st.binary(max_size=3)) + body[at + draw(st.integers(0, 3)) :]


@pytest.mark.slow
@given(body=tampered())
@settings(max_examples=400)
def test_a_tampered_answer_is_a_game_that_can_be_recorded_or_a_protocol_error(body: bytes) -> None:
    try:
        answer = read_answer(body)
        games = answer_games(answer)
    except ProtocolError:
        return
    fallback(View(games, answer.hero.id - 1))
    with tempfile.TemporaryDirectory() as folder:
        with Recorder(Path(folder), Header(bot="x", game=answer.game.id, hero=answer.hero.id, mode="arena")) as recorder:
            if not answer.game.finished and not answer.hero.crashed:
                recorder.turn(answer.game, Ballot([], [0.0] * 5, (0,), 0, 1.0, False))
            recorder.finish(Outcome(), answer.game)
        assert recorder.path is not None
        last = read_recording(recorder.path).last
    assert last is not None
    assert equal(last.games, games)
    for _ in range(4):
        step(games, 0, 1)


def test_deep_nesting_is_a_protocol_error() -> None:
    deep = "[" * 5000 + "]" * 5000
    for body in (deep, TEXT.replace('"turn":4', f'"turn":4,"x":{deep}'), TEXT[:-1] + f',"x":{deep}}}'):
        verdict = judge(Reply(200, {}, body.encode(), 0.0, 0.0), Redactor())
        assert verdict.meaning is Meaning.GARBLED
        assert "recursion limit" in verdict.words


def test_words_of_directions() -> None:
    assert [read_direction(DIRECTIONS[direction]) for direction in range(5)] == [0, 1, 2, 3, 4]
    assert [read_direction(word) for word in (" NORTH\n", "south", "EasT", "west")] == [1, 2, 3, 4]
    assert [read_direction(word) for word in ("", "up", "crash", "n", "north!", "Ñorth")] == [0] * 6
