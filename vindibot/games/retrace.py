"""The check of our recordings and game records by the rules: each state must follow from the state before and the moves.

A recording contains the states that our hero saw. The moves between two states are derived from these states. Then the moves are
played, and must lead to the later state. Where a turn was lost, nothing can be checked.

A game record contains no states. Its moves must be possible, and must lead to the ending that the record states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from sim.board import draw
from sim.game import DIRECTIONS, PLIES_PER_ROUND, RUNNING, Games
from sim.rules import step
from vindibot.games.between import move_between
from vindibot.games.files.recording import Recording
from vindibot.games.game_record import GameRecord, GameRecordError
from vindibot.games.history import GameHistory


@dataclass(frozen=True)
class Difference:
    """The first state of a game that does not follow by the rules.

    - `game`: the id of the game.
    - `ply`: the number (from 0) of the ply that led to the state. `move`: the move of this ply.
    - `before`: a drawing of the state before this ply.
    - `expected`: a drawing of the state in the file.
    - `got`: a drawing of the state to which the moves lead by the rules.
    """

    game: str
    ply: int
    move: str
    before: str
    expected: str
    got: str


@dataclass
class Tally:
    """The results of the checks.

    - `games`, `states`: the numbers of games and states that were checked.
    - `differences`: for each game with a wrong state, its first wrong state.
    - `problems`: a sentence for each game that is wrong in another way.
    - `skipped`: the states that could not be checked, and the reasons.
    - `remarks`: observations that are no faults.
    """

    games: int = 0
    states: int = 0
    differences: list[Difference] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def mismatches(self) -> int:
        """The number of wrong games."""
        return len(self.differences) + len(self.problems)


def retrace_recording(recording: Recording, tally: Tally) -> None:
    """Check a recording, and add the results to `tally`: the number of states, the first wrong state, the lost turns."""
    tally.games += 1
    game = recording.header.game
    history = GameHistory.of(recording)
    if history.begins_late:
        tally.skipped.append(f"{recording.path.name}, game {game}: the first turns are missing")
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
    """Return the difference between the state that was `seen` and the state to which the moves lead from `before`."""
    games = before.copy()
    start = int(games[0]["turn"])
    move = ""
    while games[0]["status"] == RUNNING and int(games[0]["turn"]) < int(seen[0]["turn"]):
        code = move_between(before, seen, int(games[0]["turn"]) % PLIES_PER_ROUND)
        move = "Crash" if code == len(DIRECTIONS) else DIRECTIONS[code] if code >= 0 else "no move"
        if code < 0 or not step(games, 0, code):
            break
    return Difference(game, start, move, draw(before), draw(seen), draw(games))


def _compare_moves(recording: Recording, tally: Tally) -> None:
    """Add a remark for each of our moves that the next state does not show, because the move came late or was lost."""
    seen = [own.games for own in recording.turns] + ([recording.last.games] if recording.last is not None else [])
    for own, (before, after) in zip(recording.turns, pairwise(seen), strict=False):
        hero, move = after[0]["hero"][recording.me], own.ballot.direction
        plies = int(after[0]["turn"]) - int(before[0]["turn"])
        if 0 < plies <= PLIES_PER_ROUND and not hero["crashed"] and hero["last_dir"] != move:
            shown = DIRECTIONS[int(hero["last_dir"])]
            tally.remarks.append(f"{recording.path.name}, turn {own.turn}: we moved {DIRECTIONS[move]}, the game shows {shown}")


def retrace_record(record: GameRecord, tally: Tally, path: Path) -> None:
    """Check a game record, and add the results to `tally`."""
    tally.games += 1
    try:
        history = GameHistory.before_first_ply(record)
        tally.states += 1 + history.play_all(record.moves)
        history.check_matches(record)
    except GameRecordError as problem:
        tally.problems.append(f"{path.name}: {problem.message}")
