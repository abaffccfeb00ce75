"""The dispatcher: players of all kinds, workers that die, interrupts; and the same games with any number of workers."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.arenabots import bad_trait, line_bot, nobody_left, schedule, web_bot
from tests.support.players import AtOnce, Threads, at_once, threads
from tests.support.waiting import wait_until
from vindibot.arena.dispatch import ATTEMPTS, Dispatcher, given_up
from vindibot.arena.games import LocalGames
from vindibot.arena.results import PlayedGame
from vindibot.arena.schedule import GameTask, Schedule
from vindibot.arena.seats import bots
from vindibot.base.errors import VindibotError
from vindibot.base.interrupts import Stop, stopping
from vindibot.engine import forkserver, jobs
from vindibot.engine.jobs import JobEndedError, JobError
from vindibot.games import game_record as gamerecord


def fake(task: GameTask) -> PlayedGame:
    """Return a game without plies."""
    return PlayedGame(replace(given_up(task, "fake").line, ending="finished"), b"{}")


class Dying(Threads):
    """The worker of a game dies if the name of the game is `deadly`. `log` gets the names of all games."""

    def __init__(self, deadly: set[str], log: list[str]) -> None:
        super().__init__(3, fake)
        self.deadly, self.log = deadly, log

    def submit(self, task: GameTask) -> Future[PlayedGame]:
        self.log.append(task.name)
        if task.name not in self.deadly:
            return super().submit(task)
        future: Future[PlayedGame] = Future()
        future.set_exception(JobEndedError("its process ended with signal SIGSEGV"))
        return future


def tasks(count: int = 12) -> list[GameTask]:
    return list(schedule("seed", "malvert", "random", "stay", blocks=3).tasks())[:count]


def test_a_worker_that_dies_loses_only_the_game_that_killed_it() -> None:
    deadly = {"b00000g002", "b00001g003"}
    log: list[str] = []
    notes: list[str] = []
    dispatcher = Dispatcher(lambda: Dying(deadly, log), 3, notes.append)
    found = {played.line.record: played.line for played in dispatcher.run(tasks())}
    assert sorted(found) == [task.name for task in tasks()]
    assert {name for name, line in found.items() if line.ending == "aborted"} == deadly
    assert all(seat.outcome.reason == "aborted" for name in deadly for seat in found[name].seats)
    assert all(log.count(name) == (ATTEMPTS if name in deadly else 1) for name in found)
    assert "game b00000g002 is given up: its process ended with signal SIGSEGV" in notes


def broken(_: GameTask) -> PlayedGame:
    raise BrokenExecutor("broken")


class Closed(AtOnce):
    """Takes no game."""

    submit = staticmethod(broken)  # type: ignore[assignment]


@pytest.mark.parametrize("players", [lambda: Dying({task.name for task in tasks()}, []), at_once(broken), lambda: Closed(fake)])
def test_players_that_can_play_no_game_end_the_tournament(players: Callable[[], Any]) -> None:
    """No game is given up: the fault is not in the games."""
    handed: list[PlayedGame] = []
    with pytest.raises(VindibotError, match="again and again"):
        handed.extend(Dispatcher(players, 2).run(tasks()))
    assert handed == []


def test_a_game_that_fails_is_tried_again_and_given_up_and_one_that_has_not_begun_has_not_failed() -> None:
    times = Counter[str]()

    def play(task: GameTask) -> PlayedGame:
        times[task.name] += 1
        if task.game == 1:
            raise JobError('Traceback (most recent call last):\n  File "x.py", line 1, in play\nValueError: no way\n')
        if task.game == 2 and times[task.name] <= ATTEMPTS + 1:
            raise BrokenExecutor("no process")
        return fake(task)

    notes: list[str] = []
    found = {one.line.game: one.line for one in Dispatcher(at_once(play), 2, notes.append).run(tasks(4))}
    assert {game: line.ending for game, line in found.items()} == {0: "finished", 1: "aborted", 2: "finished", 3: "finished"}
    assert (times["b00000g001"], times["b00000g002"]) == (ATTEMPTS, ATTEMPTS + 2)
    assert found[1].seats[0].outcome.message == "ValueError: no way"
    assert notes == [f"game b00000g001 {what}: ValueError: no way" for what in ("failed and is played again", "is given up")]


def test_running_games_end_when_the_time_is_over() -> None:
    stop, ended = Stop(), threading.Event()

    class Endless(AtOnce):
        def submit(self, _task: GameTask) -> Future[PlayedGame]:
            stop.soon, future = True, Future[PlayedGame]()
            future.set_running_or_notify_cancel()
            return future

        def kill(self) -> None:
            ended.set()

    assert list(Dispatcher(lambda: Endless(fake), 1, stop=stop, last_seconds=0.0).run(tasks())) == []
    assert ended.is_set()


def test_a_signal_prints_nothing_by_itself() -> None:
    """It may come in the middle of a write. What happens now is said later."""
    stop, said, both = Stop(), list[str](), threading.Barrier(2)

    def play(task: GameTask) -> PlayedGame:
        both.wait(20)
        if task.name == "b00000g001":
            wait_until(lambda: len(said) == 3)
        return fake(task)

    with stopping(stop):
        for game in Dispatcher(threads(2, play), 2, notify=said.append, stop=stop).run(tasks()):
            if not said:
                signal.raise_signal(signal.SIGINT)
                said.append("the handler has returned")
            said.append(game.line.record)
    finishing = "finishing the games that are running; once more to stop at once"
    assert said == ["the handler has returned", "b00000g000", finishing, "b00000g001"]
    assert list(Dispatcher(threads(2, fake), 2, notify=said.append, stop=stop).run(tasks())) == []
    assert len(said) == 4, "no game runs that it would finish"


# ---- Real workers ----


def games_of(plan: Schedule, workers: int, **more: Any) -> Iterator[PlayedGame]:
    return Dispatcher(partial(LocalGames, plan.entrants, workers), workers, **more).run(plan.tasks())


@pytest.mark.slow_faults
def test_one_worker_and_four_play_the_same_games(tmp_path: Path) -> None:
    bot = bad_trait(tmp_path, "Improves", pause=0.0)
    plan = schedule("seed", "malvert", f"any={bot}", "random", blocks=3, rounds=25, limits__nodes=8)
    with nobody_left():
        one, four = (
            {(game.line.record, game.line.played, gamerecord.loads(game.record).moves) for game in games_of(plan, workers)}
            for workers in (1, 4)
        )
    assert len({moves for _, _, moves in one}) == 12
    assert one == four


@pytest.mark.slow_faults
def test_children_of_programs_die_with_the_game(tmp_path: Path) -> None:
    notes = tmp_path / "numbers"
    plan = schedule(line_bot("forks", notes), web_bot("forks", notes), "stay", "random")
    with nobody_left(notes):
        found = list(games_of(plan, 2))
        assert len(notes.read_text().split()) == 16
        assert not any(psutil.pid_exists(int(number)) for number in notes.read_text().split())
    assert all(seat.outcome.reason == "finished" for one in found for seat in one.line.seats)


def processes(name: str) -> list[psutil.Process]:
    """Return the descendants of this process with this name, oldest first."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended
            if one.name() == name:
                found.append((one.create_time(), one.pid, one))
    return [one for *_, one in sorted(found)]


