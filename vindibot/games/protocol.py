"""The wire: the JSON that a server sends, as typed models, and the way from there to a game of `sim` and back.

The names of the fields in Python are those of the wire in snake case (``mineCount`` is `mine_count`). On the wire ``x`` is
the ROW, ``y`` the column, hero ids are 1..4, and ``turn`` counts plies. Unknown fields are ignored; a missing or ill-typed
one is a `ProtocolError` that names its path, as in ``game.heroes[2].life``. No token appears in an error or a repr.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from sim.board import BoardError, read_tiles, tile_text
from sim.game import (
    ALL_CRASHED,
    DIRECTIONS,
    LAST_MINE,
    MAX_LIFE,
    MAX_SIZE,
    MINE,
    NO_DIRECTION,
    PLIES_PER_ROUND,
    RUNNING,
    STAY,
    TURN_MAX,
    Game,
    Games,
    new_game,
    row_column,
)
from vindibot.base import VindibotError

#: The header of every answer of our own server that states the time limit of a move, in milliseconds.
LIMIT_HEADER = "X-Vindibot-Time-Limit"

Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class ProtocolError(VindibotError):
    """An answer that is not what the protocol promises; the message names the path of the offending field."""


class UnreadableError(ProtocolError):
    """An answer that is not JSON, or JSON that no state of a game needs: nested too deep, or with huge numbers."""


class WireModel(BaseModel):
    """A JSON object of the protocol: immutable, strict about types, tolerant of fields it does not know."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, strict=True, extra="ignore")

    def wire(self) -> dict[str, Any]:
        """As on the wire: the protocol's names and order, fields without a value left out."""
        return self.model_dump(by_alias=True, exclude_none=True)


class StateModel(WireModel):
    """A part of a game's state: what we do not know in it is kept, so that a recording has what the server said."""

    model_config = ConfigDict(extra="allow")


class Position(StateModel):
    """A place on the board: `x` is the row, `y` the column, both from 0 at the top left."""

    x: Int32
    y: Int32


class HeroState(StateModel):
    """One hero. `user_id` and `elo` are absent for the server's own bots, `last_dir` before the first order."""

    id: Int32
    name: str
    user_id: str | None = None
    elo: Int32 | None = None
    pos: Position
    last_dir: Literal["Stay", "North", "South", "East", "West"] | None = None
    life: Int32
    gold: Int32
    mine_count: Int32
    spawn_pos: Position
    crashed: bool


class BoardState(StateModel):
    """The board: `tiles` has two characters for each of size x size squares, row by row, heroes laid over."""

    size: Int32
    tiles: str


class GameState(StateModel):
    """One state of a game."""

    id: str
    turn: Int32
    max_turns: Int32
    heroes: tuple[HeroState, HeroState, HeroState, HeroState]
    board: BoardState
    finished: bool


class Answer(WireModel):
    """What a player is told: the game, his own hero, and where to send the next order. The token is a secret."""

    game: GameState
    hero: HeroState
    token: str = Field(repr=False)
    view_url: str
    play_url: str = Field(repr=False)


_Model = TypeVar("_Model", bound=WireModel)


def read_answer(body: bytes | str) -> Answer:
    """The answer in `body` (JSON). Raises `ProtocolError`."""
    return _read(Answer, body)


def read_game(body: bytes | str | dict[str, Any]) -> GameState:
    """The game object in `body`: JSON, or what JSON was decoded to. Raises `ProtocolError`."""
    return _read(GameState, json.dumps(body) if isinstance(body, dict) else body)


