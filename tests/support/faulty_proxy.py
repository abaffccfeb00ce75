"""A bad network: a TCP proxy that breaks exchanges at random."""

from __future__ import annotations

import asyncio
import random

from tests.support.listening import Listener, Message, read_message


class FaultyProxy(Listener):
    """Passes requests on to a server on this machine, and spoils the `share` of those that carry moves.

    A spoiled one is dropped before it reaches the server, or its answer is dropped whole or in the middle, or comes
    `delay` seconds late, if that is not 0. `spoiled` counts them.
    """

    def __init__(self, port: int, rng: random.Random, share: float, delay: float = 0.0) -> None:
        super().__init__()
        self._target = port
        self._rng = rng
        self._share = share
        self._faults = ("request", "answer", "middle", *(("delay",) if delay else ()))
        self._delay = delay
        self.spoiled = 0

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            while await self._pass_on(await read_message(reader), writer, far_reader, far_writer):
                pass
        finally:
            far_writer.close()

    async def _pass_on(
        self, request: Message, writer: asyncio.StreamWriter, far_reader: asyncio.StreamReader, far_writer: asyncio.StreamWriter
    ) -> bool:
        spoil = "/play" in request.first_line and self._rng.random() < self._share
        fault = self._rng.choice(self._faults) if spoil else ""
        self.spoiled += spoil
        if fault == "request":
            return False
        far_writer.write(request.head + request.body)
        answer = await read_message(far_reader)
        if fault == "answer":
            return False
        if fault == "delay":
            await asyncio.sleep(self._delay)
        raw = answer.head + answer.body
        writer.write(raw[: len(raw) // 2] if fault == "middle" else raw)
        await writer.drain()
        return fault != "middle"
