"""``vindibot init``: write a small project for a first bot.

The bot has a trait of the user's own, with tests. Or it plays a net, which can be trained further.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from rich.console import Console

from vindibot.base.console import say
from vindibot.base.errors import UsageError, VindibotError
from vindibot.config.bots import LONGEST_NAME
from vindibot.config.files import shipped, short

#: The placeholder for the bot's name in the files. In TOML it is in quotes.
PLACEHOLDER = "NAME"
#: The files of a project, with their descriptions. Their templates are in `_FOLDER`.
FILES = {
    "README.md": "the first three commands",
    "bot.toml": "the bot: the traits of seed, one more, and yours",
    "coward.py": "your trait, in ten lines",
    "test_coward.py": "tests of the trait, on a board and a turn",
    "pytest.ini": "separates these tests from other projects",
    "recordings/sample.jsonl": "a recorded game, for the tests",
}
#: The files of a project for a bot that plays a net. Their templates are in `_LEARNED_FOLDER`, except the net.
LEARNED_FILES = {
    "README.md": "the commands to play with the bot, and to train its net further",
    "bot.toml": "the bot: it plays the net alone",
    "net.npz": "the net, a copy of the net of the bot learned",
}
_FOLDER, _LEARNED_FOLDER, _NET = "project", "learner", "bots/learned.npz"


def init(console: Console, folder: Path, learned: bool) -> None:
    """Write a project with `write_project`, and print its files and the first commands."""
    files = write_project(folder, learned)
    width = max(len(short(path)) for path in files)
    for path, what in files.items():
        say(console, f"{short(path):{width}}  {what}")
    say(console, "\nNow play with it (the first start compiles the rules, up to a minute):\n")
    if folder.resolve() != Path.cwd():
        say(console, f"  cd {shlex.quote(str(folder))}")
    say(console, "  vindibot play --bot bot.toml --against sparring/hunter")
    if learned:
        say(console, "  vindibot learn selfplay trained --from net.npz --minutes 30")


def write_project(folder: Path, learned: bool = False) -> dict[Path, str]:
    """Write the project into `folder` and return its files with their descriptions. Create the folder if needed.

    With `learned`, the project has the files of `LEARNED_FILES`, without it those of `FILES`.
    Existing files are never overwritten: if one of the files exists, or if the path is no folder, this function raises
    `UsageError` and writes nothing. Raises `VindibotError` if a file cannot be written.
    """
    files, templates = (LEARNED_FILES, _LEARNED_FOLDER) if learned else (FILES, _FOLDER)
    contents = {file: shipped(_NET if file == "net.npz" else f"{templates}/{file}").read_bytes() for file in files}
    name = bot_name(folder)
    contents["README.md"] = contents["README.md"].replace(PLACEHOLDER.encode(), name.encode())
    quoted = json.dumps(name, ensure_ascii=False)
    contents["bot.toml"] = contents["bot.toml"].replace(f'"{PLACEHOLDER}"'.encode(), quoted.encode())
    existing = next((parent for parent in (folder, *folder.parents) if parent.exists()), Path("/"))
    if not existing.is_dir():
        raise UsageError(f"{short(existing)} is a file: choose a folder")
    taken = [file for file in files if (folder / file).exists() or (folder / file).is_symlink()]
    if taken:
        raise UsageError(
            f"{short(folder)} already has {', '.join(taken)}, and vindibot overwrites nothing: choose another folder"
        )
    try:
        for file, content in contents.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file_object:
                file_object.write(content)
    except OSError as problem:
        where = short(problem.filename or folder)
        raise VindibotError(f"{where}: cannot be written: {problem.strerror or problem}") from None
    return {folder / file: what for file, what in files.items()}


def bot_name(folder: Path) -> str:
    """Return a name for a bot, made from the name of its folder.

    The name consists of letters, digits and ``_.-``. It has at least one letter or digit.
    """
    name = re.sub(r"[^\w.-]+", "-", folder.resolve().name).strip("-.")[:LONGEST_NAME]
    return name if name.isprintable() and any(character.isalnum() for character in name) else "mybot"
