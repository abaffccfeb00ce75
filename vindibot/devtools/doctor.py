"""``vindibot doctor``: check whether the bot will answer in time on this machine and with this server, and say what to repair.

The bot runs on sample turns with the same agent, the same worker processes and the same deadline as in a game.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import platform
import shutil
import statistics
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from rich.console import Console

from sim import kernels
from sim.game import RUNNING
from sim.rules import step
from vindibot.base import log
from vindibot.base.address import ServerAddress
from vindibot.base.errors import UsageError, VindibotError
from vindibot.base.keys import find_key
from vindibot.base.output.console import say
from vindibot.base.output.redaction import Redactor
from vindibot.base.output.text import counted
from vindibot.base.system.limits import free_files
from vindibot.client.transport import Transport, TransportError, Within, look_up
from vindibot.config.bots import Bot, load_bot
from vindibot.config.files import short
from vindibot.config.load import Config
from vindibot.config.settings import PlaySettings, cores
from vindibot.config.signature import build
from vindibot.devtools import catalogue
from vindibot.devtools.conformance import usual
from vindibot.engine.agent import Agent, voters
from vindibot.engine.deadline import Deadline
from vindibot.engine.pool import Pool
from vindibot.engine.rehearsal import rehearse
from vindibot.engine.warmup import warm
from vindibot.engine.worker import RUN
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import unwritable_reason
from vindibot.processes.child import Child
from vindibot.processes.ending import ChildEnded
from vindibot.processes.frames import FIRST_KIND
from vindibot.processes.requests import Needs
from vindibot.processes.root import TEMPLATE
from vindibot.processes.server import loading_beside
from vindibot.processes.support import supports_children
from vindibot.server.embedded import EmbeddedServer

Level = Literal["ok", "note", "broken"]
#: Number of requests that measure the round trip to the server.
REQUESTS = 20
WITHIN = Within(connect=3.0, head=5.0, body=5.0)
#: The sleeps that measure how late this machine wakes a process: their number, and the seconds of each.
SLEEPS, SLEEP = 40, 0.005
#: Number of consecutive turns that the bot plays from each sample position. A bot with an anytime trait plays 1 turn.
TURNS = 3
#: If a turn has less than this number of seconds, there is hardly time to think.
SHORT_TIME = 0.1
#: Bytes that should be free in the folder of recordings: about 100 games.
FREE_BYTES = 100 * 2**20
#: File descriptors that this program has open for a child, and that it opens for other things.
CHILD_DESCRIPTORS, OTHER_DESCRIPTORS = 6, 16
#: Seconds that a child may take to start, and to answer and to end.
START_SECONDS, ANSWER_SECONDS = 60.0, 5.0


@dataclass(frozen=True)
class Finding:
    """The result of one check: a level ("ok", "note" for information, "broken" for a fault), the result as text, and advice."""

    what: str
    level: Level
    words: str
    advice: str = ""


async def examine(config: Config[PlaySettings], console: Console) -> AsyncIterator[Finding]:
    """Run all checks and yield their findings."""
    settings = config.settings
    yield check_machine()
    yield check_recordings(settings)
    bot: Bot | None = None
    try:
        bot = load_bot(settings.bot)
    except VindibotError as problem:
        yield Finding(
            "bot", "broken", problem.message, "correct the bot file; vindibot behaviours NAME shows the parameters of a trait"
        )
    for finding in check_traits(bot):
        yield finding
    needs = Needs() if bot is None else Needs(bot.folders, bot.modules)
    with loading_beside(RUN, needs):
        yield check_kernels(console)  # after the import of all traits, which declare kernels
    yield await asyncio.to_thread(check_processes, needs, settings.pool.worker_count())
    yield check_temporary_files()
    yield await check_punctuality(settings)
    results, network = await check_server(settings)
    for finding in results:
        yield finding
    yield check_time(settings, network)
    if bot is not None:
        async for finding in check_bot(bot, settings, network):
            yield finding


# ---- The machine ----


def check_machine() -> Finding:
    """Report the versions, the cores, and whether other programs use the cores."""
    words = f"vindibot {build()}, {platform.system()}; {cores()} cores"
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # Windows does not tell
        return Finding("machine", "ok", words)
    words += f", {load:.1f} busy"
    if load > cores() + 0.5:
        return Finding(
            "machine", "note", words, "other programs use the cores: moves will be weaker, and times below are too long"
        )
    return Finding("machine", "ok", words)


def check_kernels(console: Console) -> Finding:
    """Report the folder of compiled kernels, and compile the missing kernels."""
    cached = kernels.cached()
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RuntimeWarning)
        warm(console)
    seconds = time.monotonic() - began
    folder = kernels.cache_folder()
    if caught:
        return Finding("kernels", "note", str(caught[0].message))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20
    how = f"loaded in {seconds:.1f} s" if cached else f"compiled in {seconds:.0f} s, once"
    return Finding("kernels", "ok", f"{len(kernels.entries())} kernels {how}; {size:.0f} MB in {folder}")


def check_recordings(settings: PlaySettings) -> Finding:
    """Report whether recordings can be written."""
    if not settings.recording.enabled:
        return Finding("recordings", "ok", "games are not recorded, as configured")
    folder = settings.recording.folder.absolute()
    if problem := unwritable_reason(folder):
        advice = "choose another folder: --recordings FOLDER, or recording.folder in the configuration"
        return Finding("recordings", "broken", f"nothing can be written to {short(folder)}: {problem}", advice)
    free = shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free
    if free < FREE_BYTES:
        return Finding(
            "recordings", "note", f"{free // 2**20} MB are free at {short(folder)}", "delete files: a game takes about 1 MB"
        )
    return Finding("recordings", "ok", f"go to {short(folder)}, where {free / 2**30:.0f} GB are free")


def check_traits(bot: Bot | None) -> Iterator[Finding]:
    """Report traits that cannot be imported."""
    traits = catalogue.all_traits(bot)
    bad = [trait for trait in traits if trait.kind is None]
    for trait in bad:
        yield Finding(
            "traits", "note", f"{trait.use} ({trait.home}): {trait.problem}", "correct it: no bot can use it until then"
        )
    yield Finding("traits", "ok", f"{len(traits) - len(bad)} can be used")


def check_processes(needs: Needs, workers: int) -> Finding:
    """Report whether children can be started, used and killed, as all commands do that run traits in other processes.

    `needs` are the modules of the bot.
    """
    if not supports_children():
        advice = "use Linux, WSL on Windows, or a container: without them a trait that hangs cannot be ended (docs/systems.md)"
        words = "this system cannot run traits in processes of their own: they run in the process of the command"
        return Finding("processes", "note", words, advice)
    step = "shared memory"
    try:
        os.close(os.memfd_create("vindibot-doctor"))
        step = "file descriptors"
        missing = _missing_descriptors(workers)
        if missing:
            advice = "raise the limit of open files (ulimit -n), or use fewer workers: --workers"
            return Finding("processes", "broken", f"{counted(workers, 'worker')} need {missing} more file descriptors", advice)
        for one in (Needs(), needs) if needs.foreign else (Needs(),):
            step = "the start of a process" + (" with the modules of the bot" if one.foreign else "")
            with Child("vindibot.processes.inside:echo", needs=one, kinds=[FIRST_KIND]) as child:
                child.send(FIRST_KIND, b"word")
                answer = child.receive(START_SECONDS)
                step = "an answer of a process"
                child.send(FIRST_KIND, b"another")
                if (answer.payload, child.receive(ANSWER_SECONDS).payload) != (b"word", b"another"):
                    return Finding("processes", "broken", "a process has sent a wrong answer")
                has_template = not one.foreign or _parent_name(child.pid) == TEMPLATE
                step = "the end of a process"
                child.kill()
                with contextlib.suppress(ChildEnded):
                    child.receive(ANSWER_SECONDS)
    except (OSError, VindibotError) as problem:
        words = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        advice = "end other programs, or raise the limits of this shell (ulimit -a)"
        return Finding("processes", "broken", f"{step}: {words}", advice)
    if not has_template:
        advice = "the import of a module should do nothing but define things: it takes too long, or ends the process"
        return Finding("processes", "note", "each process of the bot imports the modules of the bot itself", advice)
    return Finding("processes", "ok", "they start, answer and end")


def _missing_descriptors(workers: int) -> int:
    """Return how many file descriptors are missing for a number of workers, 0 if there are enough."""
    return max(0, CHILD_DESCRIPTORS * workers + OTHER_DESCRIPTORS - free_files())


def _parent_name(pid: int) -> str:
    """Return the name of the parent of a process, "" if it cannot be read."""
    try:
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        return Path(f"/proc/{parent}/comm").read_text().strip()
    except OSError:
        return ""


def check_temporary_files() -> Finding:
    """Report whether there is a folder for temporary files."""
    try:
        return Finding("temporary files", "ok", f"go to {tempfile.gettempdir()}")
    except OSError:
        advice = "set TMPDIR to a folder that can be written"
        return Finding("temporary files", "note", "there is no folder for them: vindibot cluster needs one", advice)


async def check_punctuality(settings: PlaySettings) -> Finding:
    """Report how late this machine wakes a sleeping process. The margin must be larger than this delay."""
    late = []
    for _ in range(SLEEPS):
        began = time.monotonic()
        await asyncio.sleep(SLEEP)
        late.append((time.monotonic() - began - SLEEP) * 1000)
    margin = settings.time.margin_ms
    words = f"a process wakes {statistics.median(late):.1f} ms late, at worst {max(late):.1f} ms; the margin is {margin:g} ms"
    if max(late) > margin:
        advice = f"set time.margin_ms to {_rounded(1.5 * max(late) + 25)}, or end other programs"
        return Finding("punctuality", "note", words, advice)
    return Finding("punctuality", "ok", words)


def _rounded(ms: float) -> int:
    return 5 * math.ceil(ms / 5)


# ---- The server ----


async def check_server(settings: PlaySettings) -> tuple[list[Finding], float]:
    """Return findings about the round trip to the server and about the key, and the round trip in seconds."""
    if settings.embedded:
        async with EmbeddedServer() as server:
            finding, seconds = await _round_trip(ServerAddress.parse(server.url), "our own server")
        return [finding], seconds
    address = ServerAddress.parse(settings.server, allow_old_domain=settings.allow_old_domain)
    finding, seconds = await _round_trip(address, str(address))
    return [finding, check_key(settings)], seconds


def check_key(settings: PlaySettings) -> Finding:
    """Report whether there is a key. The key is neither sent nor shown."""
    try:
        key = find_key(settings.key, settings.key_file)
    except VindibotError as problem:
        return Finding("key", "broken", problem.message, "the key file has one line, the key")
    if key is None:
        return Finding("key", "note", "there is none", "set VINDIBOT_KEY, or key_file in the configuration of vindibot play")
    return Finding("key", "ok", "there is one; it was not sent")


async def _round_trip(address: ServerAddress, name: str) -> tuple[Finding, float]:
    times: list[float] = []
    try:
        transport = Transport(address, Redactor())
    except UsageError as problem:
        return Finding("server", "broken", problem.message), 0.0
    try:
        await look_up(address)
        for number in range(REQUESTS):
            if number % 5 == 0:  # connect again, because the shortest time to connect counts
                await transport.aclose()
            began = time.monotonic()
            reply = await transport.get(address.url("/"), WITHIN)
            times.append(reply.head_at - began)
            if reply.proxy is not None and reply.status >= 400:
                raise TransportError(f"{transport.route} answers with status {reply.status}")
    except TransportError as problem:
        if not times:
            advice = "check the address, and that the server runs; vindibot serve starts one"
            return Finding("server", "broken", f"{name} cannot be reached: {problem.message}", advice), 0.0
    finally:
        await transport.aclose()
    seconds = max(statistics.median(times), transport.connect_seconds or 0.0)
    median, worst = statistics.median(times) * 1000, max(times) * 1000
    words = f"{name} answers in {median:.1f} ms, at worst {worst:.1f} ms, in {len(times)} requests"
    if len(times) < REQUESTS:
        return Finding("server", "note", f"{words}; then it stopped answering", "read the log of the server"), seconds
    return Finding("server", "ok", words), seconds


def check_time(settings: PlaySettings, network: float) -> Finding:
    """Report the part of a turn's time that is left for thinking. `network` is the round trip in seconds."""
    limit, margin = (settings.time.limit_ms or 1000) / 1000, settings.time.margin_ms / 1000
    left = Deadline(margin).moment(0.0, limit, network)
    words = f"{left * 1000:.0f} of {limit * 1000:.0f} ms to think: {network * 1000:.0f} for the network, {margin * 1000:g} margin"
    if left < SHORT_TIME:
        return Finding("time", "broken", words, "raise the server's limit, lower time.margin_ms, or play on a nearer server")
    return Finding("time", "ok", words)


