"""Runs the command `vindibot`: in a process, as a user does, or in this process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
from click.testing import CliRunner

from tests.support.paths import TOP
from tests.support.waiting import until
from vindibot.cli.main import main
from vindibot.engine.forkserver import NAME as SERVER
from vindibot.engine.worker import WORKER
from vindibot.games.files.recording import Recording, read_recording

SECRET = "s3cretk8"


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VINDIBOT_")}
    return {**kept, "PYTHONPATH": str(TOP), "COLUMNS": "200", **more}


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "vindibot", *words]


def run(folder: Path, *words: str, timeout: float = 100, keys: str = "", **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does, with `keys` as its input."""
    around = environment(**more)
    return subprocess.run(
        command(*words), cwd=folder, env=around, input=keys, capture_output=True, text=True, timeout=timeout, check=False
    )


def invoke(folder: Path, *words: object) -> tuple[int, str]:
    """Run a command in this process with `folder` as current folder, and return its exit code and what it printed."""
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, [*map(str, words)], env={"COLUMNS": "200"})
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.output


def printed(*words: object, code: int = 0, **variables: str) -> str:
    """Run a command in this process, which must end with this exit code, and return what it printed."""
    result = CliRunner().invoke(main, [*map(str, words)], env=variables)
    assert result.exit_code == code, result.output
    return result.output


async def begin(folder: Path, *words: str, **more: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command(*words), cwd=folder, env=environment(**more), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )


@contextlib.asynccontextmanager
async def opened(folder: Path, *words: str, **more: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run a game with ``--open``; yield the process and the address that it opens in the browser."""
    address, script = folder / "opened", folder / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$1" > "{address}.part" && mv "{address}.part" "{address}"\n')
    script.chmod(0o755)
    process = await begin(folder, *words, "--open", BROWSER=f"{script} %s", **more)
    try:
        await until(lambda: address.exists() or process.returncode is not None, 60)
        yield process, address.read_text().strip()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def line_with(process: asyncio.subprocess.Process, word: str) -> str:
    """Return the next line of output that contains a word."""
    assert process.stdout is not None
    seen: list[str] = []
    while True:
        try:
            line = (await asyncio.wait_for(process.stdout.readline(), 100)).decode()
        except TimeoutError:
            raise AssertionError(f"no line with {word!r} in 100 s, only {seen}") from None
        seen.append(line)
        assert line, f"the output ended without {word!r}: {seen}"
        if word in line:
            return line.strip()


async def ended(process: asyncio.subprocess.Process) -> str:
    """Wait for the end of the process, and return the rest of its output."""
    assert process.stdout is not None
    output = b""
    try:
        async with asyncio.timeout(100):
            while piece := await process.stdout.read(1 << 16):
                output += piece
            await process.wait()
    except TimeoutError:
        raise AssertionError(f"the process has not ended in 100 s, only printed {output.decode(errors='replace')}") from None
    return output.decode()


def recordings(folder: Path) -> list[Path]:
    return sorted((folder / "recordings").glob("*.jsonl"))


def recorded(folder: Path) -> Recording:
    """Return the only recording of a folder."""
    (path,) = recordings(folder)
    return read_recording(path)


def play(folder: Path, *words: str, **more: str) -> str:
    """Play games with ``vindibot play``, which must end with exit code 0, and return all that it printed."""
    done = run(folder, "play", *words, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def family(pid: int) -> dict[str, list[psutil.Process]]:
    """Return the processes of a ``vindibot play`` command by their names."""
    found: dict[str, list[psutil.Process]] = {SERVER: [], WORKER: []}
    for child in psutil.Process(pid).children(recursive=True):
        try:
            found.setdefault(child.name(), []).append(child)
        except psutil.NoSuchProcess:
            continue
    return found
