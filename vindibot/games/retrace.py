"""Recordings of ours and game records against the rules: does each state follow from the one before and the moves?

A recording holds the states that our hero saw, and what every hero was ordered in between follows from them; it is played
again, and each state that was seen must come out. Where turns were lost there is nothing to compare. A game record has no
states but the end: all its orders must be possible, and lead to the end that it tells.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from sim.board import draw
from sim.game import DIRECTIONS, PLIES_PER_ROUND, RUNNING, Games
from sim.rules import step
from vindibot.games.between import move_between
from vindibot.games.differences import Difference, Tally
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.history import GameHistory
from vindibot.games.recording import Recording


def retrace_recording(recording: Recording, tally: Tally) -> None:
    """Add what comes of a recording to `tally`: its states, the first one that does not follow, and what was lost."""
    tally.games += 1
    game = recording.header.game
    history = GameHistory.of(recording)
    if history.begins_late:
        tally.skipped.append(f"{recording.path.name}, game {game}: the beginning is not known")
    for number in history.gaps:
        start, end = history.turn(number), history.turn(number + 1)
        if end - start > PLIES_PER_ROUND:
            tally.skipped.append(f"{recording.path.name}, game {game}: turns {start} to {end} were lost")
        else:
            tally.states += number + 2
            tally.differences.append(_difference(game, history.state(number), history.state(number + 1)))
            return
    tally.states += len(history) + 1 if history else 0
    _compare_moves(recording, tally)


def _difference(game: str, before: Games, seen: Games) -> Difference:
    """The boards of a state that does not follow: as it was seen, and as far as the orders lead."""
    games = before.copy()
    start = int(games[0]["turn"])
    move = ""
    while games[0]["status"] == RUNNING and int(games[0]["turn"]) < int(seen[0]["turn"]):
        code = move_between(before, seen, int(games[0]["turn"]) % PLIES_PER_ROUND)
        move = "Crash" if code == len(DIRECTIONS) else DIRECTIONS[code] if code >= 0 else "no order"
        if code < 0 or not step(games, 0, code):
            break
    return Difference(game, start, move, draw(before), draw(seen), draw(games))


def _compare_moves(recording: Recording, tally: Tally) -> None:
    """Whether the game shows the orders that we decided on: one that came late, or was lost, is told."""
    known = [(own.turn, own.games, own.ballot.direction) for own in recording.turns]
    if recording.last is not None:
        known.append((int(recording.last.games[0]["turn"]), recording.last.games, 0))
    for (turn, _, direction), (later, games, _) in pairwise(known):
        hero = games[0]["hero"][recording.me]
        if turn < later <= turn + PLIES_PER_ROUND and not hero["crashed"] and hero["last_dir"] != direction:
            shown = DIRECTIONS[int(hero["last_dir"])]
            tally.remarks.append(
                f"{recording.path.name}, turn {turn}: we ordered {DIRECTIONS[direction]}, the game shows {shown}"
            )


def retrace_record(record: GameRecord, tally: Tally, path: Path) -> None:
    """Add what comes of a game record to `tally`."""
    tally.games += 1
    try:
        history = GameHistory.begun(record)
        tally.states += 1
        tally.states += history.play_all(record.moves)
        history.check(record)
    except GameRecordError as problem:
        tally.problems.append(f"{path.name}: {problem.message}")
