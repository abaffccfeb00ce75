"""The paths that people write: in options, configurations, bot files and in Python."""

from __future__ import annotations

import os
from pathlib import Path


def given_path(text: str | os.PathLike[str]) -> Path:
    """Return the path that a text means. ``~`` or ``~NAME`` at the start stands for the home folder of a user.

    If there is no such user, or if its home folder is unknown, the text is the name of a file that begins with ``~``.
    """
    return Path(os.path.expanduser(text))  # noqa: PTH111  # `Path.expanduser` raises an error for an unknown user
