"""The packages of the extra ``vindibot[tune]``, which ``vindibot tune`` and ``vindibot learn imitate`` need."""

from __future__ import annotations

from importlib.util import find_spec

from vindibot.base.errors import UsageError

#: The packages of the extra.
PACKAGES = ("cmaes", "optuna", "scipy")


def require_extra() -> None:
    """Raise `UsageError` with the command that installs the missing packages, if any package of the extra is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        more = "python -m pip install 'vindibot[tune]', or '.[tune]' in a checkout"
        raise UsageError(f"this command needs more packages ({', '.join(missing)}): {more}")
