"""One turn of an earlier game: its choice, what a trait sees on it, and games that go on from it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from behaviours.base import RECENT_TURNS, Budget, View
from sim.board import parse
from sim.game import ABSENT, GAME, PLIES_PER_ROUND, RUNNING, SEATS, Game, Games
from vindibot.base.errors import UsageError
from vindibot.base.text import counted
from vindibot.base.writing import short
from vindibot.games.files.game_files import LAST, find_recording, kind_of
from vindibot.games.files.recording import SUFFIX, RecordedTurn, Recording, read_recording
from vindibot.games.files.review import read_review, review_path
from vindibot.games.history import GameHistory
from vindibot.games.position import Position, fault_of_state

#: Default search budget of a view, in nodes.
NODES = 10_000


def choose_turn(
    recording: Recording, *, turn: int | None = None, round_number: int | None = None, worst: int | None = None
) -> RecordedTurn:
    """Return one of our turns in a recording, by exactly one of these numbers.

    - `turn`: the number of the turn in the protocol.
    - `round_number`: the number of the round, from 1.
    - `worst`: 1 for the worst move in the review of the recording, 2 for the next, and so on.

    Raises `UsageError` unless one of them is given, and if there is no review or no such bad move. Raises `RecordingError` if
    there is no such turn. The message names the nearest turns.
    """
    if [turn, round_number, worst].count(None) != 2:
        raise UsageError("name the turn with one of --turn, --round and --worst")
    if round_number is not None:
        turn = PLIES_PER_ROUND * (round_number - 1) + recording.header.hero - 1
    if worst is not None:
        turn = _worst_turn(recording, worst)
    assert turn is not None
    return recording.turn(turn)


def _worst_turn(recording: Recording, place: int) -> int:
    path = review_path(recording.path)
    review = read_review(path, recording.header.game) if path.is_file() else None
    if review is None:
        command = shlex.join(["vindibot", "review", short(recording.path)])
        raise UsageError(f"{short(recording.path)} has no review: make one with  {command}")
    moves = review.worst(hero=recording.header.hero - 1)
    if place > len(moves):
        raise UsageError(f"{short(path)} has {counted(len(moves), 'bad move')} of hero {recording.header.hero}")
    return moves[place - 1].turn


def view(
    source: str | os.PathLike[str] | Recording | Game,
    turn: int | None = None,
    *,
    game: str | None = None,
    me: int | None = None,
    nodes: int | None = NODES,
    seed: int | None = None,
    recent: Sequence[str | Game] = (),
) -> View:
    """Return the view that a trait gets if hero `me` (0..3) is to move.

    `source` is a drawing of a board, a game (which is copied), a recording, or the path of a file with games. A string that ends
    in ``.jsonl`` is a path. The string ``last`` is the newest recording in ``recordings/``. `turn` is the `turn` of the protocol,
    which counts plies. `nodes` is the search budget in nodes, None for no limit. `seed` is the seed of the view's random numbers.

    - With a drawing or a game: if `turn` is None, the game's turn advances to the next turn of `me`. If `me` is None, our hero is
      the first hero on the board that moves from now on. `recent` are the boards of our earlier turns, oldest first.
    - With a recording: `turn` must be one of the recorded turns. The hero and the history come from the recording. If `seed` is
      None, the seed comes from the recording too.
    - With another file: `game` and `turn` choose the turn as in `Continuation.read`. The hero is `me`, or the hero to move.

    Raises ValueError if the arguments do not fit the source (`sim.board.BoardError` for a wrong drawing). Raises
    `vindibot.base.errors.VindibotError` for a wrong file, or a turn that was not recorded.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and (source == LAST or source.endswith(SUFFIX))):
        path = find_recording(source) if isinstance(source, str) else Path(source)
        if kind_of(path) != "recording":
            return Continuation.read(path, turn, game=game, hero=me, to_move=True).view(nodes, seed or 0)
        source = read_recording(path)
    if isinstance(source, Recording):
        return _recorded(source, turn, me, nodes, seed, recent)
    games = parse(source) if isinstance(source, str) else source.copy()
    me = _to_move(games, turn, me)
    before = [parse(board) if isinstance(board, str) else board.copy() for board in recent]
    for rounds, board in enumerate(reversed(before), 1):
        board[0]["turn"] = max(me, int(games[0]["turn"]) - 4 * rounds)
    return View(games, me, recent=np.concatenate([np.zeros(0, GAME), *before]), budget=Budget(nodes=nodes), seed=seed or 0)


def _to_move(games: Game, turn: int | None, me: int | None) -> int:
    """Set the turn of a game so that hero `me` is to move, and return `me`. If `me` is None, choose the hero."""
    game = games[0]
    present = [hero for hero in range(4) if game["hero"][hero]["pos"] != ABSENT[hero]]
    now = int(game["turn"]) if turn is None else turn
    if me is None:
        order = [(now + later) % 4 for later in range(4)] if turn is None else [now % 4]
        me = next((hero for hero in order if hero in present), None)
    if me is None or me not in present:
        missing = "hero that can move" if me is None else f"hero with the index {me} (@{me + 1})"
        raise ValueError(f"there is no {missing} on this board")
    if turn is not None and turn % 4 != me:
        raise ValueError(f"on turn {turn}, hero {turn % 4 + 1} moves, not hero {me + 1} (me={me})")
    now += (me - now) % 4
    if now >= game["max_turns"]:
        raise ValueError(f"turn {now} is past the end: this game has {game['max_turns']} turns")
    game["turn"] = now
    return me


