"""Entrants: the bots of a tournament, as plain data that any process can use. They are read from the configuration and checked.

Each word in the list of bots is a bot file (``seed``, ``mine.toml``), a built-in bot (``random``, ``stay``), the NAME of a table
``[entrants.NAME]``, or a command. ``http:COMMAND`` is a program that speaks HTTP to a server. ``stdio:COMMAND`` is a program that
speaks the line protocol (docs/arena.md). ``LABEL=`` before a word sets the bot's label in tables.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Literal

from vindibot.arena.settings import ArenaSettings, EntrantSettings, LimitSettings
from vindibot.base.errors import UsageError
from vindibot.base.writing import given_path
from vindibot.config.bots import LONGEST_NAME, Bot, load_bot, named_after
from vindibot.config.files import holds
from vindibot.config.load import Config
from vindibot.config.messages import dotted
from vindibot.config.signature import digest_of, file_digest

Kind = Literal["bot", "random", "stay", "http", "stdio"]
BUILT_IN: tuple[Kind, ...] = ("random", "stay")

_LABEL = re.compile(r"(?P<label>[\w.+-]+)=(?P<rest>.+)", re.DOTALL)
_COMMAND = re.compile(r"(?P<protocol>http|stdio):(?P<command>.*)", re.DOTALL)


@dataclass(frozen=True)
class Limits:
    """The limits of a bot in each game.

    - `nodes`: number of search nodes per move of a bot file. If it is set, the bot has no time limit.
    - `move_ms`, `first_ms`: milliseconds per move, and for the first move. `grace_ms`: further milliseconds before a forfeit.
    - `start_s`: seconds that a program has to start and join.
    - `memory_mb`: megabytes of address space, None for no limit.
    """

    move_ms: int = 1000
    first_ms: int = 1000
    nodes: int | None = None
    start_s: float = 20.0
    grace_ms: int = 100
    memory_mb: int | None = None

    def seconds(self, *, first: bool) -> float:
        """Return the time limit of a move in seconds, without the grace. `first`: whether it is the first move of the game."""
        return (self.first_ms if first else self.move_ms) / 1000


@dataclass(frozen=True)
class Entrant:
    """A bot of the tournament. `label` is unique in the tournament.

    `kind` is the name of a built-in bot, "bot" for a bot file, or the protocol of a program. `bot` is set only for a bot file.
    `command`, `folder` and `files` are set only for a program: its command, the folder in which it runs, and a digest of the
    files that the command names.
    """

    label: str
    kind: Kind
    limits: Limits
    bot: Bot | None = None
    command: tuple[str, ...] = ()
    folder: str = ""
    files: str = ""

    @property
    def version(self) -> int | None:
        """The version that the bot file states, None for a bot without a bot file."""
        return self.bot.version if self.bot is not None else None

    @property
    def digest(self) -> str:
        """A digest of the bot file (see `vindibot.config.bots.Bot`), or of the files that the program's command names.

        It is empty for a built-in bot.
        """
        return self.bot.digest if self.bot is not None else self.files

    def identity(self) -> dict[str, Any]:
        """Return the label, the kind, the limits and the command of the bot, as JSON values.

        If one of these values changes, it is another tournament. The contents of the bot's files are left out; see `digest`.
        """
        identity: dict[str, Any] = {"label": self.label, "kind": self.kind, "limits": asdict(self.limits)}
        return identity | ({"command": list(self.command), "folder": self.folder} if self.command else {})


def read_entrants(config: Config[ArenaSettings]) -> list[Entrant]:
    """Return the bots of a tournament in the order of the configuration.

    Raises `UsageError` for an unknown bot, a faulty bot file, or a command that does not exist.
    """
    settings = config.settings
    entrants: list[Entrant] = []
    for text in settings.bots:
        label, name = split_label(text)
        if len(label) > LONGEST_NAME:
            raise config.refuse("bots", f"has a label of more than {LONGEST_NAME} characters: {label[:20]}...")
        table = settings.entrants.get(name)
        default = label or (name if table is not None else "")
        try:
            if table is None:
                folder = config.origin("bots").folder
                entrant = _read(name, _table_of(name), settings.limits, {"bot": folder, "folder": folder})
            else:
                folders = {key: entrant_folder(config, name, key) for key in ("bot", "folder")}
                entrant = _read(name, table, settings.limits, folders)
            unique = unique_label(default or entrant.label, [other.label for other in entrants], given=bool(label))
        except UsageError as problem:
            raise UsageError(f"bot {text!r}: {problem.message}{_advice(name)}") from None
        entrants.append(replace(entrant, label=unique))
    return entrants


def _advice(name: str) -> str:
    """Return how to name a program, if `name` is a file that may be one, else ""."""
    if name.endswith(".toml") or not holds(Path(name).is_file):
        return ""
    program = {".py": "python ", ".js": "node ", ".java": "java "}.get(Path(name).suffix, "./") + name
    return f"\na program is named by its protocol and its command: 'stdio:{program}' or 'http:{program}'"


def entrant_of(bot: Path, limits: LimitSettings) -> Entrant:
    """Return the bot file `bot` as an entrant with these limits. Raises `UsageError` for a faulty bot file."""
    return _read(str(bot), EntrantSettings(bot=str(bot)), limits, {"bot": None, "folder": None})


def entrant_folder(config: Config[ArenaSettings], name: str, key: str) -> Path | None:
    """Return the folder of the configuration file that sets a key of the table ``[entrants.NAME]``, or None.

    Paths in the value of the key are relative to this folder.
    """
    return config.origin(dotted(("entrants", name, key))).folder


def split_label(text: str) -> tuple[str, str]:
    """Return the label and the rest of ``LABEL=rest``. The label is empty if the text has none."""
    match = None if is_command(text) else _LABEL.fullmatch(text)
    return (match["label"], match["rest"]) if match else ("", text)


def is_command(word: str) -> bool:
    """Return whether a word in the list of bots is a command, such as ``http:COMMAND``."""
    return _COMMAND.fullmatch(word) is not None


def unique_label(name: str, used: Collection[str], *, given: bool = False) -> str:
    """Return a label that no other bot uses: `name`, or `name` with a number. A second bot ``seed`` gets ``seed-2``.

    Raises `UsageError` if the user has `given` the label and another bot uses it already.
    """
    if given and name in used:
        raise UsageError(f"two bots are called {name!r}: give one of them another label, LABEL=...")
    labels = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(label for label in labels if label not in used)


def _table_of(word: str) -> EntrantSettings:
    """Return the table of settings that is equivalent to a word in the list of bots."""
    if match := _COMMAND.fullmatch(word):
        return EntrantSettings.model_validate(match.groupdict() | {"command": match["command"].strip() or None})
    return EntrantSettings(bot=word)


def _read(name: str, table: EntrantSettings, common: LimitSettings, beside: Mapping[str, Path | None]) -> Entrant:
    """Return the bot of a table. `beside` has, by key of the table, the folder for relative paths in the value of the key."""
    if (table.bot is None) == (table.command is None):
        raise UsageError("the command is missing" if is_command(name) else f"[entrants.{name}] needs one of bot and command")
    move_ms = table.move_ms or common.move_ms
    limits = Limits(
        move_ms=move_ms,
        first_ms=table.first_ms or (move_ms if table.move_ms else common.first_ms or move_ms),
        nodes=table.nodes or (common.nodes if table.command is None else None),
        start_s=table.start_s or common.start_s,
        grace_ms=common.grace_ms,
        memory_mb=table.memory_mb or common.memory_mb,
    )
    if table.command is not None:
        if table.nodes is not None:
            raise UsageError("nodes are for bot files: a program gets move_ms")
        folder = _working_folder(table.folder, beside["folder"])
        command = _command(table.command, folder)
        label, files = _program_label(command, folder), files_digest(command, folder)
        return Entrant(label, table.protocol, limits, command=command, folder=str(folder), files=files)
    assert table.bot is not None
    for kind in BUILT_IN:
        if table.bot == kind:
            return Entrant(kind, kind, limits)
    bot = load_bot(table.bot, beside=beside["bot"])
    return Entrant(bot.name, "bot", limits, bot)


def _working_folder(folder: Path | None, beside: Path | None) -> Path:
    path = (beside or Path.cwd()) / folder if folder is not None else Path.cwd()
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}")
    return path.resolve()


def _program_label(command: Sequence[str], folder: Path) -> str:
    """Return the label of a program, from the path of the script that an interpreter runs, or of the program."""
    scripts = [word for word in command[1:] if not word.startswith("-") and holds((folder / word).is_file)]
    return named_after(folder / (scripts or command)[0])


def files_digest(command: Sequence[str], folder: Path) -> str:
    """Return a digest of the files that a command names. `folder` is the folder in which the command runs.

    A program on the search path, such as an interpreter, is left out.
    """
    program, *rest = command
    words = rest if shutil.which(Path(program).name) == program else command
    return digest_of([file_digest(folder / word) for word in words if holds((folder / word).is_file)])


def _command(text: str | Sequence[str], folder: Path) -> tuple[str, ...]:
    """Return the words of a command, with the path of the program as the first word.

    Raises `UsageError` if there is no such program.
    """
    try:
        words = shlex.split(text) if isinstance(text, str) else list(text)
    except ValueError as problem:
        raise UsageError(f"the command cannot be read: {problem}") from None
    if not words or not words[0]:
        raise UsageError("the command is empty")
    program, *rest = words
    if "/" not in program:
        executable = shutil.which(program)
        if executable is None:
            raise UsageError(f"there is no program {program!r} on the search path")
    else:
        path = folder / given_path(program)
        if not path.exists():
            raise UsageError(f"there is no program {path}")
        executable = shutil.which(str(path))
        if executable is None:
            raise UsageError(f"{path} cannot be run: it is not a program, or not executable (chmod +x)")
    return (executable, *rest)
