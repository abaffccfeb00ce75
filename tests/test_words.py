"""Names are the terms of the field: words that were once our own do not come back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import TOP

#: Words that are in no name, each with the term that takes its place.
REPLACED = {
    "thought": "info (SearchInfo)",
    "whim": "epsilon",
    "whims": "epsilon",
    "estates": "net_worths",
    "boredom": "repetition_penalty",
    "foretold": "predicted",
    "inquiry": "params (RolloutParams)",
    "findings": "stats",
    "habits": "repeats",
    "chart": "distance table",
    "sheet": "table",
    "estate": "net_worth",
    "fallen": "killed_by",
    "calm": "quiet",
    "errand": "target",
    "sip": "drink",
    "glimpse": "excerpt",
    "scribe": "writer",
    "telling": "encoder",
    "happenings": "events",
    "diary": "journal",
    "film": "GameHistory",
    "chronicle": "GameHistory",
    "timekeeper": "deadline",
    "masking": "redaction",
    "trust": "likelihood_weight",
    "conduct": "trait health",
    "conducts": "trait health",
    "deeds": "events",
    "deepen": "iterative_deepening",
    "doubt": "late_kill_penalty",
    "farewell": "exit",
    "foretell": "predict",
    "ground": "map tables",
    "guest": "AsgiServer",
    "habit": "repeated move",
    "heir": "new owner",
    "hopeless": "max restarts",
    "kept": "archive, stored, cached",
    "orders": "moves",
    "outlook": "info",
    "patience": "round_discount, min_repeats, timeout_s",
    "question": "params",
    "questions": "params",
    "tour": "route",
    "tours": "routes",
    "understood": "parsed",
    "whoever": "a noun",
}
#: Names with such a word that are not ours.
ALLOWED = {"trust_env": "an option of httpx"}
SOURCES = sorted(path for package in ("sim", "behaviours", "vindibot") for path in (TOP / package).rglob("*.py"))


def names_in(text: str) -> Iterator[str]:
    """The names in a program: variables, attributes, functions, classes, parameters."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg):
            yield node.arg


def words_of(name: str) -> set[str]:
    """The words of a name in snake case or camel case."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(TOP)))
def test_no_name_has_a_replaced_word(path: Path) -> None:
    for name in set(names_in(path.read_text())) - set(ALLOWED):
        for word in words_of(name) & set(REPLACED):
            pytest.fail(f"{path.relative_to(TOP)}: {name}: say {REPLACED[word]} instead of {word}")


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(TOP)))
def test_a_class_name_is_in_a_module_once(path: Path) -> None:
    names = [node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    assert len(set(names)) == len(names)


def test_the_test_could_fail() -> None:
    assert words_of("compiled_whims") & set(REPLACED)
    assert words_of("FilmReader") & set(REPLACED)
