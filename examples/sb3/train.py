"""Trains a net with Stable-Baselines3: the vector environment as a `VecEnv`, and a policy of MaskablePPO that becomes a bot.

python train.py mine.npz --steps 1000000    trains, and writes mine.npz and the bot mine.toml
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.torch_layers import FlattenExtractor
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize
from torch import nn

from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS
from vindibot.env import export
from vindibot.env.gymnasium_envs import VindiniumVectorEnv, observation_space


class Sb3Env(VecEnv):
    """`num_envs` games as a `VecEnv`. `options` are those of `VindiniumVectorEnv`, with one learner.

    The observations have no mask: ``env_method("action_masks")`` returns the masks. A game that ended begins anew in the same
    step; its last observation is ``terminal_observation`` in its info. With ``render_mode="rgb_array"``, `render` returns one
    picture of all games.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        if options.get("render_mode") not in (None, "rgb_array"):
            raise ValueError(f"render_mode: {options['render_mode']!r} is unknown here; there is rgb_array")
        self.vector = VindiniumVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
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
        infos_of_games: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for row in np.flatnonzero(ended).tolist():
            infos_of_games[row] = {
                "terminal_observation": infos["final_obs"][row]["observation"],
                "TimeLimit.truncated": False,
                "gold": infos["final_info"]["gold"][row],
                "hero": int(infos["final_info"]["hero"][row]),
            }
        return observations["observation"], rewards.astype(np.float32), ended, infos_of_games

    def get_images(self) -> Sequence[Any]:
        """Return a picture of each game."""
        return self.vector.render() or []

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

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "hidden": self._hidden}

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = NetModule(self._hidden)
        self.value_net = NetModule(self._hidden, is_value=True)
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def main() -> None:
    """Read the options, train, and write the net and its bot."""
    parser = argparse.ArgumentParser(description="train a net with MaskablePPO")
    parser.add_argument("net", help="the net: NAME.npz; the bot beside it is NAME.toml")
    parser.add_argument("--steps", type=int, default=1_000_000, help="number of decisions")
    parser.add_argument("--games", type=int, default=64, help="number of games at a time")
    parser.add_argument("--hidden", type=int, default=64, help="hidden units, a multiple of 16")
    parser.add_argument("--rivals", nargs="+", default=["random", "policy:plain"], help="the players of the other seats")
    options = parser.parse_args()
    envs = VecNormalize(VecMonitor(Sb3Env(options.games, rivals=options.rivals)), norm_obs=False)  # rewards are hundreds of gold
    model = MaskablePPO(
        NetPolicy, envs, n_steps=32, batch_size=32 * options.games, n_epochs=2, learning_rate=1e-3, verbose=1,
        policy_kwargs={"hidden": options.hidden}, device="cpu",
    )  # fmt: skip
    model.learn(options.steps)
    print(f"wrote {export(model.policy.action_net, options.net)}")


if __name__ == "__main__":
    main()
