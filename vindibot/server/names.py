"""Names of bots: what a server accepts, wherever a name comes from."""

from __future__ import annotations

SHORTEST_NAME, LONGEST_NAME = 3, 20

#: Characters that Unicode calls letters, marks or symbols, and that nobody can see.
_BLANK_LETTERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)


def unseen_character(name: str) -> str | None:
    """The first character that cannot be seen or that changes the direction of the text, as ``U+202E``; None if there is none.

    These are control characters, format characters (direction, zero width), blanks other than the space, halves of surrogate
    pairs, unassigned ones, and letters without a shape.
    """
    found = next((sign for sign in name if not sign.isprintable() or sign in _BLANK_LETTERS), None)
    return None if found is None else f"U+{ord(found):04X}"


def name_problem(name: str, shortest: int = SHORTEST_NAME) -> str | None:
    """What is wrong with the name of a bot, None if it is fine. The first two messages are the original server's."""
    if len(name) < shortest:
        return "Name is too short"
    if len(name) > LONGEST_NAME:
        return "Name is too long"
    unseen = unseen_character(name)
    if unseen is not None:
        return f"Name has a character that cannot be seen: {unseen}"
    if name != name.strip():
        return "Name begins or ends with a blank"
    return None
