"""Templates: all values are text, a value that is missing is an error, and rooms use templates of rooms below."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from jinja2 import Environment, UndefinedError, nodes
from jinja2.meta import find_referenced_templates

from tests.architecture import ROOMS, TOP
from vindibot.base.pages import compile_templates, render

NAME = "<script>\"'&"
TEMPLATES = sorted((TOP / "vindibot").rglob("templates/*"))
#: The values that are inserted as they are: our own files, whose digests a policy may name, marks of our own, and what another
#: template or a drawing has made, which has escaped its texts (tests/games/test_history.py, tests/sim/test_svg.py).
AS_THEY_ARE = {"board", "curves", "mark", "review", "script", "style"}


def package_of(path: Path) -> str:
    """The package of `vindibot` that has a template: ``server.site``."""
    return ".".join(path.relative_to(TOP / "vindibot").parts[:-2])


def test_a_value_is_text_in_an_element_and_in_an_attribute() -> None:
    page = render("server.site/register.html", message=NAME, given=NAME, links=())
    assert page.count("<script") == page.count('<script type="module"')
    assert NAME in unescape(re.split('<p class="error"[^>]*>', page)[1].partition("</p>")[0])
    assert unescape(page.partition('value="')[2].partition('"')[0]) == NAME


def test_a_value_that_is_missing_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="given"):
        render("server.site/register.html", message="x", links=())


def test_all_templates_can_be_compiled() -> None:
    assert len(TEMPLATES) > 20
    compile_templates(*{package_of(path) for path in TEMPLATES})


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: f"{package_of(path)}/{path.name}")
def test_a_template_escapes_and_refers_to_rooms_below(path: Path) -> None:
    tree = Environment().parse(path.read_text())
    for used in tree.find_all(nodes.Filter):
        if used.name in ("safe", "forceescape", "xmlattr"):
            assert isinstance(used.node, nodes.Name)
            assert used.node.name in AS_THEY_ARE
    assert not list(tree.find_all((nodes.ScopedEvalContextModifier, nodes.EvalContextModifier)))
    below = ROOMS[ROOMS.index(package_of(path).partition(".")[0]) :]
    for other in find_referenced_templates(tree):
        assert other is not None, "a template names others by their names"
        package, _, file = other.partition("/")
        assert package.partition(".")[0] in below
        assert (TOP / "vindibot" / package.replace(".", "/") / "templates" / file).is_file()
