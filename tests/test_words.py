"""Names are the terms of the field: words that were once our own do not come back."""

from __future__ import annotations

import ast
import re

from tests.architecture import FLOORS, modules


def words_of(name: str) -> set[str]:
    """Return the words of a name in snake case or camel case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


#: Words that are in no name. What to use instead: info, epsilon, net worth, repetition penalty, predict, params, stats, repeats,
#: distance table, killed_by, quiet, target, drink, excerpt, writer, encoder, events, journal, history, deadline, redaction,
#: likelihood weight, trait health, iterative deepening, late kill penalty, map tables, archive, moves, route, parsed.
REPLACED = words_of(
    "boredom calm chart chronicle conduct conducts deeds deepen diary doubt errand estate estates fallen farewell film "
    "findings foretell foretold glimpse ground guest habit habits happenings heir hopeless inquiry kept masking orders "
    "outlook patience question questions scribe sheet sip telling thought timekeeper tour tours trust understood whim "
    "whims whoever"
)
#: Names with such a word that are not ours: an option of httpx.
ALLOWED = {"trust_env"}


def names_in(text: str) -> set[str]:
    """Return the names in a program: variables, attributes, functions, classes, parameters."""
    names = {getattr(node, kind, None) for node in ast.walk(ast.parse(text)) for kind in ("id", "attr", "name", "arg")}
    return {name for name in names if isinstance(name, str)}


def test_no_name_has_a_replaced_word() -> None:
    assert words_of("compiled_whims") & words_of("FilmWhims") & REPLACED, "the test could fail"
    found = {path.name: names_in(path.read_text()) - ALLOWED for floor in FLOORS for path in modules(floor)}
    bad = [f"{path}: {name}" for path, names in found.items() for name in names if words_of(name) & REPLACED]
    assert not bad, bad
