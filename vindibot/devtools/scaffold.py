"""``vindibot init``: a small project for somebody's first bot, with a trait, its tests, and a README."""

from __future__ import annotations

import json
import re
from pathlib import Path

from vindibot.base import UsageError, VindibotError
from vindibot.config import LONGEST_NAME, shipped, short

#: What stands for the bot's name in the files that are written: in TOML with its quotes, elsewhere without.
PLACEHOLDER = "NAME"
#: The folder of the files, among those that ship with the package, and what they are, in the order in which they are told.
FOLDER = "project"
FILES = {
    "README.md": "three commands to begin with",
    "bot.toml": "the bot: the traits of seed, and one of your own",
    "coward.py": "that trait, in ten lines",
    "test_coward.py": "its tests, on a drawn board and on a recorded turn",
    "pytest.ini": "what keeps these tests apart from those of a project around them",
    "recordings/sample.jsonl": "the recorded game",
}


def write_project(folder: Path) -> list[Path]:
    """Write the project into `folder`, which is made if it is not there, and return the files in the order of `FILES`.

    Nothing is overwritten: raises `UsageError` if one of the files is there, or if the folder cannot be one, before anything
    is written; `VindibotError` if the disk refuses.
    """
    texts = {name: shipped(f"{FOLDER}/{name}").read_text("utf-8") for name in FILES}
    name = bot_name(folder)
    texts["README.md"] = texts["README.md"].replace(PLACEHOLDER, name)
    texts["bot.toml"] = texts["bot.toml"].replace(f'"{PLACEHOLDER}"', json.dumps(name, ensure_ascii=False))
    there = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path("/"))
    if not there.is_dir():
        raise UsageError(f"{short(there)} is a file: choose a folder")
    taken = [file for file in FILES if (folder / file).exists() or (folder / file).is_symlink()]
    if taken:
        raise UsageError(f"{short(folder)} has {_and(taken)} already, and nothing is overwritten: choose another folder")
    try:
        for file, text in texts.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as written:
                written.write(text)
    except OSError as problem:
        where = short(problem.filename or folder)
        raise VindibotError(f"{where}: cannot be written: {problem.strerror or problem}") from None
    return [folder / file for file in FILES]


def bot_name(folder: Path) -> str:
    """A bot's name from the name of its folder: letters, digits and ``_.-``, at least one letter or digit."""
    name = re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-.")[:LONGEST_NAME]
    return name if name.isprintable() and any(sign.isalnum() for sign in name) else "mybot"


def _and(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
