"""Turns a policy that was trained with other tools into a net, which a bot plays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from behaviours.net.features import FEATURES
from behaviours.net.network import MOST, UNIT, Net, NetError, Network
from vindibot import __version__
from vindibot.base.errors import UsageError
from vindibot.config.variants import NewBot
from vindibot.learning.network import NetFile

_COMMAND = "vindibot.env.export"
#: The parts of a policy, see `export`.
_PARTS = ("rows", "linear", "out")


def export(policy: Any, path: str | Path) -> Path:
    """Write a policy over the observation ``features`` as a net to `path` (``mine.npz``), and a bot that plays it beside it.

    Return the path of the bot (``mine.toml``). The score of a move is ``out . relu(sum of rows) + sum of linear``. The sum of
    rows is over the slots of the position and of the move, the sum of linear over the slots of the move. The policy is a mapping,
    or a module of torch with parameters of these names (also ``rows.weight``, ...):

    - rows (`FEATURES` x hidden): a row of weights per feature. The number of hidden units is a multiple of 16, up to 128.
    - linear (`FEATURES`), out (hidden). All weights of feature 0 are 0 (torch: ``padding_idx=0``).

    Weights are rounded to multiples of 1/1024. Raises `UsageError` for other shapes, for weights beyond 32, and for files that
    this function did not make.
    """
    target = Path(path)
    rows, linear, out = _parts(policy)
    try:
        network = Network.rounded(rows, linear, out)
    except NetError as problem:
        raise UsageError(f"the policy is no net: {problem}") from None
    bot = NewBot(target.with_suffix(".toml"), _COMMAND, "path")
    file = NetFile(target, _COMMAND, "path")
    file.check()
    bot.check()
    file.write([Net(network, name=target.stem, about={"command": _COMMAND, "vindibot": __version__})])
    bot.write({"traits": {"learned": {"net": target.name}}}, [f"It plays the net {target.name}."])
    return bot.path


def _parts(policy: Any) -> list[NDArray[np.float64]]:
    """Return the rows, the linear part and the output weights of a policy as floats."""
    weights: Mapping[str, Any] = policy.state_dict() if hasattr(policy, "state_dict") else policy
    arrays = {}
    for name in _PARTS:
        value = weights.get(name, weights.get(f"{name}.weight"))
        if value is None:
            raise UsageError(f"the policy has no {name!r}; it has {', '.join(map(str, weights)) or 'nothing'}")
        arrays[name] = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value, np.float64)
    rows, linear, out = arrays["rows"], arrays["linear"].reshape(-1), arrays["out"].reshape(-1)
    if rows.shape != (FEATURES, len(out)) or linear.shape != (FEATURES,):
        shapes = ", ".join(f"{name} {value.shape}" for name, value in arrays.items())
        raise UsageError(f"the policy has {shapes}: rows must be ({FEATURES}, hidden), linear ({FEATURES},), out (hidden,)")
    if not all(np.isfinite(value).all() for value in (rows, linear, out)):
        raise UsageError("the policy has weights that are no finite numbers")
    if (largest := max(np.abs(value).max(initial=0) for value in (rows, linear, out))) > MOST / UNIT:
        raise UsageError(f"the policy has a weight of {largest:.1f}: at most {MOST / UNIT:.1f} is possible")
    return [rows, linear, out]
