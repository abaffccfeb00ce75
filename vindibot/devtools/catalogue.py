"""``vindibot behaviours``: list the traits that ship and the user's own traits, with the parameters of each."""

from __future__ import annotations

import inspect
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from rich.console import Console
from rich.text import Text

from behaviours.registry import BUILT_IN, GROUP, BehaviourError, ModuleEndsProcessError, find, load_module
from vindibot.base.console import plain_table, say
from vindibot.base.errors import UsageError
from vindibot.base.text import printable, printable_lines, weight_text
from vindibot.config.bots import Bot, load_bot, make_importable
from vindibot.config.files import shipped, shipped_folder, short
from vindibot.config.messages import shown
from vindibot.config.traits import DataPath, TraitSpec

if TYPE_CHECKING:
    from behaviours.base import Behaviour

#: Width of the printed lines in characters.
WIDTH = 110

_KINDS = {
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "array": "list",
    "object": "table",
}
_LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "more than",
    "maximum": "to",
    "exclusiveMaximum": "less than",
    "minLength": "length from",
    "maxLength": "length to",
}


@dataclass(frozen=True)
class AvailableTrait:
    """A trait that a bot can use.

    `use` is the trait's name in a bot file. `home` says where the trait comes from. `kind` is its class. If the import fails,
    `kind` is None and `problem` says why.
    """

    use: str
    home: str
    kind: type[Behaviour] | None = None
    problem: str = ""

    @property
    def summary(self) -> str:
        """The first paragraph of the trait's docstring, on one line."""
        text = self.kind.__doc__ or "" if self.kind is not None else self.problem
        return " ".join(text.strip().partition("\n\n")[0].split()) or "(it has no docstring)"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a trait. `values` has the allowed values in words. `default` is TOML; it is empty if a value is required."""

    name: str
    values: str
    default: str
    description: str


def import_trait(use: str, home: str) -> AvailableTrait:
    """Import the trait that a bot file calls `use`. If the import fails, the result has a `problem`."""
    try:
        return AvailableTrait(use, home, find(use))
    except BehaviourError as problem:
        return AvailableTrait(use, home, problem=str(problem))


def all_traits(bot: Bot | None = None) -> list[AvailableTrait]:
    """Return the built-in traits and the traits of installed packages; for a bot also the traits in the folders of its files."""
    traits = [import_trait(use, "vindibot") for use in sorted(BUILT_IN)]
    points = {point.name: point.dist.name if point.dist is not None else "?" for point in entry_points(group=GROUP)}
    traits += [import_trait(use, f"package {points[use]}") for use in sorted(points) if use not in BUILT_IN]  # built-in names win
    return traits if bot is None else traits + _user_traits(bot)


def _user_traits(bot: Bot) -> list[AvailableTrait]:
    """Return the traits in the modules beside a bot's files, and other traits that the bot names as module:Class."""
    make_importable(bot.folders)
    traits: dict[str, AvailableTrait] = {}
    for folder in map(Path, bot.folders):
        if folder.is_relative_to(shipped_folder()):
            continue
        for path in sorted(folder.glob("*.py")):
            if _may_have_traits(path):
                for trait in _module_traits(path):
                    traits.setdefault(trait.use, trait)
    for spec in bot.traits:
        if ":" in spec.use and spec.class_path not in traits:
            traits[spec.class_path] = import_trait(spec.class_path, "a module")
    return list(traits.values())


def _may_have_traits(path: Path) -> bool:
    """Return whether a file may define traits: it imports from `behaviours` and has classes. The file is not run."""
    if not path.stem.isidentifier() or path.stem.startswith("test_") or path.stem == "conftest":
        return False
    try:
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return True  # the import reports what is wrong
    return all(re.search(pattern, text, re.MULTILINE) for pattern in (r"^(from|import) behaviours\b", r"^class "))


def _module_traits(path: Path) -> Iterator[AvailableTrait]:
    from behaviours.base import Behaviour

    home = short(path)
    try:
        module = load_module(path.stem)
    except Exception as problem:
        cause = str(problem) if isinstance(problem, ModuleEndsProcessError) else f"{type(problem).__name__}: {problem}"
        yield AvailableTrait(path.stem, home, problem=f"the module cannot be imported ({cause})")
        return
    for name, value in vars(module).items():
        defined_here = isinstance(value, type) and issubclass(value, Behaviour) and value.__module__ == module.__name__
        if defined_here and value.vote is not Behaviour.vote and not name.startswith("_"):
            yield AvailableTrait(f"{module.__name__}:{name}", home, value)


