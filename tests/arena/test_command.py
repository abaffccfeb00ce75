"""``vindibot arena`` as a command: stored and resumed results, interrupts, full disks, exit codes."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner, Result

from tests.support.arenabots import bad_trait, line_bot, nobody_left, schedule
from tests.support.commands import command, environment
from tests.support.waiting import wait_until
from vindibot.arena.dispatch import given_up
from vindibot.arena.results import read_results
from vindibot.arena.store import Store, StoreError
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.games.files.game_files import read_records, records_path
from vindibot.games.history import GameHistory
from vindibot.games.outcome import Outcome, Reason

GAMES = ["--map", "m1", "--rounds", "20", "--seed", "3"]


def arena(folder: Path, *words: object, **variables: str) -> Result:
    """Run the command in this process, which is much quicker. Use it for tests without an interrupt."""
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "160")
        result = CliRunner().invoke(main, ["arena", *map(str, words)], env=variables)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def started(folder: Path, *words: object, **more: str) -> subprocess.Popen[str]:
    around, pipe = environment(COLUMNS="160", **more), subprocess.PIPE
    return subprocess.Popen(
        command("arena", *map(str, words)),
        cwd=folder,
        env=around,
        stdout=pipe,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )


def golds(path: Path) -> dict[str, tuple[int, ...]]:
    return {line.record: tuple(seat.gold for seat in line.seats) for line in read_results(path)}


# ---- The whole command ----


@pytest.mark.slow
def test_a_tournament_is_played_stored_and_extended(tmp_path: Path) -> None:
    done = arena(tmp_path, "seed", "malvert", "random", "stay", "--blocks", 2, *GAMES, "--results", "cup.jsonl")
    assert done.exit_code == 0, done.output
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
    assert again.exit_code == 2
    assert "--resume goes on with it" in again.stderr
    more = arena(tmp_path, "--resume", "cup.jsonl", "--blocks", 3)
    assert more.exit_code == 0, more.stdout + more.stderr
    assert len(golds(path)) == 12
    assert golds(path).items() >= first.items()
    other = arena(tmp_path, "seed", "seed", "random", "stay", "--resume", "cup.jsonl", "--blocks", 2, *GAMES)
    assert other.exit_code == 2
    assert "of another tournament" in other.stderr
    assert "bots was" in other.stderr


def test_a_match_of_two(tmp_path: Path) -> None:
    done = arena(tmp_path, "--match", "stay", "stay", "--blocks", 1, "--map", "m1", "--rounds", 2)
    assert done.exit_code == 0, done.stderr
    assert "the difference is not estimated: it takes at least 5 blocks" in done.stdout
    (path,) = (tmp_path / "results").glob("ab-stay-stay-2-*[0-9].jsonl")
    assert [sorted(line.bots) for line in read_results(path)] == [["stay", "stay", "stay-2", "stay-2"]] * 6


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
        assert done.exit_code == 2, done.stdout
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


#: What a program in Java prints when it crashes.
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: no mines left
\tat Boom.f(Boom.java:2)
\tat Boom.main(Boom.java:4)
Caused by: java.lang.RuntimeException: inner cause
\t... 14 more
"""


def test_a_bot_that_forfeits_is_named_with_its_last_lines_and_logs(tmp_path: Path) -> None:
    script = tmp_path / "bot.sh"
    script.write_text(f"read size\necho WAIT\ncat >&2 <<'END'\nsome words\n{JAVA}END\nexit 1\n")
    done = arena(tmp_path, f"bad=stdio:sh '{script}'", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 1)
    assert done.exit_code == 6, done.output
    note = "it ended with exit code 1: " + " / ".join(line.strip() for line in JAVA.splitlines())
    seats = [seat for game in read_results(tmp_path / "r.jsonl") for seat in game.seats]
    assert {seat.outcome.message for seat in seats if seat.bot == "bad"} == {note}
    assert f"bad crash: {note}" in done.stdout
    assert "bad forfeited 100.0% of its games" in done.stdout
    assert "logs: r.logs/ has the output of the bots" in done.stdout
    assert '<a href="r.logs">r.logs</a>' in (tmp_path / "r.html").read_text()
    logs = {path.name: path.read_text() for path in (tmp_path / "r.logs").iterdir()}
    assert logs == {f"b00000g00{game}-{game + 1}-bad.log": f"some words\n{JAVA}" for game in range(4)}
    assert arena(tmp_path, "--resume", "r.jsonl", VINDIBOT_MAX_FORFEITS="1").exit_code == 0


