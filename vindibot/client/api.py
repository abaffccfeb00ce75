"""The requests of the protocol for one game, and the meaning of the replies.

This module sends each request once. It does not wait between requests and does not repeat a request. It does not raise an error
for a fault of the server or the network, but returns a `Verdict`. `vindibot.client.game_client` decides how to go on.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import structlog
from pydantic import SecretStr

from sim.game import DIRECTIONS
from vindibot.base.address import ServerAddress
from vindibot.base.log import add_secret
from vindibot.base.text import Redactor, token_of
from vindibot.client.replies import Meaning, Verdict, fault_verdict, judge
from vindibot.client.transport import Transport, TransportError, Within, look_up
from vindibot.games.protocol import Answer

#: The number of idle requests (``GET /``) that measure the network before the client joins a game, and the time limits of each
#: idle request in seconds.
IDLE_REQUESTS = 3
IDLE_WITHIN = Within(connect=2.0, head=3.0, body=2.0)

_log = structlog.get_logger("vindibot.client.game_client")


class GameApi:
    """The requests of one game on one server with one key.

    The key is sent only with the joining request, and the token only with moves. Key and token are sent only to the configured
    server. `time_limit` is the server's time limit for a move in seconds, None if the server states none. `understands_turn` is
    True if the server accepts the turn number in a move request.
    """

    def __init__(self, address: ServerAddress, key: SecretStr) -> None:
        self.address = address
        self.redact = Redactor(key.get_secret_value())
        add_secret(key)
        self.time_limit: float | None = None
        self.understands_turn = False
        self._key = key
        self._transport = Transport(address, self.redact)
        self._play_url = ""
        self._idle_seconds: float | None = None

    @property
    def network_seconds(self) -> float:
        """The network time of a request and its reply in seconds, 0 before a measurement.

        It is the median time of the idle requests (``GET /``), but at least the time that the fastest connection took to open.
        """
        return max(self._idle_seconds or 0.0, self._transport.connect_seconds or 0.0)

    async def aclose(self) -> None:
        """Close the connection to the server."""
        await self._transport.aclose()

    async def reach(self) -> None:
        """Look up the server's host name. The first call that succeeds also measures the network.

        Raises `TransportError` if no connection is possible. The method does not raise an error if the server accepts connections
        but does not answer the idle requests (``GET /``).
        """
        await look_up(self.address)
        if self._idle_seconds is not None:
            return
        times: list[float] = []
        for _ in range(IDLE_REQUESTS):
            before = time.monotonic()
            try:
                reply = await self._transport.get(self.address.url("/"), IDLE_WITHIN)
                times.append(reply.head_at - before)
            except TransportError:
                if not times and self._transport.connect_seconds is None:
                    raise
                break
        if times:
            self._idle_seconds = statistics.median(times)
            _log.debug("measured the network", requests=len(times), milliseconds=round(1000 * self.network_seconds, 2))

    async def join(self, mode: str, turns: int | None, map_text: str | None, within: Within) -> Verdict:
        """Ask for a game, and return the meaning of the reply, which comes on our first turn.

        `mode` is "training" or "arena". `turns` is the length of the game in rounds, `map_text` the name or text of a map. If
        `turns` or `map_text` is None, the server chooses it.
        """
        form = {"key": self._key.get_secret_value()}
        if turns is not None:
            form["turns"] = str(turns)
        if map_text is not None:
            form["map"] = map_text
        return await self._post(self.address.url(f"/api/{mode}"), form, within)

    async def move(self, direction: int, turn: int | None, within: Within) -> Verdict:
        """Send a move (0..4), and return the meaning of the reply, which comes on our next turn.

        `turn` is the protocol's turn of the state that the move answers. The request has this number only if the server
        understands it.
        """
        form = {"dir": DIRECTIONS[direction]}
        if turn is not None and self.understands_turn:
            form["turn"] = str(turn)
        return await self._post(self._play_url, form, within)

    async def _post(self, url: str, form: dict[str, str], within: Within) -> Verdict:
        try:
            reply = await self._transport.post(url, form, within)
        except TransportError as fault:
            return fault_verdict(fault)
        verdict = judge(reply, self.redact)
        if verdict.answer is None:
            return verdict
        if verdict.limit is not None:
            self.time_limit, self.understands_turn = verdict.limit, True
        return self._follow(verdict, verdict.answer)

    def _follow(self, verdict: Verdict, answer: Answer) -> Verdict:
        """Store the token and the URL for moves of an answer. Return `verdict`, or a fault if the URL is wrong.

        The state in the returned verdict contains neither the key nor a token, wherever the server has put them.
        """
        for token in (answer.token, token_of(answer.play_url)):
            self.redact.add(token, token=True)
            add_secret(token, token=True)
        try:
            url = self.address.own_url(answer.play_url)
        except ValueError as error:
            return Verdict(Meaning.MALFORMED, f"playUrl: {error}", status=verdict.status)
        if not self._play_url and not self.address.owns(answer.play_url):
            _log.warning("the server names another address; moves go to the configured one", address=str(self.address))
        self._play_url = url
        return replace(verdict, answer=answer.masked(self.redact))
