"""The protocol: typed models of the JSON that a server sends, and the conversion of its states to games of `sim` and back.

Fields have the protocol's names in snake case (``mineCount`` is `mine_count`). In the protocol ``x`` is the ROW, ``y`` the
column, hero ids are 1..4, and ``turn`` counts plies. Unknown fields are ignored. A field that is missing or has a wrong type
raises `ProtocolError` with the field's path, such as ``game.heroes[2].life``. Error messages and reprs contain no token.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

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
from vindibot.base.errors import VindibotError
from vindibot.base.text import Redactor

#: The HTTP header with the time limit for a move in milliseconds. Our own server sends it with every answer.
LIMIT_HEADER = "X-Vindibot-Time-Limit"

Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class ProtocolError(VindibotError):
    """An answer does not follow the protocol. The message names the path of the field that is wrong."""


class UnreadableError(ProtocolError):
    """An answer is not JSON, or is JSON with too deep nesting or too large numbers."""


class WireModel(BaseModel):
    """A JSON object of the protocol. It is immutable and has strict types. Unknown fields are ignored."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, strict=True, extra="ignore")

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object. Its fields have the protocol's names and order. Fields that are None are left out."""
        return self.model_dump(by_alias=True, exclude_none=True)


class StateModel(WireModel):
    """A part of a game's state. It keeps unknown fields, so that recordings contain everything that the server sent."""

    model_config = ConfigDict(extra="allow")
    #: The names of the fields whose value may be any text.
    texts: ClassVar[tuple[str, ...]] = ()

    def masked(self, redact: Redactor) -> Self:
        """Return this part without secrets: `redact` masks them in all texts and unknown fields.

        The tiles and directions stay unchanged, since they are no free texts. Return this object if it has no secret.
        """
        masked: dict[str, Any] = {}
        for name, value in self.__dict__.items():
            if isinstance(value, StateModel):
                masked[name] = value.masked(redact)
            elif isinstance(value, tuple):
                parts = tuple(part.masked(redact) for part in value)
                masked[name] = parts if any(new is not old for new, old in zip(parts, value, strict=True)) else value
            elif name in self.texts and value is not None:
                text = redact(value)
                masked[name] = text if text != value else value
        unknown = self.model_extra and redact.plain(self.model_extra)
        if unknown == self.model_extra and all(value is self.__dict__[name] for name, value in masked.items()):
            return self
        copy = self.model_copy(update=masked)
        copy.__pydantic_extra__ = unknown
        return copy


class Position(StateModel):
    """A square of the board: `x` is the row, `y` the column, both from 0 at the top left."""

    x: Int32
    y: Int32


class HeroState(StateModel):
    """One hero. `user_id` and `elo` are None for the server's own bots. `last_dir` is None before the hero's first move."""

    texts: ClassVar = ("name", "user_id")

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
    """The board of size x size squares. `tiles` has two characters per square, row by row. A hero hides the tile under it."""

    size: Int32
    tiles: str


@dataclass(frozen=True)
class Player:
    """The player of a hero. The server's own bots have no `user_id` and no `elo`."""

    name: str
    user_id: str | None = None
    elo: int | None = None


#: The players of heroes 1..4 as long as nothing is known about them.
UNKNOWN_PLAYERS = (Player(""),) * 4


class GameState(StateModel):
    """One state of a game."""

    texts: ClassVar = ("id",)

    id: str
    turn: Int32
    max_turns: Int32
    heroes: tuple[HeroState, HeroState, HeroState, HeroState]
    board: BoardState
    finished: bool

    @property
    def players(self) -> tuple[Player, ...]:
        """The players of heroes 1..4."""
        return tuple(Player(hero.name, hero.user_id, hero.elo) for hero in self.heroes)


class Answer(WireModel):
    """The server's answer to a player: the game, the player's hero, and the URL for the next move. The token is a secret."""

    game: GameState
    hero: HeroState
    token: str = Field(repr=False)
    view_url: str
    play_url: str = Field(repr=False)

    def masked(self, redact: Redactor) -> Answer:
        """Return the answer with a state without secrets (see `StateModel.masked`)."""
        game, hero = self.game.masked(redact), self.hero.masked(redact)
        return self.model_copy(update={"game": game, "hero": hero, "view_url": redact(self.view_url)})


_Model = TypeVar("_Model", bound=WireModel)


def read_answer(body: bytes | str) -> Answer:
    """Return the answer in `body` (JSON). Raises `ProtocolError` if it does not follow the protocol."""
    return _read(Answer, body)


