"""Print the lowest version of each dependency that pyproject.toml allows, as constraints for ``pip install -c``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2] / "pyproject.toml"
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^]]*\])?\s*>=\s*(?P<lowest>[0-9][0-9.]*)\s*(?:,.*)?")


def lowest() -> Iterator[str]:
    """Yield ``name==version`` for each dependency. Raises ValueError for a dependency without a lower bound."""
    for requirement in tomllib.loads(PROJECT.read_text())["project"]["dependencies"]:
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"{requirement!r} says no lowest version")
        yield f"{found['name']}=={found['lowest']}"


if __name__ == "__main__":
    print("\n".join(lowest()))
