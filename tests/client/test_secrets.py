"""Keys, addresses, and secrets that must not get out."""

from __future__ import annotations

import io
import logging
import traceback
from dataclasses import replace
from pathlib import Path

import pytest
import structlog
from pydantic import SecretStr

from tests.support.clientkit import KEY, Player, ReceivedEvents, play, settings_for
from tests.support.faulty_server import TOKEN, Fault, FaultyServer
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.base.text import MASK, Redactor
from vindibot.client.api import Meaning, judge
from vindibot.client.game_client import ClientSettings, GameClient
from vindibot.client.keys import KEY_VARIABLE, require_key
from vindibot.client.transport import Reply, Transport, TransportError, Within

# ---- Keys ----


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.touch(mode=0o600)
    return file


def test_the_file_comes_before_the_settings(key_file: Path) -> None:
    key_file.write_text("# of my bot\n\n  fromfile \r\n")
    key = SecretStr(" fromconf\n")
    assert require_key(key, key_file).get_secret_value() == "fromfile"
    assert require_key(key, None).get_secret_value() == "fromconf"
    for missing in (None, SecretStr("  ")):
        with pytest.raises(UsageError, match=KEY_VARIABLE):
            require_key(missing, None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("# nothing\n\n", "is empty"),
        ("two s3cret words\n", "has 1 to 256 visible ASCII characters and no blanks"),
        ("s3cret" * 999, "is not a key file: it has more than 4096 bytes"),
        ("s3cretk", "has 7 characters, but a key has 8: copy the whole key"),
        ("s3cretk8" * 9, "has 72 characters, but a key has 8: copy the whole key"),
    ],
)
def test_a_bad_key_is_described_and_not_quoted(content: str, words: str, key_file: Path) -> None:
    key_file.write_text(content)
    with pytest.raises(UsageError, match=words) as caught:
        require_key(None, key_file)
    assert str(key_file) in caught.value.message
    assert "s3cret" not in caught.value.message
    with pytest.raises(UsageError, match="the key ") as caught:
        GameClient(ClientSettings(server="http://localhost:9", key=SecretStr(content)))
    assert "s3cret" not in caught.value.message


def test_a_key_file_readable_by_others_is_reported(key_file: Path) -> None:
    key_file.write_text(KEY)
    for mode, lines in ((0o600, 0), (0o644, 1)):
        key_file.chmod(mode)
        with structlog.testing.capture_logs() as logs:
            assert require_key(None, key_file).get_secret_value() == KEY
        assert len(logs) == lines
        assert KEY not in str(logs)


# ---- Addresses ----


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" HTTP://Example.ORG:80/ ", "http://example.org"),
        ("https://example.org:8443/games/", "https://example.org:8443/games"),
        ("[::1]:9000", "http://[::1]:9000"),
        ("", None),
        ("ftp://host", None),
        ("http://host:port", None),
        ("http://ho st", None),
        ("http://host?x=1", None),
        ("http://user:secret@host", None),
        ("http://[::1", None),
    ],
)
def test_addresses(text: str, shown: str | None) -> None:
    if shown is None:
        with pytest.raises(UsageError) as caught:
            ServerAddress.parse(text)
        assert "secret" not in caught.value.message
    else:
        assert str(ServerAddress.parse(text)) == shown
        assert str(ServerAddress.parse(shown)) == shown


@pytest.mark.parametrize(
    ("stated", "url"),
    [
        ("http://host:1/api/g/t/play", "http://host:1/api/g/t/play"),
        ("http://evil.example/api/g/t/play", "http://host:1/api/g/t/play"),
        ("https://host:1@evil.example:1/api/g/t/play?x=1", "http://host:1/api/g/t/play?x=1"),
        ("/api/g/t/play", "http://host:1/api/g/t/play"),
    ],
)
def test_a_url_for_moves_stays_on_the_origin(stated: str, url: str) -> None:
    address = ServerAddress.parse("http://host:1")
    assert address.own_url(stated) == url
    assert address.owns(stated) == (stated == url)


# ---- Masking ----


def test_masked_texts() -> None:
    redact = Redactor("s3cret/+\"<'", "")
    assert redact("POST http://h/api/abc/tk0n/play 200") == f"POST http://h/api/abc/{MASK}/play 200"
    assert redact("key=abc&turns=3") == f"key={MASK}&turns=3"
    assert redact('{"token":"tk0n","x":1}') == f'{{"token":"{MASK}","x":1}}'
    assert redact("Did you forget the key parameter?") == "Did you forget the key parameter?"
    assert redact("is s3cret/+\"<' or s3cret%2F%2B%22%3C%27") == f"is {MASK} or {MASK}"
    assert redact.excerpt(b"<html>\n  s3cret/+&quot;&lt;&#x27; \x1b[31m\xff" + b"x" * 999).startswith(
        f"<html> {MASK} \\x1b[31m�xxx"
    )


def test_a_token_that_is_a_word_of_a_refusal_does_not_hide_its_meaning() -> None:
    redact = Redactor()
    redact.add("not your turn")
    verdict = judge(Reply(400, {}, b"Vindinium - Not your turn to move", 0.0, 0.0), redact)
    assert verdict.meaning is Meaning.WAIT


# ---- Nothing gets out ----

FAULTS = [
    Fault("status", status=400, body=f"no such key: {KEY}, token {TOKEN}"),
    Fault("text", body=f'{{"token":"{TOKEN}","key":"{KEY}"}}'),
    Fault("status", status=302, headers={"Location": f"/api/game0001/{TOKEN}/play?key={KEY}"}),
    Fault("cut", "after"),
    Fault("status", status=503, body=KEY + TOKEN),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.kind + fault.body[:4])
async def test_logs_messages_and_events_have_no_secret(fault: Fault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as logs:
        events = ReceivedEvents()
        many = dict.fromkeys(range(2, 99), fault)
        async with FaultyServer(moves=many) as server, GameClient(settings_for(server, resync_timeout=0.2)) as client:
            result = await client.play(Player(), events)
            shown = [repr(client.settings), repr(client.__dict__), repr(result), result.outcome.message, str(events.__dict__)]
        fault = replace(fault, body=fault.body.replace(TOKEN, ""))  # before a game there is none
        async with FaultyServer(joins=dict.fromkeys(range(1, 99), fault)) as server:
            shown.append(repr(await play(server, events=events, connect_timeout=1)))
    assert logs
    everything = "\n".join([*shown, *map(str, logs), caplog.text])
    found = [line for line in everything.splitlines() if KEY in line or TOKEN in line]
    assert not found


async def test_an_error_of_the_transport_does_not_refer_to_the_request() -> None:
    redact = Redactor(KEY)
    async with FaultyServer(moves={1: Fault("reset")}) as server:
        transport = Transport(ServerAddress.parse(server.url), redact)
        with pytest.raises(TransportError) as caught:
            await transport.post(f"{server.url}/api/g/{TOKEN}/play", {"key": KEY}, Within())
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    events = io.StringIO()
    traceback.print_exception(caught.value, file=events)
    assert KEY not in events.getvalue()
    assert TOKEN not in events.getvalue()
