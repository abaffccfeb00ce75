"""No command writes over a file that it did not make: the helper, and every command and option that names a file to write."""

from __future__ import annotations

import os
import resource
import threading
from pathlib import Path

import pytest

from sim.generator import generate
from tests.support.commands import invoke
from tests.support.recorded import BALLOT, HEADER, raw
from vindibot.arena.results import read_results
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.writing import Output, create, replace
from vindibot.games.files.recording import Recorder, TraitHeader

MINE = "# written by hand, and dear to me\n"


def output(path: Path) -> Output:
    return Output(path, "made by me", "the test", "--out names another file")


# ---- The helper ----


def test_a_file_is_made_and_replaced_but_no_other_is(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    output(path).write("made by me: 1")
    path.chmod(0o640)
    output(path).write(b"made by me: 2")
    assert path.read_text() == "made by me: 2"
    assert path.stat().st_mode & 0o777 == 0o640
    path.write_text(MINE)
    with pytest.raises(
        UsageError, match="file is there already and was not made by the test: move it away, or --out names another"
    ):
        output(path).write("made by me: 3")
    assert path.read_text() == MINE
    path.write_text("")
    output(path).write("made by me: 4")
    assert [one.name for one in path.parent.iterdir()] == ["file"], "no drafts are left"


def test_what_is_no_plain_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a folder: --out"):
        output(tmp_path).check()
    output(Path(os.devnull)).write("made by me")
    assert Path(os.devnull).is_char_device()
    kept = tmp_path / "kept"
    (tmp_path / "link").symlink_to(kept)
    output(tmp_path / "link").write("made by me")
    assert (tmp_path / "link").is_symlink()
    assert kept.read_text() == "made by me"
    with pytest.raises(VindibotError, match="kept: cannot be made: "):
        output(kept / "file").write("made by me")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()))
    found: list[str] = []
    reader.start()
    output(pipe).write("made by me")
    reader.join(10)
    assert found == ["made by me"]