@pytest.mark.parametrize("kind", ["trait", pytest.param("stdio", marks=pytest.mark.slow)])
def test_a_bot_that_ends_at_the_start_of_each_game_ends_the_tournament(tmp_path: Path, kind: str) -> None:
    (tmp_path / "bot.sh").write_text("echo I cannot think >&2\nexit 1\n")
    bot = bad_trait(tmp_path, "Dies") if kind == "trait" else f"stdio:sh '{tmp_path / 'bot.sh'}'"
    done = arena(tmp_path, f"bad={bot}", "stay", "stay", "random", *GAMES, "--results", "r.jsonl", "--blocks", 10, "--workers", 1)
    assert done.exit_code == 6, done.output
    assert "stopped: bad forfeited each of its first 3 games at the start: crash: it" in done.stdout
    assert "ended with exit code 1" in done.stdout
    assert "go on with: vindibot arena --resume r.jsonl" in done.stdout
    assert 3 <= len(read_results(tmp_path / "r.jsonl")) <= 5
    if kind == "stdio":  # people who allow all forfeits want all games
        assert "I cannot think" in done.stdout
        done = arena(tmp_path, "--resume", "r.jsonl", "--workers", 1, VINDIBOT_MAX_FORFEITS="1")
        assert done.exit_code == 0, done.output
        assert len(read_results(tmp_path / "r.jsonl")) == 40


@pytest.mark.slow
def test_a_game_that_could_not_be_played_counts_for_nobody(tmp_path: Path) -> None:
    words = ["--match", "random", "stay", "--blocks", 6, *GAMES, "--results", "r.jsonl"]
    done = arena(tmp_path, *words)
    assert done.exit_code == 0, done.output
    path = tmp_path / "r.jsonl"
    first, *others = sorted(read_results(path), key=lambda line: line.key)
    nothing = {"outcome": Outcome(Reason.ABORTED, "its worker died"), "gold": 0, "place": 2.5, "moves": 0, "deaths": 0}
    seats = tuple(replace(seat, **nothing) for seat in first.seats)
    lost = replace(first, ending=Reason.ABORTED, plies=0, seats=seats)
    path.write_text("".join(line.encode() + "\n" for line in [lost, *others]))
    done = arena(tmp_path, "--resume", "r.jsonl")
    assert "35 games in 6 blocks · 1 more game could not be played, and counted for no bot" in done.stdout
    assert "forfeited" not in done.stdout
    assert done.exit_code == 1, "1 of 36 games is more than the share that max_forfeits allows"
    assert "1 of 36 games could not be played" in done.stdout
    assert "could not be played" in (tmp_path / "r.html").read_text()
    assert arena(tmp_path, "--resume", "r.jsonl", VINDIBOT_MAX_FORFEITS="0.1").exit_code == 0


def test_a_few_blocks_have_no_intervals_no_logs_and_the_table_says_why(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "random"\n')
    done = arena(tmp_path, "mine.toml", "stay", line_bot("complains"), "random", *GAMES, "--results", "r.jsonl", "--blocks", 2)
    assert "logs:" not in done.stdout
    assert not (tmp_path / "r.logs").exists(), "the output of bots that have not forfeited is not kept"
    assert "no 95 % intervals and no LOS: they need at least 5 blocks" in done.stdout
    assert "no 95 % intervals and no LOS: they need at least 5 blocks" in (tmp_path / "r.html").read_text()
    (tmp_path / "mine.toml").write_text('extends = "random"\nversion = 2\n[traits.stay]\nweight = 0.1\n')
    done = arena(tmp_path, "--resume", "r.jsonl", "--blocks", 5)
    assert (done.exit_code, "the files of mine have changed (version 1, now 2)" in done.output) == (2, True)
    done = arena(tmp_path, "--resume", "r.jsonl", "--blocks", 5, "--mix-versions")
    assert "they need at least" not in done.stdout
    assert "was not recorded" not in done.output, "the same build goes on"
    assert re.search(r"^bot +wins +wins 95 % +deaths +deaths 95 %$", done.stdout, re.MULTILINE)
    assert re.search(r"^stay +0% +<1% \.\. +\d+% ", done.stdout, re.MULTILINE), done.stdout


# ---- Interrupts ----


@pytest.mark.slow
def test_what_an_interrupt_and_a_kill_leave_is_played_later(tmp_path: Path) -> None:
    words = ["seed", "malvert", "random", "stay", "--blocks", 4, "--map", "m1", "--rounds", 150, "--seed", 4, "--workers", 2]
    assert arena(tmp_path, *words, "--results", "whole.jsonl").exit_code == 0
    path = tmp_path / "cup.jsonl"

    def started_until(games: int, *words: object) -> subprocess.Popen[str]:
        process = started(tmp_path, *words)
        wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= games)
        return process

    with nobody_left():
        process = started_until(2, *words, "--results", "cup.jsonl")
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 130, output
        assert "vindibot arena --resume cup.jsonl" in output
        stored = len(golds(path))
        assert 2 <= stored < 16
        process = started_until(stored + 1, "--resume", "cup.jsonl")
        process.kill()
        process.communicate(timeout=20)
    with path.open("ab") as file:  # as a crash of the machine may leave it
        file.write(b'{"version":1,"tournament":"')
    with records_path(path).open("ab") as file:
        file.write(b'{"id":"b0')
    done = arena(tmp_path, "--resume", "cup.jsonl")
    assert done.exit_code == 0, done.output
    assert golds(path) == golds(tmp_path / "whole.jsonl")
    assert path.read_bytes().endswith(b"\n")
    assert sorted(record.id for record in read_records(records_path(path))) == sorted(golds(path))


