"""Training by self-play: threads collect decisions and compute gradients, and Adam changes the weights.

All threads play and differentiate at the same time, because kernels release Python's lock. Each thread has games, maps and random
numbers of its own, and the sums over the threads are taken in one order. So a run with equal settings gives an equal net.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from behaviours.common.evaluation import Weights, compiled_weights
from behaviours.common.map_tables import MAP_TABLES, map_tables_of
from behaviours.net.features import FOUND
from behaviours.net.network import LANES, MAX_HIDDEN, Net, Network, compiled_networks
from behaviours.rollout.policy import LIBRARY, compiled_policies
from sim.game import GAME, PLIES_PER_ROUND, SEATS
from sim.generator import GeneratorError, generate
from sim.maps import Map
from vindibot.learning.collecting import GAMES_PER_THREAD, MAPS, STATISTICS, Guests, TrainingGames, begin_all, collect, new_piece
from vindibot.learning.gradient import ERRORS, Loss, adam_step, ppo_gradient
from vindibot.learning.network import Floats, aligned, first_parameters, rounded

#: Number of pieces after which a thread replaces a map.
RENEW = 4
#: Largest number of snapshots of the net among the guests.
SNAPSHOTS = 8


class SelfplaySettings(BaseModel):
    """The settings of a training run. Together with the number of threads they decide which net a run learns.

    The step size and the factor of the entropy fall in a straight line over the run, to a tenth of `step` and `entropy`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = Field(1, ge=0, lt=2**63, description="seed of the maps, the games and the first weights")
    threads: int = Field(1, ge=1, le=256, description="number of threads; another number gives another net")
    hidden: int = Field(64, ge=LANES, le=MAX_HIDDEN, multiple_of=LANES, description="number of hidden units of each network")
    rounds: int = Field(300, ge=10, le=5000, description="length of a game, in rounds")
    guests: float = Field(0.5, ge=0, le=1, description="share of the games in which one, two or three seats are guests")
    discount: float = Field(0.99, gt=0, le=1, description="discount of rewards per round; larger: the net plans farther ahead")
    trace: float = Field(0.95, ge=0, le=1, description="decay of advantages per round (lambda of GAE)")
    step: float = Field(3e-3, gt=0, le=1, description="step size of Adam at the beginning")
    entropy: float = Field(0.01, ge=0, le=1, description="factor of the entropy at the beginning; larger: the net tries out more")
    clip: float = Field(0.2, gt=0, le=1, description="largest relative change of a move's probability that the loss rewards")
    value: float = Field(0.5, ge=0, le=10, description="factor of the error of the value in the loss")
    passes: int = Field(2, ge=1, le=20, description="number of passes over the decisions of a piece")
    batch: int = Field(4000, ge=100, le=1_000_000, description="number of decisions of a thread in one step")


def training_map(seed: int, thread: int, number: int) -> Map:
    """Return map `number` of a thread: a random map of any size, as in the arena of the original server.

    The seeds of these maps have 63 bits, so no tournament plays on them.
    """
    attempt = 0
    while True:
        text = f"map {seed} {thread} {number} {attempt}"
        try:
            return generate(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1 | 1 << 62)
        except GeneratorError:
            attempt += 1


