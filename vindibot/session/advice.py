"""What the terminal advises after a user's first game."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from vindibot.config.files import short

#: The folder in which ``last`` is the newest recording.
_USUAL = Path("recordings")


def next_steps(recording: Path) -> Iterator[str]:
    """Yield the lines of advice after the first game of a user, whose file is `recording`.

    There are no lines if the folder of the recording has other recordings too: this is not the first game.
    """
    if len(list(recording.parent.glob("*.jsonl"))) > 1:
        return
    file = "last" if recording.parent.resolve() == _USUAL.resolve() else short(str(recording))
    advice = {
        shlex.join(["vindibot", "replay", file, "--open"]): "this game in the browser, with all votes",
        shlex.join(["vindibot", "review", file]): "its worst moves",
        "vindibot init mybot": "a bot of your own",
    }
    width = max(map(len, advice))
    yield "next:"
    yield from (f"  {command:{width}}   {what}" for command, what in advice.items())
