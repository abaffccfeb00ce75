"""Print the share of lines that the tests have reached, per room. Run ``pytest --cov --cov-report=``, then this program.

Kernels and child processes are not measured.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from coverage import Coverage

TOP = Path(__file__).resolve().parents[2]


def main() -> None:
    """Read the file that `COVERAGE_FILE` names (default: ``.coverage``). Print a line per room and a line for all rooms."""
    coverage = Coverage()
    coverage.load()
    lines, missed = Counter[str](), Counter[str]()
    for file in (name for name in coverage.get_data().measured_files() if name.endswith(".py")):
        folders = Path(file).relative_to(TOP).parent.parts
        _, statements, _, missing, _ = coverage.analysis2(file)
        for row in ("/".join(folders[:2]), "all"):
            lines[row] += len(statements)
            missed[row] += len(missing)
    for row in [*sorted(set(lines) - {"all"}), "all"]:
        share = 1 - missed[row] / lines[row] if lines[row] else 1
        print(f"{row:22} {lines[row]:6} lines {share:7.1%}")


if __name__ == "__main__":
    main()