def test_a_new_file_is_new_for_one_of_many(tmp_path: Path) -> None:
    """If another process makes the file at the same moment, it is not overwritten."""
    path, made, refused = tmp_path / "file", list[int](), list[int]()
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait()
        try:
            create(path, b"%d" % number)
            made.append(number)
        except FileExistsError:
            refused.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len(refused) == 7
    assert path.read_bytes() == b"%d" % made[0]
    assert list(tmp_path.iterdir()) == [path]
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        create(tmp_path / "dangling", b"")


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    create(path, b"old", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            replace(path, b"new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# ---- The arena ----

GAMES = ["--map", "m1", "--rounds", "2", "--blocks", "1", "--seed", "3"]
STAY = ["stay", "stay", "stay", "stay"]


def test_a_configuration_of_the_user_s_is_left_alone(tmp_path: Path) -> None:
    text = f'# my cup\nbots = {STAY}\nblocks = 1\nrounds = 2  # short\nmaps.names = ["m1"]\n'
    (tmp_path / "cup.toml").write_text(text)
    code, said = invoke(tmp_path, "arena", "--config", "cup.toml", "--results", "cup.jsonl")
    assert code == 0, said
    assert (tmp_path / "cup.toml").read_text() == text
    effective = tmp_path / "cup.effective.toml"
    assert "rounds = 2" in effective.read_text()
    code, said = invoke(tmp_path, "arena", "--resume", "cup.jsonl", "--blocks", 2)
    assert code == 0, said
    assert len(read_results(tmp_path / "cup.jsonl")) == 8
    # an arena's own file is written anew, but not while it is what is read
    for file in ("cup.jsonl", "cup.games.jsonl"):
        (tmp_path / file).unlink()
    code, said = invoke(tmp_path, "arena", "--config", "cup.effective.toml", "--results", "cup.jsonl")
    assert (code, "cup.effective.toml is read" in said) == (2, True), said
    code, said = invoke(tmp_path, "arena", "--config", "cup.toml", "--results", "cup.jsonl", "--rounds", 3)
    assert code == 0, said
    assert "rounds = 3" in effective.read_text()


@pytest.mark.parametrize(
    "file",
    [
        "cup.jsonl",
        "cup.effective.toml",
        "cup.html",
        "cup.games.jsonl",
        "cup.logs/mine",
        "cup.games",
        "cup.games/block0-game0.html",
    ],
)
@pytest.mark.parametrize("content", [MINE, MINE.strip()])
def test_nothing_beside_the_results_is_written_over(tmp_path: Path, file: str, content: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    for more in ([], ["--resume", "cup.jsonl"]):
        words = more or ["--results", "cup.jsonl"]
        if more and file == "cup.logs/mine":
            continue  # logs of the games of before, as far as anybody can tell
        code, said = invoke(tmp_path, "arena", *STAY, *GAMES, *words)
        assert (code, file.partition("/")[0] in said) == (2, True), said
        assert "there already" in said
        assert path.read_text() == content
        assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path], "nothing is begun"
    if file == "cup.html":
        assert invoke(tmp_path, "arena", *STAY, *GAMES, "--results", "cup.jsonl", "--no-report")[0] == 0
        assert path.read_text() == content


def test_a_report_is_written_anew(tmp_path: Path) -> None:
    assert invoke(tmp_path, "arena", *STAY, *GAMES, "--results", "cup.jsonl")[0] == 0
    first = (tmp_path / "cup.html").read_text()
    assert "vindibot arena stay stay stay stay --map m1 " in first
    assert 'href="cup.games/block0-game3.html"' in first
    assert invoke(tmp_path, "arena", "--resume", "cup.jsonl", "--blocks", 2)[0] == 0
    assert (tmp_path / "cup.html").read_text() != first, "its own is replaced"


@pytest.mark.parametrize(
    ("name", "said"), [("cup.html", "report"), ("cup.logs", "logs"), ("cup.games", "pages"), (".", "folder"), ("sub", "folder")]
)
def test_results_are_not_called_as_what_lies_beside_them(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "sub").mkdir()
    code, told = invoke(tmp_path, "arena", *STAY, *GAMES, "--results", name)
    assert (code, said in told) == (2, True), told
    assert [path.name for path in tmp_path.iterdir()] == ["sub"]


# ---- The other commands ----


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    games = generate(1, size=10).new_game()
    trait = TraitHeader(label="fight", weight=1, use="search", parameters={})
    with Recorder(tmp_path / "recordings", HEADER.model_copy(update={"traits": (trait,)})) as recorder:
        recorder.turn(raw(games), BALLOT)
    assert recorder.path is not None
    return recorder.path


def test_replay_replaces_its_own_pages_only(tmp_path: Path, recording: Path) -> None:
    page = tmp_path / f"{recording.stem}.html"
    for words in ([], [], ["--html", "page.html"], ["--html", "page.html"]):
        code, said = invoke(tmp_path, "replay", recording, *words)
        assert code == 0, said
    page.write_text(MINE)
    (tmp_path / "notes.md").write_text(MINE)
    for path, words in ((page, []), (tmp_path / "notes.md", ["--html", "notes.md"])):
        code, said = invoke(tmp_path, "replay", recording, *words)
        assert (code, f"{path.name} is there already and was not made by vindibot replay" in said) == (2, True), said
        assert path.read_text() == MINE


def test_a_log_is_appended_to_logs_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VINDIBOT_LOG__FILE", "log.jsonl")
    words = ["arena", *STAY, *GAMES, "--results"]
    (tmp_path / "log.jsonl").write_text('{"time": "2026-01-01", "level": "info", "event": "x"}\n')
    assert invoke(tmp_path, *words, "one.jsonl")[0] == 0
    (tmp_path / "log.jsonl").write_text(MINE)
    code, said = invoke(tmp_path, *words, "two.jsonl")
    assert (code, "log.jsonl exists and is not a log of vindibot" in said) == (2, True), said
    assert (tmp_path / "log.jsonl").read_text() == MINE
    assert not (tmp_path / "two.jsonl").exists()


def test_league_new_writes_over_nothing(tmp_path: Path) -> None:
    (tmp_path / "class.csv").write_text("ann\nbob\n")
    for file in ("spring.league.json", "spring-keys.csv"):
        (tmp_path / file).write_text(MINE)
        code, said = invoke(tmp_path, "league", "new", "spring", "class.csv")
        assert (code, f"{file} already exists" in said) == (2, True), said
        assert sorted(path.name for path in tmp_path.iterdir()) == ["class.csv", file]
        assert (tmp_path / file).read_text() == MINE
        (tmp_path / file).unlink()
    (tmp_path / "spring.league.json").symlink_to("nowhere")
    code, said = invoke(tmp_path, "league", "new", "spring", "class.csv")
    assert (code, "spring.league.json exists" in said) == (2, True), said
    assert not (tmp_path / "spring-keys.csv").exists(), "no keys are left of a league that was not made"
