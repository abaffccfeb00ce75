"""The referee: one game from the first ply to the last, and what came of it.

`play` is for games whose seats are all asked in this process; games with programs that speak HTTP are played on a server
(`vindibot.arena.hosting`) and come to the same `GameRun`. `line_of` recomputes everything else from the orders.
"""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise

from sim.events import RESPAWNED, TOOK_MINE
from sim.game import BEER_COST, CRASH, RUNNING, STAY, Games
from sim.maps import Map
from sim.rules import step
from vindibot.arena.journal import Journal
from vindibot.arena.results import GameLine, MapLine, SeatLine, places
from vindibot.arena.schedule import SEATS, GameTask, map_of_task
from vindibot.arena.seats import Forfeit, Seat
from vindibot.arena.stalls import stalled_rounds
from vindibot.games import GameHistory, GameRecord, Outcome, Reason, dumps, reason_of

#: The longest message of a forfeit that is kept.
MESSAGE_LENGTH = 300


@dataclass
class SeatRun:
    """How a seat fared so far: how its part ended, and the milliseconds of its moves."""

    outcome: Outcome = field(default_factory=Outcome)
    times: list[float] = field(default_factory=list)

    def forfeit(self, forfeit: Forfeit) -> None:
        """Its part is over; the first reason counts."""
        if self.outcome.finished:
            self.outcome = Outcome(forfeit.outcome.reason, " ".join(forfeit.outcome.message.split())[:MESSAGE_LENGTH])


@dataclass
class GameRun:
    """How a game went. `moves` are 0..4 or `sim.game.CRASH`; `stopped` is why the game ended if its last state is still
    running."""

    moves: list[int] = field(default_factory=list)
    seats: list[SeatRun] = field(default_factory=lambda: [SeatRun() for _ in range(SEATS)])
    stopped: Reason = Reason.ADJUDICATED
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    seconds: float = 0.0

    @property
    def trouble(self) -> bool:
        """Whether anybody forfeited."""
        return any(not seat.outcome.finished for seat in self.seats)


def play(task: GameTask, seats: Sequence[Seat], journal: Journal) -> GameRun:
    """Play the game with these seats, which are started and closed here. A seat that forfeits has its hero crashed."""
    course, began = GameRun(), time.monotonic()
    where = map_of_task(task)
    games = where.new_game(SEATS * task.rounds)
    status, turn, crashed = games["status"], games["turn"], games["hero"]["crashed"][0]
    mines = len(where.mines)
    try:
        for number, seat in enumerate(seats):
            try:
                with journal.asked(number):
                    seat.start(games, number)
            except Forfeit as forfeit:
                course.seats[number].forfeit(forfeit)
        while status.item(0) == RUNNING:
            mover = turn.item(0) % SEATS
            move = STAY if crashed.item(mover) else _ask(seats[mover], games, mover, course, journal)
            step(games, 0, move)
            course.moves.append(move)
            journal.played(move)
            if task.adjudicate and mover == SEATS - 1 and decided(games, mines):
                break
    finally:
        for seat in seats:
            seat.close()
    course.seconds = time.monotonic() - began
    return course


def _ask(seat: Seat, games: Games, mover: int, course: GameRun, journal: Journal) -> int:
    """The order of a seat, or the crash of its hero."""
    own = course.seats[mover]
    if not own.outcome.finished:
        return CRASH
    journal.asking(mover)
    began = time.perf_counter()
    try:
        move = seat.move(games)
    except Forfeit as forfeit:
        own.forfeit(forfeit)
        seat.close()
        return CRASH
    own.times.append((time.perf_counter() - began) * 1000)
    return move


def decided(games: Games, mines: int) -> bool:
    """Whether no hero's place by gold can change any more, whatever anybody does: nobody can win more than all `mines`
    every turn, or lose more than the price of a beer. To be asked after the fourth hero's ply, when all have equally many
    turns left."""
    left = (int(games["max_turns"].item(0)) - int(games["turn"].item(0))) // SEATS
    golds = sorted(games["hero"]["gold"][0].tolist())
    return all(low + left * mines < high - left * BEER_COST for low, high in pairwise(golds))


