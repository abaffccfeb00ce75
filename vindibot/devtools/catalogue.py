"""``vindibot behaviours``: all traits that can be found, ours and the user's, and what can be set in each."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from rich.text import Text

from behaviours.registry import BUILT_IN, GROUP, BehaviourError, ModuleEndsProcessError, find, load_module
from vindibot.base import UsageError, printable, printable_lines
from vindibot.config import Bot, TraitSpec, make_importable, shipped_folder, short, shown

if TYPE_CHECKING:
    from behaviours.base import Behaviour

#: The widest line that is written.
WIDTH = 110

_KINDS = {
    "boolean": "true or false",
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "array": "list",
    "object": "table",
}


@dataclass(frozen=True)
class Listed:
    """A trait that was found. `use` is how a bot file names it, `home` says where it comes from; `kind` is its class, None if
    it cannot be had, and `problem` says why then."""

    use: str
    home: str
    kind: type[Behaviour] | None = None
    problem: str = ""

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        text = self.kind.__doc__ if self.kind is not None else self.problem
        return " ".join((text or "").strip().partition("\n\n")[0].split()) or "(it has no docstring)"


@dataclass(frozen=True)
class Parameter:
    """What can be set in a trait: `values` says in words what it may be, `default` is TOML, or empty if it must be given."""

    name: str
    values: str
    default: str
    description: str


def listed(use: str, home: str) -> Listed:
    """The trait of this name, or why it cannot be had."""
    try:
        return Listed(use, home, find(use))
    except BehaviourError as problem:
        return Listed(use, home, problem=str(problem))


def found(bot: Bot | None = None) -> list[Listed]:
    """All traits: the built-in ones, those of installed packages, and with a bot those in the folders of its files."""
    traits = [listed(use, "vindibot") for use in sorted(BUILT_IN)]
    offered = {point.name: point.dist.name if point.dist is not None else "?" for point in entry_points(group=GROUP)}
    traits += [listed(use, f"package {offered[use]}") for use in sorted(offered) if use not in BUILT_IN]  # built-in names win
    if bot is not None:
        traits += own(bot)
    return traits


def own(bot: Bot) -> list[Listed]:
    """The traits in the modules beside a bot's files, and whatever else the bot uses by module:Class."""
    make_importable(bot.folders)
    traits: dict[str, Listed] = {}
    for folder in map(Path, bot.folders):
        if folder.is_relative_to(shipped_folder()):
            continue
        for path in sorted(folder.glob("*.py")):
            if _may_have_traits(path):
                for one in _in_module(path):
                    traits.setdefault(one.use, one)
    for spec in bot.traits:
        if ":" in spec.use and spec.class_path not in traits:
            traits[spec.class_path] = listed(spec.class_path, "a module")
    return list(traits.values())


def _may_have_traits(path: Path) -> bool:
    """Whether a file imports from `behaviours` and has classes; nothing else is worth the risk of running it."""
    if not path.stem.isidentifier() or path.stem.startswith("test_") or path.stem == "conftest":
        return False
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True  # importing it says what is wrong
    modules = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    classes = any(isinstance(node, ast.ClassDef) for node in tree.body)
    return classes and any(module.partition(".")[0] == "behaviours" for module in modules)


def _in_module(path: Path) -> Iterator[Listed]:
    from behaviours.base import Behaviour

    home = short(path)
    try:
        module = load_module(path.stem)
    except ModuleEndsProcessError as problem:
        yield Listed(path.stem, home, problem=f"the module cannot be imported: {problem}")
        return
    except Exception as problem:
        yield Listed(path.stem, home, problem=f"the module cannot be imported ({type(problem).__name__}: {problem})")
        return
    for name, value in vars(module).items():
        defined_here = isinstance(value, type) and issubclass(value, Behaviour) and value.__module__ == module.__name__
        if defined_here and value.vote is not Behaviour.vote and not name.startswith("_"):
            yield Listed(f"{module.__name__}:{name}", home, value)


def parameters(kind: type[BaseModel], given: Any = None) -> list[Parameter]:
    """What can be set in a trait, in the order of its fields; what a table among them holds has dotted names.

    `given` is what stands in for the class's own defaults: the default of the table that `kind` describes.
    """
    try:
        schema = kind.model_json_schema()
    except Exception:  # a type of the user's own that has no schema
        schema = {}
    properties, definitions = schema.get("properties", {}), schema.get("$defs", {})
    result = []
    for name, info in kind.model_fields.items():
        default = getattr(given, name) if given is not None else info.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            inner = parameters(type(default), default)
            result += [replace(parameter, name=f"{name}.{parameter.name}") for parameter in inner]
            continue
        text = "" if info.is_required() and given is None else toml(default)
        result.append(Parameter(name, _values(properties.get(name, {}), definitions), text, info.description or ""))
    return result


def chosen(spec: TraitSpec, parameter: Parameter) -> str | None:
    """What a bot sets for a parameter, as TOML; None where it leaves the default."""
    value: Any = spec.parameters
    for part in parameter.name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return toml(value)


