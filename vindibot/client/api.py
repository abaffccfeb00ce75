"""The requests of the protocol for one game, and the meaning of the replies.

A refusal is recognised by words of the original server's texts (such as ``Vindinium - Time out! You must play faster``). Upper
and lower case make no difference.

This module sends each request once. It does not wait between requests and does not repeat a request. It does not raise an error
for a fault of the server or the network, but returns a `Verdict`. `vindibot.client.game_client` decides how to go on.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from email.utils import parsedate_to_datetime
from enum import Enum

import structlog
from pydantic import SecretStr

from sim.game import DIRECTIONS
from vindibot.base.address import ServerAddress
from vindibot.base.log import add_secret
from vindibot.base.text import Redactor
from vindibot.client.transport import Reply, Transport, TransportError, Within, look_up
from vindibot.games.protocol import LIMIT_HEADER, Answer, ProtocolError, UnreadableError, read_answer

#: The number of idle requests (``GET /``) that measure the network before the client joins a game, and the time limits of each
#: idle request in seconds.
IDLE_REQUESTS = 3
IDLE_WITHIN = Within(connect=2.0, head=3.0, body=2.0)

#: HTTP statuses below 500 of a server or proxy that is overloaded or starting. A repeat of the request may succeed.
_BUSY = frozenset({408, 425, 429})
#: Statuses of permanent faults of a server. With any other status from 500 on, such as 521 of a proxy that does not reach the
#: server, a repeat may succeed.
_PERMANENT = frozenset({501, 505, 511})

_log = structlog.get_logger("vindibot.client.game_client")


class Meaning(Enum):
    """The meaning of a server's reply to a request of the client."""

    ANSWER = "a state of the game"
    WAIT = "not our turn"
    TIMED_OUT = "our move was late"
    OVER = "the game is finished"
    LEAGUE_OVER = "the league has no more games"
    UNKNOWN = "unknown game or token"
    BUSY = "try again"
    GARBLED = "success, but no JSON"
    MALFORMED = "JSON, but not the protocol's"
    REFUSED = "refused for good"
    LOST = "no reply at all"


@dataclass(frozen=True)
class Verdict:
    """The meaning of a reply, or of a request without a reply.

    - `words`: the server's text as one line without secrets, or a description of the fault.
    - `answer`: the answer with a state of the game, None for any other meaning.
    - `received_at`: the time (of `time.monotonic`) at which the answer was received.
    - `status`: the HTTP status, 0 without a reply.
    - `retry_after`: the seconds that the server asks us to wait, None if not stated.
    - `limit`: the time limit for a move in seconds, None if not stated.
    - `sent`: False if the server has certainly received no part of the request.
    """

    meaning: Meaning
    words: str = ""
    answer: Answer | None = None
    received_at: float = 0.0
    status: int = 0
    retry_after: float | None = None
    limit: float | None = None
    sent: bool = True


def judge(reply: Reply, redact: Redactor) -> Verdict:
    """Return the meaning of a reply. Never raises. The verdict's `words` contain no secret that `redact` knows or recognises."""
    if reply.status == 200:
        return _success(reply, redact)
    words = _words(reply, redact)
    if reply.proxy and reply.status != 400:
        words = f"status {reply.status} through the proxy {reply.proxy}, with the text: {words}"
    if reply.status == 400:
        meaning = _refusal(_words(reply, Redactor()).lower())  # not redacted: a short token may also be a word of the refusal
    elif reply.status == 404:
        meaning = Meaning.UNKNOWN
    elif reply.status in _BUSY or (reply.status >= 500 and reply.status not in _PERMANENT):
        meaning = Meaning.BUSY
    elif 300 <= reply.status < 400:
        meaning = Meaning.REFUSED
        where = redact(reply.headers.get("location", "nowhere"))
        words = f"it redirects to {where!r:.200}, and redirects are not followed with a key"
    else:
        meaning = Meaning.GARBLED if reply.status < 300 else Meaning.REFUSED
    return Verdict(meaning, words, status=reply.status, retry_after=_retry_after(reply))


def fault_verdict(fault: TransportError) -> Verdict:
    """Return the meaning of a request that got no reply because of `fault`."""
    return Verdict(Meaning.REFUSED if fault.final else Meaning.LOST, fault.message, sent=fault.sent)


def _success(reply: Reply, redact: Redactor) -> Verdict:
    try:
        answer = read_answer(reply.body)
    except UnreadableError as error:
        return Verdict(Meaning.GARBLED, f"{redact(error.message)}; it begins {redact.excerpt(reply.body)!r}", status=200)
    except ProtocolError as error:
        return Verdict(Meaning.MALFORMED, redact(error.message), status=200)
    return Verdict(Meaning.ANSWER, answer=answer, received_at=reply.received_at, status=200, limit=_limit(reply))


def _refusal(words: str) -> Meaning:
    if "time out" in words:
        return Meaning.TIMED_OUT
    if "is finished" in words:
        return Meaning.OVER
    if "league is over" in words:
        return Meaning.LEAGUE_OVER
    if "not supposed to play" in words or "not your turn" in words:
        return Meaning.WAIT
    return Meaning.REFUSED


def _words(reply: Reply, redact: Redactor) -> str:
    text = redact.excerpt(reply.body, 300)
    if "html" in reply.headers.get("content-type", "") or text.startswith("<"):
        text = f"an HTML page that begins {text[:80]!r}"
    if not text:
        return f"status {reply.status} without text"
    return f"{text} (status {reply.status})" if reply.status >= 500 else text


def _limit(reply: Reply) -> float | None:
    """Return the time limit for a move in seconds, None if the reply states none."""
    try:
        milliseconds = float(reply.headers.get(LIMIT_HEADER, ""))
    except ValueError:
        return None
    return milliseconds / 1000 if 1 <= milliseconds <= 86_400_000 else None


def _retry_after(reply: Reply) -> float | None:
    """Return the number of seconds that the server asks us to wait, None if it does not ask for a pause.

    If the server states a date, count the seconds from the date of the reply. Our clock may differ from the server's clock.
    """
    stated = reply.headers.get("retry-after", "").strip()
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    try:
        wait = parsedate_to_datetime(stated) - parsedate_to_datetime(reply.headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, wait / timedelta(seconds=1))


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
        self.redact.add(answer.token)
        try:
            url = self.address.own_url(answer.play_url)
        except ValueError as error:
            return Verdict(Meaning.MALFORMED, f"playUrl: {error}", status=verdict.status)
        if not self._play_url and not self.address.owns(answer.play_url):
            _log.warning("the server names another address; moves go to the configured one", address=str(self.address))
        self._play_url = url
        return replace(verdict, answer=answer.masked(self.redact))