@dataclass
class TrainingThread:
    """A thread of the training: its games, its memory, and the numbers of its maps."""

    number: int
    settings: SelfplaySettings
    table: TrainingGames = field(init=False)
    maps: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        count, seed = GAMES_PER_THREAD, self.settings.seed
        self.maps = np.arange(MAPS)
        self.table = TrainingGames(
            np.zeros(count, GAME),
            np.zeros(count, np.int64),
            np.zeros((count, SEATS), np.int64),
            np.random.default_rng([seed, 2, self.number]).integers(1, 2**63, count, np.uint64),
            np.zeros((count, SEATS)),
            np.zeros(MAPS, GAME),
            np.zeros(MAPS, MAP_TABLES),
            np.ones(MAPS, np.int8),
        )
        self.piece, self.features = new_piece(), np.zeros(1, FOUND)

    def draw_maps(self, places: Sequence[int]) -> None:
        """Make the maps at these places, from their numbers in `maps`."""
        for place in places:
            drawn = training_map(self.settings.seed, self.number, int(self.maps[place]))
            self.table.starts[place] = drawn.new_game(max_turns=self.settings.rounds * PLIES_PER_ROUND)[0]
            self.table.tables[place] = map_tables_of.__wrapped__(drawn)[0]

    def renew(self, iteration: int) -> None:
        """Every `RENEW` pieces, close the next map for new games. Replace closed maps on which no game runs."""
        opened = self.table.open
        if iteration % RENEW == 0 and opened.sum() > MAPS // 2:
            opened[iteration // RENEW % MAPS] = 0
        free = [place for place in np.flatnonzero(opened == 0).tolist() if not (self.table.where == place).any()]
        for place in free:
            self.maps[place] += MAPS
            opened[place] = 1
        self.draw_maps(free)


@dataclass
class Means:
    """The sums over all pieces since the last report, by name of `STATISTICS` and `ERRORS`, and the number of their decisions."""

    sums: dict[str, float] = field(default_factory=dict)
    trained: int = 0

    def add(self, names: Sequence[str], values: NDArray[np.float64]) -> None:
        """Add values to the sums with these names."""
        for name, value in zip(names, values.tolist(), strict=True):
            self.sums[name] = self.sums.get(name, 0.0) + value

    def row(self) -> dict[str, float]:
        """Return the number of `games` that ended, and means: per decision, per 300 decisions (`deaths`), or shares."""
        sums, decisions = self.sums, max(self.sums.get("decisions", 0), 1)
        return {
            "games": sums.get("games", 0),
            "reward": sums.get("reward", 0) / decisions,
            "entropy": sums.get("entropy", 0) / decisions,
            "deaths": 300 * sums.get("deaths", 0) / decisions,
            "won": sums.get("won", 0) / max(sums.get("seats", 0), 1),
            "value_error": float(np.sqrt(sums.get("value", 0) / max(self.trained, 1))),
        }


class Trainer:
    """A training run: the weights, the optimiser and all threads. `state` and `restore` save and load all of it.

    `models` are nets among the guests, beside the policies of the library and the snapshots of the run. `start` is a net to go on
    from.
    """

    def __init__(self, settings: SelfplaySettings, models: Sequence[Network] = (), start: Floats | None = None) -> None:
        self.settings = settings
        self.parameters = aligned(first_parameters(settings.hidden, settings.seed) if start is None else start)
        self.mean, self.square = np.zeros_like(self.parameters), np.zeros_like(self.parameters)
        self.iteration = self.steps = self.decisions = 0
        self.models = tuple(models)
        self.snapshots: list[Network] = []
        self.players = [TrainingThread(number, settings) for number in range(settings.threads)]
        self._gradients = [aligned(self.mean) for _ in self.players]
        self._threads = ThreadPoolExecutor(settings.threads)
        self._guests = self._guests_now()

    def begin(self) -> None:
        """Draw the maps and begin all games. Call this once, unless the run is restored."""
        for player in self.players:
            player.draw_maps(range(MAPS))
            begin_all(player.table, self._guests)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(cancel_futures=True)

    def _guests_now(self) -> Guests:
        basic = [network for network in self.models if network.is_basic]  # such a net is faster as a policy
        networks = [*(network for network in self.models if not network.is_basic), *self.snapshots]
        policies = compiled_policies(LIBRARY, tuple(Net(network) for network in basic)).copy()
        numbers = [*range(len(policies)), *(len(policies) + number for number in range(len(networks)))]
        # Snapshots are drawn as often as all other guests together.
        repeats = -(-(len(numbers) - len(self.snapshots)) // max(len(self.snapshots), 1))
        drawn = numbers + numbers[len(numbers) - len(self.snapshots) :] * (repeats - 1) if self.snapshots else numbers
        third = round(1000 * self.settings.guests / 3)
        return Guests(
            policies,
            compiled_networks(networks),
            compiled_weights(Weights()).copy(),
            np.array(drawn, np.int64),
            np.array([third, third, third], np.int64),
        )

    def iterate(self, progress: float, means: Means) -> None:
        """Play one piece in each thread, and learn from it. `progress` (0..1) is the share of the run that is done."""
        settings, falling = self.settings, 1 - 0.9 * min(max(progress, 0.0), 1.0)
        for player in self.players:
            player.renew(self.iteration)
        sums = list(self._threads.map(self._collect, self.players))
        decisions = [np.flatnonzero(player.piece.chosen >= 0) for player in self.players]
        self._normalise(decisions)
        loss = Loss(settings.clip, settings.entropy * falling, settings.value)
        for passed in range(settings.passes):
            self._learn(decisions, passed, loss, settings.step * falling, means)
        for statistics in sums:
            means.add(STATISTICS, statistics)
        self.decisions += sum(map(len, decisions))
        self.iteration += 1

    def _collect(self, player: TrainingThread) -> NDArray[np.float64]:
        sums, settings = np.zeros(len(STATISTICS)), self.settings
        collect(
            player.table, self._guests, self.parameters, settings.hidden, player.features, player.piece,
            settings.discount, settings.trace, sums,
        )  # fmt: skip
        return sums

    def _normalise(self, decisions: Sequence[NDArray[np.int64]]) -> None:
        """Give the advantages of all threads together the mean 0 and the standard deviation 1."""
        advantages = np.concatenate([player.piece.advantage[own] for player, own in zip(self.players, decisions, strict=True)])
        mean, deviation = advantages.mean(dtype=np.float64), advantages.std(dtype=np.float64)
        for player, own in zip(self.players, decisions, strict=True):
            player.piece.advantage[own] = (player.piece.advantage[own] - mean) / (deviation + 1e-8)

    def _learn(self, decisions: Sequence[NDArray[np.int64]], passed: int, loss: Loss, step: float, means: Means) -> None:
        """Make one pass over the decisions, in steps of about ``settings.batch`` decisions of each thread."""
        shuffled = [
            np.random.default_rng([self.settings.seed, 3, self.iteration, passed, player.number]).permutation(own)
            for player, own in zip(self.players, decisions, strict=True)
        ]
        steps = max(1, round(max(map(len, shuffled)) / self.settings.batch))
        parts = [[np.sort(part) for part in np.array_split(order, steps)] for order in shuffled]  # neighbours have equal features
        for number in range(steps):
            chosen = [part[number] for part in parts]
            errors = list(self._threads.map(self._differentiate, range(len(self.players)), chosen, [loss] * len(chosen)))
            count = sum(map(len, chosen))
            if count:
                self._step(sum(self._gradients[1:], self._gradients[0]) / np.float32(count), step)
            for thread_errors in errors:
                means.add(ERRORS, thread_errors)
            means.trained += count

    def _differentiate(self, number: int, chosen: NDArray[np.int64], loss: Loss) -> NDArray[np.float64]:
        errors, gradient = np.zeros(len(ERRORS)), self._gradients[number]
        gradient[:] = 0
        ppo_gradient(self.players[number].piece, chosen, self.parameters, self.settings.hidden, gradient, loss, errors)
        return errors

    def _step(self, gradient: Floats, step: float) -> None:
        """Change the parameters by one step of Adam against the gradient."""
        self.steps += 1
        adam_step(self.parameters, self.mean, self.square, gradient, step, self.steps)

    def take_snapshot(self) -> None:
        """Add the present net to the guests. If there are `SNAPSHOTS` of them already, drop the second oldest.

        Games that run at this moment go on with the snapshots that now have the numbers of theirs.
        """
        if len(self.snapshots) == SNAPSHOTS:
            del self.snapshots[1]
        self.snapshots.append(rounded(self.parameters, self.settings.hidden)[0])
        self._guests = self._guests_now()

    def net(self, name: str, about: dict[str, Any]) -> Net:
        """Return the present net, with whole numbers as weights."""
        policy, value = rounded(self.parameters, self.settings.hidden)
        return Net(policy, value, name, about)

    # ---- Saving ----

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the state of the run as arrays by name. `restore` continues from it as if there had been no pause."""
        arrays: dict[str, NDArray[Any]] = {
            "parameters": self.parameters,
            "mean": self.mean,
            "square": self.square,
            "counters": np.array([self.iteration, self.steps, self.decisions]),
        }
        for kind, networks in (("model", self.models), ("snapshot", self.snapshots)):
            for number, network in enumerate(networks):
                for name in ("rows", "linear", "out"):
                    arrays[f"{kind}.{number}.{name}"] = getattr(network, name)
        for player in self.players:
            for name in ("games", "where", "seats", "states", "leads", "open"):
                value = getattr(player.table, name)
                arrays[f"player.{player.number}.{name}"] = value.view(np.uint8) if name == "games" else value
            arrays[f"player.{player.number}.maps"] = player.maps
        return arrays

    @classmethod
    def restore(cls, settings: SelfplaySettings, arrays: dict[str, NDArray[Any]]) -> Trainer:
        """Return the run whose `state` these arrays are. Raises `KeyError` or `ValueError` for arrays of something else."""
        if len(arrays["parameters"]) != len(first_parameters(settings.hidden, settings.seed)):
            raise ValueError("another version of vindibot made the run; begin a new run with --from and the net of this run")
        stored: dict[str, list[Network]] = {"model": [], "snapshot": []}
        for kind, networks in stored.items():
            while f"{kind}.{len(networks)}.out" in arrays:
                networks.append(Network(*(arrays[f"{kind}.{len(networks)}.{name}"] for name in ("rows", "linear", "out"))))
        trainer = cls(settings, stored["model"], arrays["parameters"])
        trainer.mean[:], trainer.square[:] = arrays["mean"], arrays["square"]
        trainer.iteration, trainer.steps, trainer.decisions = arrays["counters"].tolist()
        trainer.snapshots = stored["snapshot"]
        trainer._guests = trainer._guests_now()
        for player in trainer.players:
            for name in ("games", "where", "seats", "states", "leads", "open"):
                value = arrays[f"player.{player.number}.{name}"]
                getattr(player.table, name)[:] = value.view(GAME) if name == "games" else value
            player.maps[:] = arrays[f"player.{player.number}.maps"]
            player.draw_maps(range(MAPS))
        return trainer
