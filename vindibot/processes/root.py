"""The root: the forker that has loaded only modules of this project. It makes a template for each bot with foreign modules.

A **template** is a forker, too. It is a child of the root, and has also imported the foreign modules of one `Needs`. The root
passes requests with these needs on to it. If a template dies or takes too long while it imports its modules, the next template
for these needs imports nothing. Its children import the modules themselves.

Foreign code may kill its parent. The parent of a template that imports modules is a **holder**, a process that only waits. It
ends when the modules are imported, and the root becomes the parent. The parent of a child with foreign code is a template.

The root holds copies of the descriptors of a request that it has passed on, until the child tells it its process id, and of the
control socket until the end of the child. So the root takes over the children of a template that dies, and passes on the other
requests again. A template whose root dies ends after its last child.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import replace
from math import inf
from selectors import EVENT_READ, SelectorKey
from typing import Any, NoReturn

from vindibot.base.orphans import adopt_orphans, continue_after_parent, kill_children, name_process
from vindibot.base.system import open_files
from vindibot.config.settings import cores
from vindibot.processes import inside, preload
from vindibot.processes.changes import Changes
from vindibot.processes.forker import ForkedChild, Forker, Timed
from vindibot.processes.requests import CONTROL, ROOT, Needs, Request, close_all, send

#: The name of the process of a template, as ``ps`` shows it.
TEMPLATE = "vindibot-traits"
#: The name of a template that imports nothing, since an earlier one ended while it imported its modules.
BARE_TEMPLATE = "vindibot-bare"
#: The name of a holder.
HOLDER = "vindibot-holder"
#: Seconds that a template may take to import its modules.
LOAD_SECONDS = 15.0
#: The number of processes that compile kernels without further ones: the owner and the root. The largest number: more would not
#: be faster, because the largest kernel takes a sixth of the whole time.
COMPILERS, MOST_COMPILERS = 2, 6
#: If there is this number of templates, an unused one ends before there is another.
MOST_TEMPLATES = 16

#: What a template tells the root: the number of a request, and 0 at the end of its child. The child itself tells its process id.
#: First the number is 0, and the process id is that of the template. Both are 0 when the template has imported its modules.
_NEWS = struct.Struct("<ii")


def serve_as_root(loaded: int, told: dict[str, Any]) -> NoReturn:
    """Run the root; never return. When it has loaded its modules, it writes a byte to the pipe `loaded`.

    `told` has the parameters from `vindibot.processes.server`. If its `gate` is a pipe, the root and the first templates load the
    kernels only after the other end of this pipe is closed.
    """
    gate = told["gate"]
    inside.detach({0, 1, 2, loaded, told["requests"], *([] if gate is None else [gate])})
    name_process(ROOT)
    adopt_orphans()
    continue_after_parent()
    changes = Changes()
    preload.use_cache(told["cache"])
    wanted = [(run, Needs(tuple(folders), tuple(modules))) for run, (folders, modules) in told["prepared"]]
    for run, needs in wanted:
        preload.import_modules(_modules(run, needs))
    if gate is None:
        _load_kernels()
    root = _Root(socket.socket(fileno=told["requests"]), changes)
    for run, needs in wanted:
        root.prepare(run, needs, gate)
    if gate is not None:
        root.pass_gate(gate)
    os.write(loaded, b"1")
    os.close(loaded)
    root.serve()


def _wait(gate: int) -> None:
    """Wait until the other end of the pipe `gate` is closed."""
    os.read(gate, 1)
    os.close(gate)


def _load_kernels() -> None:
    """Load the kernels. If some are not compiled yet, fork processes that compile them, too: one per core that is left."""
    forked = []
    for _ in range(0 if preload.are_compiled() else min(cores(), MOST_COMPILERS) - COMPILERS):
        pid = os.fork()
        if not pid:
            try:
                preload.load_kernels()
            finally:
                os._exit(0)
        forked.append(pid)
    preload.load_kernels()
    for pid in forked:
        os.waitpid(pid, 0)


def _modules(run: str, needs: Needs) -> list[str]:
    """Return the modules of this project that the children with these needs use."""
    return [run.partition(":")[0], *(module for module in needs.modules if module not in needs.foreign)]


class _Template(Timed):
    """The root's handle of a template: its requests without a process in `waiting`, and its children in `lent`, by the numbers of
    their requests.

    `holder` is the process id of its holder, 0 if the holder has ended.
    """

    def __init__(self, holder: int, socket: socket.socket) -> None:
        super().__init__(0, LOAD_SECONDS)
        self.holder, self.socket = holder, socket
        self.loaded = False
        self.waiting: dict[int, tuple[Request, list[int]]] = {}
        self.lent: dict[int, ForkedChild] = {}

    def kill(self) -> None:
        """Kill the template and its holder."""
        self.read_news()
        if self.holder:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.holder, signal.SIGKILL)
        if self.pid:
            super().kill()

    def read_news(self) -> bool:
        """Read what the template has told. Return False if it has closed its socket, or has told nonsense."""
        while True:
            try:
                news = self.socket.recv(_NEWS.size, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return True
            except ConnectionError:  # it has ended with unread requests; its last news follow
                continue
            if not news:
                return False
            try:
                self._note(*_NEWS.unpack(news))
            except (struct.error, KeyError):  # a module writes to descriptors that it has not opened
                return False

    def _note(self, number: int, pid: int) -> None:
        if not self.pid:
            self.pid = pid
        elif not number:
            self.loaded, self.limit = True, inf
        elif pid:
            request, descriptors = self.waiting.pop(number)
            self.lent[number] = ForkedChild(pid, request, socket.socket(fileno=descriptors.pop(CONTROL)))
            close_all(descriptors)
        elif number in self.waiting:  # it could not be forked
            close_all(self.waiting.pop(number)[1])
        else:
            self.lent.pop(number).control.close()


class _Root(Forker):
    """The loop of the root."""

    def __init__(self, requests: socket.socket, changes: Changes) -> None:
        super().__init__(requests, changes)
        self._requests = requests
        self._templates: dict[Needs, _Template] = {}
        self._failed: set[Needs] = set()  # whose modules end their template
        self._number = 0

    def prepare(self, run: str, needs: Needs, gate: int | None = None) -> None:
        """Import what the children with these needs shall have at once. A new template loads the kernels after the `gate`."""
        if preload.import_modules(_modules(run, needs)):
            preload.load_kernels()
        if not needs.foreign or needs in self._templates:
            return
        if len(self._templates) >= MOST_TEMPLATES:
            self._end_unused_template()
        with contextlib.suppress(OSError):  # then its children import the modules
            ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
            with theirs:
                holder = os.fork()
                if not holder:
                    try:
                        _hold_template(theirs, Needs() if needs in self._failed else needs, gate)
                    finally:
                        os._exit(1)
            self._templates[needs] = _Template(holder, ours)
            self._selector.register(ours, EVENT_READ, self._hear)

    def pass_gate(self, gate: int) -> None:
        """Wait for the gate and load the kernels. The time of the templates begins then."""
        _wait(gate)
        _load_kernels()
        for template in self._templates.values():
            template.limit = time.monotonic() + LOAD_SECONDS

    def _end_unused_template(self) -> None:
        """End the oldest template that has no children and no requests, if there is one."""
        for needs, template in self._templates.items():
            if template.loaded and not template.lent and not template.waiting:
                del self._templates[needs]
                self._selector.unregister(template.socket)
                template.kill()
                template.socket.close()
                return

    def _timed(self) -> Iterable[Timed]:
        return [*super()._timed(), *self._templates.values()]

    def _handle(self, request: Request, descriptors: list[int]) -> None:
        self.prepare(request.run, request.needs)
        template = self._templates.get(request.needs)
        if not descriptors:
            return
        if template is None:
            self._fork(request, descriptors)
            return
        self._number += 1
        template.waiting[self._number] = replace(request, number=self._number), descriptors
        if template.loaded:
            self._pass_on(template, self._number)

    def _pass_on(self, template: _Template, number: int) -> None:
        request, descriptors = template.waiting[number]
        if not send(template.socket, request, descriptors):
            del template.waiting[number]
            self._fork(request, descriptors)

    def _lost(self, requests: socket.socket) -> None:
        if requests is self._requests:
            self._changes.end()

    def _hear(self, key: SelectorKey) -> None:
        """Handle the news of a template, or the end of its socket."""
        template = next(one for one in self._templates.values() if one.socket is key.fileobj)
        if not self._read_news(template):
            self._selector.unregister(template.socket)
            template.kill()

    def _read_news(self, template: _Template) -> bool:
        """Read the news of a template, and pass the waiting requests on when it has imported its modules.

        Return False if it has closed its socket, or has told nonsense.
        """
        was_loaded, is_sound = template.loaded, template.read_news()
        if template.loaded and not was_loaded:
            for number in [*template.waiting]:
                self._pass_on(template, number)
        return is_sound

    def _look_at(self, changed: list[tuple[int, int]]) -> None:
        statuses = dict(changed)
        for template in self._templates.values():
            self._read_news(template)
        for needs, template in list(self._templates.items()):
            status = statuses.get(template.holder)
            if status is not None:
                template.holder = 0 if not os.WIFSTOPPED(status) else template.holder
                if not template.loaded:
                    template.kill()
            status = statuses.get(template.pid)
            if status is not None and os.WIFSTOPPED(status):  # nobody can wait until a user continues it
                template.kill()
            elif status is not None or not (template.holder or _is_child(template.pid)):
                del self._templates[needs]
                self._take_over(needs, template, statuses)

    def _take_over(self, needs: Needs, template: _Template, statuses: dict[int, int]) -> None:
        """Take over the children of a template that has ended, and its requests. `statuses` are those of ended processes."""
        template.read_news()
        with contextlib.suppress(KeyError):
            self._selector.unregister(template.socket)
        template.socket.close()
        for child in template.lent.values():
            if child.pid in statuses or _is_child(child.pid):
                self._add(child)
            else:  # nobody knows its exit code
                child.control.close()
        if template.waiting:  # a child may not have told its process id, and its request is passed on again
            kill_children(keep=self._known())
        handle = self._handle if template.loaded or needs not in self._failed else self._fork
        if not template.loaded:
            self._failed.add(needs)
        for request, descriptors in template.waiting.values():
            handle(request, descriptors)

    def _others(self) -> list[int]:
        found: list[int] = []
        for template in self._templates.values():
            found += (template.pid, template.holder, *(child.pid for child in template.lent.values()))  # it may have just died
        return found


def _is_child(pid: int) -> bool:
    """Return whether a process is a child of this process, perhaps one that has ended."""
    if pid <= 0:
        return False
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (ChildProcessError, OverflowError):
        return False
    return True


def _hold_template(requests: socket.socket, needs: Needs, gate: int | None) -> NoReturn:
    """Fork a template, and hold it until it ends, stops, or has imported its modules; never return.

    The template loads the kernels after the `gate`, if there is one.
    """
    inside.detach({requests.fileno(), *preload.descriptors, *([] if gate is None else [gate])})
    holder, pid = os.getpid(), os.fork()
    if not pid:
        try:
            _serve_as_template(requests, needs, gate, holder)
        finally:
            os._exit(1)
    close_all([*open_files() - {0, 1, 2}])
    name_process(HOLDER)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)  # the template ends it if all modules are imported
    os._exit(0)


def _serve_as_template(requests: socket.socket, needs: Needs, gate: int | None, holder: int) -> NoReturn:
    """Run a template; never return."""
    os.setsid()
    inside.use_streams(None)
    name_process(TEMPLATE if needs.foreign else BARE_TEMPLATE)
    adopt_orphans()
    changes = Changes()
    requests.send(_NEWS.pack(0, os.getpid()))
    preload.import_modules(needs.foreign, needs.folders)
    if gate is None:
        preload.load_kernels()
    else:
        _wait(gate)
        preload.load_kernels()
    template = _TemplateForker(requests, changes)
    template.tell_loaded()
    if os.getppid() == holder:
        os.kill(holder, signal.SIGKILL)
    continue_after_parent()  # not earlier: a module that stops the template while it is imported ends the holder
    template.serve()


class _TemplateForker(Forker):
    """The loop of a template."""

    def __init__(self, requests: socket.socket, changes: Changes) -> None:
        super().__init__(requests, changes)
        self._root: socket.socket | None = requests

    def tell_loaded(self) -> None:
        """Tell the root that the modules are imported."""
        self._note(0, 0)

    def _note(self, number: int, pid: int) -> None:
        if self._root is not None:
            with contextlib.suppress(OSError):
                self._root.send(_NEWS.pack(number, pid))

    def _lost(self, requests: socket.socket) -> None:
        self._root = None
        self._end_if_unused()

    def _collect(self, key: SelectorKey) -> None:
        super()._collect(key)
        self._end_if_unused()

    def _end_if_unused(self) -> None:
        if self._root is None and not self._children and not self._ended:
            self._changes.end()