def toml(value: Any) -> str:
    """A value as it stands in a bot file."""
    if isinstance(value, bool | str):
        return shown(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{shown(str(key))} = {toml(one)}' for key, one in value.items())}}}"
    return f"{value:g}" if isinstance(value, float) and abs(value) < 1e6 and float(f"{value:g}") == value else str(value)


def heading(label: str) -> str:
    """The head of a trait's table in a bot file; a label that is no bare key stands in quotes."""
    bare = re.fullmatch(r"[A-Za-z0-9_-]+", label)
    return f"[traits.{label if bare else toml(label)}]"


def _values(entry: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What a JSON schema allows, in words: ``whole number from 0 to 100``."""
    if "$ref" in entry:
        entry = definitions.get(str(entry["$ref"]).rpartition("/")[2], {})
    if "allOf" in entry and len(entry["allOf"]) == 1:
        return _values(entry["allOf"][0], definitions)
    if "anyOf" in entry:
        return " or ".join(_values(one, definitions) for one in entry["anyOf"])
    if "enum" in entry or "const" in entry:
        return " or ".join(shown(one) for one in entry.get("enum", [entry.get("const")]))
    kind = _KINDS.get(str(entry.get("type")), "anything" if entry.get("type") != "null" else "none")
    if kind == "list" and "items" in entry:
        return f"list of: {_values(entry['items'], definitions)}"
    words = []
    for key, word in [
        ("minimum", "from"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "to"),
        ("exclusiveMaximum", "less than"),
        ("minLength", "length from"),
        ("maxLength", "length to"),
    ]:
        if key in entry:
            words.append(f"{word} {toml(entry[key])}")
    return " ".join([kind, *words])


# ---- What the command says ----


def table(kind: type[Behaviour], spec: TraitSpec | None = None) -> list[str]:
    """A line for each parameter: its default (or what the bot sets), what it may be, what it is for."""
    rows = []
    for parameter in parameters(kind):
        value, note = parameter.default or "(must be given)", ""
        if spec is not None and (own := chosen(spec, parameter)) is not None:
            value, note = own, f" [default: {parameter.default or 'none'}]"
        rows.append((f"{parameter.name} = {value}", parameter.values, parameter.description + note))
    first, second = (max((len(row[column]) for row in rows), default=0) for column in (0, 1))
    lines = []
    for setting, values, description in (map(printable, row) for row in rows):
        start = f"    {setting:{first}}  {values:{second}}  "
        indent = len(start) if len(start) < WIDTH - 30 else 8
        lines += textwrap.wrap(start + description, WIDTH, subsequent_indent=" " * indent, drop_whitespace=True) or [start]
    return [line.rstrip() for line in lines]


def overview(traits: Sequence[Listed], bot: Bot | None) -> Iterator[str | Text]:
    """All traits, each with a line and its parameters."""
    used = {spec.class_path: spec for spec in bot.traits} if bot is not None else {}
    for trait in traits:
        path = f"{trait.kind.__module__}:{trait.kind.__qualname__}" if trait.kind is not None else ""
        spec = used.get(path)
        head = Text(printable(trait.use), "bold" if trait.kind is not None else "bold red")
        if trait.home != "vindibot":
            head.append(f" ({printable(trait.home)})", "dim")
        if spec is not None and bot is not None:
            head.append(f" · {bot.name} has it with weight {spec.weight:g}", "green")
        yield head
        yield from textwrap.wrap(printable(trait.summary), WIDTH, initial_indent="  ", subsequent_indent="  ")
        if trait.kind is not None:
            yield from table(trait.kind, spec)
        yield ""


def details(trait: Listed, spec: TraitSpec | None) -> Iterator[str | Text]:
    """All about one trait, and what to write into a bot file to have it."""
    kind = trait.kind
    if kind is None:
        raise UsageError(trait.problem)
    from vindibot.engine import is_anytime

    yield Text.assemble((printable(trait.use), "bold"), f" ({kind.__module__}:{kind.__qualname__})")
    text = printable_lines(inspect.cleandoc(kind.__doc__ or "(it has no docstring)"))
    yield from ("", *textwrap.indent(text, "  ").splitlines(), "")
    if is_anytime(kind):
        yield "It thinks as long as there is time: each answer is better than the one before."
        yield ""
    yield from table(kind, spec) or ["    There is nothing to set in it."]
    yield from ("", "In a bot file:", "")
    label = trait.use if ":" not in trait.use else kind.__name__.lower()
    yield f"    {heading(label)}"
    if label != trait.use:
        yield f'    use = "{trait.use}"'
    yield f"    weight = {spec.weight if spec is not None else 1:g}"
    for parameter in parameters(kind):
        value = (chosen(spec, parameter) if spec is not None else None) or parameter.default
        yield f"    {parameter.name} = {value}" if value not in ("", "None") else f"    # {parameter.name} = ..."


def page(name: str, bot: Bot | None) -> Iterator[str | Text]:
    """The trait that is asked for: by the label it has in the bot, or by the name that `use` gives it."""
    for spec in bot.traits if bot is not None else ():
        if name in (spec.label, spec.use, spec.class_path):
            return details(listed(spec.use, ""), spec)
    if bot is None and ":" in name:
        make_importable([str(Path.cwd())])  # as a bot file here would find it
    return details(listed(name, ""), None)
