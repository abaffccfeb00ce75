"""The quota of processor time that the operating system grants to this process (Linux: control groups, which containers use)."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the smallest quota of the control groups of this process, in cores: 1.5 for one and a half. None for no quota.

    Both versions of control groups count. `root` is the folder that contains ``proc`` and ``sys``.
    """
    with suppress(OSError, ValueError):
        found: list[float] = []
        for line in (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            found += _quotas(root / "sys/fs/cgroup", controllers, group)
        return min(found, default=None)
    return None


def _quotas(mounted: Path, controllers: str, group: str) -> list[float]:
    """Return the quotas of a group and of all groups that contain it.

    `controllers` is empty for version 2. In a container the files of the group itself are often in the top folder, so this
    folder is always read.
    """
    tops = [mounted, mounted / "unified"]
    if controllers:
        tops = [mounted / name for name in (controllers, "cpu")] if "cpu" in controllers.split(",") else []
    parts = Path(group.strip("/")).parts
    folders = [top.joinpath(*parts[:count]) for top in tops for count in range(len(parts) + 1) if ".." not in parts[:count]]
    return [quota for folder in dict.fromkeys(folders) if (quota := _quota(folder)) is not None]


def _quota(folder: Path) -> float | None:
    """Return the quota of one group in cores, None if it has no quota."""
    for names in (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us")):
        with suppress(OSError, ValueError):
            allowed, period = " ".join((folder / name).read_text(encoding="utf-8") for name in names).split()
            if int(allowed) > 0 and int(period) > 0:
                return int(allowed) / int(period)
    return None
