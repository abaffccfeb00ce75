"""Files to which lines are appended: one program at a time, which reads what the program before it has written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.commands import command, environment, invoke, run
from tests.support.paths import DATA
from vindibot.arena.results import read_results
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import LineFile
from vindibot.games.files.game_files import read_records, records_path
from vindibot.games.files.review import is_review_line, read_review

BOTS = ["stay", "stay", "random", "random"]
CUP = [*BOTS, "--map", "m1", "--rounds", "3", "--seed", "3", "--results", "cup.jsonl"]
#: Number of turns of the recording that the tests review: the first ones of a game.
TURNS = 10


@pytest.fixture
def game(tmp_path: Path) -> Path:
    """A recording whose review takes a while."""
    lines = [line for line in (DATA / "reviewed.review.jsonl").read_bytes().splitlines() if not is_review_line(line)]
    path = tmp_path / "game.jsonl"
    path.write_bytes(b"\n".join([*lines[: TURNS + 2], b""]))  # the review leaves out the last turn of an unfinished game
    return path


@pytest.fixture
def just_before_the_lock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], list[Any]]:
    """Let another program begin and end just before this process locks its first file. The list has what it returned."""
    real = LineFile.locked

    def arrange(other: Callable[[], Any]) -> list[Any]:
        done: list[Any] = []

        def locked(*arguments: Any) -> LineFile:
            if not done:
                done.append(None)
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(LineFile, "locked", real)
                    done[0] = other()
            return real(*arguments)

        monkeypatch.setattr(LineFile, "locked", locked)
        return done

    return arrange


@pytest.mark.slow_faults
def test_games_of_an_arena_that_ended_just_now_are_not_played_again(tmp_path: Path, just_before_the_lock: Any) -> None:
    assert invoke(tmp_path, "arena", *CUP, "--blocks", "1")[0] == 0
    words = ["arena", "--resume", "cup.jsonl", "--blocks", "2"]
    done = just_before_the_lock(lambda: run(tmp_path, *words))
    code, printed = invoke(tmp_path, *words)
    assert done[0].returncode == code == 0, printed + done[0].stdout
    assert len(read_results(tmp_path / "cup.jsonl")) == 8
    assert len(list(read_records(records_path(tmp_path / "cup.jsonl")))) == 8


@pytest.mark.slow_faults
def test_two_new_arenas_of_one_name(tmp_path: Path, just_before_the_lock: Any) -> None:
    done = just_before_the_lock(lambda: run(tmp_path, "arena", *CUP))
    code, printed = invoke(tmp_path, "arena", *CUP)
    assert done[0].returncode == 0, done[0].stdout
    assert code == 2
    assert "cup.jsonl is there already: --resume goes on with it" in printed
    assert len(read_results(tmp_path / "cup.jsonl")) == 40


@pytest.mark.slow_faults
def test_two_reviews_of_one_game_at_once(tmp_path: Path, game: Path) -> None:
    """The second one is refused, and the first one goes on. Its file can be shown meanwhile, and afterwards."""
    words = ["review", game.name, "--nodes", "5000"]
    output = tmp_path / "game.review.jsonl"
    first = subprocess.Popen(
        command(*words), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        while not (output.is_file() and b'{"reviewed"' in output.read_bytes()):
            assert first.poll() is None, first.communicate()[0]
        process = psutil.Process(first.pid)
        process.suspend()  # so that it cannot end before the others are done
        second = run(tmp_path, *words)
        shown = run(tmp_path, "replay", output.name, "--html", "page.html")
        process.resume()
        printed, _ = first.communicate(timeout=100)
    finally:
        first.kill()
        first.wait()
    assert second.returncode == 2
    assert second.stderr == "error: game.review.jsonl: another review is writing to this file; wait until it has ended\n"
    assert shown.returncode == 0, shown.stderr
    assert first.returncode == 0, printed
    found = read_review(output)
    assert found is not None
    assert Counter(turn.turn for turn in found.turns).most_common(1)[0][1] == 1
    assert len(found.turns) == TURNS
    assert run(tmp_path, "replay", output.name, "--html", "page.html").returncode == 0


@pytest.mark.slow_faults
def test_again_keeps_the_old_review_until_the_new_one_begins(tmp_path: Path, game: Path) -> None:
    assert run(tmp_path, "review", game.name, "--nodes", "1000").returncode == 0
    output = tmp_path / "game.review.jsonl"
    before = output.read_bytes()
    assert invoke(tmp_path, "review", game.name, "--again", "--bot", "nosuch")[0] == 2
    assert invoke(tmp_path, "review", game.name, "--again", "--bot", "seed")[0] == 2
    assert output.read_bytes() == before
    game.unlink()  # the file of the review has the whole game
    done = run(tmp_path, "review", output.name, "--again", "--nodes", "1200")
    assert done.returncode == 0, done.stderr
    lines = [[line for line in content.splitlines() if not is_review_line(line)] for content in (before, output.read_bytes())]
    assert lines[0] == lines[1]
    found = read_review(output)
    assert found is not None
    assert (found.header.nodes, len(found.turns)) == (1200, TURNS)


@pytest.mark.parametrize(
    "words",
    [
        ["arena", *CUP],
        ["arena", *BOTS, "--results", "other.jsonl", "--map", "m1"],
        ["review", "game.jsonl", "--output", "cup.jsonl"],
        ["tune", "play", "--resume", "cup.jsonl"],
        ["tune", "play", "searcher", "--study", "cup.jsonl", "--games", "600"],
    ],
)
def test_a_file_that_is_not_ours_is_not_changed_and_no_other_is_made(tmp_path: Path, game: Path, words: list[str]) -> None:
    """The files have no line break at their ends, as an unfinished line."""
    for name in ("cup.jsonl", "other.games.jsonl"):
        (tmp_path / name).write_text("my own notes\nand more")
    names = {path.name for path in tmp_path.iterdir()}
    code, printed = invoke(tmp_path, *words)
    assert code == 2, printed
    assert all((tmp_path / name).read_text() == "my own notes\nand more" for name in ("cup.jsonl", "other.games.jsonl"))
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_file_has_one_writer_under_all_its_names(tmp_path: Path) -> None:
    first = LineFile.locked(tmp_path / "a.jsonl", "arena", VindibotError)
    (tmp_path / "other.jsonl").symlink_to("a.jsonl")
    for name in ("a.jsonl", "other.jsonl"):
        with pytest.raises(UsageError, match="another arena is writing to this file; wait until it has ended"):
            LineFile.locked(tmp_path / name, "arena", VindibotError)
    first.append(b"1")
    first.close()
    second = LineFile.locked(tmp_path / "other.jsonl", "arena", VindibotError)
    assert second.read() == b"1\n"
    second.discard()
    assert (tmp_path / "a.jsonl").read_bytes() == b"1\n"
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "other.jsonl"]


def test_a_killed_writer_keeps_nobody_out(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    code = (
        "import os; from pathlib import Path; from vindibot.base.writing import LineFile\n"
        "file = LineFile.locked(Path('a.jsonl'), 'arena', Exception); file.append(b'1'); os.kill(os.getpid(), 9)"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    file = LineFile.locked(path, "arena", VindibotError)
    assert file.read() == b"1\n1\n"
    file.close()
    assert os.listdir(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("error", ["ENOSYS", "ENOLCK"])
def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str) -> None:
    def refused(*arguments: object) -> None:
        raise OSError(getattr(errno, error), "Function not implemented")

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(VindibotError, match=r"a\.jsonl: cannot be written: its file system has no file locks \(flock\)"):
        LineFile.locked(tmp_path / "a.jsonl", "arena", VindibotError)


def test_an_unfinished_line_is_removed_when_the_next_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"1\n2\nunfin")
    file = LineFile.locked(path, "arena", VindibotError)
    assert file.read() == path.read_bytes() == b"1\n2\nunfin"
    file.append(b"3")
    file.append(b"4")
    assert path.read_bytes() == b"1\n2\n3\n4\n"
    file.close()
    file = LineFile.locked(path, "arena", VindibotError)
    file.clear()
    assert path.read_bytes() == b"1\n2\n3\n4\n"
    file.append(b"5")
    file.append(b"6")
    assert path.read_bytes() == b"5\n6\n"
    file.close()
