"""``vindibot arena`` as a command: stored and resumed results, interrupts, full disks, exit codes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from rich.console import Console

from tests.support.arenabots import TOP, line_bot, nobody_left, schedule
from tests.support.commands import environment
from vindibot.arena.dispatch import given_up
from vindibot.arena.report.summary import match_scores, summarise
from vindibot.arena.report.table import percent
from vindibot.arena.results import PlayedGame, read_results
from vindibot.arena.store import Store, StoreError, setup_path
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.engine import forkserver
from vindibot.engine.warmup import warm
from vindibot.games.files.game_files import read_records, records_path
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Outcome, Reason
from vindibot.statistics.differences import estimate_difference

GAMES = ["--map", "m1", "--rounds", "20", "--seed", "3"]


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "vindibot", "arena", *map(str, words)]


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def arena(folder: Path, *words: object, **variables: str) -> Done:
    """Run the command in this process, which is much quicker. Use it for tests without an interrupt."""
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "160")
        result = CliRunner().invoke(main, ["arena", *map(str, words)], env=variables)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def started(folder: Path, *words: object, start_new_session: bool = False, **more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*words),
        cwd=folder,
        env=environment(COLUMNS="160") | more,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=start_new_session,
    )


def until_games(path: Path, count: int) -> None:
    """Wait until a file of results has `count` lines."""
    end = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < end
        time.sleep(0.01)


def golds(path: Path) -> dict[str, tuple[int, ...]]:
    return {line.record: tuple(seat.gold for seat in line.seats) for line in read_results(path)}


# ---- The whole command ----


@pytest.mark.slow
def test_a_tournament_is_played_stored_and_extended(tmp_path: Path) -> None:
    done = arena(tmp_path, "seed", "malvert", "random", "stay", "--blocks", 2, *GAMES, "--results", "cup.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8/8 games" in done.stdout
    path = tmp_path / "cup.jsonl"
    assert "deaths" in done.stdout
    assert "stalled" in (tmp_path / "cup.html").read_text()
    first = golds(path)
    records = {record.id: record for record in read_records(records_path(path))}
    assert sorted(first) == sorted(records) == [f"b0000{block}g00{game}" for block in (0, 1) for game in range(4)]
    for name, golds_then in first.items():
        assert tuple(GameHistory.of(records[name]).last["hero"]["gold"][0].tolist()) == golds_then
    # the same command again is refused, and --resume continues
    again = arena(tmp_path, "seed", "malvert", "random", "stay", "--blocks", 2, *GAMES, "--results", "cup.jsonl")
    assert again.returncode == 2
    assert "--resume goes on with it" in again.stderr
    more = arena(tmp_path, "--resume", "cup.jsonl", "--blocks", 3)
    assert more.returncode == 0, more.stdout + more.stderr
    assert len(golds(path)) == 12
    assert golds(path).items() >= first.items()
    other = arena(tmp_path, "seed", "seed", "random", "stay", "--resume", "cup.jsonl", "--blocks", 2, *GAMES)
    assert other.returncode == 2
    assert "of another tournament" in other.stderr
    assert "bots was" in other.stderr


def test_a_match_of_two(tmp_path: Path) -> None:
    done = arena(tmp_path, "--match", "stay", "stay", "--blocks", 1, "--map", "m1", "--rounds", 2)
    assert done.returncode == 0, done.stderr
    assert "the difference is not estimated: it takes at least 5 blocks" in done.stdout
    (path,) = (path for path in (tmp_path / "results").glob("*.jsonl") if not path.name.endswith(".games.jsonl"))
    assert path.name.startswith("ab-stay-stay-2-")
    assert {line.bots for line in read_results(path)} == {
        tuple("stay" if seat in pair else "stay-2" for seat in range(4))
        for pair in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))
    }


def test_errors_are_reported_before_the_first_game(tmp_path: Path) -> None:
    for words, said in (
        (["sead", "stay"], "sead"),
        (["http:no-such-program-anywhere", "stay"], "no-such-program-anywhere"),
        (["--match", "seed", "stay", "--format", "all"], "--match"),
        (["--resume", "nothing.jsonl"], "nothing"),
        (["--blocks", "0"], "option --blocks"),
        (["stay", "stay", "--results", "/proc/nowhere/r.jsonl"], "/proc/nowhere/r.jsonl: cannot be written"),
    ):
        done = arena(tmp_path, *words)
        assert done.returncode == 2, done.stdout
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_forfeits_beyond_the_threshold_have_an_exit_code(tmp_path: Path) -> None:
    words = [f"bad={line_bot('dies')}", "stay", "stay", "random", "--blocks", 1, *GAMES, "--results", "r.jsonl"]
    done = arena(tmp_path, *words)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "bad forfeited 100.0% of its games" in done.stdout
    logs = sorted(path.name for path in (tmp_path / "r.logs").iterdir())
    assert logs == [f"b00000g00{game}-{game + 1}-bad.log" for game in range(4)]
    assert (tmp_path / "r.logs" / logs[0]).read_text() == "some reason\n"
    assert arena(tmp_path, "--resume", "r.jsonl", VINDIBOT_MAX_FORFEITS="1").returncode == 0


#: What a program in Java prints when it crashes.
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no mines left
\tat Boom.f(Boom.java:2)
\tat Boom.main(Boom.java:4)
Caused by: java.lang.RuntimeException: inner cause
\t... 14 more
"""