def _read(model: type[_Model], body: bytes | str) -> _Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
    # Raised out here, so that the validation error, which quotes its input, is no part of the exception.
    first = problems[0]
    path = _path(first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "json_invalid":
        raise UnreadableError(f"the answer cannot be read: {first['msg']}")
    raise ProtocolError(f"{path}: {first['msg']}{more}" if path else f"the answer cannot be read: {first['msg']}{more}")


def check_answer(answer: Answer) -> None:
    """Raise `ProtocolError` if the state contradicts itself (see `to_games`), or if it is not the turn of the hero whom the
    answer is for."""
    check_hero_id(answer)
    game, number = answer.game, answer.hero.id
    to_games(game)
    mover = game.turn % PLIES_PER_ROUND + 1
    if mover != number and not (game.finished or answer.hero.crashed):
        raise ProtocolError(f"game.turn: hero {mover} moves on turn {game.turn}, but the answer is for hero {number}")


def check_hero_id(answer: Answer) -> None:
    """Raise `ProtocolError` if the answer is for a hero that no game has."""
    if not 1 <= answer.hero.id <= PLIES_PER_ROUND:
        raise ProtocolError(f"hero.id: {answer.hero.id} is not in 1..{PLIES_PER_ROUND}")


def _path(location: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


# ---- Directions ----

_BY_WORD = {word.lower(): direction for direction, word in enumerate(DIRECTIONS)}


def direction_word(direction: int) -> str:
    """The word of the wire for a direction 0..4."""
    return DIRECTIONS[direction]


def read_direction(text: str) -> int:
    """The direction 0..4 that a word of the wire means: any case, trimmed, and anything unknown is Stay."""
    return _BY_WORD.get(text.strip().lower(), STAY)


# ---- From the wire to a game ----


def to_games(state: GameState) -> Game:
    """The game that a state of the wire shows, in a new array.

    Whether it is a training game is not on the wire: the flag is 0. What is below a hero is air, since the wire hides it.
    Raises `ProtocolError` for a state that contradicts itself, and for boards that are not square or too large for us.
    """
    _check_turn(state)
    size = state.board.size
    if not 1 <= size <= MAX_SIZE:
        raise ProtocolError(f"game.board.size: boards of 1 to {MAX_SIZE} rows can be played, this one has {size}")
    if len(state.board.tiles) != 2 * size * size:
        raise ProtocolError(
            f"game.board.tiles: a square board of size {size} has {2 * size * size} characters, not {len(state.board.tiles)}"
        )
    try:
        tiles, shown = read_tiles(state.board.tiles, size)
    except BoardError as error:
        raise ProtocolError(f"game.board.tiles: {error}") from None
    owned = np.bincount(tiles.ravel(), minlength=LAST_MINE + 1)
    starts: list[tuple[int, int] | None] = []
    spawns: list[tuple[int, int] | None] = []
    for index, hero in enumerate(state.heroes):
        _check_hero(hero, index, int(owned[MINE + 1 + index]))
        pos = (hero.pos.x, hero.pos.y)
        if shown[index] != pos and not (shown[index] is None and pos in starts):
            raise ProtocolError(f"game.heroes[{index}].pos: {pos} is not where the board shows @{index + 1}")
        spawn = (hero.spawn_pos.x, hero.spawn_pos.y)
        if not (0 <= spawn[0] < size and 0 <= spawn[1] < size):
            raise ProtocolError(f"game.heroes[{index}].spawnPos: {spawn} is not on the board")
        starts.append(pos)
        spawns.append(spawn)
    games = new_game(tiles, starts, spawns, max_turns=state.max_turns)
    _fill(games, state)
    return games


def _check_turn(state: GameState) -> None:
    # A game has at least one ply, also if `maxTurns` is 0 or negative.
    last = max(1, state.max_turns)
    if state.turn < 0:
        raise ProtocolError(f"game.turn: {state.turn} is negative")
    if state.turn > last or (state.turn == last and not state.finished):
        raise ProtocolError(f"game.turn: turn {state.turn} of a game that ends with turn {last} at the latest")


def _check_hero(hero: HeroState, index: int, owned: int) -> None:
    where = f"game.heroes[{index}]"
    if hero.id != index + 1:
        raise ProtocolError(f"{where}.id: {hero.id} stands in the place of hero {index + 1}")
    if not 0 <= hero.life <= MAX_LIFE:
        raise ProtocolError(f"{where}.life: {hero.life} is not in 0..{MAX_LIFE}")
    if hero.gold < 0:
        raise ProtocolError(f"{where}.gold: {hero.gold} is negative")
    # Up to four mines may be hidden below heroes (odd hand-made maps only).
    if not owned <= hero.mine_count <= owned + 4:
        raise ProtocolError(f"{where}.mineCount: {hero.mine_count}, but the board shows {owned}")


def _fill(games: Game, state: GameState) -> None:
    game = games[0]
    game["turn"] = state.turn
    game["status"] = RUNNING if not state.finished else TURN_MAX if state.turn >= state.max_turns else ALL_CRASHED
    for record, hero in zip(game["hero"], state.heroes, strict=True):
        record["life"], record["gold"], record["mines"] = hero.life, hero.gold, hero.mine_count
        record["last_dir"] = DIRECTIONS.index(hero.last_dir) if hero.last_dir is not None else NO_DIRECTION
        record["crashed"] = hero.crashed


# ---- From a game to the wire ----


@dataclass(frozen=True)
class Player:
    """Who plays a hero, as the wire shows it. The server's own bots have no `user_id` and no `elo`."""

    name: str
    user_id: str | None = None
    elo: int | None = None


def from_games(games: Games, index: int = 0, *, game_id: str, players: Sequence[Player]) -> dict[str, Any]:
    """The game object of ``games[index]`` as on the wire: the fields in the protocol's order, those without a value left
    out. `players` are heroes 1..4. All heroes must be on the board."""
    heroes = games["hero"][index].tolist()
    return {
        "id": game_id,
        "turn": games["turn"].item(index),
        "maxTurns": games["max_turns"].item(index),
        "heroes": [_hero(number, *known) for number, known in enumerate(zip(heroes, players, strict=True), 1)],
        "board": {"size": games["size"].item(index), "tiles": tile_text(games, index)},
        "finished": games["status"].item(index) != RUNNING,
    }


def _hero(number: int, record: tuple[Any, ...], player: Player) -> dict[str, Any]:
    gold, pos, life, mines, spawn, last_dir, crashed, _ = record
    hero: dict[str, Any] = {"id": number, "name": player.name}
    if player.user_id is not None:
        hero["userId"] = player.user_id
    if player.elo is not None:
        hero["elo"] = player.elo
    hero["pos"] = _position(pos)
    if last_dir != NO_DIRECTION:
        hero["lastDir"] = DIRECTIONS[last_dir]
    hero["life"] = life
    hero["gold"] = gold
    hero["mineCount"] = mines
    hero["spawnPos"] = _position(spawn)
    hero["crashed"] = bool(crashed)
    return hero


def _position(square: int) -> dict[str, int]:
    row, column = row_column(square)
    return {"x": row, "y": column}


def encode_json(value: Any) -> bytes:
    """Compact JSON in UTF-8, as the original server writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
