"""Trains a net to play Vindinium: masked PPO in one file, on torch and Gymnasium, by self-play against frozen selves.

    python ppo.py mine --minutes 5          trains, and writes mine/mine.npz and the bot mine/mine.toml
    python ppo.py mine --minutes 5 --resume goes on
    vindibot arena mine/mine.toml random    plays it in the arena

Each step of the vector is one move in every game. The rivals play inside the vector: random moves, policies, and former versions
of the net. When the net has learned for a while, a frozen copy of it joins the rivals.
"""

import argparse
import json
import time
from pathlib import Path

import gymnasium
import numpy as np
import torch
from torch import nn

import vindibot.env
from behaviours.net.features import FEATURES, MOVE_SLOTS, STATE_SLOTS

#: Rivals at the beginning, and the number of frozen selves that are kept.
RIVALS, SELVES = ("random", "policy:plain", "policy:hunter", "policy:timid"), 6
#: Games at a time, moves per game between two updates, passes over them, and moves per step of the optimiser.
GAMES, STEPS, PASSES, BATCH = 64, 32, 1, 2048
#: Discount per round, decay of advantages (Schulman et al. 2016), largest relative change of a probability, entropy, step size.
DISCOUNT, TRACE, CLIP, ENTROPY, STEP = 0.99, 0.95, 0.2, 0.01, 1e-3
#: A reward of the environment is gold; the value learns in units of this number of gold pieces.
GOLD = 10.0


