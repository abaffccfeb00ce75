"""Games of bots in process: they equal the games of the agent, and end whatever the traits do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import numpy as np
import pytest

from sim.game import copy_of, equal
from sim.maps import map_of
from sim.rules import step
from tests.support.arenabots import bad_trait, first_game, first_task, nobody_left, schedule
from vindibot.arena.games import play_task
from vindibot.arena.referee import decided, replay
from vindibot.arena.results import decode
from vindibot.arena.schedule import map_of_task
from vindibot.engine.agent import Agent, voters
from vindibot.engine.deadline import Deadline
from vindibot.games import game_record as gamerecord
from vindibot.games.history import GameHistory

QUIET = ("stay", "random", "random")


async def test_a_bot_in_process_plays_as_the_agent_does() -> None:
    task = first_task("seed", "malvert", "random", "stay", rounds=40)
    moves = gamerecord.loads(play_task(task).record).moves
    games = map_of_task(task).new_game(160)
    agents = []
    for number, seat in enumerate(task.seats[:2]):
        assert seat.entrant.bot is not None
        asked = voters(seat.entrant.bot, workers=1, in_process=True)
        await asked.start()
        agents.append(Agent(asked, number, seat.seed, Deadline(0.0), nodes=1000))
    for ply, move in enumerate(moves):
        if ply % 4 < 2:
            ballot = await agents[ply % 4].decide(copy_of(games), time.monotonic(), 60.0)
            assert ballot.direction == move, ply
        step(games, 0, move)
    await asyncio.gather(*(agent.voters.close() for agent in agents))


def test_the_line_and_the_record_agree_with_the_moves() -> None:
    task = first_task("seed", "malvert", "random", "stay", rounds=50)
    played = play_task(task)
    line, record = played.line, gamerecord.loads(played.record)
    last = GameHistory.of(record).last
    for name in ("gold", "mines", "life"):
        assert [getattr(seat, name) for seat in line.seats] == last["hero"][name][0].tolist()
    assert line.bots == ("seed", "malvert", "random", "stay") == record.names
    assert (line.plies, line.ending, line.record) == (200, "finished", record.id)
    assert (line.map.size, line.map.digest) == (10, map_of_task(task).digest)
    assert sum(seat.place for seat in line.seats) == 10
    seed = line.seats[0]
    assert 0 < seed.ms_median <= seed.ms_p99 <= seed.ms_max
    assert seed.mines_taken >= seed.mines
    assert line.seats[3].stalled == 50


def test_deaths_and_kills_are_counted_from_the_moves() -> None:
    """Against what one state shows after the other: a hero that jumps to its spawn with full life has died."""
    task = first_task("random", "random", "random", "random", rounds=400, size=10, seed=11)
    moves = gamerecord.loads(play_task(task).record).moves
    last, stats = replay(task.first(), moves)
    games, deaths, kills = map_of_task(task).new_game(1600), [0] * 4, [0] * 4
    for ply, move in enumerate(moves):
        before = copy_of(games)
        step(games, 0, move)
        mover, old, new = ply % 4, before["hero"][0], games["hero"][0]
        for hero in range(4):
            died = old["life"][hero] <= 21 and new["life"][hero] >= 99 and new["pos"][hero] == new["spawn"][hero]
            deaths[hero] += bool(died)
            kills[mover] += bool(died) and hero != mover
    assert equal(games, last)
    assert deaths == stats["deaths"]
    assert kills == stats["kills"]
    assert sum(stats["deaths"]) > 0
    assert sum(stats["mines_taken"]) > 0


def test_the_game_ends_when_all_bots_die(tmp_path: Path) -> None:
    bot = bad_trait(tmp_path, "Dies")
    line = first_game(*(f"{label}={bot}" for label in "abcd"))
    assert [seat.outcome.reason for seat in line.seats] == ["crash"] * 4
    assert (line.ending, line.plies) == ("all-crashed", 4)


def test_what_a_trait_prints_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    line = first_game(f"bad={bad_trait(tmp_path, 'Prints')}", *QUIET, rounds=2, logs=tmp_path / "logs")
    assert line.seats[0].outcome.reason == "finished", line.seats[0].outcome.message
    output = (tmp_path / "logs" / "b00000g000-1-bad.log").read_bytes()
    assert output.startswith(b"x" * 1000)
    assert b"\n[...]\n" in output
    assert len(output) < 80_000


@pytest.mark.slow_faults
def test_a_game_has_a_wall_limit(tmp_path: Path) -> None:
    bot = bad_trait(tmp_path, "Sleeps", seconds=1.0)
    line = first_game("stay", f"slow={bot}", *QUIET[1:], limits__wall_s=8.0)
    assert line.ending == "timeout"
    assert line.seats[1].outcome.reason == "timeout", line.seats[1].outcome.message
    assert "wall limit" in line.seats[1].outcome.message
    assert 0 < line.plies < 48


@pytest.mark.slow_faults
@pytest.mark.parametrize("limits", [{"limits__move_ms": 30}, {"limits__nodes": 40}])
def test_budgets_reach_the_traits(tmp_path: Path, limits: dict[str, int]) -> None:
    line = first_game(f"any={bad_trait(tmp_path, 'Improves', pause=0.0005)}", *QUIET, rounds=5, **limits)
    assert line.seats[0].outcome.reason == "finished"
    assert line.seats[0].ms_median >= 20


def own_bot(folder: Path, votes: str = "0") -> str:
    """Write a bot with a trait of its own, and return its path. When it votes, the trait imports a module beside it.

    At each vote the trait also adds the id of its process and the name in this module to the file `processes` beside `folder`.
    """
    folder.mkdir()
    (folder / "helper.py").write_text(f"NAME = {folder.name!r}\nVOTES = {votes}\n")
    (folder / "own.py").write_text(
        "import os\nfrom behaviours import Behaviour\n\n\nclass Own(Behaviour):\n    def vote(self, view):\n"
        "        import helper\n        from pathlib import Path\n"
        "        with Path(__file__).parents[1].joinpath('processes').open('a') as file:\n"
        "            file.write(f'{os.getpid()} {helper.NAME}\\n')\n"
        f"        assert helper.NAME == {folder.name!r}\n        return helper.VOTES\n"
    )
    (folder / "bot.toml").write_text(f'name = "{folder.name}"\n[traits.own]\nuse = "own:Own"\n')
    return str(folder / "bot.toml")


@pytest.mark.parametrize("limits", [{"limits__move_ms": 10_000}, {"limits__nodes": 40}])
def test_bots_whose_modules_have_the_same_names_never_share_a_process(tmp_path: Path, limits: dict[str, int]) -> None:
    one, two = own_bot(tmp_path / "one"), own_bot(tmp_path / "two", "{1: 1, 2: 1, 3: 1, 4: 1}")
    with nobody_left():
        played = play_task(first_task(one, two, f"again={one}", "seed", rounds=3, **limits))
    assert [(seat.bot, seat.outcome.finished) for seat in played.line.seats] == [
        (bot, True) for bot in ("one", "two", "again", "seed")
    ]
    moves = gamerecord.loads(played.record).moves
    assert (set(moves[0::4]), set(moves[2::4])) == ({0}, {0})
    assert 0 not in moves[1::4]
    processes = [line.split()[0] for line in (tmp_path / "processes").read_text().splitlines()]
    assert (len(processes), len(set(processes))) == (9, 3), "not even two seats of one bot share a process"


def test_an_error_of_a_trait_may_have_any_text(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from behaviours import Behaviour\n\n\nclass Own(Behaviour):\n"
        "    def vote(self, view):\n        raise ValueError('\\udce9 \\0 \\x1b[31m')\n"
    )
    (tmp_path / "bot.toml").write_text('[traits.own]\nuse = "own:Own"\n')
    line = first_game(str(tmp_path / "bot.toml"), *QUIET, rounds=5)
    assert line.seats[0].outcome.reason == "crash"
    assert "ValueError" in decode(line.encode()).seats[0].outcome.message


@pytest.mark.parametrize(
    ("trait", "parameters", "reason", "note"),
    [
        ("Raises", {}, "crash", "every trait failed"),
        ("Sleeps", {}, "timeout", "had to be killed"),
        ("LoopsInKernel", {}, "timeout", "had to be killed"),
        ("Segfaults", {}, "crash", "SIGSEGV"),
        ("Dies", {}, "crash", "exit code 1"),
        ("Hoards", {}, "memory", "MemoryError"),
        ("Exits", {}, "crash", "every trait failed"),
        ("Answers", {"what": "nan"}, "finished", ""),
        ("HasChildren", {"notes": "children"}, "finished", ""),
    ],
)
def test_bad_traits_forfeit_or_lose_their_votes_and_nobody_else_does(
    here: Path, monkeypatch: pytest.MonkeyPatch, trait: str, parameters: dict[str, str], reason: str, note: str
) -> None:
    monkeypatch.setattr("vindibot.arena.seats.bots.HANG_MARGIN", 0.5)
    (here / "bad").mkdir()
    bad, good = bad_trait(here / "bad", trait, **parameters), own_bot(here / "good")
    limits = {"limits__move_ms": 2_000 if reason == "timeout" else 10_000, "limits__grace_ms": 200}
    if reason == "memory":
        limits["limits__memory_mb"] = 200
    with nobody_left(here / "children"):
        line = first_game(good, "stay", f"bad={bad}", "random", **limits)
    outcome = line.seats[2].outcome
    assert (outcome.reason, line.seats[2].crashed) == (reason, reason != "finished"), outcome.message
    assert note in outcome.message
    assert [line.seats[number].outcome.reason for number in (0, 1, 3)] == ["finished"] * 3
    assert line.plies == 48


def test_decided_is_sound() -> None:
    """The places of a decided game stay the same, whatever the later moves are."""
    rng = np.random.default_rng(3)
    found, bots = 0, ("seed", "random", "malvert", "stay")
    ended_early = schedule(*bots, blocks=2, rounds=60, adjudicate="decided").tasks()
    for task, early in zip(schedule(*bots, blocks=2, rounds=60).tasks(), ended_early, strict=True):
        moves = gamerecord.loads(play_task(task).record).moves
        games, mines = map_of_task(task).new_game(240), len(map_of(map_of_task(task).new_game(240)).mines)
        for ply, move in enumerate(moves[:-1], start=1):
            step(games, 0, move)
            if ply % 4 == 0 and decided(games, mines):
                line = play_task(early).line
                assert (line.ending, line.plies) == ("adjudicated", ply)
                before = np.argsort(games["hero"]["gold"][0], kind="stable").tolist()
                for _ in moves[ply:]:
                    step(games, 0, int(rng.integers(5)))
                assert np.argsort(games["hero"]["gold"][0], kind="stable").tolist() == before
                found += 1
                break
    assert found
