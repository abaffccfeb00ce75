"""One request: its clock, and that nothing it leaves behind disturbs the next one."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.clientkit import play
from tests.support.faulty_server import Fault, FaultyServer
from vindibot.base.address import ServerAddress
from vindibot.base.text import Redactor
from vindibot.client.transport import Transport, TransportError, Within
from vindibot.games.outcome import Reason

LONG = Within(connect=30.0, head=30.0, body=30.0)


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with FaultyServer() as running:
        yield running


@pytest.fixture
async def transport(server: FaultyServer) -> AsyncIterator[Transport]:
    made = Transport(ServerAddress.parse(server.url), Redactor())
    yield made
    await made.aclose()


async def post(transport: Transport, server: FaultyServer, within: Within = LONG) -> bytes:
    return (await transport.post(f"{server.url}/api/training", {"key": "k"}, within)).body


@pytest.mark.parametrize(
    ("fault", "within", "words"),
    [
        (Fault("hang"), Within(head=0.05, body=30.0), "no answer within 0.05 s"),
        (Fault("dribble"), Within(head=30.0, body=0.12), "only a part of the answer within 0.12 s"),
        (Fault("endless"), LONG, "the answer has more than 1048576 bytes"),
        (Fault("cut"), LONG, "broke off"),
        (Fault("reset"), LONG, "broke off"),
        (Fault("close"), LONG, "broke off"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
async def test_faults(fault: Fault, within: Within, words: str, server: FaultyServer, transport: Transport) -> None:
    server.join_faults = {1: fault}
    with pytest.raises(TransportError, match=words) as caught:
        await post(transport, server, within)
    server.join_faults = {}  # on a busy machine, the request may arrive later
    assert caught.value.sent
    assert transport._client is None  # whatever the library may still hold of it is thrown away
    assert b"playUrl" in await post(transport, server)


@pytest.mark.parametrize(("trusted", "words"), [(False, "its certificate is not trusted"), (None, "it does not speak https")])
async def test_a_fault_of_tls_is_reported_and_not_repeated(trusted: bool | None, words: str, tmp_path: Path) -> None:
    """Test a certificate without a trusted signature, and a server without TLS."""
    context = _self_signed(tmp_path) if trusted is not None else None

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            await reader.read(1)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        result = await play(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", connect_timeout=60)
    assert result.outcome.reason is Reason.REFUSED
    assert words in result.outcome.message


def _self_signed(folder: Path) -> ssl.SSLContext:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the openssl command to make a certificate")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    subprocess.run([openssl, *command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context


@pytest.mark.slow_faults
@pytest.mark.parametrize("kind", [None, "hang", "dribble"])
async def test_a_cancelled_request_leaves_no_slot_occupied(kind: str | None, server: FaultyServer, transport: Transport) -> None:
    """Cancelled at every step of the loop it may be at: the next request still gets a connection."""
    within = Within(connect=0.5, head=5.0, body=5.0)
    for steps in range(40):
        server.join_faults = {server.joins + 1: Fault(kind)} if kind is not None else {}
        task = asyncio.create_task(post(transport, server))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        server.join_faults = {}
        assert b"playUrl" in await post(transport, server, within)
        await transport.aclose()
