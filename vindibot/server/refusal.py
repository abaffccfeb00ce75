"""Refusals: what a client is told when the server does not do what it asks. The texts are the original server's."""

from __future__ import annotations

import math


class Refusal(Exception):  # noqa: N818 - an answer, not an error of the server
    """An answer in plain text with a status of 4xx or 5xx; `retry_after` is a number of seconds, where waiting helps."""

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))


def game_error(message: str, status: int = 400) -> Refusal:
    """A refusal in the form in which clients look for it."""
    return Refusal(status, f"Vindinium - {message}")
