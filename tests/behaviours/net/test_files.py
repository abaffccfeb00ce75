"""Files of nets: what is saved is read again, and every other file is refused with one line."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from behaviours.net.features import FEATURES, GROUPS
from behaviours.net.network import FEATURES_VERSION, Net, NetError, Network, load_nets, save_nets
from tests.support.nets import random_network


def nets() -> list[Net]:
    rng = np.random.default_rng(3)
    return [
        Net(random_network(rng, 16), random_network(rng, 32), "first", {"vindibot": "9.1", "settings": {"seed": 3}}),
        Net(random_network(rng, 0), None, "second net", {"vindibot": "9.1"}),
    ]


def same(one: Network | None, other: Network | None) -> bool:
    if one is None or other is None:
        return one is other
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("rows", "linear", "out"))


def test_a_file_keeps_its_nets(tmp_path: Path) -> None:
    path, written = tmp_path / "nets.npz", nets()
    path.write_bytes(save_nets(written))
    found = load_nets(path)
    assert len(found) == len(written)
    for one, other in zip(found, written, strict=True):
        assert same(one.policy, other.policy)
        assert same(one.value, other.value)
        assert (one.name, one.about) == (other.name, other.about)
    assert load_nets(path) is found
    path.write_bytes(save_nets(written[1:]))
    assert [net.name for net in load_nets(path)] == ["second net"]


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a file of nets after `change` has changed its arrays."""
    with np.load(io.BytesIO(save_nets(nets()))) as file:
        arrays = dict(file)
    change(arrays)
    contents = io.BytesIO()
    np.savez(contents, **arrays)
    return contents.getvalue()


def test_a_file_may_lack_groups_of_features(tmp_path: Path) -> None:
    """Files of older versions. The weights of the groups that they lack are 0, in whatever order the groups are."""
    names, ends = list(GROUPS), np.cumsum(list(GROUPS.values()))
    kept = [0, *range(len(names) - 2, 0, -2)]
    places = np.concatenate([np.arange(ends[group] - GROUPS[names[group]], ends[group]) for group in kept])

    def older(arrays: dict[str, Any]) -> None:
        arrays["features"] = arrays["features"][kept]
        for name in [name for name in arrays if name.endswith((".rows", ".linear"))]:
            arrays[name] = arrays[name][places]

    (tmp_path / "nets.npz").write_bytes(changed(older))
    others = np.setdiff1d(np.arange(FEATURES), places)
    for found, written in zip(load_nets(tmp_path / "nets.npz"), nets(), strict=True):
        for name, network in found.networks.items():
            whole = written.networks[name]
            assert np.array_equal(network.rows[places], whole.rows[places])
            assert np.array_equal(network.linear[places], whole.linear[places])
            assert np.array_equal(network.out, whole.out)
            assert not network.rows[others].any()
            assert not network.linear[others].any()


DAMAGED = r"is no file of nets, or it is damaged \("
OTHER = rf"{DAMAGED}ValueError: no \.npz file\)$"
REFUSED: dict[str, tuple[Callable[[], bytes], str]] = {
    "empty": (lambda: b"", OTHER),
    "no net": (lambda: save_nets([]), "has no net"),
    "other format": (
        lambda: changed(lambda arrays: arrays.update(format=np.array("vindibot nets 7"))),
        "has the format 'vindibot nets 7'; this vindibot reads 'vindibot nets 1'",
    ),
    "without weights": (lambda: changed(lambda arrays: arrays.pop("0.value.out")), DAMAGED),
    "other shape": (lambda: changed(lambda arrays: arrays.update({"1.policy.linear": np.zeros(3, np.int16)})), "must be int16"),
    "other type": (
        lambda: changed(lambda arrays: arrays.update({"0.policy.out": np.zeros(16, np.float32)})),
        "out must be int16 of the shape",
    ),
    "other units": (
        lambda: changed(lambda arrays: arrays.update({"0.policy.out": np.zeros(5, np.int16)})),
        "5 hidden units: a multiple of 16 up to 128",
    ),
    "later features": (
        lambda: changed(lambda arrays: arrays.update(version=np.array(FEATURES_VERSION + 1))),
        (
            f"has features of version {FEATURES_VERSION + 1}; this vindibot reads features of version {FEATURES_VERSION}: "
            r"use vindibot 9\.1, which wrote the file, or train the net again"
        ),
    ),
    "other features": (
        lambda: changed(lambda arrays: arrays.update(features=np.array([*arrays["features"], "weather: 3"]))),
        r"has features of another list; this vindibot .* use vindibot 9\.1, which wrote the file",
    ),
    "facts that are no JSON": (lambda: changed(lambda arrays: arrays.update(nets=np.array(["?"]))), DAMAGED),
    "pickled": (lambda: changed(lambda arrays: arrays.update(nets=np.array([{"name": 1}], object))), DAMAGED),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_another_file_is_refused(tmp_path: Path, kind: str) -> None:
    make, message = REFUSED[kind]
    path = tmp_path / "nets.npz"
    path.write_bytes(make())
    with pytest.raises(NetError, match=message) as caught:
        load_nets(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value) or kind in ("other shape", "other type", "other units")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NetError, match="cannot be read: No such file"):
        load_nets(tmp_path / "none.npz")
    with pytest.raises(NetError):
        load_nets(tmp_path)


@pytest.mark.slow
def test_damage_is_never_an_unexpected_error(tmp_path: Path) -> None:
    """A file with wrong or missing bytes gives the nets or a `NetError`, nothing else."""
    rng, path = np.random.default_rng(4), tmp_path / "nets.npz"
    linear = rng.integers(-99, 99, 50).astype(np.int16)
    linear[0] = 0  # no feature
    whole = save_nets([Net(Network.linear_only(linear), name="one")])
    refused = 0
    for number in range(400):
        data = bytearray(whole)
        if number % 4:
            for place in rng.integers(0, len(data), number % 4):
                data[place] = rng.integers(256)
        else:
            del data[rng.integers(len(data)) :]
        path.write_bytes(data)
        try:
            load_nets(path)
        except NetError:
            refused += 1
    assert refused > 200
