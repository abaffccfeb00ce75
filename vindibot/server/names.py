"""Names of bots: what a server accepts, wherever a name comes from."""

from __future__ import annotations

from vindibot.base import unseen_character

SHORTEST_NAME, LONGEST_NAME = 3, 20


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
