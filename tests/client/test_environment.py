"""What the environment tells the client: proxies, exceptions from them, certificates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.commands import command, environment
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError
from vindibot.client.proxies import proxy_for

URL = "http://example.invalid"
TLS = "https://example.invalid"
SECRET = "us3r:s3cret"


async def play(folder: Path, url: str, **more: str) -> tuple[int | None, str, str]:
    """Run `vindibot play --server` and return its exit code, standard output and standard error."""
    clean = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE"), "")
    process = await asyncio.create_subprocess_exec(
        *command("play", "--server", url, "--bot", "stay", "--in-process", "--display", "none"),
        cwd=folder,
        env=environment(**{**clean, "VINDIBOT_KEY": "abcd1234", **more}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 100)
    return process.returncode, out.decode(), err.decode()


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("url", "name", "value", "words"),
    [
        (URL, "http_proxy", "127.0.0.1:3128", "the scheme is missing"),
        (URL, "HTTP_PROXY", "127.0.0.1:3128", "the scheme is missing"),
        (URL, "all_proxy", "socks5://127.0.0.1:3128", "the scheme 'socks5' cannot be used"),
        (TLS, "https_proxy", f"ftp://{SECRET}@127.0.0.1", "the scheme 'ftp' cannot be used"),
        (URL, "http_proxy", "http://127.0.0.1:99999", "its host or port cannot be read"),
        (URL, "http_proxy", "http://[::1", "its host or port cannot be read"),
        (URL, "http_proxy", "http://", "it names no host"),
        (TLS, "SSL_CERT_FILE", "/nowhere", "no such file or directory"),
        (TLS, "SSL_CERT_FILE", __file__, "it holds no certificates"),
        (TLS, "SSL_CERT_DIR", "/nowhere", "names no folder"),
        (TLS, "SSLKEYLOGFILE", "/nowhere/keys", "no such file or directory"),
    ],
)
async def test_a_wrong_variable_is_named_in_one_line(url: str, name: str, value: str, words: str, tmp_path: Path) -> None:
    if name.isupper() and name.endswith("PROXY"):
        code, _, err = await play(tmp_path, url, **{name: value, name.lower(): value})
        name = name.lower()
    else:
        code, _, err = await play(tmp_path, url, **{name: value})
    assert (code, err.count("\n")) == (2, 1), err
    assert f"environment variable {name} " in err
    assert words in err
    assert "s3cret" not in err


@pytest.mark.slow
@pytest.mark.parametrize("url", [URL, TLS])
async def test_messages_name_the_proxy_and_its_status(url: str, tmp_path: Path) -> None:
    async with proxy("407 Proxy Authentication Required") as address:
        variables = {f"{url.partition(':')[0]}_proxy": f"http://{SECRET}@{address}"}
        code, out, err = await play(tmp_path, url, **variables)
    assert code == 1
    assert f"through the proxy http://{address} ({next(iter(variables))})" in out
    assert "407" in out
    assert "s3cret" not in out + err
    code, out, err = await play(tmp_path, url, **variables)
    assert code == 1
    assert f"through the proxy http://{address} " in out
    assert "is the proxy running there?" in out


@pytest.mark.parametrize(
    ("server", "exceptions", "excepted"),
    [
        ("10.1.2.3:9000", "10.0.0.0/8", True),
        ("10.1.2.3:9000", "192.168.0.0/16, 10.1.2.3", True),
        ("10.1.2.3:9000", "10.1.2.3:9000", True),
        ("10.1.2.3:9000", "10.1.2.3:80", False),
        ("10.1.2.3:9000", "11.0.0.0/8", False),
        ("[fd00::1]:9000", "fd00::/8", True),
        ("[fd00::1]:9000", "[fd00::1]:9000", True),
        ("a.example.com", "example.com", True),
        ("a.example.com", ".example.com", True),
        ("a.example.com", "*.example.com", True),
        ("a.example.com", "A.EXAMPLE.COM", True),
        ("notexample.com", "example.com", False),
        ("a.example.com", "10.0.0.0/8", False),
        ("a.example.com", "*", True),
        ("a.example.com", "", False),
        ("127.0.0.1:9000", "", True),
        ("localhost", "", True),
    ],
)
def test_exceptions_from_the_proxy(server: str, exceptions: str, excepted: bool) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        variables = {"http_proxy": "http://proxy:3128", name: exceptions}
        assert (proxy_for(ServerAddress.parse(server), variables) is None) == excepted


def test_the_scheme_chooses_the_variable() -> None:
    variables = {"http_proxy": "http://one:1", "HTTP_PROXY": "http://big:1", "ALL_PROXY": "http://all:2"}
    found = [proxy_for(ServerAddress.parse(f"{scheme}://example.com"), variables) for scheme in ("http", "https")]
    assert list(map(str, found)) == ["http://one:1 (http_proxy)", "http://all:2 (ALL_PROXY)"]
    with pytest.raises(UsageError, match="ALL_PROXY is not the URL of a proxy"):
        proxy_for(ServerAddress.parse("https://example.com"), {**variables, "ALL_PROXY": "proxy"})
