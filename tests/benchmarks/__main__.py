"""``python -m tests.benchmarks [--small] [PART ...]``"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tests.benchmarks import SMALL, Missing


def main(words: list[str]) -> int:
    """Measure the named parts, or all parts, and print one table.

    Return 2 if a part does not exist, 1 if something is missing that a part needs.
    """
    names = [word for word in words if word != "--small"]
    if len(names) < len(words):
        os.environ[SMALL] = "1"
    parts = sorted({module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])} - {"__main__"})
    unknown = sorted(set(names) - set(parts))
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}", file=sys.stderr)
        return 2
    table = Table("part", "what", "figure", "ratio", "note", title="vindibot benchmarks")
    exit_code = 0
    for part in names or parts:
        try:
            for row in importlib.import_module(f"{__package__}.{part}").rows():
                table.add_row(part, row.name, row.figure, row.ratio, row.note)
        except Missing as missing:
            print(f"{part}: {missing}", file=sys.stderr)
            exit_code = 1
        table.add_section()
    if table.row_count:
        Console(width=120).print(table)
    return exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
