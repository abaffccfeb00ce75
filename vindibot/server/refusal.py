"""Refusals: answers to requests that the server refuses. For the game's API, the texts are those of the original server."""

from __future__ import annotations

import math

from starlette.responses import PlainTextResponse

from vindibot.games.protocol import LIMIT_HEADER
from vindibot.server.settings import ServerSettings


class Refusal(Exception):  # noqa: N818 - an answer, not an error of the server
    """An answer in plain text with a status of 4xx or 5xx.

    `retry_after` is the number of seconds after which the client may try again, None if waiting does not help.
    """

    def __init__(self, status: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))

    def response(self, path: str, settings: ServerSettings) -> PlainTextResponse:
        """Return the answer to a request for `path`."""
        headers = {LIMIT_HEADER: str(settings.time_limit_ms)} if path.startswith("/api/") else {}
        if self.status == 429:
            headers["Connection"] = "close"
        retry_after = self.retry_after or (5 if self.status == 503 else None)
        if retry_after is not None:
            headers["Retry-After"] = str(retry_after)
        return PlainTextResponse(self.text, self.status, headers)


def game_error(message: str, status: int = 400) -> Refusal:
    """Return a refusal whose text begins with ``Vindinium - ``, as clients expect."""
    return Refusal(status, f"Vindinium - {message}")


def closing_refusal() -> Refusal:
    """Return the refusal that every request gets while the server is closing."""
    return game_error("The server is closing", 503)
