"""What the system grants: the limit of memory, the quota of control groups."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from vindibot.base.system import cpu_quota


@pytest.mark.parametrize(("hard", "limit"), [(resource.RLIM_INFINITY, 1 << 31), (1 << 32, 1 << 31), (1 << 30, 1 << 30)])
def test_memory_is_limited_within_the_limit_of_the_system(hard: int, limit: int) -> None:
    code = (
        "from resource import *; from vindibot.base.system import limit_memory\n"
        f"setrlimit(RLIMIT_AS, ({hard}, {hard})); limit_memory(1 << 31); print(getrlimit(RLIMIT_AS))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == f"{(limit, limit)}\n"


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("1:memory:/y\n0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "200000 100000\n"}, 2.0),
        ("0::/a/b\n", {"a/b/cpu.max": "50000 100000\n", "a/cpu.max": "200000 100000\n"}, 0.5),
        ("0::/../x\n", {"cpu.max": "100000 100000\n"}, 1.0),
        ("0::/\n", {"cpu.max": "max 100000\n"}, None),
        (None, {}, None),
    ],
)
def test_the_smallest_quota_counts(groups: str | None, files: dict[str, str], quota: float | None, tmp_path: Path) -> None:
    contents = {f"sys/fs/cgroup/{name}": text for name, text in files.items()} | ({"proc/self/cgroup": groups} if groups else {})
    for name, text in contents.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu_quota(tmp_path) == quota
