"""The vector environment for Stable-Baselines3, and a policy of MaskablePPO that `export` can write.

It needs the package sb3-contrib, which brings torch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from vindibot.env.vector import VindiniumVectorEnv, observation_space


class Sb3Env(VecEnv):
    """`num_envs` games as a `VecEnv`. `options` are those of `VindiniumVectorEnv`, with one learner.

    The observations have no mask: ``env_method("action_masks")`` returns the masks. A game that ended begins anew in the same
    step; its last observation is ``terminal_observation`` in its info.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        self.vector = VindiniumVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self.render_mode = self.vector.render_mode
        space = observation_space(self.vector.options)["observation"]
        super().__init__(num_envs, space, self.vector.single_action_space)
        self._actions, self._masks = np.zeros(num_envs, np.int64), np.ones((num_envs, 5), np.bool_)

    def reset(self) -> NDArray[Any]:
        """Begin all games, and return the observations. `seed` was called before for equal runs."""
        seeds = None if all(seed is None for seed in self._seeds) else self._seeds
        observations, _ = self.vector.reset(seed=seeds)
        self._reset_seeds()
        self._masks = observations["action_mask"].astype(np.bool_)
        return observations["observation"]

    def step_async(self, actions: NDArray[Any]) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = np.asarray(actions, np.int64)

    def step_wait(self) -> tuple[NDArray[Any], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Return observations, rewards, which games ended, and the infos."""
        observations, rewards, ended, _, infos = self.vector.step(self._actions)
        self._masks = observations["action_mask"].astype(np.bool_)
        told: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(ended).tolist():
            told[row] = {
                "terminal_observation": infos["final_obs"][row]["observation"],
                "TimeLimit.truncated": False,
                "gold": infos["final_info"]["gold"][row],
                "hero": int(infos["final_info"]["hero"][row]),
            }
        return observations["observation"], rewards.astype(np.float32), ended, told

    def close(self) -> None:
        """Close the games."""
        self.vector.close()

    def _rows(self, indices: int | Iterable[int] | None) -> Sequence[int]:
        return list(self._get_indices(indices))

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """Return an attribute of the vector for each of these games."""
        return [getattr(self.vector, attr_name) for _ in self._rows(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Raise `AttributeError`: all games have the same options."""
        raise AttributeError(f"{attr_name} cannot be set: make another environment")

    def env_method(
        self, method_name: str, *method_args: Any, indices: int | Iterable[int] | None = None, **method_kwargs: Any
    ) -> list[Any]:
        """Return the masks of these games (bool[5] each) for ``action_masks``, the only method."""
        if method_name != "action_masks":
            raise AttributeError(f"there is no method {method_name}; there is action_masks")
        return [self._masks[row] for row in self._rows(indices)]

    def has_attr(self, attr_name: str) -> bool:
        """Return whether there is an attribute or method of this name; MaskablePPO asks for ``action_masks``."""
        return attr_name == "action_masks" or hasattr(self.vector, attr_name)

    def env_is_wrapped(self, wrapper_class: type[Any], indices: int | Iterable[int] | None = None) -> list[bool]:
        """Return False for each of these games."""
        return [False for _ in self._rows(indices)]


class NetModule(nn.Module):
    """A network over ``features``: the scores of the five moves, or the value of the position. `export` writes the scores.

    The parameters are those of a net (`behaviours.net.network`).
    """

    def __init__(self, hidden: int, is_value: bool = False) -> None:
        super().__init__()
        self._is_value = is_value
        self.rows = nn.EmbeddingBag(FEATURES, hidden, mode="sum", padding_idx=0)
        self.linear = nn.EmbeddingBag(FEATURES, 1, mode="sum", padding_idx=0)
        self.out = nn.Linear(hidden, 1, bias=False)
        with torch.no_grad():
            self.rows.weight.normal_(0, (MOVE_SLOTS + STATE_SLOTS) ** -0.5)
            self.rows.weight[0] = 0
            self.linear.weight.zero_()
            self.out.weight.normal_(0, 0.1 * hidden**-0.5)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the scores (n x 5), or the values (n x 1), of observations (n x slots)."""
        features = features.long()
        state = features[:, :STATE_SLOTS]
        moves = features[:, STATE_SLOTS:].reshape(len(features), 5, MOVE_SLOTS)
        if self._is_value:  # the value counts the features of the position and of Stay
            slots = torch.cat([state, moves[:, 0]], dim=1)
            return self.out(torch.relu(self.rows(slots))) + self.linear(slots)
        units = self.rows(state).unsqueeze(1) + self.rows(moves.flatten(0, 1)).view(len(features), 5, -1)
        return self.out(torch.relu(units)).squeeze(2) + self.linear(moves.flatten(0, 1)).view(len(features), 5)


class NetPolicy(MaskableActorCriticPolicy):
    """A policy of MaskablePPO with two networks like those of a net. ``export(model.policy.action_net, "mine.npz")`` writes it.

    `hidden` is the number of hidden units, a multiple of 16.
    """

    def __init__(self, *arguments: Any, hidden: int = 64, **named: Any) -> None:
        self._hidden = hidden
        named.update(net_arch=[], features_extractor_class=FlattenExtractor, ortho_init=False)
        super().__init__(*arguments, **named)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = NetModule(self._hidden)
        self.value_net = NetModule(self._hidden, is_value=True)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)