@pytest.mark.slow_faults
@pytest.mark.parametrize("name", [jobs.NAME, forkserver.NAME, bots.NAME])
def test_every_game_is_played_and_no_seat_is_at_fault_if_a_process_of_ours_is_killed(tmp_path: Path, name: str) -> None:
    """As by somebody's `kill -9`, or by the kernel without memory."""
    own = bad_trait(tmp_path, "Sleeps", seconds=0.05)
    plan = schedule("seed", "malvert", f"own={own}", "stay", blocks=3, limits__nodes=20)
    notes: list[str] = []
    found: list[PlayedGame] = []

    def kill() -> None:
        """Kill one after a game. Games may end at once, and their seats with them: take one of a game that begins then."""
        wait_until(lambda: found)
        ending = processes(bots.NAME)
        with contextlib.suppress(psutil.NoSuchProcess):
            wait_until(lambda: [one for one in processes(name) if one not in ending])[0].kill()

    with nobody_left(), ThreadPoolExecutor() as pool:
        killed = pool.submit(kill)
        for one in games_of(plan, 2, notify=notes.append):
            found.append(one)  # noqa: PERF402  # `kill` looks at it meanwhile
        killed.result()
    assert sorted(one.line.record for one in found) == [task.name for task in plan.tasks()]
    assert all(one.line.ending == "finished" for one in found), notes
    assert not any(one.line.has_forfeits for one in found)
