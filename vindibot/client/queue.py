"""What the server says about an arena game that has not begun: the number of missing clients, and the page of our bot.

Only servers of vindibot answer this question (``POST /api/waiting``). It has a connection of its own, so it neither delays the
request for a game nor counts as a measurement of the network.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import SecretStr

from sim.game import SEATS
from vindibot.base.address import ServerAddress
from vindibot.base.text import Redactor, decode_json
from vindibot.client.transport import Transport, TransportError, Within

#: Seconds from the request for a game to the first question, and from an answer to the next question.
FIRST_PAUSE, PAUSE = 0.5, 2.0
#: Largest number of characters of what we wait for.
LONGEST = 200
#: The time limits of a question in seconds.
WITHIN = Within(connect=5.0, head=5.0, body=5.0)


@dataclass(frozen=True)
class GameQueue:
    """The answer to a question. `missing` is the number of missing clients, None if the server does not know it.

    `page` is the URL of the page with our bot's games, "" if the server names none. `waits_for` says in words what our bot waits
    for in a league, "" outside leagues.
    """

    missing: int | None = None
    page: str = ""
    waits_for: str = ""


class QueueWatch:
    """Asks the server about our game again and again."""

    def __init__(self, address: ServerAddress, key: SecretStr, redact: Redactor) -> None:
        self._address, self._key, self._redact = address, key, redact
        self._answers = True
        self._last: GameQueue | None = None

    async def run(self, report: Callable[[GameQueue], None]) -> None:
        """Ask until a request fails. Call `report` for each answer that differs from the answer before, also in earlier calls.

        After a request that failed, `report` gets an empty `GameQueue`, and later calls ask nothing. An empty answer of the
        server is not reported, because the server does not know our bot yet.
        """
        transport = Transport(self._address, self._redact)
        try:
            await asyncio.sleep(FIRST_PAUSE)
            while self._answers:
                queue = await self._ask(transport)
                if queue is None:
                    self._answers = False
                    report(GameQueue())
                elif queue not in (self._last, GameQueue()):
                    self._last = queue
                    report(queue)
                await asyncio.sleep(PAUSE)
        finally:
            await transport.aclose()

    async def _ask(self, transport: Transport) -> GameQueue | None:
        """Return the server's answer, None if it has no such answer."""
        try:
            reply = await transport.post(self._address.url("/api/waiting"), {"key": self._key.get_secret_value()}, WITHIN)
            answer = decode_json(reply.body) if reply.status == 200 else None
        except (TransportError, ValueError):
            return None
        if not isinstance(answer, dict) or "missing" not in answer:
            return None
        missing, page, words = answer["missing"], answer.get("botUrl"), answer.get("waitingFor")
        known = type(missing) is int and 0 <= missing < SEATS
        try:
            url = self._redact(self._address.own_url(page)) if isinstance(page, str) else ""
        except ValueError:
            url = ""
        waits_for = self._redact.excerpt(words.encode(errors="replace"), LONGEST) if isinstance(words, str) else ""
        return GameQueue(missing if known else None, url, waits_for)