# ---- The bot ----


async def check_bot(bot: Bot, settings: PlaySettings, network: float) -> AsyncIterator[Finding]:
    """Run the bot on sample turns, as in a game."""
    pool = settings.pool
    running = voters(
        bot, workers=pool.worker_count(), in_process=pool.in_process, grace=pool.grace_ms / 1000, strikes=pool.strikes
    )
    try:
        await running.start()
        await rehearse(running)
    except VindibotError as problem:
        yield Finding("workers", "broken", problem.message, "check_trait of vindibot.testing shows more")
        return
    try:
        if not isinstance(running, Pool):
            yield Finding("workers", "ok", "the traits run in this process")
        else:
            workers = len(running.workers)
            count = f"{workers} worker process{'' if workers == 1 else 'es'}"
            if running.preloaded:
                yield Finding("workers", "ok", count)
            else:
                advice = "it takes longer to replace a worker in a game, since a trait loads slowly"
                yield Finding("workers", "note", f"{count}, each loads everything itself", advice)
        limit = (settings.time.limit_ms or 1000) / 1000
        ballots: list[Ballot] = []
        for position in usual():
            running.begin_game()
            agent = Agent(running, position.me, position.seed, Deadline(settings.time.margin_ms / 1000), pool.nodes)
            turns = 1 if any(health.anytime for health in running.health_records) and pool.nodes is None else TURNS
            games = position.games.copy()
            rng = np.random.default_rng(position.seed)
            for _ in range(turns):
                ballot = await agent.decide(games.copy(), time.monotonic(), limit, network)
                ballots.append(ballot)
                for move in (ballot.direction, *rng.integers(0, 5, 3).tolist()):
                    step(games, 0, int(move))
                await asyncio.sleep(2 * pool.grace_ms / 1000)  # in a game the opponents move now, and late workers return
                if games[0]["status"] != RUNNING:
                    break
        anytime = {health.label for health in running.health_records if health.anytime}
    finally:
        await running.close()
    for number, trait in enumerate(bot.traits):
        yield check_votes(trait.label, [ballot.entries[number] for ballot in ballots], anytime=trait.label in anytime)
    yield check_moves(ballots, settings)


