"""Move ordering: the move of the transposition table, then killers, then history (Schaeffer 1989)."""

from __future__ import annotations

from behaviours.common.kernel_types import int64, uintp
from behaviours.search.records import FrameRecord, MemoryRecord
from sim.game import STRIDE
from sim.kernels import inlined, kernel


@kernel
def sort_moves(frame: FrameRecord, memory: MemoryRecord, hero: int, pos: int, level: int, table_move: int) -> None:
    """Sort the moves of a node: `table_move`, the killers of this ply, then the others by history. The sort is stable."""
    count = int64(frame.count)
    for place in range(1, count):
        move = int64(frame.moves[place])
        priority: int = _priority_of(memory, hero, pos, level, table_move, move)
        slot = place
        while slot > 0 and _priority_of(memory, hero, pos, level, table_move, int64(frame.moves[slot - 1])) < priority:
            frame.moves[slot] = frame.moves[slot - 1]
            slot -= 1
        frame.moves[slot] = move


@inlined
def _priority_of(memory: MemoryRecord, hero: int, pos: int, level: int, table_move: int, move: int) -> int:
    if move == table_move:
        return int64(1) << 40
    if move == memory.killers[uintp(2 * level)]:
        return int64(1) << 39
    if move == memory.killers[uintp(2 * level + 1)]:
        return int64(1) << 38
    return int64(memory.history[uintp((hero * 5 + move) * (STRIDE * STRIDE) + pos)])


@kernel
def record_cutoff(memory: MemoryRecord, hero: int, pos: int, level: int, move: int, depth: int) -> None:
    """Make a move that caused a cut-off a killer of its ply, and raise its history by the square of `depth`."""
    if memory.killers[2 * level] != move:
        memory.killers[2 * level + 1] = memory.killers[2 * level]
        memory.killers[2 * level] = move
    place = (hero * 5 + move) * (STRIDE * STRIDE) + pos
    memory.history[place] = min(int64(memory.history[place]) + depth * depth, 1 << 28)
