"""The dispatcher: executors of all kinds, workers that die, interrupts; and the same games with any number of workers."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.arenabots import bad_trait, line_bot, nobody_left, schedule, web_bot
from tests.support.paths import TOP
from vindibot.arena.dispatch import ATTEMPTS, Dispatcher, Stop, given_up
from vindibot.arena.local import LocalExecutor, local_workers
from vindibot.arena.sandbox import PlayedGame
from vindibot.arena.schedule import GameTask, Schedule
from vindibot.arena.tournament import stopping
from vindibot.base.errors import VindibotError
from vindibot.games import game_record as gamerecord


def fake(task: GameTask) -> PlayedGame:
    """Return a game without plies."""
    return PlayedGame(given_up(task, "fake").line.model_copy(update={"ending": "finished"}), b"{}")


class Broken(Executor):
    """Breaks at the `deadly` games, and logs the names of all games."""

    def __init__(self, deadly: set[str], log: list[str]) -> None:
        self.deadly, self.log, self.broken = deadly, log, False
        self.pending: list[tuple[Future[PlayedGame], GameTask]] = []

    def submit(self, fn: Callable[..., PlayedGame], /, *args: object, **kwargs: object) -> Future[PlayedGame]:  # type: ignore[override]
        (task,) = args
        assert isinstance(task, GameTask)
        if self.broken:
            raise BrokenProcessPool("broken before")
        self.log.append(task.name)
        future: Future[PlayedGame] = Future()
        self.pending.append((future, task))
        if task.name in self.deadly:
            self.broken = True
            for other, _ in self.pending:
                if not other.done():
                    other.set_exception(BrokenProcessPool("a process died"))
        elif len(self.pending) > 1:  # the one before ends when the next one comes
            before, what = self.pending[-2]
            if not before.done():
                before.set_result(fn(what))
        if len(self.pending) == 1 or task.name not in self.deadly:
            threading.Timer(0.01, lambda: None if future.done() else future.set_result(fn(task))).start()
        return future


def tasks(count: int = 12) -> list[GameTask]:
    return list(schedule("seed", "malvert", "random", "stay", blocks=3).tasks())[:count]


def test_every_game_is_played_once() -> None:
    found = [played.line.record for played in Dispatcher(lambda: ThreadPoolExecutor(3), 3, fake).run(tasks())]
    assert sorted(found) == [task.name for task in tasks()]


def test_a_worker_that_dies_loses_only_the_game_that_killed_it() -> None:
    deadly = {"b00000g002", "b00001g003"}
    log: list[str] = []
    notes: list[str] = []
    dispatcher = Dispatcher(lambda: Broken(deadly, log), 3, fake, notes.append)
    found = {played.line.record: played.line for played in dispatcher.run(tasks())}
    assert sorted(found) == [task.name for task in tasks()]
    assert {name for name, line in found.items() if line.ending == "aborted"} == deadly
    assert all(seat.outcome.reason == "aborted" for name in deadly for seat in found[name].seats)
    assert all(log.count(name) <= 1 + ATTEMPTS for name in deadly)
    assert any("given up" in text for text in notes)


def test_games_are_not_given_up_if_all_workers_die() -> None:
    handed: list[str] = []
    everything = {task.name for task in tasks()}
    with pytest.raises(VindibotError, match="again and again"):
        handed.extend(one.line.record for one in Dispatcher(lambda: Broken(everything, []), 2, fake).run(tasks()))
    assert handed == []


def test_workers_that_die_at_once_end_the_tournament() -> None:
    class Dead(Executor):
        def submit(self, fn: object, /, *args: object, **kwargs: object) -> Future[PlayedGame]:  # type: ignore[override]
            raise BrokenProcessPool("dead")

    with pytest.raises(VindibotError, match="again and again"):
        list(Dispatcher(Dead, 2, fake).run(tasks()))


def test_a_game_that_fails_is_tried_again_and_given_up() -> None:
    seen: list[str] = []

    def play(task: GameTask) -> PlayedGame:
        seen.append(task.name)
        if task.game == 1:
            raise VindibotError("no way")
        return fake(task)

    found = list(Dispatcher(lambda: ThreadPoolExecutor(2), 2, play).run(tasks(4)))
    assert len(found) == 4
    assert seen.count("b00000g001") == ATTEMPTS
    (lost,) = [played.line for played in found if played.line.ending == "aborted"]
    assert lost.seats[0].outcome.message == "no way"


def test_stopping_soon_lets_the_running_games_end() -> None:
    stop = Stop()
    running = threading.Semaphore(0)

    def play(task: GameTask) -> PlayedGame:
        running.release()
        while not stop.soon:
            time.sleep(0.001)
        return fake(task)

    def interrupt() -> None:
        for _ in range(2):
            running.acquire()
        stop.soon = True

    threading.Thread(target=interrupt).start()
    found = list(Dispatcher(lambda: ThreadPoolExecutor(2), 2, play, stop=stop).run(tasks()))
    assert len(found) == 2


class Interrupted(io.RawIOBase):
    """A file whose first write is interrupted by Ctrl-C. `content` has everything that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.content = b""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self.content:
            signal.raise_signal(signal.SIGINT)
        self.content += bytes(data)
        return len(data)


