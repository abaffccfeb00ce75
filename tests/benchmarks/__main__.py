"""``python -m tests.benchmarks [PART ...]``"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table


def main(names: list[str]) -> int:
    """Measure the named parts, or all parts, and print one table. Return 2 if a part does not exist."""
    parts = sorted({module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])} - {"__main__"})
    unknown = sorted(set(names) - set(parts))
    if unknown:
        print(f"no such part: {', '.join(unknown)}; there are {', '.join(parts)}", file=sys.stderr)
        return 2
    table = Table("part", "what", "figure", "ratio", "note", title="vindibot benchmarks")
    for part in names or parts:
        module = importlib.import_module(f"{__package__}.{part}")
        if hasattr(module, "rows"):  # other modules are helpers, or print another table
            for row in module.rows():
                table.add_row(part, row.name, row.figure, row.ratio, row.note)
            table.add_section()
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
