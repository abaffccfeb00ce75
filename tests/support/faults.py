"""Put one small fault at a time into a room, run the room's tests, and say which faults they find.

``python -m tests.support.faults ROOM... --count 20 --seed 1`` draws places at random: a comparison, an operator, a constant, a
condition, a call that is left out. Each fault goes into a copy of the tree, and the quick tests of the room run there; kernels of
`sim` and `behaviours` run as plain Python. It prints a line per fault, and appends them to the file ``--out``.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[2]
#: Rooms whose kernels run as plain Python.
PLAIN = {"sim", "behaviours"}

COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
               ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
             ast.And: ast.Or, ast.Or: ast.And}  # fmt: skip


def places(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.AST]]:
    """Yield each node that can be replaced, with what replaces it."""
    skipped: set[ast.AST] = set()
    for node in ast.walk(tree):
        for name in ("annotation", "returns", "decorator_list"):
            part = getattr(node, name, None)
            for root in part if isinstance(part, list) else [part]:
                skipped.update(ast.walk(root) if isinstance(root, ast.AST) else ())
    for node in ast.walk(tree):
        if node not in skipped and isinstance(node, ast.expr | ast.stmt):
            changed = replacement(node)
            if changed is not None:
                yield node, changed


def replacement(node: ast.expr | ast.stmt) -> ast.AST | None:
    """Return a fault in place of a node, None if there is none of its kind."""
    match node:
        case ast.Compare(left, [operator], right):
            return ast.Compare(left, [COMPARISONS[type(operator)]()], right)
        case ast.BinOp(left, operator, right) if type(operator) in OPERATORS and not isinstance(
            left, ast.Constant | ast.JoinedStr
        ):
            return ast.BinOp(left, OPERATORS[type(operator)](), right)
        case ast.BoolOp(operator, values):
            return ast.BoolOp(OPERATORS[type(operator)](), values)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            return operand
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(test, orelse, body)
        case ast.Expr(ast.Call()):
            return ast.Pass()
    return None


def faults(room: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Return faults at random places of a room: its file and line, the text there, and the text that replaces it."""
    possible = []
    for path in sorted((TOP / room).rglob("*.py")):
        text = path.read_text()
        for node, changed in places(ast.parse(text)):
            old = ast.get_source_segment(text, node)
            new = ast.unparse(changed)
            possible.append(
                {
                    "room": room,
                    "file": str(path.relative_to(TOP)),
                    "line": node.lineno,
                    "old": old,
                    "new": new if isinstance(changed, ast.Pass | ast.Constant) else f"({new})",
                }
            )
    return random.Random(f"{seed} {room}").sample(possible, min(count, len(possible)))


class Copy:
    """A copy of the tree, into which one fault after the other is put."""

    def __init__(self, folder: Path, room: str) -> None:
        self.folder, self.tests = folder, f"tests/{room.removeprefix('vindibot/')}"
        for part in subprocess.check_output(["git", "ls-files"], cwd=TOP, text=True).split("\n")[:-1]:
            (folder / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(TOP / part, folder / part, follow_symlinks=False)
        plain = {"NUMBA_DISABLE_JIT": "1"} if Path(room).parts[0] in PLAIN else {}
        self.environment = {**os.environ, **plain, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        #: Tests that fail or take too long without a fault.
        self.left_out: list[str] = []
        output = self._run("--timeout", "30")
        self.left_out = [f"--deselect={line.split()[1]}" for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))]

    def try_fault(self, fault: dict[str, Any]) -> dict[str, Any]:
        """Return the fault with the first test that finds it; an empty text if none does."""
        path = self.folder / fault["file"]
        text = path.read_text()
        place = text.find(fault["old"], sum(map(len, text.splitlines(keepends=True)[: fault["line"] - 1])))
        path.write_text(text[:place] + fault["new"] + text[place + len(fault["old"]) :])
        try:
            output = self._run("-x", "--timeout", "120", *self.left_out)
        finally:
            path.write_text(text)
        failed = [line for line in output.splitlines() if line.startswith(("FAILED", "ERROR")) or " Timeout " in line]
        return fault | {"by": failed[0][:160] if failed else ""}

    def _run(self, *options: str) -> str:
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *options, self.tests]
        result = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False, env=self.environment)
        return result.stdout if result.returncode in (0, 1) else f"{result.stdout}\nERROR exit code {result.returncode}"


def main() -> None:
    """Try the faults, print a line for each and the share that was found per room."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+", help="folders: vindibot/env behaviours/search")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("faults.jsonl"))
    options = parser.parse_args()
    for room in options.rooms:
        with tempfile.TemporaryDirectory() as folder:
            copy = Copy(Path(folder), room)
            tried = []
            for fault in faults(room, options.count, options.seed):
                tried.append(copy.try_fault(fault))
                with options.out.open("a") as file:
                    file.write(json.dumps(tried[-1]) + "\n")
                print(
                    f"{fault['file']}:{fault['line']} {fault['old']!r} -> {fault['new']!r}: {tried[-1]['by'] or 'NOT FOUND'}",
                    flush=True,
                )
            print(f"{room}: {sum(bool(fault['by']) for fault in tried)} of {len(tried)} found", flush=True)


if __name__ == "__main__":
    main()
