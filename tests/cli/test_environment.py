"""Commands in an unusual environment: settings of libraries, temporary folders, the home folder, names of files."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import command, environment, run
from tests.support.mounts import read_only

#: Another home folder must not mean another kernel cache.
CACHE = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
ARENA = ("arena", "seed", "random", "stay", "--blocks", "1", "--rounds", "2", "--map", "m1", "--seed", "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"DASK_CONFIG": "dask.yaml"}, "line 2, column 4"),
        ({"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "banana"}, "distributed.comm.timeouts.connect is 'banana'"),
    ],
    ids=str,
)
def test_a_configuration_that_dask_cannot_read_is_named(tmp_path: Path, variables: dict[str, str], words: str) -> None:
    (tmp_path / "dask.yaml").write_text("a: 1\nb: [1")
    done = run(tmp_path, *ARENA, "--nodes", "10", "--dask", "local", **variables)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "the configuration of Dask cannot be used" in done.stderr
    assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["dask.yaml"], "nothing was written"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("banana", "missing port number"),
        ("tls://127.0.0.1:1", "TLS"),
        ("tcp://127.0.0.1:1", "refused|TimeoutError|CancelledError"),
    ],
)
def test_an_address_without_a_scheduler_is_named(tmp_path: Path, address: str, words: str) -> None:
    done = run(tmp_path, *ARENA, "--nodes", "10", "--dask", address, DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT="3s")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"no scheduler answers at {address}" in done.stderr
    assert re.search(words, done.stderr)


@pytest.mark.slow
def test_missing_shared_memory_is_one_line(tmp_path: Path) -> None:
    before = read_only(Path("/dev/shm"))
    done = subprocess.run(
        [*before, *command(*ARENA)], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "semaphores, which lie in /dev/shm" in done.stderr


@pytest.mark.slow
def test_a_file_whose_name_begins_with_the_sign_of_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / "~x.toml").write_text('extends = "seed"\n')
    done = run(tmp_path, "play", "--bot", "~x.toml", "--rounds", "2", "--display", "none")
    assert done.returncode == 0, done.stderr
    words = ["play", "--bot", "seed", "--rounds", "2", "--display", "none", "--recordings=~/here"]
    done = run(tmp_path, *words, HOME=str(tmp_path), **CACHE)
    assert done.returncode == 0, done.stderr
    assert len(list((tmp_path / "here").iterdir())) == 1


@pytest.mark.slow
def test_names_of_files_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"bot\xe9")
    folder = tmp_path / name
    folder.mkdir()
    (folder / f"{name}.toml").write_text('extends = "seed"\n')
    play = ("play", "--rounds", "2", "--display", "none")
    for code, *words in (
        (2, *play, "--bot", f"{name}.toml"),
        (0, *play, "--recordings", name),
        (0, "replay", "game.jsonl", "--html", f"{name}.html"),
        (0, "replay", f"{name}.jsonl", "--html", "page.html"),
        (0, *ARENA, "--results", f"{name}/cup.jsonl"),
    ):
        done = subprocess.run(command(*words), cwd=folder, env=environment(), capture_output=True, timeout=100, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), done.stderr
        for recording in (folder / name).glob("*-seed-*.jsonl"):
            shutil.copy(recording, folder / f"{name}.jsonl")
            recording.rename(folder / "game.jsonl")
