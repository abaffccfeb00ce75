"""The line to one server for one game: the requests of the protocol, each sent once, and the replies judged.

What to do after a fault is decided elsewhere (`vindibot.client.game_client`); nothing here waits, repeats or raises because of
what the server or the network does.
"""

from __future__ import annotations

import statistics
import time

import structlog
from pydantic import SecretStr

from sim.game import DIRECTIONS
from vindibot.base import Redactor, ServerAddress, add_secret
from vindibot.client.replies import Meaning, Verdict, judge
from vindibot.client.transport import Reply, Transport, TransportError, Within, look_up
from vindibot.games import Answer

#: Idle requests by which the network is measured before joining, and what each may take, in seconds.
IDLE_REQUESTS = 3
IDLE_WITHIN = Within(connect=2.0, head=3.0, body=2.0)

_log = structlog.get_logger("vindibot.client.game_client")


class GameApi:
    """One server, one key, one game. The key goes to the joining request only, the token to orders only, both to the
    configured origin only.

    `time_limit` is the server's, in seconds, where it states one (else None). `understands_turn` tells whether it is a
    server that lets an order name its turn. `network_seconds` is what the network takes for a request and its answer.
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
        """The median of some idle requests, and not less than the fastest connection took; 0 while nothing is known."""
        return max(self._idle_seconds or 0.0, self._transport.connect_seconds or 0.0)

    async def aclose(self) -> None:
        """Close the connection."""
        await self._transport.aclose()

    async def reach(self) -> None:
        """Find the server, and measure the network on the first call that succeeds. Raises `TransportError` where there is
        no connection; a server that merely does not answer an idle request is found."""
        await look_up(self.address)
        if self._idle_seconds is not None:
            return
        times: list[float] = []
        for _ in range(IDLE_REQUESTS):
            try:
                times.append(await self._idle())
            except TransportError:
                if not times and self._transport.connect_seconds is None:
                    raise
                break
        if times:
            self._idle_seconds = statistics.median(times)
            _log.debug("measured the network", requests=len(times), milliseconds=round(1000 * self.network_seconds, 2))

    async def _idle(self) -> float:
        before = time.monotonic()
        reply = await self._transport.get(self.address.url("/"), IDLE_WITHIN)
        return reply.head_at - before

    async def join(self, mode: str, turns: int | None, map_text: str | None, within: Within) -> Verdict:
        """Ask for a game; the reply comes when it is our turn for the first time."""
        form = {"key": self._key.get_secret_value()}
        if turns is not None:
            form["turns"] = str(turns)
        if map_text is not None:
            form["map"] = map_text
        return await self._post(self.address.url(f"/api/{mode}"), form, within)

    async def move(self, direction: int, turn: int | None, within: Within) -> Verdict:
        """Send an order; the reply comes on our next turn. `turn`, the turn the order is for, is left out for servers that
        do not know about it."""
        form = {"dir": DIRECTIONS[direction]}
        if turn is not None and self.understands_turn:
            form["turn"] = str(turn)
        return await self._post(self._play_url, form, within)

    async def _post(self, url: str, form: dict[str, str], within: Within) -> Verdict:
        try:
            reply: Reply = await self._transport.post(url, form, within)
        except TransportError as fault:
            return Verdict(Meaning.REFUSED if fault.final else Meaning.LOST, fault.message, sent=fault.sent)
        verdict = judge(reply, self.redact)
        if verdict.answer is None:
            return verdict
        if verdict.limit is not None:
            self.time_limit, self.understands_turn = verdict.limit, True
        return self._follow(verdict, verdict.answer)

    def _follow(self, verdict: Verdict, answer: Answer) -> Verdict:
        """Learn where the next order goes."""
        self.redact.add(answer.token, token=True)
        add_secret(answer.token, token=True)
        try:
            url = self.address.play_url(answer.play_url)
        except ValueError as error:
            return Verdict(Meaning.MALFORMED, f"playUrl: {error}", status=verdict.status)
        if not self._play_url and not self.address.owns(answer.play_url):
            _log.warning("the server calls itself by another address; orders go to the one given", address=str(self.address))
        self._play_url = url
        return verdict
