"""Bots: TOML files of weighted traits. This module reads a bot, merges it with the files that it extends, and checks it.

::

    name = "careful"             # shown name; default: the name of the file
    version = 2                  # optional, default 1: raise it when the bot plays differently
    extends = "seed"             # optional: inherit the traits of seed.toml; this file overrides single values
    reset = ["traits.combat.duel"]    # optional: inherited values that go back to their defaults

    [traits.tavern-finder]       # the label; `use` names the trait, default: the label
    weight = 2
    life_threshold = 50          # all keys but use, weight and enabled are parameters of the trait

    [traits.coward]
    use = "coward:Coward"        # class Coward in coward.py beside this file
    weight = 0.5

    [traits.mine-finder]
    enabled = false              # removes an inherited trait

A trait that is overridden keeps all values that this file does not set, at every depth (`vindibot.config.tables`). With another
`use`, it keeps the weight only. The name and the version are not inherited.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from behaviours.registry import BUILT_IN, BehaviourError, find as find_behaviour
from vindibot.base.errors import UsageError
from vindibot.config.files import TomlFile, find, look_up, read_chain, shipped
from vindibot.config.messages import dotted, explain, listed, shown
from vindibot.config.signature import bot_digest
from vindibot.config.tables import Tables
from vindibot.config.traits import TraitSpec, build_trait, with_data_files

if TYPE_CHECKING:
    from behaviours.base import Behaviour

#: Largest absolute weight of a trait.
LARGEST_WEIGHT = 1e6
#: Largest number of enabled traits of a bot. The engine sends the place of a trait as one byte.
MOST_TRAITS = 255
#: Number of seconds after which a message says that an import is still running.
SLOW_IMPORT = 3.0
#: The packages of this project.
PACKAGES = frozenset({"sim", "behaviours", "vindibot"})
#: Largest number of characters in the name of a bot.
LONGEST_NAME = 40
#: Names of files and folders that many bots share, so they name no bot.
GENERAL_NAMES = {"bot", "main", "src", "bin", "build", "target", "release"}
#: Highest version of a bot.
LARGEST_VERSION = 1_000_000


def _check_name(name: str) -> str:
    if not name.strip() or not name.isprintable():
        raise ValueError(f"must have printable characters only, not {shown(name)}")
    return name


class TraitTable(BaseModel):
    """The table of a trait in a bot file. Keys other than the fields of this class are parameters of the trait."""

    model_config = ConfigDict(extra="allow", strict=True)

    use: str = Field("", min_length=1, description="the trait: a name, or module:Class; default: the name of the table")
    weight: float = Field(1.0, ge=-LARGEST_WEIGHT, le=LARGEST_WEIGHT, allow_inf_nan=False, description="factor of its votes")
    enabled: bool = Field(True, description="false drops an inherited trait")

    @model_validator(mode="before")
    @classmethod
    def _check_table(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            raise ValueError(f"must be a table with the key weight, not {shown(value)}")  # noqa: TRY004 (pydantic's own kind)
        return value


class BotFile(BaseModel):
    """The content of a bot file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, AfterValidator(_check_name)] = Field(
        min_length=1, max_length=LONGEST_NAME, description="the name of the bot, as it is shown"
    )
    version: int = Field(1, ge=1, le=LARGEST_VERSION, description="raise it when the bot plays differently than before")
    extends: str = Field("", min_length=1, description="a bot file to inherit from; this file overrides its values")
    reset: list[str] = Field([], description="keys of inherited values or tables that go back to their defaults")
    traits: dict[str, TraitTable] = Field({}, description="a table per trait")