def check_votes(label: str, entries: Sequence[BallotEntry], *, anytime: bool) -> Finding:
    """Report whether the votes of a trait are valid and in time. `entries` has the trait's entry in the ballot of each turn."""
    what, turns, times = f"trait {label}", len(entries), [entry.ms for entry in entries]
    failed = [entry for entry in entries if entry.status in ("error", "void")]
    if failed:
        advice = (
            "play a game with it: vindibot play prints the command that stops in this line, in the debugger; check_trait of"
            " vindibot.testing shows the position"
        )
        return Finding(what, "broken", f"failed in {len(failed)} of {counted(turns, 'turn')}: {failed[0].note}", advice)
    late = [entry for entry in entries if entry.status in ("late", "killed", "benched")]
    if late:
        advice = "its late votes do not count: let it do less, or write vote as a generator that yields better and better answers"
        if anytime:
            advice = (
                "it had no votes in time, or its worker was killed since it did not stop: yield a first answer at once and"
                " look at view.budget.expired() often; on a busy machine raise pool.grace_ms"
            )
        note = next((f": {entry.note}" for entry in entries if entry.note), "")
        return Finding(
            what, "broken" if len(late) > turns / 2 else "note", f"late in {len(late)} of {counted(turns, 'turn')}{note}", advice
        )
    words = f"{statistics.median(times):.1f} ms, at worst {max(times):.1f} ms in {counted(turns, 'turn')}"
    return Finding(what, "ok", f"uses all available time: {words}" if anytime else words)


