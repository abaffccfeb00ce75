"""The referee plays one game, and makes its line of results and its game record.

`play` is for games in which this process asks all four seats for moves. A game with a program that speaks HTTP is played on a
server instead (`vindibot.arena.seats.hosting`). Both return a `GameRun`, from which `line_of` makes the line of results and the
game record.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import numpy as np

from sim.events import RESPAWNED, TOOK_MINE
from sim.game import BEER_COST, CRASH, RUNNING, SEATS, STAY, STRIDE, Games
from sim.replay import moves_of, play_moves, played
from sim.rules import step
from vindibot.arena.results import GameLine, MapLine, SeatLine, places, this_machine
from vindibot.arena.schedule import GameTask, map_of_task
from vindibot.arena.seats.seat import Forfeit, Seat, TurnNotes
from vindibot.games.game_record import GameRecord, dumps
from vindibot.games.notes import GameNote, NoteLimit, game_notes
from vindibot.games.outcome import Outcome, Reason, reason_of

#: Largest number of characters of a forfeit's message. The rest is cut off.
MESSAGE_LENGTH = 500


@dataclass
class SeatRun:
    """What one seat did in a game.

    `outcome` says how its part ended. `times` has the milliseconds of each of its moves. `notes` are its notes, up to the limit
    of a game. `surplus` is its first output that belongs to no turn, if it speaks the line protocol.
    """

    outcome: Outcome = field(default_factory=Outcome)
    times: list[float] = field(default_factory=list)
    notes: list[TurnNotes] = field(default_factory=list)
    limit: NoteLimit = field(default_factory=NoteLimit)
    surplus: str = ""

    def add(self, notes: Iterable[TurnNotes]) -> None:
        """Keep notes of the seat."""
        self.notes += [part._replace(notes=self.limit.limited(part.notes)) for part in notes]

    def forfeit(self, forfeit: Forfeit) -> None:
        """End the seat's part in the game with a forfeit. Only the first forfeit counts."""
        if self.outcome.finished:
            self.outcome = Outcome(forfeit.outcome.reason, " ".join(forfeit.outcome.message.split())[:MESSAGE_LENGTH])


@dataclass
class GameRun:
    """A game as it was played. `moves` has one entry per ply: 0..4 or `sim.game.CRASH`.

    If the arena stopped the game early, `stopped` is the reason. `seconds` is the wall time of the game.
    """

    moves: list[int] = field(default_factory=list)
    seats: list[SeatRun] = field(default_factory=lambda: [SeatRun() for _ in range(SEATS)])
    stopped: Reason = Reason.ADJUDICATED
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0

    def stop(self, mover: int, wall_s: float) -> None:
        """End the game, because it has reached its wall limit. The seat whose turn it is forfeits."""
        self.stopped = Reason.TIMEOUT
        self.seats[mover].forfeit(Forfeit(Reason.TIMEOUT, f"the game reached its wall limit of {wall_s:g} s"))

    @property
    def has_forfeits(self) -> bool:
        """Whether any seat forfeited."""
        return any(not seat.outcome.finished for seat in self.seats)


def play(task: GameTask, seats: Sequence[Seat], deadline: float) -> GameRun:
    """Play a game with these four seats, and return it. The seats are started and closed here.

    If a seat forfeits, its hero crashes. The game is stopped at the monotonic time `deadline`.
    """
    run, began = GameRun(moves=list(task.opening_moves)), time.monotonic()
    games = task.first()
    play_moves(games, 0, moves_of(run.moves))
    status, turn, crashed = games["status"], games["turn"], games["hero"]["crashed"][0]
    mines = len(map_of_task(task).mines)
    try:
        for number, seat in enumerate(seats):
            try:
                seat.start(games, number)
            except Forfeit as forfeit:
                run.seats[number].forfeit(forfeit)
        while status.item(0) == RUNNING:
            mover = turn.item(0) % SEATS
            move = STAY if crashed.item(mover) else _ask(seats[mover], games, run.seats[mover], deadline)
            if time.monotonic() > deadline:
                run.stop(mover, task.wall_s)
                break
            step(games, 0, move)
            run.moves.append(move)
            if task.adjudicate and mover == SEATS - 1 and decided(games, mines):
                break
    finally:
        for seat, own in zip(seats, run.seats, strict=True):
            seat.close()
            own.add(seat.take_notes())
            own.surplus = seat.surplus
    run.seconds = time.monotonic() - began
    return run


def _ask(seat: Seat, games: Games, own: SeatRun, deadline: float) -> int:
    """Return the move of a seat, or `CRASH` if it forfeits. After the deadline, the move does not count."""
    if not own.outcome.finished:
        return CRASH
    began = time.perf_counter()
    try:
        move = seat.move(games)
    except Forfeit as forfeit:
        if time.monotonic() <= deadline:
            own.forfeit(forfeit)
            seat.close()
        return CRASH
    own.times.append((time.perf_counter() - began) * 1000)
    if notes := seat.take_notes():
        own.add(notes)
    return move


def decided(games: Games, mines: int) -> bool:
    """Return whether no hero's place by gold can change any more. `mines` is the number of mines on the map.

    In each remaining round, a hero wins at most one gold per mine, and loses at most the price of a beer. Call this function
    only after the fourth hero's ply: then all heroes have the same number of rounds left.
    """
    left = (int(games["max_turns"].item(0)) - int(games["turn"].item(0))) // SEATS
    golds = sorted(games["hero"]["gold"][0].tolist())
    return all(low + left * mines < high - left * BEER_COST for low, high in pairwise(golds))


