"""What the environment tells the client: proxies, exceptions from them, certificates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.faulty_server import FaultyServer
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.base.text import Redactor
from vindibot.client import transport as transports
from vindibot.client.transport import Transport, TransportError, Within

URL = "http://example.invalid"
TLS = "https://example.invalid"
SECRET = "us3r:s3cret"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *map(str.upper, VARIABLES), "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"):
        monkeypatch.delenv(name, raising=False)
    transports._certificates.cache_clear()


@asynccontextmanager
async def proxy(status: str) -> AsyncIterator[str]:
    """A proxy on this machine that answers each request with a status."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def get(url: str) -> tuple[int, str]:
    """Return the status of the answer to a request, and its proxy."""
    transport = Transport(ServerAddress.parse(url), Redactor())
    try:
        reply = await transport.get(f"{url}/", Within())
        return reply.status, reply.proxy
    finally:
        await transport.aclose()


@pytest.mark.parametrize(
    ("url", "name", "value", "words"),
    [
        (URL, "all_proxy", "socks5://127.0.0.1:3128", "a proxy is http://HOST:PORT"),
        (TLS, "HTTPS_PROXY", f"ftp://{SECRET}@127.0.0.1", "a proxy is http://HOST:PORT"),
        (URL, "http_proxy", "http://127.0.0.1:99999", "a proxy is http://HOST:PORT"),
        (URL, "http_proxy", f"http://{SECRET}", "a proxy is http://HOST:PORT"),
        (URL, "no_proxy", "a:b:c", "cannot be used"),
        (TLS, "SSL_CERT_FILE", "/nowhere", "No such file or directory"),
        (TLS, "SSL_CERT_FILE", __file__, "it holds no certificates"),
        (TLS, "SSLKEYLOGFILE", "/nowhere/keys", "No such file or directory"),
    ],
)
async def test_a_wrong_variable_is_named(url: str, name: str, value: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match=words) as caught:
        await get(url)
    assert f"environment variable {name} " in caught.value.message
    assert "s3cret" not in caught.value.message
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", [URL, TLS])
async def test_messages_name_the_proxy_without_its_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy("407 Proxy Authentication Required") as address:
        monkeypatch.setenv(f"{url.partition(':')[0]}_proxy", f"http://{SECRET}@{address}")
        if url is URL:
            assert await get(url) == (407, address)
        else:
            with pytest.raises(TransportError, match=f"through the proxy {address}: the proxy answers 407") as caught:
                await get(url)
            assert caught.value.final
    with pytest.raises(TransportError, match=rf"{url} through the proxy {address}: .*is the proxy running there\?"):
        await get(url)


@pytest.mark.parametrize(("name", "value"), [("no_proxy", "other, example.invalid"), ("NO_PROXY", ".invalid"), ("no_proxy", "*")])
async def test_a_server_may_be_excepted_from_the_proxy(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with proxy("204 No Content") as address:
        monkeypatch.setenv("ALL_PROXY", address)
        assert await get(URL) == (204, address)
        monkeypatch.setenv(name, value)
        with pytest.raises(TransportError, match=f"cannot connect to {URL}: "):
            await get(URL)


async def test_a_server_on_this_machine_has_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "nonsense://")
    async with FaultyServer() as server:
        assert await get(server.url) == (200, "")
