"""`vindibot learn match`: nets alone against bots and other nets, through the real command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from behaviours.net.network import Net, Network, save_nets
from tests.support.commands import invoke
from vindibot.learning.matches import MatchRival, net_of, rivals_of
from vindibot.learning.network import read_nets


def takes_mines(sign: int) -> Network:
    """Return a net that takes mines, and prefers squares that are nearer to a mine (`sign` 1) or farther (-1)."""
    likes = np.zeros(100, np.int16)
    likes[21:31] = 5000  # takes a mine
    likes[44:84] = sign * np.repeat(np.linspace(2000, -2000, 8), 5)
    return Network.linear_only(likes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nets, and a bot that plays one of them."""
    made = tmp_path_factory.mktemp("nets")
    (made / "near.npz").write_bytes(save_nets([Net(takes_mines(1), name="near")]))
    (made / "far.npz").write_bytes(save_nets([Net(takes_mines(-1))]))
    (made / "both.npz").write_bytes(save_nets([Net(takes_mines(1), name="first"), Net(takes_mines(-1), name="second")]))
    (made / "run").mkdir()
    (made / "run/net.npz").write_bytes(save_nets([Net(takes_mines(1), name="teacher")]))
    (made / "player.toml").write_text('[traits.learned]\nnet = "far.npz"\nscale = 1000\n')
    (made / "more.toml").write_text('[traits.learned]\nnet = "far.npz"\n[traits.stay]\n')
    return made


def rows(folder: Path, *words: str) -> list[list[str]]:
    """Return the rows of the table that the command prints, as words. The first has the heads."""
    code, said = invoke(folder, "learn", "match", *words, "--blocks", "2")
    assert code == 0, said
    lines = said.splitlines()
    begin = next(number for number, line in enumerate(lines) if line.startswith("net "))
    return [line.split() for line in lines[begin:]]


def test_a_net_plays_the_same_games_in_compiled_code_and_as_a_bot(folder: Path) -> None:
    """The games won, the deaths and their intervals are equal."""
    (_, compiled), (_, bots) = (rows(folder, "near.npz", "--against", rival) for rival in ("far.npz", "player.toml"))
    assert compiled[1:3] == ["far", "(net)"]
    assert bots[1] == "player"
    assert compiled[3:] == bots[2:]


def test_a_net_has_the_name_of_its_file_or_of_the_folder_of_its_run(folder: Path) -> None:
    """The name that a net has in its file may be that of the bot whose moves it has learned."""
    assert net_of(str(folder / "run/net.npz"))[0] == "run"
    assert net_of(str(folder / "far.npz"))[0] == "far"
    assert [rival.name for rival in rivals_of([str(folder / "run/net.npz"), str(folder / "near.npz")])] == [
        "run (net)",
        "near (net)",
    ]


def test_each_net_of_a_file_is_a_rival(folder: Path) -> None:
    found = rows(folder, "player.toml", "--against", "both.npz", "--against", "stay")
    assert [row[:2] for row in found[1:]] == [["player", each] for each in ("first", "second", "stay", "all")]


def test_the_last_rows_are_of_all_rivals(folder: Path) -> None:
    near, far = (read_nets(folder / name)[0].policy for name in ("near.npz", "far.npz"))
    rivals = [MatchRival("near", near), MatchRival("far", far)]
    first, second = ([rival.meet(net, 1, 2, lambda: False) for rival in rivals] for net in (near, far))
    *_, whole, other = rows(folder, "near.npz", "far.npz", "--against", "near.npz", "--against", "far.npz")
    assert whole[:3] == ["near", "all", "16"]
    won = [[match.won for match in matches if match is not None] for matches in (first, second)]
    assert whole[3] == f"{np.mean(won[0]):.0%}"
    assert other[3] == f"{np.mean(won[1]):.0%}"
    gains = np.mean(won[1], axis=0) - np.mean(won[0], axis=0)  # of each map
    assert other[-2:] == [f"{100 * gains.mean():+.0f}", f"(+-{100 * abs(gains[0] - gains[1]):.0f})"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.npz"], "none.npz cannot be read"),
        (["nobody"], "there is no bot"),
        (["seed"], "seed: the bot must have the trait learned and no other"),
        (["more.toml"], "more.toml: the bot must have the trait learned and no other"),
        (["near.npz", "--against", "nobody"], "there is no bot"),
        (["near.npz", "--against", "player.npz"], "player.npz cannot be read"),
        (["near.npz", "--blocks", "1"], "--blocks"),
    ],
)
def test_wrong_usage_is_refused(folder: Path, words: list[str], message: str) -> None:
    code, said = invoke(folder, "learn", "match", *words)
    assert code == 2, said
    assert message in said
