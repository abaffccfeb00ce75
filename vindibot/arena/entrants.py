"""Who takes part: what the configuration says of a bot, read, checked, and made into plain data that any process can use.

A bot is named by the file of a bot (``seed``, ``mine.toml``), by ``random`` or ``stay``, which are built in, by a table
``[entrants.NAME]``, or by a command: ``http:COMMAND`` for a program that speaks to a server, ``stdio:COMMAND`` for one that
speaks in lines (docs/arena.md). ``LABEL=`` before any of them says what it is called in tables.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from vindibot.arena.settings import ArenaSettings, EntrantSettings, LimitSettings
from vindibot.base import UsageError
from vindibot.config import LONGEST_NAME, Bot, Config, digest_of, file_digest, load_bot

Kind = Literal["bot", "random", "stay", "http", "stdio"]
BUILT_IN: tuple[Kind, ...] = ("random", "stay")
#: What may stand in braces in the arguments of a program that speaks HTTP; each is replaced.
PLACEHOLDERS = ("server", "host", "port", "key", "name")

_LABEL = re.compile(r"(?P<label>[\w.+-]+)=(?P<rest>.+)", re.DOTALL)


@dataclass(frozen=True)
class Limits:
    """What a bot may use. A bot file with `nodes` thinks so many per move and is not timed; all else is given `move_ms`
    (`first_ms` for the first move of a game), and `grace_ms` more are forgiven. `memory_mb` is address space."""

    move_ms: int = 1000
    first_ms: int = 1000
    nodes: int | None = None
    start_s: float = 20.0
    grace_ms: int = 100
    memory_mb: int | None = None

    def seconds(self, *, first: bool) -> float:
        """The limit of a move, the grace not included."""
        return (self.first_ms if first else self.move_ms) / 1000


@dataclass(frozen=True)
class Entrant:
    """A bot of the tournament. `label` is unique in it. `bot` is set for bot files, `command` for programs, which run in
    `folder`, and `files` is a digest of the files that the command names."""

    label: str
    kind: Kind
    limits: Limits
    bot: Bot | None = None
    command: tuple[str, ...] = ()
    folder: str = ""
    files: str = ""

    @property
    def program(self) -> bool:
        """Whether it is a program outside of the arena."""
        return self.kind in ("http", "stdio")

    @property
    def version(self) -> int | None:
        """The version that a bot file states."""
        return self.bot.version if self.bot is not None else None

    @property
    def digest(self) -> str:
        """A digest of the bot: that of a bot file (`vindibot.config.bots.Bot`), or of the files that a program's command
        names; empty for what is built in."""
        return self.bot.digest if self.bot is not None else self.files

    def identity(self) -> dict[str, Any]:
        """What the configuration says of it, as JSON: what differs makes another tournament. What a bot's files hold is told by
        `digest`."""
        said: dict[str, Any] = {"label": self.label, "kind": self.kind, "limits": asdict(self.limits)}
        if self.program:
            said |= {"command": list(self.command), "folder": self.folder}
        return said


@dataclass
class _Labels:
    """Hands out labels: the second seed is seed-2."""

    used: set[str] = field(default_factory=set)

    def take(self, wanted: str, given: bool) -> str:
        if given and wanted in self.used:
            raise UsageError(f"two bots are called {wanted!r}: give one another name, LABEL=...")
        label, count = wanted, 1
        while label in self.used:
            count += 1
            label = f"{wanted}-{count}"
        self.used.add(label)
        return label


def read_entrants(config: Config[ArenaSettings]) -> list[Entrant]:
    """The bots of a tournament in the order of the configuration. Raises `UsageError` for whatever cannot be: an unknown
    bot, a faulty bot file, a command that is not there."""
    settings, labels = config.settings, _Labels()
    beside = config.origin("bots").folder
    found = []
    for text in settings.bots:
        label, what = split_label(text)
        given = bool(label)
        if len(label) > LONGEST_NAME:
            raise config.refuse("bots", f"has a label of more than {LONGEST_NAME} characters: {label[:20]}...")
        table, name = settings.entrants.get(what), what
        if table is not None:
            label = label or what
        else:
            table = _table_of(what)
        try:
            entrant = _read(name, table, settings.limits, beside if name not in settings.entrants else _folder(config))
        except UsageError as problem:
            raise UsageError(f"bot {text!r}: {problem.message}") from None
        found.append(_labelled(entrant, labels.take(label or entrant.label, given)))
    return found


def split_label(text: str) -> tuple[str, str]:
    """``LABEL=what`` in two; the label is empty where there is none."""
    match = _LABEL.fullmatch(text) if not text.startswith(("http:", "stdio:")) else None
    return (match["label"], match["rest"]) if match else ("", text)


def _folder(config: Config[ArenaSettings]) -> Path | None:
    return config.origin("entrants").folder


def _labelled(entrant: Entrant, label: str) -> Entrant:
    return replace(entrant, label=label)


def _table_of(what: str) -> EntrantSettings:
    """What a word of the list of bots stands for."""
    for protocol in ("http", "stdio"):
        if what.startswith(f"{protocol}:"):
            return EntrantSettings(command=what.partition(":")[2].strip() or None, protocol=protocol)
    return EntrantSettings(bot=what)


def _read(name: str, table: EntrantSettings, common: LimitSettings, beside: Path | None) -> Entrant:
    limits = _limits(table, common)
    if (table.bot is None) == (table.command is None):
        known = not name.startswith(("http:", "stdio:"))
        raise UsageError(f"[entrants.{name}] needs one of bot and command" if known else "the command is missing")
    if table.command is not None:
        if table.nodes is not None:
            raise UsageError("nodes are for bot files: a program gets move_ms")
        folder = _working_folder(table.folder, beside)
        command = _command(table.command, folder)
        label, files = _called(command, folder), _files_digest(command, folder)
        return Entrant(label, table.protocol, limits, command=command, folder=str(folder), files=files)
    assert table.bot is not None
    for kind in BUILT_IN:
        if table.bot == kind:
            return Entrant(kind, kind, limits)
    bot = load_bot(table.bot, beside=beside)
    return Entrant(bot.name, "bot", limits, bot)


def _limits(table: EntrantSettings, common: LimitSettings) -> Limits:
    move = table.move_ms or common.move_ms
    return Limits(
        move_ms=move,
        first_ms=table.first_ms or (move if table.move_ms else common.first_ms or move),
        nodes=table.nodes or (common.nodes if table.command is None else None),
        start_s=table.start_s or common.start_s,
        grace_ms=common.grace_ms,
        memory_mb=table.memory_mb or common.memory_mb,
    )


def _working_folder(folder: Path | None, beside: Path | None) -> Path:
    if folder is None:
        return Path.cwd()
    path = folder if folder.is_absolute() or beside is None else beside / folder
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}")
    return path.resolve()


def _called(command: Sequence[str], folder: Path) -> str:
    """The label of a program: the file that an interpreter is given, or its own name."""
    scripts = [word for word in command[1:] if not word.startswith("-") and (folder / word).is_file()]
    return (Path((scripts or command)[0]).stem or "program")[:LONGEST_NAME]


def _files_digest(command: Sequence[str], folder: Path) -> str:
    """A digest of the files that a command names, without an interpreter that is found on the search path."""
    program, *rest = command
    words = rest if shutil.which(Path(program).name) == program else command
    return digest_of([file_digest(folder / word) for word in words if _is_file(folder / word)])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a word that no file can be called
        return False


def _command(text: str | Sequence[str], folder: Path) -> tuple[str, ...]:
    """A command as words, the first of which can be started."""
    try:
        words = shlex.split(text) if isinstance(text, str) else list(text)
    except ValueError as problem:
        raise UsageError(f"the command cannot be read: {problem}") from None
    if not words or not words[0]:
        raise UsageError("the command is empty")
    program = words[0]
    if "/" in program:
        path = Path(program).expanduser()
        path = path if path.is_absolute() else folder / path
        if not path.exists():
            raise UsageError(f"there is no program {path}")
        found = shutil.which(str(path))
        if found is None:
            raise UsageError(f"{path} cannot be run: it is no program, or not executable (chmod +x)")
    else:
        found = shutil.which(program)
        if found is None:
            raise UsageError(f"there is no program {program!r} on the search path")
    return (found, *words[1:])
