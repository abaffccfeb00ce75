"""The newest recording. On command lines, the word ``last`` stands for it."""

from __future__ import annotations

from pathlib import Path

from vindibot.base.errors import UsageError
from vindibot.base.paths import given_path
from vindibot.games.files.recording import SUFFIX
from vindibot.games.files.review import REVIEW_SUFFIX

#: The word that stands for the newest recording.
LAST = "last"
#: The folder of recordings if the settings name no other folder.
FOLDER = Path("recordings")


def newest_recording(folder: Path = FOLDER) -> Path:
    """Return the recording in `folder` that has the latest modification time.

    Files with reviews do not count. Raises `UsageError` if there is no recording.
    """
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file() and not path.name.endswith(REVIEW_SUFFIX)]
    found = [(path.stat().st_mtime_ns, path.name, path) for path in files]
    if not found:
        raise UsageError(
            f"there is no recording in {folder}/ of the current folder, but {LAST!r} means the newest one:"
            " play a game (vindibot play), or name the file"
        )
    return max(found)[-1]


def find_recording(name: str) -> Path:
    """Return the path `name`. The word ``last`` gives the path of the newest recording, but ``./last`` means a file."""
    return newest_recording() if name == LAST else given_path(name)
