"""What a release says of itself: its version, its changelog, the versions it needs."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.support.lowest import lowest
from tests.support.paths import TOP
from vindibot import __version__

#: The kinds of changes that a changelog of this form knows.
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_has_its_form_and_knows_this_version() -> None:
    text = (TOP / "CHANGELOG.md").read_text()
    first, *versions = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert first == "Unreleased"
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})", version) for version in versions]
    assert all(dated), versions
    found = [(tuple(map(int, one[1].split("."))), one[2]) for one in dated if one]
    assert all(newer > older for newer, older in pairwise(found)), "the newest comes first"
    assert dated[0] is not None
    assert dated[0][1] == __version__
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= KINDS
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert len(kinds) == len(set(kinds)), f"a kind of change stands twice in {part.splitlines()[0]}"


def test_every_dependency_says_its_lowest_version() -> None:
    pins = list(lowest())
    assert len(pins) > 10
    assert any(pin.startswith("numba==0.") for pin in pins)
