"""The registry of traits: it finds built-in traits, traits of installed packages, and a user's own traits by name.

``find("tavern-finder")`` returns a built-in trait. ``find("coward")`` returns an entry point of the group `GROUP` of an installed
package, unless a built-in trait has this name. ``find("coward:Coward")`` returns a class of any module that can be imported.
`find` imports only the module of the trait that it returns. `names` imports no trait, so it is fast.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from importlib.metadata import entry_points
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from behaviours.base import Behaviour

#: The group of entry points under which other packages offer their traits.
GROUP = "vindibot.behaviours"

#: The traits that come with the project: name -> module:Class.
BUILT_IN = {
    "camp": "behaviours.sparring.camp:Camp",
    "combat": "behaviours.classic.combat:Combat",
    "decision-list": "behaviours.sparring.rules:DecisionList",
    "dodge": "behaviours.sparring.dodge:Dodge",
    "goal-scorer": "behaviours.sparring.goals:GoalScorer",
    "harvest": "behaviours.tactics.harvest:Harvest",
    "hunter": "behaviours.tactics.hunter:Hunter",
    "learned": "behaviours.net.trait:Learned",
    "look-ahead": "behaviours.classic.lookahead:LookAhead",
    "max-n": "behaviours.sparring.maxn:MaxN",
    "mine-finder": "behaviours.classic.mine:MineFinder",
    "movement-premium": "behaviours.classic.premium:MovementPremium",
    "random": "behaviours.classic.random:Random",
    "rollout": "behaviours.rollout.trait:Rollout",
    "route": "behaviours.tactics.route:Route",
    "search": "behaviours.search.trait:Search",
    "spawn-avoider": "behaviours.classic.spawn:SpawnAvoider",
    "stalemate": "behaviours.tactics.stalemate:Stalemate",
    "stall": "behaviours.sparring.stall:Stall",
    "stay": "behaviours.classic.stay:Stay",
    "tavern-finder": "behaviours.classic.tavern:TavernFinder",
    "trap-avoidance": "behaviours.classic.trap:TrapAvoidance",
}


class BehaviourError(ValueError):
    """A trait cannot be found or imported. The message names the trait and the error, and suggests a similar known name."""


class ModuleEndsProcessError(ImportError):
    """A module raises `SystemExit` while it is imported. The message names the file and the line."""


def names() -> list[str]:
    """Return the names of all built-in traits and entry points, sorted. `find` accepts each of these names."""
    return sorted({*BUILT_IN, *(point.name for point in entry_points(group=GROUP))})


def find(use: str) -> type[Behaviour]:
    """Return the class of a trait: `use` is a built-in name, the name of an entry point, or ``module:Class``.

    Raises `BehaviourError` for an unknown name, a module that cannot be imported, or a class that is not a trait.
    """
    path = use if ":" in use else BUILT_IN.get(use)
    if path is None:
        path = next((point.value for point in entry_points(group=GROUP, name=use)), None)
    if path is not None:
        return _load(use, path)
    hint = nearest(use, names())
    raise BehaviourError(f"there is no trait {use!r}{hint}; a trait of your own is written module:Class")


def nearest(word: str, known: Iterable[str], *, prefix: str = "") -> str:
    """Return `` (did you mean 'x'?)`` with the word of `known` that is most similar to `word`, or "" if none is similar.

    `prefix` is put before the word of `known`.
    """
    folded = {name.replace("_", "-").lower(): name for name in known}
    matches = difflib.get_close_matches(word.replace("_", "-").lower(), folded, n=1)
    return f" (did you mean {prefix + folded[matches[0]]!r}?)" if matches else ""


def _load(use: str, path: str) -> type[Behaviour]:
    """Return the class that `path` names in the form ``module:Class``. Raises `BehaviourError`.

    `use` is the user's text, for messages.
    """
    from behaviours.base import Behaviour, SplitBehaviour

    name, _, attribute = (part.strip() for part in path.partition(":"))
    shown = repr(use) if use == path else f"{use!r} ({path})"
    if not all(part.isidentifier() for part in name.split(".")) or not attribute:
        raise BehaviourError(f"the trait {shown} is not of the form module:Class")
    module = _module(shown, name)
    kind: Any = module
    for part in attribute.split("."):
        if not hasattr(kind, part):
            hint = nearest(part, (key for key, member in vars(kind).items() if isinstance(member, type)))
            raise BehaviourError(f"the trait {shown}: the module {name} has no class {part!r}{hint}")
        kind = getattr(kind, part)
    if not isinstance(kind, type) or not issubclass(kind, Behaviour):
        raise BehaviourError(f"the trait {shown} is not a subclass of behaviours.Behaviour")
    if kind is Behaviour or kind.vote is Behaviour.vote:
        raise BehaviourError(f"the trait {shown} has no method vote")
    if issubclass(kind, SplitBehaviour):
        for method in ("statistics", "combine"):
            if getattr(kind, method) is getattr(SplitBehaviour, method):
                raise BehaviourError(f"the trait {shown} is a SplitBehaviour and has no method {method}")
    return kind


def load_module(name: str) -> ModuleType:
    """Import a module and return it. Raises the error of the module, or `ModuleEndsProcessError` instead of `SystemExit`."""
    try:
        return importlib.import_module(name)
    except SystemExit as problem:
        trace = problem.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}" if trace is not None else ""
        raise ModuleEndsProcessError(f"it ends the program: SystemExit({problem.code!r}){place}") from None


def _module(shown: str, name: str) -> Any:
    try:
        return load_module(name)
    except ModuleEndsProcessError as problem:
        raise BehaviourError(f"the trait {shown}: its module {name} cannot be imported: {problem}") from None
    except ModuleNotFoundError as problem:
        missing = problem.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise BehaviourError(
                f"the trait {shown}: no module {missing!r} beside the bot file or among the installed packages"
            ) from problem
        raise BehaviourError(f"the trait {shown}: its module {name} needs {missing!r}, which is not installed") from problem
    except Exception as problem:  # the user's own module may raise anything
        raise BehaviourError(
            f"the trait {shown}: its module {name} cannot be imported ({type(problem).__name__}: {problem})"
        ) from problem
