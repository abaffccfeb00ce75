"""What the terminal advises after a user's first game."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from vindibot.config import short

#: The folder in which ``last`` is the newest recording.
_USUAL = Path("recordings")


def next_steps(recording: Path) -> Iterator[str]:
    """Yield the lines of advice after the first game of a user, whose file is `recording`.

    There are no lines if the folder of the recording has other recordings too: this is not the first game.
    """
    if len(list(recording.parent.glob("*.jsonl"))) > 1:
        return
    file = "last" if recording.parent.resolve() == _USUAL.resolve() else short(str(recording))
    width = len(f"vindibot replay {file} --open")
    yield "next:"
    yield f"  {f'vindibot replay {file} --open':{width}}   this game in the browser, with all votes"
    yield f"  {f'vindibot review {file}':{width}}   its worst moves"
    yield f"  {'vindibot init mybot':{width}}   a bot of your own"
