"""``vindibot doctor``: check whether the bot will answer in time on this machine and with this server, and say what to repair.

The bot runs on sample turns with the same agent, the same worker processes and the same deadline as in a game.
"""

from __future__ import annotations

import asyncio
import math
import os
import platform
import statistics
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from rich.console import Console

from vindibot.base import log
from vindibot.base.address import ServerAddress
from vindibot.base.console import say
from vindibot.base.errors import VindibotError
from vindibot.base.system import supports_children
from vindibot.base.text import Redactor, counted
from vindibot.client.transport import Transport, TransportError, Within
from vindibot.config.bots import Bot, load_bot
from vindibot.config.load import Config
from vindibot.config.settings import PlaySettings, cores
from vindibot.config.signature import build
from vindibot.devtools.conformance import usual
from vindibot.engine.agent import Agent
from vindibot.engine.deadline import Deadline
from vindibot.engine.warmup import warm
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.session.player import start_voters

#: Number of requests that measure the round trip to the server, and their time limits in seconds.
REQUESTS, WITHIN = 20, Within(connect=3.0, head=5.0, body=5.0)
#: If a turn has less than this number of seconds, there is hardly time to think.
SHORT_TIME = 0.1
_STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}


@dataclass(frozen=True)
class Finding:
    """The result of one check: a level ("ok", "note" for information, "broken" for a fault), the result as text, and advice."""

    what: str
    level: str
    words: str
    advice: str = ""


async def examine(config: Config[PlaySettings], console: Console) -> AsyncIterator[Finding]:
    """Run all checks and yield their findings."""
    settings, network = config.settings, 0.0
    yield check_machine()
    try:
        bot = load_bot(settings.bot)
    except VindibotError as problem:
        advice = "correct the bot file; vindibot behaviours NAME shows the parameters of a trait"
        yield Finding("bot", "broken", problem.message, advice)
        return
    warm(console)
    if not settings.embedded:
        finding, network = await check_server(settings)
        yield finding
    limit, margin = (settings.time.limit_ms or 1000) / 1000, settings.time.margin_ms / 1000
    left = Deadline(margin).moment(0.0, limit, network)
    words = f"{left * 1000:.0f} of {limit * 1000:.0f} ms to think: {network * 1000:.0f} for the network, {margin * 1000:g} margin"
    advice = "raise the server's limit, lower time.margin_ms, or play on a nearer server" if left < SHORT_TIME else ""
    yield Finding("time", "broken" if advice else "ok", words, advice)
    async for finding in check_bot(bot, settings, network):
        yield finding


def check_machine() -> Finding:
    """Report the versions, and whether the machine has free cores and processes for traits."""
    words = f"vindibot {build()}, {platform.system()}; {counted(cores(), 'core')}"
    if not supports_children():
        advice = "use Linux, WSL on Windows, or a container: without them a trait that hangs cannot be ended (docs/systems.md)"
        return Finding("machine", "note", f"{words}; traits run in the process of the command", advice)
    load = os.getloadavg()[0]
    busy = load > cores() + 0.5
    advice = "other programs use the cores: moves will be weaker, and the times below are too long" if busy else ""
    return Finding("machine", "note" if advice else "ok", f"{words}, {load:.1f} busy", advice)


async def check_server(settings: PlaySettings) -> tuple[Finding, float]:
    """Return a finding about the round trip to the server, and the round trip in seconds. No key is sent."""
    address = ServerAddress.parse(settings.server, allow_old_domain=settings.allow_old_domain)
    transport, times = Transport(address, Redactor()), list[float]()
    try:
        for _ in range(REQUESTS):
            began = time.monotonic()
            reply = await transport.get(address.url("/"), WITHIN)
            times.append(reply.head_at - began)
            if reply.proxy and reply.status >= 400:
                raise TransportError(f"{transport.route} answers with status {reply.status}")
    except TransportError as problem:
        advice = "check the address, and that the server runs; vindibot serve starts one"
        return Finding("server", "broken", f"{address} cannot be reached: {problem.message}", advice), 0.0
    finally:
        await transport.aclose()
    median = statistics.median(times)
    words = f"{address} answers in {median * 1000:.1f} ms, at worst {max(times) * 1000:.1f} ms, in {REQUESTS} requests"
    return Finding("server", "ok", words), max(median, transport.connect_seconds or 0.0)


