"""Requests for child processes: what a child needs, its limits, and the packets for the socket of the fork server."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import socket
from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

from vindibot.base.system import limit_files, limit_memory

#: The packages of this project. A module of another package is foreign.
OURS = frozenset({"sim", "behaviours", "vindibot"})
#: The name of the process that forks, as ``ps`` shows it.
ROOT = "vindibot-forker"
#: The place of the control socket among the descriptors of a request.
CONTROL = 2
#: The largest number of bytes of a request, and of its file descriptors.
LONGEST, MOST_DESCRIPTORS = 1 << 17, 64


class Needs(NamedTuple):
    """The modules that contain a bot's traits. `folders` are folders beside the bot's files from which they can be imported."""

    folders: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def foreign(self) -> tuple[str, ...]:
        """The modules that are not of this project."""
        return tuple(module for module in self.modules if module.partition(".")[0] not in OURS)


@dataclass(frozen=True)
class ChildLimits:
    """The limits of a child process. None means no limit of ours.

    - `memory_mb`: the memory in MiB that the child may use in addition to its memory after the fork.
    - `descriptors`: the number of file descriptors.
    - `seconds`: the wall time from the fork until the child is killed.
    - `output`: the number of bytes of its output that are stored. If it is 0, its output is dropped.
    - `frame`: the largest number of bytes of a payload that the child may send.
    """

    memory_mb: int | None = None
    descriptors: int | None = None
    seconds: float | None = None
    output: int = 64 << 10
    frame: int = 1 << 20

    def apply(self) -> None:
        """Limit the memory and the descriptors of this process. The process cannot raise these limits again."""
        if self.memory_mb is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit_memory(pages * mmap.PAGESIZE + (self.memory_mb << 20))
        if self.descriptors is not None:
            limit_files(self.descriptors)


@dataclass(frozen=True)
class Request:
    """A request for a child process. Without file descriptors it only prepares such processes.

    - `run`: the function that the child runs, as ``module:function``.
    - `needs`: the modules that the child should have at once.
    - `memory`, `setup`: the sizes of the two parts of the child's memory in bytes.
    - `spawns`: whether the child may request further children.
    - `number`: the number that the root gives to a request when it passes the request on to a template.

    The file descriptors are the child's ends of the pipes for frames to it and from it, the forker's end of the control socket,
    the file of the child's memory, the writing end of the pipe for output if `limits.output` is not 0, and further shared files.
    """

    run: str
    needs: Needs = field(default_factory=Needs)
    limits: ChildLimits = field(default_factory=ChildLimits)
    memory: int = 0
    setup: int = 0
    spawns: bool = False
    name: str = ""
    number: int = 0

    def encode(self) -> bytes:
        """Return the request as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Request:
        """Return the request that `encode` has turned into `data`."""
        fields = json.loads(data)
        folders, modules = fields.pop("needs")
        return cls(needs=Needs(tuple(folders), tuple(modules)), limits=ChildLimits(**fields.pop("limits")), **fields)


def send(there: socket.socket, request: Request, descriptors: Sequence[int] = ()) -> bool:
    """Send a request with its file descriptors. Return whether it was sent. Never block."""
    message = request.encode()
    attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))] if descriptors else []
    try:
        return there.sendmsg([message], attached, socket.MSG_DONTWAIT) == len(message)
    except OSError:
        return False


def receive(here: socket.socket) -> tuple[Request, list[int]] | None:
    """Return a request and its file descriptors; None if the other end is closed.

    Raises `BlockingIOError` if no request is there, or if the request had more descriptors than this process can open.
    """
    try:
        space = socket.CMSG_SPACE(MOST_DESCRIPTORS * array("i").itemsize)
        message, attached, flags, _ = here.recvmsg(LONGEST, space, socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC)
    except ConnectionError:
        return None
    descriptors = [number for *_, data in attached for number in array("i", data[: len(data) // 4 * 4])]
    if flags & (socket.MSG_CTRUNC | socket.MSG_TRUNC):
        close_all(descriptors)  # the owner sees that its end is closed
        raise BlockingIOError
    return (Request.decode(message), descriptors) if message else None


def close_all(descriptors: Sequence[int]) -> None:
    """Close file descriptors."""
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)
