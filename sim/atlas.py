"""Our own maps. Each is drawn as its upper left quarter and mirrored to the right and downwards."""

from __future__ import annotations

_QUARTERS = {
    "courtyard": """
        ##  $-[]  
          @1      
        $-        
                ##
              ##  
    """,
}


def _whole(quarter: str) -> str:
    """The text of the map with this upper left quarter; ``@1`` in it becomes the four heroes."""
    lines = quarter.strip("\n").splitlines()[:-1]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    half = [[line[indent:].ljust(2 * len(lines))[2 * column : 2 * column + 2] for column in range(len(lines))] for line in lines]
    rows = []
    for row, pairs in enumerate([*half, *reversed(half)]):
        left, right = ("@1", "@4") if row < len(half) else ("@2", "@3")
        rows.append("".join([pair.replace("@1", left) for pair in pairs]))
        rows[-1] += "".join([pair.replace("@1", right) for pair in reversed(pairs)])
    return "\n".join(rows) + "\n"


ATLAS: dict[str, str] = {name: _whole(quarter) for name, quarter in _QUARTERS.items()}