def _recorded(
    recording: Recording, turn: int | None, me: int | None, nodes: int | None, seed: int | None, recent: Sequence[str | Game]
) -> View:
    if turn is None:
        raise ValueError("a recording needs a turn: view(recording, turn=...)")
    if me is not None and me != recording.me:
        raise ValueError(f"the recording is of hero {recording.header.hero} (me={recording.me}); it cannot be changed")
    if len(recent):
        raise ValueError("a recording has its own history")
    games = recording.turn(turn).games.copy()
    seed = recording.header.seed if seed is None else seed
    return View(games, recording.me, recent=recording.recent(turn)[-RECENT_TURNS:], budget=Budget(nodes=nodes), seed=seed)


@dataclass(frozen=True, eq=False)
class Continuation:
    """A turn of an earlier game, from which new games go on.

    - `history`: the earlier game. `number`: the number of the state of this turn in the history.
    - `hero`: the hero (0..3) of the player that goes on.
    """

    history: GameHistory
    number: int
    hero: int

    @classmethod
    def read(
        cls, path: Path, turn: int | None, *, game: str | None = None, hero: int | None = None, to_move: bool = False
    ) -> Continuation:
        """Return turn `turn` of a game in a file of any kind that `GameHistory.read` reads.

        Without `turn`, the file must have only one state. Without `hero` (0..3), the hero is our hero of a recording or of an
        answer, else the hero to move; with `to_move`, it is always the hero to move. Raises `UsageError` if the game has no such
        turn, if it is over, if no game can go on from its state, or if the hero has crashed. Raises `VindibotError` for a file
        that cannot be read.
        """
        history = GameHistory.read(path, game)
        if not history:
            raise UsageError(f"{short(path)}: the game has no states")
        number = _number_of(history, path, turn)
        games = history.state(number)
        now = history.turn(number)
        if games["status"].item(0) != RUNNING:
            raise UsageError(f"{short(path)}: the game is over on turn {now}: choose an earlier turn with --turn")
        if (problem := fault_of_state(games)) is not None:
            raise UsageError(f"{short(path)}, turn {now}: {problem}, so no game can go on from here")
        if hero is None:
            hero = history.me if history.me is not None and not to_move else now % PLIES_PER_ROUND
        if games["hero"]["crashed"].item(hero):
            raise UsageError(f"{short(path)}: hero {hero + 1} has crashed before turn {now}: --hero chooses another hero")
        return cls(history, number, hero)

    @property
    def turn(self) -> int:
        """The protocol's turn."""
        return self.history.turn(self.number)

    @cached_property
    def opening(self) -> Position:
        """The part of the earlier game before this turn, as far as it is known without a gap."""
        return self.history.position(self.number)

    def first(self) -> Games:
        """Return the state with which the new games begin. A crash ends none of them, also if the earlier one was for
        training."""
        games = self.opening.last()
        games["training"] = 0
        return games

    def view(self, nodes: int | None, seed: int = 0) -> View:
        """Return the view of the hero on this turn, with a search budget of `nodes` nodes (None: no limit)."""
        return self.opening.view(self.hero, nodes, seed)

    @property
    def rounds(self) -> int:
        """The number of rounds that are left, the current one included."""
        games = self.history.state(self.number)
        return -(-(int(games["max_turns"].item(0)) - self.turn) // PLIES_PER_ROUND)

    @property
    def others(self) -> tuple[int, ...]:
        """The other three heroes (0..3), in the order in which they move after our hero."""
        return tuple((self.hero + distance) % SEATS for distance in range(1, SEATS))

    def crashed(self, hero: int) -> bool:
        """Return whether a hero (0..3) has crashed before this turn."""
        return bool(self.history.state(self.number)["hero"]["crashed"].item(hero))

    @property
    def gold(self) -> tuple[int, ...] | None:
        """The gold of heroes 1..4 at the end of the earlier game, None if its end is not known."""
        last = self.history.last
        return None if last["status"].item(0) == RUNNING else tuple(last["hero"]["gold"][0].tolist())


def _number_of(history: GameHistory, path: Path, turn: int | None) -> int:
    """Return the number of the state of a turn. Raises `UsageError` if there is no such turn."""
    first, last = history.turn(0), history.turn(-1)
    known = f"the file has the turns {first} to {last}" if first < last else f"the file has only turn {first}"
    if turn is None:
        if first == last:
            return 0
        raise UsageError(f"{short(path)}: choose a turn of the game with --turn: {known}")
    number = history.at_turn(turn)
    nearest = history.turn(number)
    if nearest == turn:
        return number
    if not first <= turn <= last:
        raise UsageError(f"{short(path)}: there is no turn {turn}: {known}")
    raise UsageError(f"{short(path)}: turn {turn} is missing: the nearest turns are {history.turn(number - 1)} and {nearest}")