def command_lines(pid: int) -> Iterator[str]:
    """Yield the command lines of all descendants of a process."""
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            yield " ".join(child.cmdline())


@pytest.mark.slow
def test_a_second_interrupt_stops_at_once(tmp_path: Path) -> None:
    with nobody_left():
        words = [line_bot("stalls"), "seed", "random", "stay", "--blocks", 9, *GAMES, "--move-ms", 60_000, "--workers", 2]
        process = started(tmp_path, *words)
        # When the second game has begun, the first one is known to run.
        wait_until(lambda: sum("line_bot.py" in words for words in command_lines(process.pid)) == 2)
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        assert any("finishing the games that are running" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=20)
    assert process.returncode == 130, output


@pytest.mark.slow
@pytest.mark.parametrize(("mark", "times"), [("games in", 2), ("compiling kernels", 1)])
def test_ctrl_c_before_the_first_game(tmp_path: Path, mark: str, times: int) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cold"), "VINDIBOT_KERNEL_CACHE": ""} if mark == "compiling kernels" else {}
    with nobody_left():
        words = ["seed", "malvert", "random", "stay", "--blocks", 100, *GAMES, "--results", "cup.jsonl"]
        process = started(tmp_path, *words, PYTHONUNBUFFERED="1", **cache)
        assert process.stdout is not None
        assert any(mark in line for line in process.stdout)
        for _ in range(times):  # the first one may end it already: no game runs that it would finish
            os.killpg(process.pid, signal.SIGINT)
        output = process.communicate(timeout=60)[0]
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert "ignored" not in output
    assert output.splitlines()[-1].endswith("go on with: vindibot arena --resume cup.jsonl")
    assert arena(tmp_path, "--resume", "cup.jsonl", "--blocks", 1).exit_code == 0


# ---- The store ----


def test_a_line_that_does_not_fit_on_the_disk_is_taken_back_and_another_arena_is_refused(tmp_path: Path) -> None:
    """A limit on the size of files makes a write fail in the middle, as a full disk does."""
    path = tmp_path / "r.jsonl"
    first, second, *_ = (given_up(task, "made up") for task in schedule("seed", "malvert", "random", "stay").tasks())
    store = Store(path, first.line.tournament, {}, resume=False, records=False)
    store.append(first)
    with pytest.raises(UsageError, match="another arena"):
        Store(path, first.line.tournament, {}, resume=True, records=False)
    size, limits = path.stat().st_size, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, limits[1]))
    try:
        with pytest.raises(StoreError, match="cannot be written"):
            store.append(second)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    store.close()
    assert path.stat().st_size == size


def test_a_full_disk_stops_the_tournament_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "r.games.jsonl").symlink_to("/dev/full")
    done = arena(tmp_path, "stay", "stay", "stay", "stay", *GAMES, "--results", "r.jsonl")
    assert done.exit_code == 1
    assert "No space left" in done.stdout, done.stderr
    assert "--resume r.jsonl" in done.stdout
    assert "Traceback" not in done.output
