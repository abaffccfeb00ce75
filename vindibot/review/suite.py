"""``vindibot positions make``: a suite of balanced positions from recorded games."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from behaviours.base import View
from sim.board import draw
from sim.game import RUNNING, SEATS, STRIDE, Games
from vindibot.arena.suites import SuitePosition, suite_output, write_suite
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import counted
from vindibot.base.writing import short
from vindibot.config.bots import load_bot
from vindibot.engine.warmup import warm
from vindibot.games.files.review import PHASES
from vindibot.games.game_record import GameRecord
from vindibot.games.history import GameHistory
from vindibot.review.report import many_games, progress_bar
from vindibot.review.turns import phase_of
from vindibot.review.values import Valuer, rollout_of

#: Number of positions per game and phase that are valued, in a random order, and number that may be chosen.
TRIED, CHOSEN = 6, 1
#: The first rounds of a game are no positions: all heroes are near their start.
FIRST_ROUND = 5


@dataclass(frozen=True, eq=False)
class Candidate:
    """A position that may be chosen: its game, the turn, the state, and the phase."""

    game: str
    turn: int
    games: Games
    phase: str

    @property
    def group(self) -> tuple[int, str]:
        """The size of the map and the phase. All groups get about equally many positions."""
        return int(self.games["size"].item(0)), self.phase


def make_suite(
    console: Console,
    output: Path,
    files: Sequence[Path],
    *,
    reviewer: str,
    count: int,
    margin: float,
    rounds: int,
    nodes: int,
    seed: int,
    most: int | None,
) -> None:
    """Choose `count` positions from the games of the files, at most `most` per file, and write them to two files.

    `output` names the files. `margin` is the largest difference of two heroes in expected gold at the end of a game of `rounds`
    rounds, by playouts of the bot `reviewer` of `nodes` plies per position. Raises `VindibotError`.
    """
    stem = output.with_suffix("") if output.suffix == ".jsonl" else output
    development, end = (stem.with_name(f"{stem.name}{what}.jsonl") for what in ("", "-end"))
    for path in (development, end):
        suite_output(path).check()
    bot = load_bot(reviewer)
    valuer = Valuer(rollout_of(bot), nodes, 40)
    records = [(path, record) for path in files for record in many_games(path, most).records]
    if len({(path, record.id) for path, record in records}) < 2:
        raise UsageError(f"the two files need positions of different games, and there is {counted(len(records), 'game')} here")
    warm(console)
    rng = np.random.default_rng(seed)
    groups = _groups(records, rng)
    chosen, tried = _choose(console, groups, count, lambda games: _expected(games, rounds, valuer), margin)
    if not chosen:
        raise UsageError(f"none of {counted(tried, 'position')} is balanced within {margin:g} gold: raise --margin")
    halves = _halves(chosen)
    if not all(halves):
        raise UsageError("all balanced positions are of one game, and the two files need two: give more games, or raise --margin")
    for path, positions in zip((development, end), halves, strict=True):
        write_suite(path, positions)
    say(
        console, f"{counted(len(chosen), 'position')} of {counted(tried, 'position')} tried, from {counted(len(records), 'game')}"
    )
    table = plain_table("map size", *PHASES, left=("map size",))
    counts = Counter((position.size, position.phase) for position in chosen)
    for size in sorted({position.size for position in chosen}):
        table.add_row(str(size), *(str(counts[size, phase]) for phase in PHASES))
    console.print(table)
    say(
        console,
        f"{short(development)} has {len(halves[0])} of them for development, {short(end)} has {len(halves[1])} for the end",
    )
    if len(chosen) < count:
        say(console, f"fewer than {count}: give more games, or raise --margin", "yellow")


def _groups(records: Sequence[tuple[Path, GameRecord]], rng: np.random.Generator) -> dict[tuple[int, str], list[Candidate]]:
    """Return the candidates of all games, in a random order, by the size of the map and the phase."""
    groups = defaultdict[tuple[int, str], list[Candidate]](list)
    for path, record in records:
        game = f"{path.name.partition('.')[0]} {record.id}"
        for candidate in _candidates(game, GameHistory.of(record), rng):
            groups[candidate.group].append(candidate)
    for group in groups.values():
        rng.shuffle(group)
    return dict(sorted(groups.items()))


def _candidates(game: str, history: GameHistory, rng: np.random.Generator) -> Iterator[Candidate]:
    """Yield at most `TRIED` positions of each phase of a game, at the start of rounds. `game` names the game.

    All heroes of a position have the same gold: the least of their gold in the game.
    """
    max_turns = int(history.first["max_turns"].item(0))
    numbers = [number for number in range(len(history)) if history.turn(number) % SEATS == 0]
    numbers = [number for number in numbers if history.turn(number) >= SEATS * FIRST_ROUND and not history.gaps]
    tried = Counter[str]()
    for number in rng.permutation(numbers).tolist():
        phase = phase_of(history.turn(number), max_turns)
        if tried[phase] >= TRIED:
            continue
        games = history.state(number)
        if games["status"].item(0) != RUNNING or games["hero"]["crashed"].any():
            continue
        tried[phase] += 1
        # Without this, the gold so far would decide late positions, and nothing in the new games could change their result.
        games["hero"]["gold"] = games["hero"]["gold"].min()
        yield Candidate(game, history.turn(number), games, phase)


def _choose(
    console: Console,
    groups: dict[tuple[int, str], list[Candidate]],
    count: int,
    expected: Callable[[Games], Sequence[float]],
    margin: float,
) -> tuple[list[SuitePosition], int]:
    """Return `count` balanced positions, a position of each group in turn, and the number of positions that were valued.

    `expected` returns the expected gold of each hero. In a balanced position, no two heroes differ by more than `margin`.
    The candidates that were tried are removed from `groups`.
    """
    chosen: list[SuitePosition] = []
    seen: set[str] = set()
    per_game = Counter[tuple[str, str]]()
    tried = 0
    with progress_bar(console) as progress:
        task = progress.add_task("choosing positions", total=count)
        while len(chosen) < count and any(groups.values()):
            for group in [group for group, left in groups.items() if left]:
                if len(chosen) >= count:
                    break
                while groups[group]:
                    candidate = groups[group].pop()
                    digest = _digest(candidate.games)
                    if digest in seen or per_game[candidate.game, candidate.phase] >= CHOSEN:
                        continue
                    tried += 1
                    gold = expected(candidate.games)
                    if max(gold) - min(gold) > margin:
                        continue
                    seen.add(digest)
                    per_game[candidate.game, candidate.phase] += 1
                    chosen.append(_position(candidate, gold))
                    progress.advance(task)
                    break
    return chosen, tried


def _expected(games: Games, rounds: int, valuer: Valuer) -> tuple[float, ...]:
    """Return the expected gold of heroes 1..4 after `rounds` more rounds."""
    games = games.copy()
    turn = int(games["turn"].item(0))
    games["max_turns"] = turn + SEATS * rounds
    outcomes = valuer.outcomes(View(games, turn % SEATS))
    best = outcomes.gold[:, :, turn % SEATS].mean(axis=0).argmax()
    return tuple(round(value, 1) for value in outcomes.gold[:, best].mean(axis=0).tolist())


def _position(candidate: Candidate, gold: Sequence[float]) -> SuitePosition:
    size, board = int(candidate.games["size"].item(0)), draw(candidate.games)
    name = f"{size}-{hashlib.sha256(board.encode()).hexdigest()[:8]}"
    return SuitePosition(
        id=name,
        size=size,
        phase=candidate.phase,
        gold=(gold[0], gold[1], gold[2], gold[3]),
        source=f"{candidate.game}, turn {candidate.turn}",
        start=board,
    )


def _digest(games: Games) -> str:
    """Return a digest of the board with its heroes, without gold and turn. Turned and mirrored boards have the same digest."""
    size = int(games["size"].item(0))
    cells = games["cell"][0].reshape(STRIDE, STRIDE)[1 : size + 1, 1 : size + 1]
    life = ",".join(map(str, games["hero"]["life"][0].tolist()))
    boards = [np.rot90(board, turns) for board in (cells, cells.T) for turns in range(4)]
    return min(hashlib.sha256(board.tobytes() + life.encode()).hexdigest() for board in boards)


def _halves(positions: Sequence[SuitePosition]) -> tuple[list[SuitePosition], list[SuitePosition]]:
    """Return the positions for development and those for the end. All positions of a game are in the same half."""
    games = defaultdict[str, list[SuitePosition]](list)
    for position in positions:
        games[position.source.rpartition(",")[0]].append(position)
    halves: tuple[list[SuitePosition], list[SuitePosition]] = [], []
    for own in games.values():
        min(halves, key=len).extend(own)
    return halves