class Net(nn.Module):
    """Two layers over the features: a row of weights per feature, hidden units, and a linear part. `vindibot.env.export` knows
    these names."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.rows = nn.EmbeddingBag(FEATURES, hidden, mode="sum", padding_idx=0)
        self.linear = nn.EmbeddingBag(FEATURES, 1, mode="sum", padding_idx=0)
        self.out = nn.Linear(hidden, 1, bias=False)
        with torch.no_grad():
            self.rows.weight.normal_(0, (MOVE_SLOTS + STATE_SLOTS) ** -0.5)[0] = 0
            self.linear.weight.zero_()
            self.out.weight.normal_(0, 0.1 * hidden**-0.5)

    def scores(self, seen: torch.Tensor) -> torch.Tensor:
        """The score of each move: n x 5."""
        state, moves = seen[:, :STATE_SLOTS], seen[:, STATE_SLOTS:].reshape(-1, MOVE_SLOTS)
        units = self.rows(state).unsqueeze(1) + self.rows(moves).view(len(seen), 5, -1)
        return self.out(units.relu()).squeeze(2) + self.linear(moves).view(len(seen), 5)

    def value(self, seen: torch.Tensor) -> torch.Tensor:
        """The value of the position, from its features and those of Stay: n."""
        slots = seen[:, : STATE_SLOTS + MOVE_SLOTS]
        return (self.out(self.rows(slots).relu()) + self.linear(slots)).squeeze(1)


class Run:
    """A run in a folder: two networks, the optimiser, the frozen selves, and the curve."""

    def __init__(self, folder: Path, hidden: int, seed: int) -> None:
        torch.manual_seed(seed)
        self.folder, self.seed, self.selves, self.curve, self.seconds = folder, seed, [], [], 0.0
        self.policy, self.critic = Net(hidden), Net(hidden)
        self.optimiser = torch.optim.Adam([*self.policy.parameters(), *self.critic.parameters()], lr=STEP, eps=1e-5)

    def save(self) -> None:
        """Write the state of the run, the net and its bot."""
        state = {"policy": self.policy, "critic": self.critic, "optimiser": self.optimiser}
        facts = {"selves": self.selves, "curve": self.curve, "seconds": self.seconds}
        torch.save(
            {name: part.state_dict() for name, part in state.items()} | {"facts": json.dumps(facts)}, self.folder / "run.tmp"
        )
        (self.folder / "run.tmp").replace(self.folder / "run.pt")
        vindibot.env.export(self.policy, self.folder / f"{self.folder.resolve().name}.npz")

    def load(self) -> None:
        """Go on from the saved state."""
        saved = torch.load(self.folder / "run.pt", weights_only=True)
        for name in ("policy", "critic", "optimiser"):
            getattr(self, name).load_state_dict(saved[name])
        facts = json.loads(saved["facts"])
        self.selves, self.curve, self.seconds = facts["selves"], facts["curve"], facts["seconds"]

    def freeze(self) -> None:
        """Add a frozen copy of the policy to the rivals. Only the last ones are kept."""
        path = self.folder / f"self-{len(self.curve)}.npz"
        vindibot.env.export(self.policy, path)
        self.selves = [*self.selves, str(path)][-SELVES:]

    def games(self) -> gymnasium.vector.VectorEnv:
        """Games against the present rivals."""
        rivals = [*RIVALS, *(f"net:{path}" for path in self.selves)]
        return gymnasium.make_vec(vindibot.env.ID, num_envs=GAMES, rivals=rivals, autoreset_mode="SameStep")

    def train(self, minutes: float, every: float) -> None:
        """Train for some minutes. Every `every` seconds, print a row, save, and freeze a copy."""
        envs, end, shown = self.games(), time.monotonic() + 60 * minutes, time.monotonic()
        seen, _ = envs.reset(seed=self.seed + len(self.curve))
        results, moves = [], 0
        while time.monotonic() < end:
            began = time.monotonic()
            piece, seen, ended = self.play(envs, seen)
            entropy = self.learn(*piece)
            results, moves = results + ended, moves + GAMES * STEPS
            now = time.monotonic()
            self.seconds += now - began
            if results and (now - shown > every or now >= end):
                won, speed = float(np.mean(results)), moves / (now - shown)
                self.curve.append({"seconds": self.seconds, "won": won, "entropy": entropy})
                print(
                    f"{self.seconds:6.0f} s  {speed:6.0f} moves/s  won {won:.2f} of {len(results)}  entropy {entropy:.2f}",
                    flush=True,
                )
                self.freeze()
                self.save()
                envs.close()
                envs, shown, results, moves = self.games(), time.monotonic(), [], 0
                seen, _ = envs.reset(seed=self.seed + len(self.curve))
        self.save()

    @torch.no_grad()
    def play(self, envs: gymnasium.vector.VectorEnv, seen: dict) -> tuple[tuple[torch.Tensor, ...], dict, list[bool]]:
        """Play `STEPS` moves of each game. Return the decisions, the next observations, and which of the ended games were won."""
        rows, rewards, ends, values, results = [], [], [], [], []
        for _ in range(STEPS):
            features, mask = torch.as_tensor(seen["observation"]).int(), torch.as_tensor(seen["action_mask"]).bool()
            choice = torch.distributions.Categorical(logits=self.policy.scores(features).masked_fill(~mask, -1e9))
            action = choice.sample()
            values.append(self.critic.value(features))
            rows.append((features, mask, action, choice.log_prob(action)))
            seen, reward, ended, _, infos = envs.step(action.numpy())
            rewards.append(torch.as_tensor(reward / GOLD).float())
            ends.append(torch.as_tensor(ended).float())
            for row in np.flatnonzero(ended):
                gold, hero = infos["final_info"]["gold"][row], infos["final_info"]["hero"][row]
                results.append(bool((gold[hero] > np.delete(gold, hero)).all()))
        after = self.critic.value(torch.as_tensor(seen["observation"]).int())
        gain, gains = torch.zeros(GAMES), []
        for reward, end, value in zip(reversed(rewards), reversed(ends), reversed(values), strict=True):
            gain = reward + DISCOUNT * (1 - end) * (after + TRACE * gain) - value
            gains.insert(0, gain)
            after = value
        piece = [torch.cat(part) for part in zip(*rows, strict=True)]
        advantage, value = torch.cat(gains), torch.cat(values)
        return (*piece, advantage, advantage + value), seen, results

    def learn(self, *piece: torch.Tensor) -> float:
        """Change the networks by PPO (Schulman et al. 2017), and return the mean entropy of the moves."""
        count, entropies = len(piece[0]), []
        for _ in range(PASSES):
            for chosen in torch.randperm(count).split(BATCH):
                features, mask, action, old, advantage, target = (part[chosen] for part in piece)
                choice = torch.distributions.Categorical(logits=self.policy.scores(features).masked_fill(~mask, -1e9))
                ratio = (choice.log_prob(action) - old).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                gain = torch.min(ratio * advantage, ratio.clamp(1 - CLIP, 1 + CLIP) * advantage).mean()
                error, entropy = (self.critic.value(features) - target).square().mean(), choice.entropy().mean()
                self.optimiser.zero_grad()
                (0.5 * error - gain - ENTROPY * entropy).backward()
                nn.utils.clip_grad_norm_(self.policy.parameters(), 0.5)
                self.optimiser.step()
                entropies.append(float(entropy.detach()))
        return float(np.mean(entropies))


def main() -> None:
    """Read the options, and train."""
    torch.set_num_threads(1)  # the tensors are small: on a busy machine, several threads mostly wait for each other
    parser = argparse.ArgumentParser(description="train a net to play Vindinium")
    parser.add_argument("folder", type=Path, help="the folder of the run")
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the training")
    parser.add_argument("--every", type=float, default=20.0, help="seconds between two rows, savings and frozen selves")
    parser.add_argument("--hidden", type=int, default=32, help="hidden units, a multiple of 16")
    parser.add_argument("--seed", type=int, default=1, help="seed of the weights and the games")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder")
    options = parser.parse_args()
    there = (options.folder / "run.pt").exists()
    if there != options.resume:
        parser.error(
            f"{options.folder} has {'a run already: --resume goes on with it' if there else 'no run: leave out --resume'}"
        )
    options.folder.mkdir(parents=True, exist_ok=True)
    run = Run(options.folder, options.hidden, options.seed)
    if options.resume:
        run.load()
    run.train(options.minutes, options.every)


if __name__ == "__main__":
    main()
