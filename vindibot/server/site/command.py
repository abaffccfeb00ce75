"""Commands that a server runs in processes of their own, at the lowest priority, so that they do not delay the games."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys

from vindibot.base.errors import VindibotError


async def run_lowest(longest_seconds: float, *words: str) -> None:
    """Run a `vindibot` command at the lowest priority, and wait for its end. `words` are the command and its arguments.

    The process is killed after `longest_seconds`, or if the caller is cancelled. Raises `VindibotError` if the command fails, and
    `TimeoutError`.
    """
    lowest = ["nice", "-n", "19"] if shutil.which("nice") else []
    process = await asyncio.create_subprocess_exec(
        *[*lowest, sys.executable, "-m", "vindibot", *words],
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(longest_seconds):
            _, said = await process.communicate()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        raise VindibotError(
            f"the {words[0]} ended with code {process.returncode}: {said.decode(errors='replace').strip()[-300:]}"
        )
