"""A bad network: a TCP proxy that spoils requests at random."""

from __future__ import annotations

import asyncio
import random

from tests.support.listening import Listener, Message, read_message


class FaultyProxy(Listener):
    """Passes requests to a server on this machine, and spoils a `share` (0..1) of the requests with moves.

    A spoiled request does not reach the server, or its answer is lost or cut, or comes `delay` seconds late if `delay` is not 0.
    `spoiled` is the number of spoiled requests.
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