def parameters(kind: type[BaseModel], values: Any = None) -> list[Parameter]:
    """Return the parameters of a trait, in the order of its fields. A parameter inside a table has a dotted name.

    `values` is an instance whose values replace the defaults of the class `kind`.
    """
    try:
        schema = kind.model_json_schema()
    except Exception:  # a trait of the user may have a type without a schema
        schema = {}
    properties, definitions = schema.get("properties", {}), schema.get("$defs", {})
    result = []
    for name, info in kind.model_fields.items():
        default = getattr(values, name) if values is not None else info.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            inner = parameters(type(default), default)
            result += [replace(parameter, name=f"{name}.{parameter.name}") for parameter in inner]
            continue
        text = "" if info.is_required() and values is None else toml(default)
        result.append(Parameter(name, _values(properties.get(name, {}), definitions), text, info.description or ""))
    return result


def configured(spec: TraitSpec, parameter: Parameter) -> str | None:
    """Return the value that a bot sets for a parameter, as TOML; None if the bot does not set it."""
    value = own_value(spec, parameter)
    return None if value is None else toml(value)


def own_value(spec: TraitSpec, parameter: Parameter) -> Any:
    """Return the value that a bot sets for a parameter; None if the bot does not set it."""
    value: Any = spec.parameters
    for part in parameter.name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value


