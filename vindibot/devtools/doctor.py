"""What ``vindibot doctor`` looks at: whether this machine, this bot and this server will get along, and what to do if not.

The bot is run on sample turns by the same agent and the same worker processes as in a game, against the same deadline.
"""

from __future__ import annotations

import asyncio
import math
import os
import platform
import shutil
import statistics
import time
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from rich.console import Console

with warnings.catch_warnings(record=True) as _of_kernels:  # where the cache cannot be written; it is told below
    warnings.simplefilter("always", RuntimeWarning)
    from sim import kernels

from sim.game import RUNNING
from sim.rules import step
from vindibot.base import Redactor, ServerAddress, VindibotError, find_key, log
from vindibot.client import Transport, TransportError, Within, look_up
from vindibot.config import Bot, Config, PlaySettings, build, cores, load_bot, short
from vindibot.devtools import catalogue
from vindibot.devtools.conformance import usual
from vindibot.engine import Agent, Deadline, Pool, voters, warm
from vindibot.games import Ballot, BallotEntry, why_not_into
from vindibot.server import EmbeddedServer

Level = Literal["ok", "note", "broken"]
#: Requests by which the way to the server is measured.
REQUESTS = 20
WITHIN = Within(connect=3.0, head=5.0, body=5.0)
#: How often, and for how many seconds, it is tried how punctually this machine wakes up.
NAPS, NAP = 40, 0.005
#: Turns in a row of each sample position; bots that think as long as they may get one.
TURNS = 3
#: Seconds of a turn below which there is hardly time to think.
LITTLE = 0.1
#: Bytes that should be free where recordings go: some hundred games.
ROOM = 100 * 2**20


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: how it is, and what to do about it. "note" is worth knowing, "broken" must be mended."""

    what: str
    level: Level
    words: str
    advice: str = ""


@dataclass
class Measured:
    """What the sample turns showed of one trait."""

    label: str
    ms: list[float] = field(default_factory=list)
    late: int = 0
    problems: list[str] = field(default_factory=list)
    slow: str = ""  # the note of a turn on which it was late

    def note(self, entry: BallotEntry) -> None:
        """Take in its line of a ballot."""
        self.ms.append(entry.ms)
        self.late += entry.status in ("late", "killed", "benched")
        if entry.status in ("error", "void"):
            self.problems.append(entry.note)
        else:
            self.slow = self.slow or entry.note


async def examine(config: Config[PlaySettings], console: Console) -> AsyncIterator[Finding]:
    """Look at everything, one finding after the other."""
    settings = config.settings
    yield machine()
    yield room(settings)
    bot: Bot | None = None
    try:
        bot = load_bot(settings.bot)
    except VindibotError as problem:
        yield Finding("bot", "broken", problem.message, "mend the bot file; vindibot behaviours NAME tells what may stand there")
    for stat in traits(bot):
        yield stat
    yield kernel_cache(console)  # when all traits, and so their kernels, have been imported
    yield await punctuality(settings)
    stats, network = await way_to_server(settings)
    for stat in stats:
        yield stat
    yield time_to_think(settings, network)
    if bot is not None:
        async for stat in bot_at_work(bot, settings, network):
            yield stat


# ---- The machine ----


def machine() -> Finding:
    """Versions, cores, and whether others keep them busy."""
    words = f"vindibot {build()}, {platform.system()}; {cores()} cores"
    try:
        load = os.getloadavg()[0]
    except OSError:
        return Finding("machine", "ok", words)
    words += f", {load:.1f} busy"
    if load > cores() + 0.5:
        return Finding(
            "machine", "note", words, "other programs take the cores: moves will be weaker, and times below are too long"
        )
    return Finding("machine", "ok", words)


def kernel_cache(console: Console) -> Finding:
    """Compiled kernels: where they are kept, and whether they are there; compiles them if not."""
    cached = kernels.cached()
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", RuntimeWarning)
        warm(console)
    seconds = time.monotonic() - began
    folder = kernels.cache_folder()
    problems = [str(one.message) for one in (*_of_kernels, *told)]
    if problems:
        advice = "each start will compile again: set NUMBA_CACHE_DIR to a folder that you can write to"
        return Finding("kernels", "note", problems[0], advice)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    how = f"loaded in {seconds:.1f} s" if cached else f"compiled in {seconds:.0f} s, once"
    return Finding("kernels", "ok", f"{len(kernels.entries())} kernels {how}; {size:.0f} MB in {folder}")


def room(settings: PlaySettings) -> Finding:
    """Whether recordings can be written."""
    if not settings.recording.enabled:
        return Finding("recordings", "ok", "games are not recorded, as configured")
    folder = settings.recording.folder.absolute()
    if problem := why_not_into(folder):
        advice = "name another folder: --recordings FOLDER, or recording.folder in the configuration"
        return Finding("recordings", "broken", f"nothing can be written to {short(folder)}: {problem}", advice)
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
    if free < ROOM:
        return Finding(
            "recordings", "note", f"{free // 2**20} MB are free at {short(folder)}", "make room: a game takes about 1 MB"
        )
    return Finding("recordings", "ok", f"go to {short(folder)}, where {free / 2**30:.0f} GB are free")


def traits(bot: Bot | None) -> Iterator[Finding]:
    """Whether all traits that can be named can be had."""
    all_traits = catalogue.found(bot)
    bad = [trait for trait in all_traits if trait.kind is None]
    for trait in bad:
        yield Finding("traits", "note", f"{trait.use} ({trait.home}): {trait.problem}", "no bot can use it until that is mended")
    yield Finding("traits", "ok", f"{len(all_traits) - len(bad)} can be used")


async def punctuality(settings: PlaySettings) -> Finding:
    """How late this machine wakes up whoever sleeps: the margin must cover it."""
    late = []
    for _ in range(NAPS):
        began = time.monotonic()
        await asyncio.sleep(NAP)
        late.append((time.monotonic() - began - NAP) * 1000)
    margin = settings.time.margin_ms
    words = f"woken {statistics.median(late):.1f} ms late, at worst {max(late):.1f} ms; the margin is {margin:g} ms"
    if max(late) > margin:
        advice = f"set --margin-ms {_rounded(1.5 * max(late) + 25)}, or free the machine"
        return Finding("punctuality", "note", words, advice)
    return Finding("punctuality", "ok", words)


def _rounded(ms: float) -> int:
    return 5 * math.ceil(ms / 5)


# ---- The server ----


async def way_to_server(settings: PlaySettings) -> tuple[list[Finding], float]:
    """The round trip to the server, in words and in seconds, and whether there is a key for it."""
    if settings.embedded:
        async with EmbeddedServer() as server:
            stat, seconds = await _round_trip(ServerAddress.parse(server.url), "our own server")
        return [stat], seconds
    address = ServerAddress.parse(settings.server, allow_old_domain=settings.allow_old_domain)
    stat, seconds = await _round_trip(address, str(address))
    return [stat, key_at_hand(settings)], seconds


def key_at_hand(settings: PlaySettings) -> Finding:
    """Whether there is a key to play with. It is not sent, and not shown."""
    try:
        key = find_key(key=settings.key, key_file=settings.key_file, environ={})  # the environment is in the settings already
    except VindibotError as problem:
        return Finding("key", "broken", problem.message, "the key file has one line, the key")
    if key is None:
        return Finding(
            "key", "note", "there is none", "set VINDIBOT_KEY, or name a file that holds it: --key-file of vindibot play"
        )
    return Finding("key", "ok", "there is one; it was not sent")


async def _round_trip(address: ServerAddress, name: str) -> tuple[Finding, float]:
    transport = Transport(address, Redactor())
    times: list[float] = []
    try:
        await look_up(address)
        for number in range(REQUESTS):
            if number % 5 == 0:  # the shortest time to connect counts: of several
                await transport.aclose()
            began = time.monotonic()
            reply = await transport.get(address.url("/"), WITHIN)
            times.append(reply.head_at - began)
    except TransportError as problem:
        if not times:
            advice = "is the address right, and does the server run? vindibot serve starts one"
            return Finding("server", "broken", f"{name} cannot be reached: {problem.message}", advice), 0.0
    finally:
        await transport.aclose()
    seconds = max(statistics.median(times), transport.connect_seconds or 0.0)
    words = (
        f"{name} answers in {statistics.median(times) * 1000:.1f} ms, at worst {max(times) * 1000:.1f} ms of {len(times)} times"
    )
    if len(times) < REQUESTS:
        return Finding("server", "note", f"{words}; then it stopped answering", "look at the server's own log"), seconds
    return Finding("server", "ok", words), seconds


def time_to_think(settings: PlaySettings, network: float) -> Finding:
    """What is left of a turn."""
    limit, margin = (settings.time.limit_ms or 1000) / 1000, settings.time.margin_ms / 1000
    left = Deadline(margin).moment(0.0, limit, network)
    words = f"{left * 1000:.0f} ms of {limit * 1000:.0f} to think: {network * 1000:.0f} for the network, {margin * 1000:g} margin"
    if left < LITTLE:
        return Finding("time", "broken", words, "raise the server's limit, lower --margin-ms, or play on a server that is nearer")
    return Finding("time", "ok", words)


# ---- The bot ----


async def bot_at_work(bot: Bot, settings: PlaySettings, network: float) -> AsyncIterator[Finding]:
    """The bot on sample turns, as in a game."""
    pool = settings.pool
    asked = voters(bot, workers=pool.worker_count(), in_process=pool.in_process, grace=pool.grace_ms / 1000, strikes=pool.strikes)
    try:
        await asked.start()
    except VindibotError as problem:
        yield Finding("workers", "broken", problem.message, "check_trait of vindibot.testing says more")
        return
    try:
        count = f"{min(pool.worker_count(), len(bot.traits))} worker processes"
        if isinstance(asked, Pool) and not asked.preloaded:
            advice = (
                "a worker that must be replaced in a game takes longer: this system has no fork server, or a trait needs long"
            )
            yield Finding("workers", "note", f"{count}, each had to load everything itself", advice)
        else:
            yield Finding("workers", "ok", "the traits run in this process" if pool.in_process else count)
        measured = [Measured(trait.label) for trait in bot.traits]
        limit = (settings.time.limit_ms or 1000) / 1000
        ballots: list[Ballot] = []
        for position in usual():
            asked.begin_game()
            agent = Agent(asked, position.me, position.seed, Deadline(settings.time.margin_ms / 1000), pool.nodes)
            turns = 1 if any(health.anytime for health in asked.health_records) and pool.nodes is None else TURNS
            games = position.games.copy()
            rng = np.random.default_rng(position.seed)
            for _ in range(turns):
                ballot = await agent.decide(games.copy(), time.monotonic(), limit, network)
                ballots.append(ballot)
                for one, entry in zip(measured, ballot.entries, strict=True):
                    one.note(entry)
                for move in (ballot.direction, *rng.integers(0, 5, 3).tolist()):
                    step(games, 0, int(move))
                await asyncio.sleep(2 * pool.grace_ms / 1000)  # the others move meanwhile, and our workers come back
                if games[0]["status"] != RUNNING:
                    break
        anytime = {health.label for health in asked.health_records if health.anytime}
    finally:
        await asked.close()
    for one in measured:
        yield of_trait(one, anytime=one.label in anytime)
    yield of_moves(ballots, settings)


def of_trait(trait: Measured, *, anytime: bool) -> Finding:
    """Whether a trait's votes will count."""
    what, turns = f"trait {trait.label}", len(trait.ms)
    words = f"{statistics.median(trait.ms):.1f} ms, at worst {max(trait.ms):.1f} ms in {turns} turns"
    if trait.problems:
        advice = (
            "play a game with it: vindibot play names the command that stops in that line, in the debugger; check_trait of"
            " vindibot.testing shows the position"
        )
        return Finding(what, "broken", f"failed in {len(trait.problems)} of {turns} turns: {trait.problems[0]}", advice)
    if trait.late:
        level: Level = "broken" if trait.late > turns / 2 else "note"
        advice = "its late votes do not count: let it do less, or write vote as a generator that yields better and better answers"
        if anytime:
            advice = (
                "it had nothing to say in time, or its worker was killed since it did not stop: yield a first answer at once and"
                " look at view.budget.expired() often; on a busy machine raise pool.grace_ms"
            )
        return Finding(what, level, f"late in {trait.late} of {turns} turns{f': {trait.slow}' if trait.slow else ''}", advice)
    return Finding(what, "ok", f"thinks as long as there is time: {words}" if anytime else words)