@dataclass(frozen=True)
class Bot:
    """A bot as plain data, cheap to send to another process.

    `path` is the bot's file. `folders` are the folders of this file and of the files that it extends. Python must be able to
    import from these folders, for the bot's own traits. `digest` changes when the traits, their parameters or the bot's own
    sources change (see `vindibot.config.signature.bot_digest`). `origins` maps each key that a file sets
    (``traits.combat.weight``) to the file and the line.
    """

    name: str
    path: str
    folders: tuple[str, ...]
    traits: tuple[TraitSpec, ...]
    version: int = 1
    digest: str = ""
    origins: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False, repr=False)

    @property
    def folder(self) -> str:
        """The folder of the bot's file."""
        return self.folders[0]

    @property
    def modules(self) -> tuple[str, ...]:
        """The modules of the bot's traits, without repetitions."""
        return tuple(dict.fromkeys(trait.class_path.partition(":")[0] for trait in self.traits))

    @property
    def own_modules(self) -> tuple[str, ...]:
        """The modules of the bot's traits that are not of this project."""
        return tuple(module for module in self.modules if module.partition(".")[0] not in PACKAGES)

    @property
    def has_own_traits(self) -> bool:
        """Whether a module or package with traits of the bot is in one of the bot's folders."""
        names = {module.partition(".")[0] for module in self.modules} - {"behaviours"}
        return any(
            Path(folder, f"{name}.py").is_file() or Path(folder, name).is_dir() for name in names for folder in self.folders
        )

    def build(self) -> list[tuple[TraitSpec, Behaviour]]:
        """Build all traits, in the order of the file. Makes the bot's folders importable."""
        make_importable(self.folders)
        return [(trait, trait.build()) for trait in self.traits]


def named_after(path: Path) -> str:
    """Return the name of a bot or a program without a name of its own: that of its file, or of the folder of ``bot.toml``
    or ``src/main.py``."""
    path = Path(os.path.abspath(path))  # noqa: PTH100  # `resolve` would follow links
    names = [path.stem, *(parent.name for parent in path.parents)]
    return next((name for name in names if name and name not in GENERAL_NAMES), path.stem)[:LONGEST_NAME]


def name_to_load(bot: Bot, beside: Path | None = None) -> str | None:
    """Return a name with which `load_bot` finds the file of `bot`, for example ``sparring/raider``, or None if there is none."""
    file = Path(bot.path)
    for name in (file.stem, f"{file.parent.name}/{file.stem}"):
        path = look_up(name, beside=beside, folder="bots")
        if path is not None and path.resolve() == file:
            return name
    return None


def bot_of_player(player: str) -> str | None:
    """Return a name with which `load_bot` finds the bot that plays under the name `player` in a game, None if there is none here.

    The name of a player may be any text. So only bare names are looked up, never paths.
    """
    if not re.fullmatch(r"[^\W.][\w.+-]*", player):
        return None
    folders = sorted(folder.name for folder in shipped("bots").iterdir() if folder.is_dir())
    names = [player, *(f"{folder}/{player}" for folder in folders)]
    return next((name for name in names if look_up(name, folder="bots") is not None), None)


def load_bot(name: str | Path, *, beside: Path | None = None) -> Bot:
    """Read a bot file, check it, and return the bot.

    `name` is a path (``bots/seed.toml``), a bare name (``seed``), or a folder with a ``bot.toml``.

    The file is looked up in the folder `beside`, in the current folder, and among the built-in bots. Each of these folders may
    have a subfolder ``bots/``, which is searched too. Every trait is imported and built once, as a check.

    Raises `UsageError` with the file, the line, the trait and the key of the error. These are errors: a file or trait that does
    not exist; invalid TOML; an unknown, missing or invalid parameter; files that extend each other in a circle; a bot without an
    enabled trait.
    """
    chain, folders = _read(name, beside)
    tables = Tables[TomlFile]()
    contents = [_merge(tables, file) for file in chain]
    own, last = contents[-1], chain[-1]
    make_importable(folders)
    enabled = [label for label, table in tables.values.get("traits", {}).items() if table.get("enabled", True)]
    if not enabled:
        raise UsageError(f"{last.at(['traits'])}: this bot has no enabled trait: add a table [traits.NAME]")
    if len(enabled) > MOST_TRAITS:
        raise UsageError(f"{last.at(['traits'])}: this bot has {len(enabled)} enabled traits: at most {MOST_TRAITS} are possible")
    traits = tuple(_trait(label, tables, last, folders) for label in enabled)
    origins = {dotted(key): file.at(key) for key, file in tables.origins.items()}
    return Bot(own.name, str(last.path.resolve()), folders, traits, own.version, bot_digest(traits, folders), origins)


