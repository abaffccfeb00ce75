"""Frames: whatever a child sends becomes frames or one error, never anything else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vindibot.processes.frames import MARK, ChildFrame, Decoder, FrameError, encode

KINDS = (0, 1, 16, 17)
FRAMES = st.lists(st.builds(ChildFrame, st.sampled_from(KINDS), st.integers(0, 65535), st.binary(max_size=100)))


@given(FRAMES, st.lists(st.integers(0, 2000)))
def test_frames_arrive_as_they_were_sent_however_they_are_cut(sent: list[ChildFrame], cuts: list[int]) -> None:
    data = b"".join(encode(frame.kind, frame.payload, frame.channel) for frame in sent)
    decoder = Decoder(100, KINDS)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    found = [frame for begin, end in pairwise(places) for frame in decoder.feed(data[begin:end])]
    assert found == sent


@given(st.binary(max_size=200), st.integers(0, 100))
def test_other_bytes_are_an_error_or_the_frames_that_they_spell(data: bytes, longest: int) -> None:
    try:
        found = Decoder(longest, KINDS).feed(data)
    except FrameError:
        return
    spelled = b"".join(encode(frame.kind, frame.payload, frame.channel) for frame in found)
    assert data.startswith(spelled)
    assert all(frame.kind in KINDS and len(frame.payload) <= longest for frame in found)
    assert data[len(spelled) :][:1] in (b"", bytes([MARK]))


@pytest.mark.parametrize("bad", [encode(2), encode(0, bytes(11)), b"\x00" + encode(0)[1:], b"no frame"])
def test_a_wrong_kind_length_or_mark_is_an_error(bad: bytes) -> None:
    with pytest.raises(FrameError, match="bytes are no frame"):
        Decoder(10, KINDS).feed(encode(1, b"good") + bad)


def test_a_payload_becomes_records_of_the_right_length_only() -> None:
    dtype = np.dtype([("move", "i1"), ("ms", "f4")])
    record = np.array([(3, 1.5)], dtype)
    frame = ChildFrame(16, 0, record.tobytes())
    assert frame.records(dtype, 1) == record
    with pytest.raises(FrameError, match="instead of 2 records"):
        frame.records(dtype, 2)
