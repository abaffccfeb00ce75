"""Nets: small networks over one-hot features (`behaviours.net.features`), with whole numbers as weights.

A network has a **row** of weights per feature, one weight for each hidden unit. The sum of the rows of all features is the input
of the hidden units, whose output is max(0, input). The result is the sum of their outputs, each times an output weight, and of a
linear part: one weight per feature. There are no other biases, because some features occur in every decision.

A **net** has a network for the scores of moves, and perhaps one for the value of a position, with which self-play goes on
training. The score of a move counts the features of the position and of the move. The value counts the features of the position
and of Stay.

All weights are whole numbers of 1 / `UNIT` in 16 bits, and all sums are exact. So a net makes the same moves on every machine.
Kernels add the inputs of a hidden unit in 16 bits, and the outputs of all units in 32 bits, because half the width takes half the
time. A net whose sums could be larger is refused (`Network.fits`).

A **file of nets** (.npz) has one or more nets. It names the groups of features, their sizes and the version of the features. A
file may lack some of today's groups: their weights are 0. A file with other groups is refused. Facts about each net (`Net.about`)
include the version of vindibot that wrote the file.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import FEATURES, GROUPS, MOVE_SLOTS, RANGES, STATE_SLOTS
from behaviours.net.move_features import FEATURES as BASIC_FEATURES
from sim.kernel_types import LINE, aligned_zeros, array_of, record

#: Number of units in a weight of 1. A weight is a whole number of units, -`MOST` to `MOST`.
UNIT, MOST = 1024, 32767
#: Largest input of a hidden unit, and largest sum of the weighted outputs of all hidden units, in kernels.
MOST_INPUT, MOST_OUTPUT = 2**15 - 1, 2**31 - 1
#: The first feature of each range of features, and the number of slots of a decision that have a feature of this range.
_FIRST, _SLOTS = np.array(RANGES).T
#: Largest number of hidden units. It is a multiple of `LANES`.
MAX_HIDDEN, LANES = 128, 16
#: The version of the features. It is raised when the same numbers mean other features.
FEATURES_VERSION = 1
#: The names and sizes of the groups of features, as a file of nets holds them.
_NAMES = [f"{name}: {size}" for name, size in GROUPS.items()]
_FORMAT = "vindibot nets 1"

#: A network for kernels: the number of `hidden` units, the `rows` one after the other (`hidden` weights each), the `linear` part,
#: and the output weights (`out`). The rows of each network in an array begin at a line of a processor's cache.
NETWORK = record(
    rows=("i2", FEATURES * MAX_HIDDEN), out=("i2", MAX_HIDDEN), hidden="i8", linear=("i2", FEATURES),
    padding=("u1", -(8 + 2 * FEATURES) % LINE),
)  # fmt: skip
#: numba's type of an array of networks.
NETWORKS = array_of(NETWORK)


class NetError(ValueError):
    """A file of nets cannot be read, or a net has wrong weights. The message says what is wrong."""


@dataclass(frozen=True, eq=False)
class Network:
    """The weights of a network, in units of 1 / `UNIT`.

    `rows` is int16[`FEATURES`, hidden], `linear` is int16[`FEATURES`], `out` is int16[hidden]. Raises `NetError` for other
    shapes.
    """

    rows: NDArray[np.int16]
    linear: NDArray[np.int16]
    out: NDArray[np.int16]

    def __post_init__(self) -> None:
        hidden = self.hidden
        if hidden > MAX_HIDDEN or hidden % LANES:
            raise NetError(f"{hidden} hidden units: a multiple of {LANES} up to {MAX_HIDDEN} is possible")
        for name, shape in (("rows", (FEATURES, hidden)), ("linear", (FEATURES,)), ("out", (hidden,))):
            weights = getattr(self, name)
            if weights.shape != shape or weights.dtype != np.int16:
                raise NetError(f"{name} must be int16 of the shape {shape}, not {weights.dtype} of {weights.shape}")
        if self.rows[0].any() or self.linear[0]:
            raise NetError("the weights of feature 0, which stands for no feature, must be 0")

    @property
    def hidden(self) -> int:
        """The number of hidden units."""
        return len(self.out)

    @property
    def fits(self) -> bool:
        """Whether no sum can be too large for a kernel, whatever the features are."""
        inputs, output = _largest_sums(self.rows.astype(np.int64), self.out.astype(np.int64))
        return bool(inputs.max(initial=0) <= MOST_INPUT and output <= MOST_OUTPUT)

    @classmethod
    def rounded(
        cls, rows: NDArray[np.floating[Any]], linear: NDArray[np.floating[Any]], out: NDArray[np.floating[Any]]
    ) -> Network:
        """Return the network with these weights (floats), rounded to units, that `fits`.

        A hidden unit whose input could be too large gets smaller rows and a larger output weight. Weights beyond `MOST` units are
        cut off, and so are output weights whose sum could be too large.
        """
        inputs, output = _largest_sums(rows * UNIT, out * UNIT)
        scale = np.minimum(1.0, (MOST_INPUT - MOVE_SLOTS - STATE_SLOTS) / np.maximum(inputs, 1))  # rounding adds at most 1/2
        rows, out = rows * scale, out / scale * min(1.0, 0.9 * MOST_OUTPUT / max(output, 1.0))
        return cls(*(np.clip(np.rint(weights * UNIT), -MOST, MOST).astype(np.int16) for weights in (rows, linear, out)))

    @classmethod
    def linear_only(cls, linear: NDArray[np.int16]) -> Network:
        """Return the network without hidden units whose linear part begins with these weights; the others are 0."""
        full = np.zeros(FEATURES, np.int16)
        full[: len(linear)] = linear
        return cls(np.zeros((FEATURES, 0), np.int16), full, np.zeros(0, np.int16))

    @property
    def is_basic(self) -> bool:
        """Whether only features of `behaviours.net.move_features` count, except feature 0, and there are no hidden units."""
        return not self.hidden and not self.linear[0] and not self.linear[BASIC_FEATURES:].any()


def _largest_sums(rows: NDArray[Any], out: NDArray[Any]) -> tuple[NDArray[Any], float]:
    """Return the largest sizes that the input of each hidden unit, and the sum of all weighted outputs, can have."""
    most = _SLOTS @ np.maximum(np.maximum.reduceat(rows, _FIRST), 0)
    least = _SLOTS @ np.minimum(np.minimum.reduceat(rows, _FIRST), 0)
    return np.maximum(most, -least), max(most @ np.maximum(out, 0), most @ np.maximum(-out, 0))


@dataclass(frozen=True, eq=False)
class Net:
    """A net: the network for the scores of moves (`policy`), perhaps one for the `value` of a position, and what is known of it.

    The value estimates the discounted sum of the rewards of self-play. `about` has facts as JSON values: how the net was made.
    `vindibot` is the version of vindibot that wrote its file.
    """

    policy: Network
    value: Network | None = None
    name: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.policy.fits:
            raise NetError(f"the net {self.name!r} has weights that are too large: train it again")

    @property
    def networks(self) -> dict[str, Network]:
        """The networks that the net has, by name: ``policy`` and ``value``."""
        return {"policy": self.policy} | ({} if self.value is None else {"value": self.value})


def save_nets(nets: Sequence[Net]) -> bytes:
    """Return the contents of a file of nets."""
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(_FORMAT),
        "version": np.array(FEATURES_VERSION),
        "features": np.array(_NAMES),
        "nets": np.array([json.dumps({"name": net.name, "about": net.about, "value": net.value is not None}) for net in nets]),
    }
    for number, net in enumerate(nets):
        for part, network in net.networks.items():
            for name in ("rows", "linear", "out"):
                arrays[f"{number}.{part}.{name}"] = getattr(network, name)
    contents = io.BytesIO()
    np.savez_compressed(contents, allow_pickle=False, **arrays)
    return contents.getvalue()


def load_nets(path: Path) -> tuple[Net, ...]:
    """Return the nets of a file. Raises `NetError` for a file that cannot be read, or that has other features."""
    try:
        stamp = path.stat()
        return _load(path, stamp.st_mtime_ns, stamp.st_size)
    except OSError as problem:
        raise NetError(f"the file of nets {path} cannot be read: {problem.strerror or problem}") from None


@lru_cache(maxsize=32)
def _load(path: Path, _changed: int, _size: int) -> tuple[Net, ...]:
    try:
        return _read(path, arrays_in(path.read_bytes()))
    except NetError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError) as problem:
        words = " ".join(str(problem).split())
        raise NetError(f"{path} is no file of nets, or it is damaged ({type(problem).__name__}: {words:.200})") from None


def arrays_in(contents: bytes) -> dict[str, NDArray[Any]]:
    """Return all arrays in the contents of an .npz file. Raises `ValueError` if they are damaged, or no .npz file."""
    if not contents.startswith(b"PK"):  # an .npz file is a zip file; numpy would advise to load other files unsafely
        raise ValueError("no .npz file")
    try:
        with np.load(io.BytesIO(contents), allow_pickle=False) as file:
            return dict(file)
    except Exception as problem:  # numpy, zipfile and zlib raise many kinds of errors for damaged files
        raise ValueError(f"no .npz file: {type(problem).__name__}: {problem}") from None


def _read(path: Path, arrays: Mapping[str, NDArray[Any]]) -> tuple[Net, ...]:
    if str(arrays["format"]) != _FORMAT:
        raise NetError(f"{path} has the format {str(arrays['format'])!r:.60}; this vindibot reads {_FORMAT!r}")
    version, names = int(arrays["version"]), arrays["features"].tolist()
    known = [json.loads(text) for text in arrays["nets"].tolist()]
    if version != FEATURES_VERSION or not set(names) <= set(_NAMES):
        writers = sorted({str(facts["about"].get("vindibot", "")) for facts in known} - {""})
        writer = f"vindibot {' or '.join(writers)}" if writers else "the vindibot"
        other = f"version {version}" if version != FEATURES_VERSION else "another list"
        raise NetError(
            f"{path} has features of {other}; this vindibot reads features of version {FEATURES_VERSION}: "
            f"use {writer}, which wrote the file, or train the net again"
        )
    if not known:
        raise NetError(f"{path} has no net")
    places = _places_of(names)
    nets = []
    for number, facts in enumerate(known):
        parts = {
            part: _network(places, *(arrays[f"{number}.{part}.{name}"] for name in ("rows", "linear", "out")))
            for part in (("policy", "value") if facts["value"] else ("policy",))
        }
        nets.append(Net(parts["policy"], parts.get("value"), facts["name"], facts["about"]))
    return tuple(nets)


def _places_of(names: Sequence[str]) -> NDArray[np.int64] | None:
    """Return the present numbers of the features in the groups `names`, or None if they are the same as in the file."""
    if names == _NAMES:
        return None
    ends = dict(zip(_NAMES, np.cumsum(list(GROUPS.values())).tolist(), strict=True))
    sizes = dict(zip(_NAMES, GROUPS.values(), strict=True))
    return np.concatenate([np.arange(ends[name] - sizes[name], ends[name]) for name in names])


def _network(
    places: NDArray[np.int64] | None, rows: NDArray[np.int16], linear: NDArray[np.int16], out: NDArray[np.int16]
) -> Network:
    """Return a network of a file. The weights of features that the file does not have are 0."""
    if places is None:
        return Network(rows, linear, out)
    if len(rows) != len(places) or len(linear) != len(places):
        raise ValueError("the weights do not fit the features")
    all_rows, all_linear = np.zeros((FEATURES, rows.shape[1]), rows.dtype), np.zeros(FEATURES, linear.dtype)
    all_rows[places], all_linear[places] = rows, linear
    return Network(all_rows, all_linear, out)


def compiled_networks(networks: Sequence[Network]) -> NDArray[np.void]:
    """Return networks as an array of `NETWORK` records."""
    compiled = aligned_zeros(len(networks), NETWORK)
    for place, network in zip(compiled, networks, strict=True):
        place["hidden"] = network.hidden
        place["rows"][: network.rows.size] = network.rows.ravel()
        place["linear"], place["out"][: network.hidden] = network.linear, network.out
    return compiled