def named_modules(name: str | Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the folders of the bot `name`, and the modules that `load_bot` imports for it.

    This function imports nothing, and ignores errors in the tables of traits.

    Raises `UsageError` if the file does not exist or is not TOML.
    """
    chain, folders = _read(name)
    tables = [file.data.get("traits") for file in chain]
    modules = {}
    for label, entry in [item for table in tables if isinstance(table, Mapping) for item in table.items()]:
        if isinstance(entry, Mapping) and entry.get("enabled", True):
            use = str(entry.get("use", label))
            module, colon, _ = BUILT_IN.get(use, use).partition(":")
            modules[module.strip()] = bool(colon)
    return folders, tuple(module for module, known in modules.items() if known)


def _read(name: str | Path, beside: Path | None = None) -> tuple[list[TomlFile], tuple[str, ...]]:
    """Return the bot file `name` and all files that it extends, and the folders of these files.

    The bot's own file is the last file. Its folder is the first folder.
    """
    chain = read_chain(find(str(name), kind="bot", beside=beside, folder="bots"), kind="bot", folder="bots")
    return chain, tuple(dict.fromkeys(str(file.path.resolve().parent) for file in reversed(chain)))


def _merge(tables: Tables[TomlFile], file: TomlFile) -> BotFile:
    """Override the traits in `tables` with the traits of a file, and return the content of the file."""
    try:
        content = BotFile.model_validate({"name": named_after(file.path)} | file.data)
    except ValidationError as problem:
        raise _refused(problem, (), lambda path: file, [*BotFile.model_fields]) from None
    tables.reset(file)
    before = tables.values.get("traits", {})
    for label, entries in content.traits.items():
        if label in before and entries.use and entries.use != before[label].get("use", label):
            for key in set(before[label]) - {"weight"}:
                tables.forget(("traits", label, key))
            tables.origins["traits", label] = file
    tables.merge({"traits": file.data.get("traits", {})}, lambda path: file)
    return content


def _refused(
    problem: ValidationError, path: tuple[str, ...], file_of: Callable[[tuple[str, ...]], TomlFile], known: Sequence[str]
) -> UsageError:
    """Return an error with a line per refused value below the key `path`.

    `problem` is pydantic's error. `file_of` returns the file that sets a key. `known` has the keys of the table at `path`.
    """
    lines = []
    for slip in problem.errors(include_url=False):
        inner = tuple(map(str, slip["loc"]))
        full = (*path, *inner)
        words = explain(slip, known=known if len(inner) == 1 else ())
        lines.append(f"{file_of(full).at(full)}: {dotted(full)} {words}")
    return UsageError(listed(lines))


def _trait(label: str, tables: Tables[TomlFile], last: TomlFile, folders: Sequence[str]) -> TraitSpec:
    """Return the trait with this label. Import its class and build it once, so that errors appear before a game.

    `last` is the bot's own file.
    """
    path = ("traits", label)
    table = tables.table(path)
    use, weight = table.get("use", label), float(table.get("weight", 1.0))
    parameters = {key: value for key, value in table.items() if key not in TraitTable.model_fields}
    where = (*path, "use") if "use" in table else path
    place = tables.origin(where, last)
    try:
        with _message_if_slow(f"{place.at(where)}: still importing the module of the trait {use!r} ..."):
            kind = find_behaviour(use)
    except BehaviourError as problem:
        raise UsageError(f"{place.at(where)}: {_hidden(use, folders) or problem}") from problem
    if hidden := _hidden(use, folders):
        raise UsageError(f"{place.at(where)}: {hidden}")
    parameters = with_defaults(kind, parameters)
    for key, value in parameters.items():
        if not _finite(value):
            raise tables.origin((*path, key), last).refuse((*path, key), f"must be finite, not {shown(value)}")
    parameters = with_data_files(kind, parameters, path, lambda key: tables.origin((*path, key), last))
    try:
        build_trait(kind, parameters)
    except ValidationError as problem:
        known = [*kind.model_fields, *TraitTable.model_fields]
        raise _refused(problem, path, lambda full: tables.origin(full, last), known) from None
    except Exception as problem:  # the user's own class may raise anything
        raise UsageError(f"{place.at(where)}: {dotted(path)} cannot be built: {type(problem).__name__}: {problem}") from problem
    return TraitSpec(label, use, weight, f"{kind.__module__}:{kind.__qualname__}", parameters)


@contextlib.contextmanager
def _message_if_slow(words: str) -> Iterator[None]:
    """Print `words` on standard error if the ``with`` block takes longer than `SLOW_IMPORT`."""
    timer = threading.Timer(SLOW_IMPORT, lambda: print(words, file=sys.stderr, flush=True))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def with_defaults(kind: type[BaseModel], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters where each table has the values of the table that is its default, unless it sets them itself.

    Without these values, pydantic would take the defaults of the table's class, and a trait may declare others.
    """
    complete = dict(parameters)
    for name, info in kind.model_fields.items():
        value, default = complete.get(name), info.default
        if isinstance(value, Mapping) and isinstance(default, BaseModel):
            tables = Tables[None]()
            for layer in (default.model_dump(mode="json", exclude_defaults=True), with_defaults(type(default), value)):
                tables.merge(layer, lambda path: None)
            complete[name] = tables.values
    return complete


def _finite(value: Any) -> bool:
    """Return whether all numbers in a TOML value are finite. JSON has no infinity and no NaN."""
    try:
        json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        return False
    return True


class _BotFolder(str):
    """A folder that `make_importable` has added to ``sys.path``. Child processes inherit this path."""

    __slots__ = ()


#: The folders of the current bot, whose modules can be imported.
_folders: tuple[str, ...] = ()
#: The members of `_folders` that `make_importable` has added to ``sys.path``.
_added: tuple[str, ...] = ()
#: The modules that were imported before the current bot.
_older: frozenset[str] = frozenset()
#: The modules of other bots, by the folders of the bot.
_stored: dict[tuple[str, ...], dict[str, ModuleType]] = {}


def make_importable(folders: Iterable[str]) -> None:
    """Add a bot's folders to the import path of this process, so that ``use = "coward:Coward"`` finds coward.py.

    Worker processes call this function, too. The folders go to the end of ``sys.path``, so that a file beside a bot never
    replaces an installed module. The folders of the previous bot are removed. The previous bot's modules are stored until it
    becomes the current bot again. So each module is imported once, and two versions of a bot may both have a coward.py.
    """
    global _folders, _added, _older
    wanted = tuple(folders)
    path = import_path()
    if wanted != _folders:
        leaving = [name for name in sys.modules if name not in _older and _home(name) in _added]
        _stored[_folders] = {name: sys.modules.pop(name) for name in leaving}
        _older = frozenset(sys.modules)
        for name, module in _stored.pop(wanted, {}).items():
            sys.modules.setdefault(name, module)
        _folders = wanted
    _added = tuple(_BotFolder(folder) for folder in wanted if folder not in path)
    sys.path[:] = [*path, *_added]
    importlib.invalidate_caches()


def forget_modules() -> None:
    """Forget all modules of bots, so that they are imported again. Call this after files of bots have changed."""
    make_importable(())
    _stored.clear()


def import_path() -> list[str]:
    """Return the import path of this process without the folders of bots, as absolute paths."""
    return [folder or str(Path.cwd()) for folder in sys.path if not isinstance(folder, _BotFolder)]


def _home(name: str) -> str | None:
    """Return the folder from which a module was imported. For a module in a package, return the folder of the package."""
    module = sys.modules.get(name.partition(".")[0])
    origin = getattr(getattr(module, "__spec__", None), "origin", None)
    if not origin:
        return None
    path = Path(origin)
    return str(path.parent.parent if path.name == "__init__.py" else path.parent)


def _hidden(use: str, folders: Sequence[str]) -> str:
    """Return a message if another module hides the module of the same name beside the bot file, else ""."""
    top = use.partition(":")[0].partition(".")[0].strip()
    if ":" not in use or top not in sys.modules:
        return ""
    for folder in folders:
        for beside in (Path(folder, f"{top}.py"), Path(folder, top, "__init__.py")):
            if beside.is_file() and _home(top) not in folders:
                other = getattr(sys.modules[top], "__file__", None) or "a module of Python itself"
                return (
                    f"the trait {use!r}: {beside.name if top in beside.stem else top} is hidden by {other}: give it another name"
                )
    return ""
