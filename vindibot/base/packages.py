"""Checks that Python imports our other packages and no others of the same names, and that the packages of extras are there."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from vindibot.base.errors import UsageError

#: The packages of the extra ``vindibot[tune]``, which ``vindibot tune`` and ``vindibot learn imitate`` need.
TUNE = ("cmaes", "optuna", "scipy")


def hidden_package() -> str:
    """Return a message if Python would import a package ``behaviours`` or ``sim`` that is not ours, else "".

    Another package can hide ours: Python looks first in the current folder (``python -m pytest``), and in the folders of
    ``PYTHONPATH`` before installed packages. `behaviours` has the same check for ``vindibot``. The two checks share no code,
    because neither package may import the other before the check.
    """
    here = Path(__file__).resolve().parents[2]
    for name in ("behaviours", "sim"):
        spec = find_spec(name)
        found = Path(spec.origin).resolve() if spec is not None and spec.origin else here / name
        if here not in found.parents:
            hides = found.parent if found.name == "__init__.py" else found
            return f"{hides} hides the package {name!r} of vindibot: give it another name"
    return ""


def require_extra() -> None:
    """Raise `UsageError` with the command that installs the packages of `TUNE`, if any is missing."""
    missing = [name for name in TUNE if find_spec(name) is None]
    if missing:
        more = "python -m pip install 'vindibot[tune]', or '.[tune]' in a checkout"
        raise UsageError(f"this command needs more packages ({', '.join(missing)}): {more}")
