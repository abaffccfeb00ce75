"""Count lines of code: no blank lines, comments or docstrings. ``python -m tests.lines`` prints a table by folder."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path

from tests.support.paths import TOP

FOLDERS = ("sim", "behaviours", "vindibot", "tests")
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


def counted(top: Path = TOP) -> Counter[str]:
    """Return the lines of code by folder: ``sim``, ``behaviours/search``, ``vindibot/engine`` ..."""
    found: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in sorted((top / folder).rglob("*.py")):
            inner = path.relative_to(top / folder).parts
            found[f"{folder}/{inner[0]}" if len(inner) > 1 else folder] += lines_of_code(path.read_text())
    return found


def main() -> None:
    """Print the table, and the sum of what is installed."""
    found = counted(Path(sys.argv[1]) if len(sys.argv) > 1 else TOP)
    for folder, number in sorted(found.items()):
        print(f"{folder:24}{number:8,}")
    installed = sum(number for folder, number in found.items() if not folder.startswith("tests"))
    print(f"{'without tests':24}{installed:8,}\n{'in all':24}{found.total():8,}")


if __name__ == "__main__":
    main()