async def check_bot(bot: Bot, settings: PlaySettings, network: float) -> AsyncIterator[Finding]:
    """Run the bot on sample turns, each as the first turn of a game."""
    pool, limit, ballots = settings.pool, (settings.time.limit_ms or 1000) / 1000, list[Ballot]()
    try:
        async with AsyncExitStack() as stack:
            running = await start_voters(stack, bot, pool, workers=pool.worker_count())
            for position in usual():
                running.begin_game()
                agent = Agent(running, position.me, position.seed, Deadline(settings.time.margin_ms / 1000), pool.nodes)
                ballots.append(await agent.decide(position.games.copy(), time.monotonic(), limit, network))
                await asyncio.sleep(2 * pool.grace_ms / 1000)  # in a game the opponents move now, and late workers return
    except VindibotError as problem:
        yield Finding("workers", "broken", problem.message, "check_trait of vindibot.testing shows more")
        return
    for number, health in enumerate(running.health_records):
        yield check_votes(health.label, [ballot.entries[number] for ballot in ballots], anytime=health.anytime)
    yield check_moves(ballots, settings.time.margin_ms)


def check_votes(label: str, entries: Sequence[BallotEntry], *, anytime: bool) -> Finding:
    """Report whether the votes of a trait are valid and in time. `entries` has the trait's entry in the ballot of each turn."""
    what, turns = f"trait {label}", counted(len(entries), "turn")
    failed = [entry for entry in entries if entry.status in ("error", "void")]
    if failed:
        advice = "vindibot play prints the command that stops in this line, in the debugger; check_trait shows the position"
        return Finding(what, "broken", f"failed in {len(failed)} of {turns}: {failed[0].note}", advice)
    if late := sum(entry.status in ("late", "killed", "benched") for entry in entries):
        advice = "its late votes do not count: yield a first answer at once, then better ones, and look at view.budget.expired()"
        note = next((f": {entry.note}" for entry in entries if entry.note), "")
        return Finding(what, "broken" if late > len(entries) / 2 else "note", f"late in {late} of {turns}{note}", advice)
    times = [entry.ms for entry in entries]
    words = f"{statistics.median(times):.1f} ms, at worst {max(times):.1f} ms in {turns}"
    return Finding(what, "ok", f"uses all available time: {words}" if anytime else words)


def check_moves(ballots: Sequence[Ballot], margin_ms: float) -> Finding:
    """Report whether the moves were in time."""
    least = min(ballot.margin_ms for ballot in ballots)
    words = f"{counted(len(ballots), 'move')}, the latest {least:.0f} ms before the limit"
    if least >= margin_ms / 3:
        return Finding("moves", "ok", words)
    advice = f"set time.margin_ms to {5 * math.ceil((margin_ms - least + 25) / 5)}: the machine is not always as fast"
    return Finding("moves", "broken" if least < 0 else "note", words, advice)


def run_doctor(config: Config[PlaySettings], console: Console) -> int:
    """Print all findings on `console`; return the exit code: 1 if something is broken."""
    log.add_secret(config.settings.key)
    levels = Counter[str]()

    async def show_all() -> None:
        async for finding in examine(config, console):
            levels[finding.level] += 1
            console.print(f"{finding.level:7}", style=_STYLES[finding.level], end="")
            say(console, f"{finding.what}: {finding.words}")
            if finding.advice:
                say(console, f"         -> {finding.advice}", "bold")

    with log.configured("error", None, console):
        asyncio.run(show_all())
    if levels["broken"]:
        say(console, f"{counted(levels['broken'], 'thing')} to repair before a game", "bold red")
        return 1
    notes = f"; {counted(levels['note'], 'note')} above" if levels["note"] else ""
    say(console, f"ready to play{notes}", "bold green")
    return 0
