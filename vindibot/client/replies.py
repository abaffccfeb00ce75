"""The meaning of a server's reply to a player: a state of the game, a refusal, or a fault.

A refusal is recognised by words of the original server's texts (such as ``Vindinium - Time out! You must play faster``). Upper
and lower case make no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from enum import Enum

from vindibot.base.text import Redactor
from vindibot.client.transport import Reply, TransportError
from vindibot.games.protocol import LIMIT_HEADER, Answer, ProtocolError, UnreadableError, read_answer

#: HTTP statuses below 500 of a server or proxy that is overloaded or starting. A repeat of the request may succeed.
_BUSY = frozenset({408, 425, 429})
#: Statuses of permanent faults of a server. With any other status from 500 on, such as 521 of a proxy that does not reach the
#: server, a repeat may succeed.
_PERMANENT = frozenset({501, 505, 511})


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