def toml(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, DataPath):
        text = short(value)
        return shown(text, len(text))
    if isinstance(value, bool | str):
        return shown(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{shown(str(key))} = {toml(item)}' for key, item in value.items())}}}"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 and float(f"{value:g}") == value else str(value)


def table_header(label: str) -> str:
    """Return the header of a trait's table in a bot file. The label is quoted if it is no bare key of TOML."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", label)
    return f"[traits.{label if bare else toml(label)}]"


def _values(entry: dict[str, Any], definitions: dict[str, Any]) -> str:
    """Return the values that a JSON schema allows, in words: ``whole number from 0 to 100``."""
    if "$ref" in entry:
        entry = definitions.get(str(entry["$ref"]).rpartition("/")[2], {})
    if "allOf" in entry and len(entry["allOf"]) == 1:
        return _values(entry["allOf"][0], definitions)
    if "anyOf" in entry:
        return " or ".join(_values(option, definitions) for option in entry["anyOf"])
    if "enum" in entry or "const" in entry:
        return " or ".join(shown(value) for value in entry.get("enum", [entry.get("const")]))
    kind = _KINDS.get(str(entry.get("type")), "anything" if entry.get("type") != "null" else "none")
    if kind == "list" and "items" in entry:
        return f"list of: {_values(entry['items'], definitions)}"
    if entry.get("format") == "file-path":
        return "file"
    limits = [f"{word} {toml(entry[key])}" for key, word in _LIMITS.items() if key in entry]
    return " ".join([kind, *limits])


# ---- Output ----


def table(kind: type[Behaviour], spec: TraitSpec | None = None) -> list[str]:
    """Return lines about each parameter: its value in the bot (or the default), the allowed values, the description."""
    rows = []
    for parameter in parameters(kind):
        value, note = parameter.default or "(required)", ""
        if spec is not None and (own := configured(spec, parameter)) is not None:
            value, note = own, f" [default: {parameter.default or 'none'}]"
        rows.append((f"{parameter.name} = {value}", parameter.values, parameter.description + note))
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    lines = []
    for setting, values, description in (map(printable, row) for row in rows):
        start = f"    {setting:{first}}  {values:{second}}  "
        indent = len(start) if len(start) < WIDTH - 30 else 8
        lines += textwrap.wrap(start + description, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True) or [start]
    return [line.rstrip() for line in lines]


def show_behaviours(console: Console, name: str | None, bot: str | None) -> None:
    """Print all traits, or the one called `name`. `bot` is the name or the file of a bot whose traits and values count too."""
    loaded = load_bot(bot) if bot is not None else None
    for line in details(name, loaded) if name is not None else overview(all_traits(loaded), loaded):
        console.print(line, soft_wrap=True, markup=False)


def overview(traits: Sequence[AvailableTrait], bot: Bot | None) -> Iterator[str | Text]:
    """Yield lines about all traits, with the summary and the parameters of each trait."""
    used = {spec.class_path: spec for spec in bot.traits} if bot is not None else {}
    for trait in traits:
        path = f"{trait.kind.__module__}:{trait.kind.__qualname__}" if trait.kind is not None else ""
        spec = used.get(path)
        head = Text(printable(trait.use), "bold" if trait.kind is not None else "bold red")
        if trait.home != "vindibot":
            head.append(f" ({printable(trait.home)})", "dim")
        if spec is not None and bot is not None:
            head.append(f" · in {bot.name} with weight {weight_text(spec.weight)}", "green")
        yield head
        yield from textwrap.wrap(printable(trait.summary), WIDTH, initial_indent="  ", subsequent_indent="  ")
        if trait.kind is not None:
            yield from table(trait.kind, spec)
        yield ""


def details(name: str, bot: Bot | None) -> Iterator[str | Text]:
    """Yield lines about one trait, with a table for a bot file. `name` is its label in `bot`, or its name for `use`."""
    spec = next((spec for spec in (bot.traits if bot else ()) if name in (spec.label, spec.use, spec.class_path)), None)
    if bot is None and ":" in name:
        make_importable([str(Path.cwd())])  # as for a bot file in this folder
    use = spec.use if spec is not None else name
    trait = import_trait(use, "")
    kind = trait.kind
    if kind is None:
        raise UsageError(trait.problem)
    from behaviours.base import SplitBehaviour
    from vindibot.engine.health import is_anytime

    yield Text.assemble((printable(use), "bold"), f" ({kind.__module__}:{kind.__qualname__})")
    text = printable_lines(inspect.cleandoc(kind.__doc__ or "(it has no docstring)"))
    yield from ("", *textwrap.indent(text, "  ").splitlines(), "")
    if is_anytime(kind):
        yield "It uses all available time: each answer is better than the one before."
        if issubclass(kind, SplitBehaviour):
            yield "Idle workers take parts of its work."
        yield ""
    yield from table(kind, spec) or ["    It has no parameters."]
    yield from ("", "In a bot file:", "")
    label = use if ":" not in use else kind.__name__.lower()
    yield f"    {table_header(label)}"
    if label != use:
        yield f'    use = "{use}"'
    yield f"    weight = {weight_text(spec.weight if spec is not None else 1)}"
    for parameter in parameters(kind):
        value = (configured(spec, parameter) if spec is not None else None) or parameter.default
        yield f"    {parameter.name} = {value}" if value not in ("", "None") else f"    # {parameter.name} = ..."


#: The table of strengths among the files that ship.
TABLE = "strength.toml"
#: The folders of the bots that ship, below ``bots``.
_FOLDERS = ("", "sparring")


@dataclass(frozen=True)
class ShippedBot:
    """A bot that ships. `name` is its name for commands. `low` and `high` are the ends of the 95 % interval of its rating.

    Rating and interval are None if the bot did not play in the ladder.
    """

    name: str
    plays: str
    rating: int | None = None
    low: int | None = None
    high: int | None = None


def shipped_bots() -> list[ShippedBot]:
    """Return the bots that ship, the strongest first. Bots without a rating come last."""
    ratings = strengths()["bots"]
    bots = []
    for folder in _FOLDERS:
        for path in sorted(shipped("bots").joinpath(folder).glob("*.toml")):
            name = f"{folder}/{path.stem}" if folder else path.stem
            known = ratings.get(path.stem, {})
            bots.append(ShippedBot(name, first_sentence(path), known.get("rating"), known.get("low"), known.get("high")))
    return sorted(bots, key=lambda bot: (bot.rating is None, -(bot.rating or 0), bot.name))


def strengths() -> dict[str, Any]:
    """Return the table of strengths that ships: the command that made it, its date and its build, and the ratings of the bots."""
    table: dict[str, Any] = tomllib.loads(shipped(TABLE).read_text("utf-8"))
    return table


def first_sentence(path: Path) -> str:
    """Return the first sentence of the comment at the beginning of a bot file, "" if there is none."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("# "))
    return re.split(r"(?<=[\w)`]\.)\s+", " ".join(lines).strip())[0]


def show_bots(console: Console) -> None:
    """Print the bots that ship, and the command that made their ratings."""
    table = plain_table("bot", "rating", "95 % interval", "how it plays", left=("bot", "how it plays"))
    for bot in shipped_bots():
        interval = "" if bot.rating is None else f"{bot.low} to {bot.high}"
        table.add_row(bot.name, "" if bot.rating is None else str(bot.rating), Text(interval, "dim"), bot.plays)
    console.print(table)
    known = strengths()
    say(console, f"ratings of {known['date']}, from {known['games']} games of {known['version']}; seed is 0; made with:")
    say(console, f"  {known['command']}", "dim")
