"""Functions that make the view of a trait from a drawing of a board, a game, or a turn of a recording."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from behaviours.base import RECENT_TURNS, Budget, View
from sim.board import parse
from sim.game import ABSENT, GAME, Game
from vindibot.games.files.newest import LAST, find_recording
from vindibot.games.files.recording import SUFFIX, Recording, read_recording

#: Default search budget of a view, in nodes.
NODES = 10_000


def view(
    source: str | os.PathLike[str] | Recording | Game,
    turn: int | None = None,
    *,
    me: int | None = None,
    nodes: int | None = NODES,
    seed: int | None = None,
    recent: Sequence[str | Game] = (),
) -> View:
    """Return the view that a trait gets if hero `me` (0..3) is to move.

    `source` is a drawing of a board, a game (which is copied), a recording, or the path of a recording. A string that ends in
    ``.jsonl`` is a path. The string ``last`` is the newest recording in ``recordings/``. `turn` is the `turn` of the protocol,
    which counts plies. `nodes` is the search budget in nodes, None for no limit. `seed` is the seed of the view's random numbers.

    - With a drawing or a game: if `turn` is None, the game's turn advances to the next turn of `me`. If `me` is None, our hero is
      the first hero on the board that moves from now on. `recent` are the boards of our earlier turns, oldest first.
    - With a recording: `turn` must be one of the recorded turns. The hero and the history come from the recording. If `seed` is
      None, the seed comes from the recording too.

    Raises ValueError if the arguments do not fit the source (`sim.board.BoardError` for a wrong drawing). Raises
    `vindibot.games.files.recording.RecordingError` for a wrong recording, or a turn that was not recorded.
    """
    if isinstance(source, os.PathLike) or (isinstance(source, str) and (source == LAST or source.endswith(SUFFIX))):
        source = read_recording(find_recording(source) if isinstance(source, str) else Path(source))
    if isinstance(source, Recording):
        return _recorded(source, turn, me, nodes, seed, recent)
    games = parse(source) if isinstance(source, str) else source.copy()
    me = _to_move(games, turn, me)
    before = [parse(board) if isinstance(board, str) else board.copy() for board in recent]
    for rounds, board in enumerate(reversed(before), 1):
        board[0]["turn"] = max(me, int(games[0]["turn"]) - 4 * rounds)
    history = np.concatenate(before) if before else np.zeros(0, GAME)
    return View(games, me, recent=history, budget=Budget(nodes=nodes), seed=seed or 0)


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
    before = recording.recent(turn)
    return View(games, recording.me, recent=before[-RECENT_TURNS:], budget=Budget(nodes=nodes), seed=seed)