@dataclass
class GameStats:
    """What the heroes did in a game, by hero: how often they died, killed, took a mine, and rounds in which they were stalled."""

    deaths: list[int] = field(default_factory=lambda: [0] * SEATS)
    kills: list[int] = field(default_factory=lambda: [0] * SEATS)
    mines_taken: list[int] = field(default_factory=lambda: [0] * SEATS)
    stalled: list[int] = field(default_factory=lambda: [0] * SEATS)


def replay(where: Map, rounds: int, moves: Sequence[int]) -> tuple[Games, GameStats]:
    """The last state of a game and the deeds, from its orders. Whoever dies in a hero's ply is his kill, himself excepted:
    by his blow, or by the return of one he struck down."""
    history, deeds = GameHistory(first=where.new_game(SEATS * rounds)), GameStats()
    history.play_all(moves)
    happened, ends = history.events()
    for hero in happened["hero"][happened["kind"] == TOOK_MINE].tolist():
        deeds.mines_taken[hero] += 1
    back = (happened["kind"] == RESPAWNED).nonzero()[0]
    plies = ends.searchsorted(back, side="right")
    # A hero may respawn twice in a ply, on a map where spawn squares coincide: that is one death.
    for ply, hero in set(zip(plies.tolist(), happened["hero"][back].tolist(), strict=True)):
        deeds.deaths[hero] += 1
        deeds.kills[ply % SEATS] += hero != ply % SEATS
    squares = [games["hero"]["pos"][0].tolist() for games in history.states(every=SEATS)][: -(-len(moves) // SEATS)]
    deeds.stalled = [stalled_rounds([of_round[hero] for of_round in squares]) for hero in range(SEATS)]
    return history.last, deeds


def line_of(task: GameTask, course: GameRun) -> tuple[GameLine, bytes]:
    """The line of results and the game record (a line of JSON, without its end) of a game."""
    where = map_of_task(task)
    games, deeds = replay(where, task.rounds, course.moves)
    heroes = games["hero"][0]
    golds = heroes["gold"].tolist()
    status = games["status"].item(0)
    ending = course.stopped if status == RUNNING else reason_of(status)
    by_gold = places(golds)
    seats = tuple(
        SeatLine(
            bot=seat.entrant.label,
            version=seat.entrant.version,
            digest=seat.entrant.digest,
            place=by_gold[number],
            gold=golds[number],
            mines=heroes["mines"].item(number),
            deaths=deeds.deaths[number],
            kills=deeds.kills[number],
            mines_taken=deeds.mines_taken[number],
            stalled=deeds.stalled[number],
            life=heroes["life"].item(number),
            crashed=bool(heroes["crashed"].item(number)),
            outcome=own.outcome,
            moves=len(own.times),
            **_times(own.times),
        )
        for number, (seat, own) in enumerate(zip(task.seats, course.seats, strict=True))
    )
    labels = tuple(seat.entrant.label for seat in task.seats)
    line = GameLine(
        tournament=task.tournament,
        build=task.build,
        format=task.format,
        block=task.block,
        game=task.game,
        games=task.games,
        map=MapLine(name=task.map_name, size=where.size, digest=where.digest),
        seed=task.seed,
        rounds=task.rounds,
        seats=seats,
        ending=ending,
        plies=len(course.moves),
        played=hashlib.sha256(where.digest.encode() + bytes(course.moves)).hexdigest()[:16],
        started=course.started.isoformat(timespec="milliseconds"),
        seconds=round(course.seconds, 4),
        record=task.name,
    )
    record = GameRecord.of(
        where,
        id=task.name,
        max_turns=SEATS * task.rounds,
        names=labels,  # type: ignore[arg-type]
        moves=course.moves,
        ending=ending,
        started=course.started,
        finished=datetime.now(UTC),
        seed=task.seed,
        extra={"tournament": task.tournament, "block": task.block, "game": task.game, "map": task.map_name},
    )
    return line, dumps(record)


def _times(times: list[float]) -> dict[str, float]:
    if not times:
        return {}
    ordered = sorted(times)
    return {
        "ms_median": round(statistics.median(ordered), 4),
        "ms_p99": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))], 4),
        "ms_max": round(ordered[-1], 4),
    }