def test_the_last_lines_of_a_program_and_the_folder_of_the_logs_are_printed(tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_text(f"cat >&2 <<'END'\nsome words\n{JAVA}END\nexit 1\n")
    done = arena(tmp_path, f"bad=stdio:sh '{script}'", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 1)
    assert done.returncode == 6, done.stdout + done.stderr
    note = "it ended with exit code 1: " + " / ".join(line.strip() for line in JAVA.splitlines())
    seats = [seat for game in read_results(tmp_path / "r.jsonl") for seat in game.seats]
    assert {seat.outcome.message for seat in seats if seat.bot == "bad"} == {note}
    assert f"bad crash: {note}" in done.stdout
    assert "logs: r.logs/ has the output of the bots" in done.stdout
    assert '<a href="r.logs">r.logs</a>' in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.logs" / "b00000g000-1-bad.log").read_text() == f"some words\n{JAVA}"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["stdio", "http"])
def test_a_program_that_cannot_be_started_ends_the_tournament(tmp_path: Path, protocol: str) -> None:
    script = tmp_path / "bot.sh"
    script.write_text("echo reading the settings >&2\necho no settings found, giving up >&2\nexit 3\n")
    words = [f"bad={protocol}:sh '{script}'", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 10]
    done = arena(tmp_path, *words, "--workers", 1)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "stopped: bad forfeited each of its first 3 games at the start: crash: it ended with exit code 3" in done.stdout
    assert "exit code 3: reading the settings / no settings found, giving up;" in done.stdout
    assert 3 <= len(read_results(tmp_path / "r.jsonl")) <= 5
    assert "go on with: vindibot arena --resume r.jsonl" in done.stdout
    if protocol == "stdio":  # people who allow all forfeits want all games
        done = arena(tmp_path, "--resume", "r.jsonl", "--workers", 1, VINDIBOT_MAX_FORFEITS="1")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(read_results(tmp_path / "r.jsonl")) == 40


def test_a_bot_file_whose_first_move_ends_its_process_ends_the_tournament(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "import os\n\nfrom behaviours import Behaviour\n\n\nclass Broken(Behaviour):\n"
        "    def vote(self, view):\n        print('I cannot think', flush=True)\n        os._exit(3)\n"
    )
    (tmp_path / "bad.toml").write_text('[traits.broken]\nuse = "broken:Broken"\n')
    words = ["bad.toml", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 10, "--workers", 1]
    done = arena(tmp_path, *words)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "bad forfeited each of its first 3 games at the start: crash: its process ended with exit code 3" in done.stdout
    assert "I cannot think" in done.stdout
    assert len(read_results(tmp_path / "r.jsonl")) <= 5


@pytest.mark.slow
def test_a_game_that_could_not_be_played_counts_for_nobody(tmp_path: Path) -> None:
    words = ["--match", "random", "stay", "--blocks", 6, *GAMES, "--results", "r.jsonl"]
    done = arena(tmp_path, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "r.jsonl"
    first, *others = sorted(read_results(path), key=lambda line: line.key)
    nothing = {"outcome": Outcome(Reason.ABORTED, "its worker died"), "gold": 0, "place": 2.5, "moves": 0, "deaths": 0}
    seats = tuple(replace(seat, **nothing) for seat in first.seats)
    lost = replace(first, ending=Reason.ABORTED, plies=0, seats=seats)
    path.write_text("".join(line.encode() + "\n" for line in [lost, *others]))
    done = arena(tmp_path, "--resume", "r.jsonl")
    assert "35 games in 6 blocks · 1 more game could not be played, and counted for no bot" in done.stdout
    assert "its games ended" not in done.stdout, "nobody has forfeited"
    assert "forfeited" not in done.stdout
    assert done.returncode == 1, "1 of 36 games is more than the share that max_forfeits allows"
    assert "1 of 36 games could not be played" in done.stdout
    assert "could not be played" in (tmp_path / "r.html").read_text()
    assert arena(tmp_path, "--resume", "r.jsonl", VINDIBOT_MAX_FORFEITS="0.1").returncode == 0
    shown = done.stdout
    # the same figures come from the other games alone
    path.write_text("".join(line.encode() + "\n" for line in others))
    summary = summarise(read_results(path), ("random", "stay"))
    for one in summary.standings:
        assert one.games == 35
        cells = r" +".join(["35", percent(one.wins / 35), f"{one.place:.2f}", f"{one.gold:.0f}", f"{one.deaths:.1f}"])
        assert re.search(rf"^{one.bot} .* {cells}$", shown, re.MULTILINE), shown
    match = estimate_difference(match_scores([lost, *others], "random"))
    assert match is not None
    assert f"score {match.score:.1%}" in shown


def test_a_few_blocks_have_no_intervals_and_the_table_says_why(tmp_path: Path) -> None:
    done = arena(tmp_path, "random", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 2)
    assert "no 95 % intervals and no LOS: they need at least 5 blocks" in done.stdout
    assert "no 95 % intervals and no LOS: they need at least 5 blocks" in (tmp_path / "r.html").read_text()
    done = arena(tmp_path, "--resume", "r.jsonl", "--blocks", 5)
    assert "they need at least" not in done.stdout
    assert re.search(r"^bot +wins +wins 95 % +deaths +deaths 95 %$", done.stdout, re.MULTILINE)
    assert re.search(r"^stay +0% +<1% \.\. +\d+% ", done.stdout, re.MULTILINE), done.stdout


def test_an_empty_folder_of_logs_is_removed(tmp_path: Path) -> None:
    done = arena(tmp_path, line_bot("complains"), "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "logs:" not in done.stdout
    assert not (tmp_path / "r.logs").exists()


# ---- Interrupts ----

SLOW = ["--blocks", 40, "--map", "m1", "--rounds", 150, "--seed", 4, "--workers", 2]


@pytest.mark.slow
def test_an_interrupt_finishes_the_running_games_and_the_rest_is_played_later(tmp_path: Path) -> None:
    whole = arena(tmp_path, "seed", "malvert", "random", "stay", *SLOW, "--blocks", 3, "--results", "whole.jsonl")
    assert whole.returncode == 0, whole.stderr
    with nobody_left():
        process = started(tmp_path, "seed", "malvert", "random", "stay", *SLOW, "--blocks", 3, "--results", "cup.jsonl")
        path = tmp_path / "cup.jsonl"
        until_games(path, 2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "vindibot arena --resume cup.jsonl" in output
    stored = golds(path)
    assert 2 <= len(stored) <= 8
    done = arena(tmp_path, "--resume", "cup.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert golds(path) == golds(tmp_path / "whole.jsonl")
    assert sorted(record.id for record in read_records(records_path(path))) == sorted(golds(path))


@pytest.mark.slow
def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    with nobody_left():
        process = started(tmp_path, line_bot("stalls"), "seed", "random", "stay", "--blocks", 9, *GAMES, "--move-ms", 60_000)
        until_programs_run(process.pid)
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 130, output


def ctrl_c(process: subprocess.Popen[str]) -> None:
    """Interrupt all processes of the session, as a terminal does."""
    os.killpg(process.pid, signal.SIGINT)


def output_until(process: subprocess.Popen[str], word: str) -> str:
    """Return what it prints, up to the line with this word."""
    assert process.stdout is not None
    output = ""
    for line in process.stdout:
        output += line
        if word in line:
            return output
    raise AssertionError(output)


def assert_interrupted(output: str, code: int, folder: Path) -> None:
    """Check that it was interrupted without other messages than its own, the last of which names the command to resume."""
    assert code == 130, output
    assert "Traceback" not in output
    assert "ignored" not in output
    assert output.splitlines()[-1].endswith("go on with: vindibot arena --resume cup.jsonl")
    assert arena(folder, "--resume", "cup.jsonl", "--blocks", 1).returncode == 0


@pytest.mark.slow
def test_ctrl_c_twice_while_the_workers_start(tmp_path: Path) -> None:
    with nobody_left():
        words = ["seed", "malvert", "random", "stay", "--blocks", 100, *GAMES, "--results", "cup.jsonl"]
        process = started(tmp_path, *words, start_new_session=True, PYTHONUNBUFFERED="1")
        output = output_until(process, "games in")
        ctrl_c(process)
        ctrl_c(process)  # the first one may have ended it already: no game runs that it would finish
        output += process.communicate(timeout=60)[0]
    assert_interrupted(output, process.returncode, tmp_path)


@pytest.mark.slow
def test_ctrl_c_while_kernels_are_compiled(tmp_path: Path) -> None:
    words = ["seed", "malvert", "random", "stay", *GAMES, "--results", "cup.jsonl"]
    more = {"PYTHONUNBUFFERED": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cold"), "VINDIBOT_KERNEL_CACHE": ""}
    process = started(tmp_path, *words, start_new_session=True, **more)
    output = output_until(process, "compiling kernels")
    ctrl_c(process)
    output += process.communicate(timeout=60)[0]
    assert_interrupted(output, process.returncode, tmp_path)


def test_an_interrupt_in_a_finaliser_is_not_lost(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Finalised:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def compiles() -> None:
        Finalised()
        end = time.monotonic() + 20
        while time.monotonic() < end:
            pass

    monkeypatch.setattr("vindibot.engine.warmup.kernels.warm", compiles)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background, a shell ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            warm(Console(quiet=True))
    finally:
        signal.signal(signal.SIGINT, before)
    assert "ignored" not in capsys.readouterr().err


def until_programs_run(pid: int) -> None:
    """Wait until the program of a bot has been started."""
    end = time.monotonic() + 60
    while not any("line_bot.py" in words for words in command_lines(pid)):
        assert time.monotonic() < end
        time.sleep(0.02)


def command_lines(pid: int) -> Iterator[str]:
    """Yield the command lines of all descendants of a process."""
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            yield " ".join(child.cmdline())


@pytest.mark.slow
def test_kill_and_resume(tmp_path: Path) -> None:
    with nobody_left():
        process = started(tmp_path, "seed", "malvert", "random", "stay", *SLOW, "--blocks", 3, "--results", "cup.jsonl")
        path = tmp_path / "cup.jsonl"
        until_games(path, 3)
        process.kill()
        process.communicate(timeout=20)
    with path.open("ab") as file:  # as a crash of the machine may leave it
        file.write(b'{"version":1,"tournament":"')
    with records_path(path).open("ab") as file:
        file.write(b'{"id":"b0')
    done = arena(tmp_path, "--resume", "cup.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_bytes().endswith(b"\n")
    assert len(read_results(path)) == 12
    assert {record.id for record in read_records(records_path(path))} == set(golds(path))


def fork_server(pid: int) -> psutil.Process:
    """Wait for the fork server of an arena, and return it."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with contextlib.suppress(psutil.Error):
            for child in psutil.Process(pid).children(recursive=True):
                if child.name() == forkserver.NAME:
                    return child
        time.sleep(0.005)
    raise AssertionError("there is no fork server")


@pytest.mark.slow
@pytest.mark.parametrize("pause", [0.0, 0.4])
def test_a_fork_server_that_is_killed_while_it_loads_is_started_again(tmp_path: Path, pause: float) -> None:
    with nobody_left():
        process = started(tmp_path, "seed", "malvert", "random", "stay", "--blocks", 1, *GAMES, "--results", "cup.jsonl")
        server = fork_server(process.pid)
        time.sleep(pause)
        server.kill()
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert len(golds(tmp_path / "cup.jsonl")) == 4
    assert all(line.ending == "finished" for line in read_results(tmp_path / "cup.jsonl"))


@pytest.mark.slow
def test_ctrl_c_ends_an_arena_whose_fork_server_does_not_answer(tmp_path: Path) -> None:
    words = ["seed", "malvert", "random", "stay", "--blocks", 1, *GAMES, "--results", "cup.jsonl"]
    process = started(tmp_path, *words, PYTHONUNBUFFERED="1")
    server = fork_server(process.pid)
    server.suspend()
    try:
        output = output_until(process, "games in")
        for _ in range(3):
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        output += output_until(process, "go on with")
        process.wait(timeout=20)
    finally:
        process.kill()
        with contextlib.suppress(psutil.NoSuchProcess):
            server.kill()
        process.communicate(timeout=20)
    assert_interrupted(output, process.returncode, tmp_path)


# ---- The store ----


def some_game(number: int) -> PlayedGame:
    task = list(schedule("seed", "malvert", "random", "stay", blocks=3).tasks())[number]
    played = given_up(task, "made up")
    return PlayedGame(played.line, played.record)


DIGEST = some_game(0).line.tournament


@pytest.mark.slow
def test_a_line_that_does_not_fit_on_the_disk_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    store = Store(path, DIGEST, {}, resume=False, records=False)
    store.append(some_game(0))
    size = path.stat().st_size
    # The whole disk is hard to fill; a limit on the size of files makes writes fail in the same way, in the middle.
    code = (
        "import resource, signal, sys\nsys.path[:0] = ['.']\n"
        "from tests.arena.test_command import *\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size + 100}, {size + 100}))\n"
        f"store = Store(Path({str(path)!r}), DIGEST, {{}}, resume=True, records=False)\n"
        "try:\n    store.append(some_game(1))\nexcept StoreError as problem:\n    print(problem.message)\n"
    )
    store.close()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TOP, env=environment(COLUMNS="160"), capture_output=True, text=True, check=False
    )
    assert "cannot be written" in done.stdout, done.stderr
    assert path.stat().st_size == size
    assert len(read_results(path)) == 1


def test_a_full_disk_stops_the_tournament_with_a_message(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    (tmp_path / "r.games.jsonl").symlink_to(full)
    done = arena(tmp_path, "stay", "stay", "stay", "stay", *GAMES, "--results", "r.jsonl")
    assert done.returncode == 1
    assert "No space left" in done.stdout, done.stderr
    assert "--resume r.jsonl" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_two_arenas_do_not_write_into_one_file(tmp_path: Path) -> None:
    store = Store(tmp_path / "r.jsonl", DIGEST, {}, resume=False, records=True)
    with pytest.raises(UsageError, match="another arena"):
        Store(tmp_path / "r.jsonl", DIGEST, {}, resume=True, records=True)
    store.close()


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "file" / "r.jsonl", DIGEST, {}, resume=False, records=False)


def test_the_configuration_beside_the_results_can_be_read_back(tmp_path: Path) -> None:
    bots = ["a b", 'say "x"', "tab\there"]
    setup = {"bots": bots, "share": 0.5, "yes": True, "entrants": {"my bot": {"command": ["x", "{key}"], "move_ms": 5}}}
    Store(tmp_path / "r.jsonl", DIGEST, setup, resume=False, records=False).close()
    assert setup_path(tmp_path / "r.jsonl") == tmp_path / "r.effective.toml"
    assert tomllib.loads(setup_path(tmp_path / "r.jsonl").read_text("utf-8")) == setup