def check_moves(ballots: Sequence[Ballot], settings: PlaySettings) -> Finding:
    """Report whether the moves were in time."""
    least = min(ballot.margin_ms for ballot in ballots)
    late = sum(ballot.margin_ms < 0 for ballot in ballots)
    margin = _rounded(settings.time.margin_ms - least + 25)
    if late:
        return Finding(
            "moves", "broken", f"{late} of {len(ballots)} moves came after the limit", f"set time.margin_ms to {margin}"
        )
    words = f"{counted(len(ballots), 'move')}, the latest {least:.0f} ms before the limit"
    if least < settings.time.margin_ms / 3:
        return Finding("moves", "note", words, f"set time.margin_ms to {margin}: the machine is not always as fast")
    return Finding("moves", "ok", words)


# ---- The command ----

_STYLES = {"ok": "green", "note": "yellow", "broken": "bold red"}


async def _print_all(config: Config[PlaySettings], console: Console) -> Counter[Level]:
    """Print all findings and return their number by level."""
    levels: Counter[Level] = Counter()
    async for finding in examine(config, console):
        levels[finding.level] += 1
        console.print(f"{finding.level:7}", style=_STYLES[finding.level], end="")
        say(console, f"{finding.what}: {finding.words}")
        if finding.advice:
            say(console, f"         -> {finding.advice}", "bold")
    return levels


def run_doctor(config: Config[PlaySettings], console: Console) -> int:
    """Print all findings on `console`; return the exit code: 1 if something is broken."""
    log.add_secret(config.settings.key)
    with log.configured("error", None, console):
        levels = asyncio.run(_print_all(config, console))
    if broken := levels["broken"]:
        console.print(f"{broken} {'thing is' if broken == 1 else 'things are'} broken", style="bold red")
        return 1
    notes = f"; {counted(levels['note'], 'note')} above" if levels["note"] else ""
    console.print(f"ready to play{notes}", style="bold green")
    return 0
