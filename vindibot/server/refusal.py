"""Refusals: answers to requests that the server refuses. For the game's API, the texts are those of the original server."""

from __future__ import annotations

import math


class Refusal(Exception):  # noqa: N818 - an answer, not an error of the server
    """An answer in plain text with a status of 4xx or 5xx.

    `retry_after` is the number of seconds after which the client may try again, None if waiting does not help.
    """

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))


def game_error(message: str, status: int = 400) -> Refusal:
    """Return a refusal whose text begins with ``Vindinium - ``, as clients expect."""
    return Refusal(status, f"Vindinium - {message}")


def closing_refusal() -> Refusal:
    """Return the refusal that every request gets while the server is closing."""
    return game_error("The server is closing", 503)
