"""Count lines of code: no blank lines, and in Python no comments or docstrings.

``python -m tests.lines`` prints a table by folder, with rows for what is no Python, and the number of required packages.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
import tomllib
from collections import Counter
from pathlib import Path

from tests.support.paths import TOP

FOLDERS = ("sim", "behaviours", "vindibot", "tests")
#: Rows for files of the three packages that are no Python.
KINDS = {".js": "JavaScript", ".css": "styles", ".html": "templates", ".svg": "templates"}
#: Folders in which all files with these suffixes count.
OTHERS, SUFFIXES = ("examples", "config", ".ci"), {".py", ".java", ".sh", ".toml", ".yml", ".ini", ".ipynb", "", *KINDS}
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_WITH_DOCSTRING = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def lines_of_code(source: str) -> int:
    """Return the number of lines that hold code. A text over several lines that is no docstring counts with all its lines."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            lines.difference_update(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return len(lines)


def lines_of(path: Path) -> int:
    """Return the number of lines of code of a Python file, of lines that are not blank of another file."""
    return (
        lines_of_code(path.read_text()) if path.suffix == ".py" else sum(map(bool, map(str.strip, path.read_text().splitlines())))
    )


def counted(top: Path = TOP) -> Counter[str]:
    """Return the lines by row: ``sim``, ``behaviours/search``, ``vindibot/engine``, ``JavaScript``, ``config`` ..."""
    found: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in (top / folder).rglob("*"):
            inner = path.relative_to(top / folder).parts
            if path.suffix == ".py":
                found[f"{folder}/{inner[0]}" if len(inner) > 1 else folder] += lines_of(path)
            elif path.suffix in KINDS and folder != "tests":
                found[KINDS[path.suffix]] += lines_of(path)
    for folder in OTHERS:
        found[folder] = sum(lines_of(path) for path in (top / folder).rglob("*") if path.is_file() and path.suffix in SUFFIXES)
    return found


def main() -> None:
    """Print the table, the sum of the three packages, the sum of everything, and the number of required packages."""
    top = Path(sys.argv[1]) if len(sys.argv) > 1 else TOP
    found = counted(top)
    for row, number in sorted(found.items()):
        print(f"{row:24}{number:8,}")
    installed = sum(number for row, number in found.items() if row.partition("/")[0] in FOLDERS[:-1])
    required = tomllib.loads((top / "pyproject.toml").read_text())["project"]["dependencies"]
    print(f"{'without tests':24}{installed:8,}\n{'in all':24}{found.total():8,}\n{'required packages':24}{len(required):8,}")


if __name__ == "__main__":
    main()
