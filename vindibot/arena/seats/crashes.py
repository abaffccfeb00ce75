"""Finds out from a program's output why the program crashed.

Java, .NET, Node, Go, Rust and C++ print the reason first and then the stack. Python prints the stack first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

#: Largest number of characters of a reason. The rest is cut off.
REASON_LENGTH = 200
#: Largest number of ordinary lines after the error that ended the program. `AFTER_STACK` is for an error with a stack,
#: `AFTER_LINE` for a line that is only marked as an error. If more lines follow, the program has survived the error.
AFTER_STACK, AFTER_LINE = 10, 4

_TRACEBACK = re.compile(r"\s*(?:\+ )?(?:Exception Group )?Traceback \(most recent call last\):$")
#: The first line that the runtime of a language prints for an uncaught error.
_UNCAUGHT = re.compile(
    r"""Exception\ in\ thread\ "|unhandled\ exception[.:]|thread\ '.*panicked\ at\ |panic:\ |terminate\ called\ after\ |
    libc\+\+abi:\ |(?:\w+\ )?fatal\ (?:\w+\ )?error:|\#\ A\ fatal\ error\ has\ been\ detected|==\d+==\ ?ERROR:|
    .*Assertion\ .*\ failed\.$|\S+:\d+:in\ .*\ \([A-Z]\w*(?:::\w+)*\)$""",
    re.VERBOSE | re.IGNORECASE,
)
#: A line that begins with the name of an exception, and a line that a compiler or a program marks as an error.
_NAMED = re.compile(r"(?:[\w$]+(?:\.|::))*[A-Z]\w*(?:Error|Exception|Interrupt|Rejection)\b|Error\b")
_MARKED = re.compile(r"(?:\S+:\d+: )?(?:fatal )?error(?:\[\w+\])?: ", re.IGNORECASE)
#: A line of a stack.
_FRAME = re.compile(r"\s+(?:at |from |in |\.\.\. )|Caused by: ")
#: Lines near an error that are part of its report but do not give the reason. Empty and indented lines are among them.
_AROUND = re.compile(
    r"""$|\s|Caused\ by:\ |goroutine\ \d|created\ by\ |exit\ status\ \d|\S+\(.*\)$|note:\ |stack\ backtrace:|
    stack\ trace|Node\.js\ v\d|\(Use\ `node|Require\ stack:|-\ /|[\]})]+;?$|\#""",
    re.VERBOSE | re.IGNORECASE,
)
#: The last lines that Node prints after an error without a stack.
_NODE = re.compile(r"Node\.js v\d|\(Use `node")


def reason(output: str) -> str:
    """Return the line of a program's output that explains best why the program ended, cut to `REASON_LENGTH` characters.

    The result is the first of these lines that exists:

    - the line of an error with a stack near the end of the output
    - the first line near the end that is marked as an error
    - the last line that is not empty

    If the program wrote nothing, the result is empty. Of several uncaught errors in a row, the first one counts. Of several
    tracebacks of Python, the last one counts. If many ordinary lines follow an error, the program has survived it. Then this
    error is ignored.
    """
    lines = output.splitlines()
    found = _with_stack(lines)
    if found is None:
        found = next(
            (index for index in _near(lines, AFTER_LINE) if _NAMED.match(lines[index]) or _MARKED.match(lines[index])), None
        )
    if found is not None:
        return _message(lines, found)[:REASON_LENGTH]
    others = [line.strip() for line in lines if line.strip() and not _NODE.match(line)]
    return others[-1][:REASON_LENGTH] if others else ""


def _near(lines: Sequence[str], most: int) -> range:
    """Return the indices of the longest part at the end of the output that has at most `most` ordinary lines.

    A line is ordinary if it does not belong to the report of an error.
    """
    first = len(lines)
    for index in range(len(lines) - 1, -1, -1):
        most -= not (_AROUND.match(lines[index]) or _is_error(lines, index))
        if most < 0:
            break
        first = index
    return range(first, len(lines))


def _is_error(lines: Sequence[str], index: int) -> bool:
    """Return whether an uncaught error, an error with a stack, or a traceback begins at this line."""
    line, following = lines[index], "".join(lines[index + 1 : index + 2])
    uncaught = _UNCAUGHT.match(line) or _TRACEBACK.match(line)
    return uncaught is not None or bool(_NAMED.match(line) and _FRAME.match(following))


def _with_stack(lines: Sequence[str]) -> int | None:
    """Return the index of the line with the reason for the last error with a stack. None if no such error is near the end."""
    found = None
    for index in reversed(_near(lines, AFTER_STACK)):
        if _is_error(lines, index):
            if _TRACEBACK.match(lines[index]):
                return _after_traceback(lines, index) if found is None else found
            found = index
        elif found is not None and not _AROUND.match(lines[index]) and not _is_message(lines, index):
            break
    return found


def _is_message(lines: Sequence[str], index: int) -> bool:
    """Return whether this line is the message of the uncaught error that the line before it begins."""
    return index > 0 and lines[index - 1].endswith(":") and _UNCAUGHT.match(lines[index - 1]) is not None


def _after_traceback(lines: Sequence[str], start: int) -> int | None:
    """Return the index of the exception below a traceback of Python: the first line that is indented less than the stack."""
    margin = re.compile(r"\s*\| (?=\S)" if "Group" in lines[start] else r"(?=\S)")
    return next((index for index in range(start + 1, len(lines)) if margin.match(lines[index])), None)


def _message(lines: Sequence[str], index: int) -> str:
    """Return the text of the error at line `index`. If the next line has the message of this error, the text includes it."""
    line = lines[index].strip(" |#")
    following = next((found for found in islice(lines, index + 1, None) if found.strip(" #")), "")
    if line.endswith(":") or following.startswith("  what():"):
        line = f"{line} {following.strip(' #')}"
    return " ".join(line.split())
