"""The word `last` stands for the newest recording, wherever a recording is asked for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.support.commands import printed
from tests.support.recorded import record, states_of
from vindibot.base.errors import UsageError
from vindibot.cli.main import main
from vindibot.config.settings import PlaySettings
from vindibot.games.files.game_files import FOLDER, find_recording, newest_recording
from vindibot.testing import view


@pytest.fixture
def newest(here: Path) -> Path:
    """The newer of two recordings in the folder recordings/ of the current folder."""
    older, newer = (record(here / "recordings", states_of(seed), 1).path for seed in (1, 2))
    for name in ("notes.txt", "a.review.jsonl"):
        (here / "recordings" / name).write_text("no recording")
        os.utime(here / "recordings" / name, (3e9, 3e9))
    os.utime(newer, (2e9, 2e9))
    os.utime(older, (1e9, 1e9))
    return Path("recordings", newer.name)


def test_last_is_the_newest_recording(newest: Path) -> None:
    assert newest_recording() == find_recording("last") == newest
    assert PlaySettings().recording.folder == FOLDER
    assert find_recording("./last") == Path("./last")
    assert find_recording("other.jsonl") == Path("other.jsonl")
    (here, there) = (view(source, turn=12) for source in ("last", newest))
    assert here.game == there.game


@pytest.mark.parametrize(
    "words",
    [
        ["replay", "last"],
        ["explain", "last", "--turn", "12"],
        ["bench", "stay", "last"],
    ],
    ids=lambda words: words[0],
)
def test_the_commands_take_it(newest: Path, words: list[str]) -> None:
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert "abcd1234" in done.output or newest.name in done.output or words[0] == "bench", done.output


def test_without_a_recording(here: Path) -> None:
    done = printed("explain", "last", "--turn", "12", code=2)
    assert "there is no recording in recordings/ of the current folder" in done
    assert "vindibot play" in done
    with pytest.raises(UsageError, match="there is no recording"):
        view("last", turn=12)
