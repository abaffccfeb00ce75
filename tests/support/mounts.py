"""Read-only folders, for processes of tests. They are mounted in a namespace of the process, so no other process sees them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

_MOUNT = 'for f in "$@"; do [ "$f" = -- ] && break; mount --bind "$f" "$f" && mount -o remount,ro,bind "$f" || exit 99; done'
_RUN = 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"'


def read_only(*folders: Path) -> list[str]:
    """Return the beginning of a command that runs the rest of the command with these folders read-only. Skip the test if this
    system does not allow that."""
    if not _allowed():
        pytest.skip("this system has no user namespaces")
    return [*_namespace(), "sh", "-c", f"{_MOUNT}; {_RUN}", "sh", *map(str, folders), "--"]


def _namespace() -> Sequence[str]:
    return "unshare", "--mount", "--map-root-user"


@cache
def _allowed() -> bool:
    try:
        return subprocess.run([*_namespace(), "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False