def test_a_signal_in_the_middle_of_a_write_prints_nothing_there() -> None:
    stop, both, told, file = Stop(), threading.Barrier(2), threading.Event(), Interrupted()
    out = io.TextIOWrapper(io.BufferedWriter(file), encoding="utf-8")

    def say(text: str) -> None:
        print(text, file=out, flush=True)
        if "once more" in text:
            told.set()

    def play(task: GameTask) -> PlayedGame:
        both.wait(20)
        if task.name != "b00000g000":
            assert told.wait(20)
        return fake(task)

    with stopping(stop):
        dispatcher = Dispatcher(lambda: ThreadPoolExecutor(2), 2, play, notify=say, stop=stop)
        for one in dispatcher.run(tasks()):
            say(one.line.record)
    first, second, *others = file.content.decode().splitlines()
    assert (first, second) == ("b00000g000", "finishing the games that are running; once more to stop at once")
    assert others == ["b00000g001"]


# ---- Real workers ----


def played(plan: Schedule, workers: int) -> dict[str, tuple[object, ...]]:
    """Play the games of a schedule, and return their moves and results by name."""
    dispatcher = Dispatcher(local_workers(plan.entrants, workers), workers)
    return {
        one.line.record: (
            gamerecord.loads(one.record).moves,
            one.line.played,
            [(seat.bot, seat.gold) for seat in one.line.seats],
        )
        for one in dispatcher.run(plan.tasks())
    }


def test_one_worker_and_four_play_the_same_games(tmp_path: Path) -> None:
    bot = bad_trait(tmp_path, "Improves", pause=0.0)
    plan = schedule("seed", "malvert", f"any={bot}", "random", blocks=3, rounds=25, limits__nodes=8)
    with nobody_left():
        one, four = played(plan, 1), played(plan, 4)
    assert len(one) == 12
    assert one == four
    assert len({digest for _, digest, _ in one.values()}) == 12


def test_children_of_programs_die_with_the_game(tmp_path: Path) -> None:
    notes = tmp_path / "numbers"
    plan = schedule(line_bot("forks", notes), web_bot("forks", notes), "stay", "random")
    with nobody_left(notes):
        found = list(Dispatcher(local_workers(plan.entrants, 2), 2).run(plan.tasks()))
        assert len(notes.read_text().split()) == 16
        assert not any(psutil.pid_exists(int(number)) for number in notes.read_text().split())
    assert all(seat.outcome.reason == "finished" for one in found for seat in one.line.seats)


def test_workers_that_are_killed_are_replaced() -> None:
    plan = schedule("seed", "malvert", "random", "stay", blocks=3)
    make = local_workers(plan.entrants, 2)
    made: list[LocalExecutor] = []
    notes: list[str] = []

    def workers() -> LocalExecutor:
        made.append(make())
        return made[-1]

    found: list[PlayedGame] = []
    with nobody_left():
        for one in Dispatcher(workers, 2, notify=notes.append).run(plan.tasks()):
            if not found:
                made[0].kill()  # as somebody's `kill -9` or the kernel without memory would
            found.append(one)
    assert sorted(one.line.record for one in found) == [task.name for task in plan.tasks()]
    assert all(one.line.ending == "finished" for one in found)
    assert len(made) > 1
    assert notes


def test_a_trait_that_kills_its_parent_ends_no_game(tmp_path: Path) -> None:
    trait = tmp_path / "assassin.py"
    trait.write_text(
        "import os, signal\nfrom pathlib import Path\nfrom behaviours import Behaviour\n\n\n"
        "class Assassin(Behaviour):\n    once: str = ''\n\n    def vote(self, view):\n"
        "        if view.turn // 4 == 3 and not (self.once and Path(self.once).exists()):\n"
        "            if self.once:\n                Path(self.once).touch()\n"
        "            os.kill(os.getppid(), signal.SIGKILL)\n            signal.pause()\n        return 0\n"
    )
    bot = tmp_path / "bot.toml"
    bot.write_text(f'[traits.assassin]\nuse = "assassin:Assassin"\nonce = "{tmp_path / "done"}"\n')
    plan = schedule(str(bot), "seed", "random", "stay", blocks=2)
    with nobody_left():
        found = list(Dispatcher(local_workers(plan.entrants, 2), 2).run(plan.tasks()))
    assert sorted(one.line.record for one in found) == [task.name for task in plan.tasks()]
    assert all(one.line.ending == "finished" for one in found)


def test_a_worker_ends_with_the_arena_while_it_imports_a_module(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    code = (
        "import os, sys\nfrom multiprocessing import Pipe\nfrom behaviours.registry import load_module\n"
        "from vindibot.arena.sandbox import become_worker\n"
        "lifeline, held = Pipe(duplex=False)\n"
        "if not os.fork():\n    held.close()\n    become_worker(lifeline)\n    load_module('slow')\n"
        "sys.stdin.readline()\nheld.close()\nprint(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    path = {**os.environ, "PYTHONPATH": os.pathsep.join((str(TOP), str(tmp_path)))}
    words = [sys.executable, "-c", code]
    process = subprocess.Popen(
        words, env=path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "importing\n"
    assert process.communicate("now\n", timeout=20)[0] == "1\n"


def test_stopping_now_ends_workers_and_programs(tmp_path: Path) -> None:
    plan = schedule(line_bot("silent"), "seed", "random", "stay")
    stop = Stop()
    before = time.monotonic()
    threading.Timer(1.0, lambda: setattr(stop, "now", True)).start()
    with nobody_left():
        assert list(Dispatcher(local_workers(plan.entrants, 2), 2, stop=stop).run(plan.tasks())) == []
    assert time.monotonic() - before < 15
