"""Text that did not come from us, made safe for a terminal.

Names, answers and error texts of opponents, servers, programs and traits may hold escape sequences, which a terminal obeys,
or characters that reverse or hide what stands beside them.
"""

from __future__ import annotations


def printable(text: str) -> str:
    r"""`text` as one line that holds nothing but visible characters and spaces: any other character becomes its escape.

    Escaped are line breaks, control characters (C0, C1, DEL), formatting characters (bidirectional controls, zero-width
    characters), lone surrogates, and code points without a meaning: ``\n``, ``\x1b``, ``\u202e``.
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


def printable_lines(text: str) -> str:
    """As `printable`, but line breaks and tabs stay: for messages of ours that have several lines."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def counted(number: int, what: str) -> str:
    """A number with its noun, which has an ``s`` unless the number is 1: ``1 block``, ``2 blocks``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
