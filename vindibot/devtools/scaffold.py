"""``vindibot init``: write a small project for a first bot, with a trait, its tests, and a README."""

from __future__ import annotations

import json
import re
from pathlib import Path

from vindibot.base import UsageError, VindibotError
from vindibot.config import LONGEST_NAME, shipped, short

#: The placeholder for the bot's name in the files. In TOML it is in quotes.
PLACEHOLDER = "NAME"
#: The folder of the files in the package, and a description of each file.
FOLDER = "project"
FILES = {
    "README.md": "the first three commands",
    "bot.toml": "the bot: the traits of seed, one against loops, and a trait of your own",
    "coward.py": "your trait, in ten lines",
    "test_coward.py": "tests of the trait, on a drawn board and on a recorded turn",
    "pytest.ini": "separates these tests from those of a project around them",
    "recordings/sample.jsonl": "a recorded game, for the tests",
}


def write_project(folder: Path) -> list[Path]:
    """Write the project into `folder` and return its files in the order of `FILES`. Create the folder if needed.

    Existing files are never overwritten: if one of the files exists, or if the path is no folder, this function raises
    `UsageError` and writes nothing. Raises `VindibotError` if a file cannot be written.
    """
    texts = {name: shipped(f"{FOLDER}/{name}").read_text("utf-8") for name in FILES}
    name = bot_name(folder)
    texts["README.md"] = texts["README.md"].replace(PLACEHOLDER, name)
    texts["bot.toml"] = texts["bot.toml"].replace(f'"{PLACEHOLDER}"', json.dumps(name, ensure_ascii=False))
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path("/"))
    if not existing.is_dir():
        raise UsageError(f"{short(existing)} is a file: choose a folder")
    taken = [file for file in FILES if (folder / file).exists() or (folder / file).is_symlink()]
    if taken:
        raise UsageError(
            f"{short(folder)} already has {', '.join(taken)}, and vindibot overwrites nothing: choose another folder"
        )
    try:
        for file, text in texts.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file_object:
                file_object.write(text)
    except OSError as problem:
        where = short(problem.filename or folder)
        raise VindibotError(f"{where}: cannot be written: {problem.strerror or problem}") from None
    return [folder / file for file in FILES]


def bot_name(folder: Path) -> str:
    """Return a name for a bot, made from the name of its folder.

    The name consists of letters, digits and ``_.-``. It has at least one letter or digit.
    """
    name = re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-.")[:LONGEST_NAME]
    return name if name.isprintable() and any(character.isalnum() for character in name) else "mybot"
