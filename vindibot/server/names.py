"""Names of bots: a check that says whether a server accepts a name."""

from __future__ import annotations

from vindibot.base import unseen_character

SHORTEST_NAME, LONGEST_NAME = 3, 20


def name_problem(name: str, shortest: int = SHORTEST_NAME) -> str | None:
    """Return a message that says why the name of a bot is not valid, None if it is valid.

    `shortest` is the smallest number of characters. The messages about the length are those of the original server.
    """
    if len(name) < shortest:
        return "Name is too short"
    if len(name) > LONGEST_NAME:
        return "Name is too long"
    unseen = unseen_character(name)
    if unseen is not None:
        return f"Name has an invisible character: {unseen}"
    if name != name.strip():
        return "Name begins or ends with a space"
    return None
