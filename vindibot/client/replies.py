"""What a server's reply to a player means: a state of the game, or which of the protocol's refusals.

The texts are those of the original server (``Vindinium - Time out! You must play faster``); only their telling parts are
looked for, in any case.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from email.utils import parsedate_to_datetime
from enum import Enum

from vindibot.base import Redactor
from vindibot.client.transport import Reply
from vindibot.games import LIMIT_HEADER, Answer, ProtocolError, UnreadableError, read_answer

#: Statuses that a repeat may cure: the server, or something before it, is overloaded or starting.
_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})


class Meaning(Enum):
    """What a reply says."""

    ANSWER = "a state of the game"
    WAIT = "not our turn"
    TIMED_OUT = "our move was late"
    OVER = "the game is finished"
    UNKNOWN = "unknown game or token"
    BUSY = "try again"
    GARBLED = "success, but nothing readable"
    MALFORMED = "JSON, but not the protocol's"
    REFUSED = "refused for good"
    LOST = "no reply at all"


@dataclass(frozen=True)
class Verdict:
    """A reply, judged. `words` are the server's own (one line, without secrets) or what was wrong; `status` is 0 for no reply;
    `retry_after` the seconds that the server asked to wait, `limit` the time limit of a move in seconds, where stated; `sent`
    is False where it is certain that the server has not seen the request."""

    meaning: Meaning
    words: str = ""
    answer: Answer | None = None
    received_at: float = 0.0
    status: int = 0
    retry_after: float | None = None
    limit: float | None = None
    sent: bool = True


def judge(reply: Reply, redact: Redactor) -> Verdict:
    """What `reply` means. Never raises; the words hold no secret that `redact` knows or recognises."""
    if reply.status == 200:
        return _success(reply, redact)
    words = _words(reply, redact)
    if reply.status == 400:
        meaning = _refusal(_words(reply, Redactor()).lower())  # as sent: a token may be a word of a refusal
    elif reply.status == 404:
        meaning = Meaning.UNKNOWN
    elif reply.status in _BUSY:
        meaning = Meaning.BUSY
    elif 300 <= reply.status < 400:
        meaning = Meaning.REFUSED
        where = redact(reply.headers.get("location", "nowhere"))
        words = f"it redirects to {where!r:.200}, and redirects are not followed with a key"
    else:
        meaning = Meaning.GARBLED if reply.status < 300 else Meaning.REFUSED
    return Verdict(meaning, words, status=reply.status, retry_after=_retry_after(reply))


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
    if "not supposed to play" in words or "not your turn" in words:
        return Meaning.WAIT
    return Meaning.REFUSED


def _words(reply: Reply, redact: Redactor) -> str:
    said = redact.excerpt(reply.body, 300)
    if "html" in reply.headers.get("content-type", "") or said.startswith("<"):
        said = f"an HTML page that begins {said[:80]!r}"
    return said or f"status {reply.status} without a word"


def _limit(reply: Reply) -> float | None:
    """The time limit of a move in seconds, where the server states it."""
    try:
        milliseconds = float(reply.headers.get(LIMIT_HEADER, ""))
    except ValueError:
        return None
    return milliseconds / 1000 if 1 <= milliseconds <= 86_400_000 else None


def _retry_after(reply: Reply) -> float | None:
    """Seconds to wait: a number, or a date, which is compared with the date of the reply and not with our own clock."""
    stated = reply.headers.get("retry-after", "").strip()
    if stated.isascii() and stated.isdigit():
        return float(stated[:9])
    try:
        wait = parsedate_to_datetime(stated) - parsedate_to_datetime(reply.headers.get("date", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, wait / timedelta(seconds=1))