def of_moves(ballots: Sequence[Ballot], settings: PlaySettings) -> Finding:
    """Whether the moves were in time."""
    thinnest = min(ballot.margin_ms for ballot in ballots)
    words = f"{len(ballots)} moves, the closest {thinnest:.0f} ms before the limit"
    late = sum(ballot.margin_ms < 0 for ballot in ballots)
    margin = _rounded(settings.time.margin_ms - thinnest + 25)
    if late:
        return Finding("moves", "broken", f"{late} of {len(ballots)} moves came after the limit", f"set --margin-ms {margin}")
    if thinnest < settings.time.margin_ms / 3:
        return Finding("moves", "note", words, f"set --margin-ms {margin}: the machine is not always as quick")
    return Finding("moves", "ok", words)


# ---- The command ----

_STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}


async def _tell_all(config: Config[PlaySettings], console: Console) -> list[Finding]:
    stats = []
    async for stat in examine(config, console):
        stats.append(stat)
        console.print(f"{stat.level:7}", style=_STYLES[stat.level], end="")
        console.print(f"{stat.what}: {stat.words}", markup=False, highlight=False, soft_wrap=True)
        if stat.advice:
            console.print(f"         -> {stat.advice}", style="bold", markup=False, highlight=False, soft_wrap=True)
    return stats


def examine_and_tell(config: Config[PlaySettings], console: Console) -> int:
    """Say everything on `console`; returns the exit code: 1 if something is broken."""
    log.add_secret(config.settings.key)
    with log.configured("error", None, console):
        stats = asyncio.run(_tell_all(config, console))
    broken = sum(stat.level == "broken" for stat in stats)
    notes = sum(stat.level == "note" for stat in stats)
    if broken:
        console.print(f"{broken} {'thing is' if broken == 1 else 'things are'} broken", style="bold red")
    else:
        console.print(f"ready to play{f'; {notes} to look at' if notes else ''}", style="bold green")
    return 1 if broken else 0