def read_game(body: bytes | str | dict[str, Any]) -> GameState:
    """Return the game object in `body`, which is JSON or decoded JSON. Raises `ProtocolError` if it is not valid."""
    return _read(GameState, json.dumps(body) if isinstance(body, dict) else body)


def _read(model: type[_Model], body: bytes | str) -> _Model:
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
    # The error is raised outside the handler. Otherwise its context would be the validation error, which quotes the input.
    first = problems[0]
    path = _path(first["loc"])
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "json_invalid":
        raise UnreadableError(f"the answer cannot be read: {first['msg']}")
    raise ProtocolError(f"{path}: {first['msg']}{more}" if path else f"the answer cannot be read: {first['msg']}{more}")


def answer_games(answer: Answer) -> Game:
    """Return the state of an answer as a game of `sim` (see `to_games`).

    Raises `ProtocolError` if the state contradicts itself, or if the answer's hero is not the hero to move.
    """
    check_hero_id(answer)
    game, number = answer.game, answer.hero.id
    games = to_games(game)
    mover = game.turn % PLIES_PER_ROUND + 1
    if mover != number and not (game.finished or answer.hero.crashed):
        raise ProtocolError(f"game.turn: hero {mover} moves on turn {game.turn}, but the answer is for hero {number}")
    return games


def check_hero_id(answer: Answer) -> None:
    """Raise `ProtocolError` unless the answer's hero id is 1..4."""
    if not 1 <= answer.hero.id <= PLIES_PER_ROUND:
        raise ProtocolError(f"hero.id: {answer.hero.id} is not in 1..{PLIES_PER_ROUND}")


def _path(location: Sequence[str | int]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")


# ---- Directions ----

_BY_WORD = {word.lower(): direction for direction, word in enumerate(DIRECTIONS)}


def read_direction(text: str) -> int:
    """Return the direction 0..4 for a word of the protocol. Ignore case and surrounding spaces. An unknown word means Stay."""
    return _BY_WORD.get(text.strip().lower(), STAY)


# ---- From the protocol to a game ----


def to_games(state: GameState) -> Game:
    """Return a state as a game of `sim`, in a new array.

    The protocol does not say whether the game is a training game, so `training` is 0. It does not show the tile on which a hero
    stands, so this tile becomes air. Raises `ProtocolError` for a state that contradicts itself, or a board that is not square or
    too large.
    """
    _check_turn(state)
    size = state.board.size
    if not 1 <= size <= MAX_SIZE:
        raise ProtocolError(f"game.board.size: a board must have 1 to {MAX_SIZE} rows, this one has {size}")
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
    # A game has at least one ply, even if `maxTurns` is 0 or negative.
    last = max(1, state.max_turns)
    if state.turn < 0:
        raise ProtocolError(f"game.turn: {state.turn} is negative")
    if state.turn > last or (state.turn == last and not state.finished):
        raise ProtocolError(f"game.turn: turn {state.turn} of a game that ends with turn {last} at the latest")


def _check_hero(hero: HeroState, index: int, owned: int) -> None:
    where = f"game.heroes[{index}]"
    if hero.id != index + 1:
        raise ProtocolError(f"{where}.id: {hero.id} is in the place of hero {index + 1}")
    if not 0 <= hero.life <= MAX_LIFE:
        raise ProtocolError(f"{where}.life: {hero.life} is not in 0..{MAX_LIFE}")
    if hero.gold < 0:
        raise ProtocolError(f"{where}.gold: {hero.gold} is negative")
    # On odd hand-made maps, heroes may hide up to four mines.
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


# ---- From a game to the protocol ----


def from_games(games: Games, *, game_id: str, players: Sequence[Player]) -> dict[str, Any]:
    """Return ``games[0]`` as a game object of the protocol.

    Fields have the protocol's order. Fields without a value are left out. `players` are the players of heroes 1..4. All heroes
    must be on the board.
    """
    heroes = games["hero"][0].tolist()
    return {
        "id": game_id,
        "turn": games["turn"].item(0),
        "maxTurns": games["max_turns"].item(0),
        "heroes": [_hero(number, *known) for number, known in enumerate(zip(heroes, players, strict=True), 1)],
        "board": {"size": games["size"].item(0), "tiles": tile_text(games)},
        "finished": games["status"].item(0) != RUNNING,
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
    """Return `value` as compact JSON in UTF-8, in the form that the original server writes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