def replay(first: Games, moves: Sequence[int]) -> tuple[Games, dict[str, list[int]]]:
    """Return the last state of a game that begins with the state `first`, and counts per hero. The moves give both.

    The counts map the names ``deaths``, ``kills``, ``mines_taken`` and ``stalled`` (see `SeatLine`) to a list with a number per
    hero. If hero B dies in a ply of hero A, A gets a kill: A struck B, or a hero that A killed respawned on B's square.
    """
    replayed = played(first, moves)
    events, ends = replayed.events, replayed.ends
    stats = {name: [0] * SEATS for name in ("deaths", "kills", "mines_taken")}
    for hero in events["hero"][events["kind"] == TOOK_MINE].tolist():
        stats["mines_taken"][hero] += 1
    respawns = (events["kind"] == RESPAWNED).nonzero()[0]
    plies = ends.searchsorted(respawns, side="right")
    # If two heroes have the same spawn square, a hero may respawn twice in a ply. This counts as one death.
    start = first["turn"].item(0)
    for ply, hero in set(zip(plies.tolist(), events["hero"][respawns].tolist(), strict=True)):
        mover = (start + ply) % SEATS
        stats["deaths"][hero] += 1
        stats["kills"][mover] += hero != mover
    squares = np.concatenate([first["hero"]["pos"], replayed.squares[SEATS - 1 : -1 : SEATS]])  # at the start of each round
    stats["stalled"] = [stalled_rounds(squares[:, hero].tolist()) for hero in range(SEATS)] if replayed.plies else [0] * SEATS
    return replayed.last, stats


def line_of(task: GameTask, run: GameRun) -> tuple[GameLine, bytes]:
    """Return a game's line of results and its game record. The record is a line of JSON without the line break."""
    where, first = map_of_task(task), task.first()
    games, stats = replay(first, run.moves)
    heroes, status = games["hero"][0], games["status"].item(0)
    golds = heroes["gold"].tolist()
    ending = run.stopped if status == RUNNING else reason_of(status)
    by_gold = places(golds)
    seats = tuple(
        SeatLine(
            bot=seat.entrant.label,
            version=seat.entrant.version,
            digest=seat.entrant.digest,
            place=by_gold[number],
            gold=golds[number],
            mines=heroes["mines"].item(number),
            life=heroes["life"].item(number),
            crashed=bool(heroes["crashed"].item(number)),
            outcome=own.outcome,
            moves=len(own.times),
            **{name: counts[number] for name, counts in stats.items()},
            **_times(own.times),
        )
        for number, (seat, own) in enumerate(zip(task.seats, run.seats, strict=True))
    )
    line = GameLine(
        tournament=task.tournament,
        build=task.build,
        machine=this_machine(),
        format=task.format,
        block=task.block,
        game=task.game,
        games=task.games,
        map=MapLine(name=task.map_name, size=where.size, digest=where.digest),
        seed=task.seed,
        rounds=task.rounds,
        seats=seats,
        ending=ending,
        plies=len(run.moves),
        played=hashlib.sha256(where.digest.encode() + bytes(run.moves)).hexdigest()[:16],
        started=run.started.isoformat(timespec="milliseconds"),
        seconds=round(run.seconds, 4),
        record=task.name,
    )
    record = GameRecord.of(
        first,
        id=task.name,
        names=line.bots,
        moves=run.moves,
        ending=ending,
        started=run.started,
        finished=datetime.now(UTC),
        seed=task.seed,
        notes=_notes(run),
        extra={"tournament": task.tournament, "block": task.block, "game": task.game, "map": task.map_name},
    )
    return line, dumps(record)


def _notes(run: GameRun) -> tuple[GameNote, ...]:
    """Return the notes of all seats, in the order of the turns."""
    notes = [
        note
        for number, seat in enumerate(run.seats, start=1)
        for part in seat.notes
        for note in game_notes(part.turn, number, part.source, part.notes)
    ]
    return tuple(sorted(notes, key=lambda note: note.turn))


def _times(times: list[float]) -> dict[str, Any]:
    if not times:
        return {}
    figures = {"ms_median": statistics.median(times), "ms_p99": sorted(times)[int(len(times) * 0.99)], "ms_max": max(times)}
    return {name: round(value, 4) for name, value in figures.items()}


#: A hero is stalled if all its squares in at least `SHORTEST` rounds in a row fit into an area of `SIDE` x `SIDE` squares.
SHORTEST, SIDE = 40, 5


def stalled_rounds(squares: Sequence[int]) -> int:
    """Return the number of rounds in which a hero was stalled. `squares` has the hero's square at the start of each round."""
    if len(squares) < SHORTEST:
        return 0
    positions = np.stack(np.divmod(squares, STRIDE), axis=1)
    # It is enough to test runs of length `SHORTEST`: each longer run is the union of such runs.
    runs = np.lib.stride_tricks.sliding_window_view(positions, SHORTEST, axis=0)
    fits = (np.ptp(runs, axis=-1) < SIDE).all(axis=-1)
    return int(np.count_nonzero(np.convolve(fits, np.ones(SHORTEST))))
