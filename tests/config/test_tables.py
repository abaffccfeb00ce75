"""What a file keeps of the file that it extends: tables, lists, resets, and the line of each value."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, strategies as st

from tests.support.commands import printed
from vindibot.arena.seats.entrants import read_entrants
from vindibot.arena.settings import ArenaSettings
from vindibot.config.bots import MOST_TRAITS, load_bot
from vindibot.config.files import key_lines
from vindibot.config.load import load_config
from vindibot.config.variants import NewBot
from vindibot.tuning.space import tables_of

pytestmark = pytest.mark.usefixtures("here")
DECLARED = """
from pydantic import BaseModel
from behaviours import Behaviour

class Inner(BaseModel):
    a: int = 1
    b: int = 1

class Declared(Behaviour):
    inner: Inner = Inner(a=5)

    def vote(self, view):
        return 0
"""


def shown(*words: str) -> dict[str, tuple[str, str]]:
    """The output of ``vindibot config``: value and origin by key. The keys of traits begin with the label."""
    found, table = {}, ""
    for line in printed("config", *words).splitlines():
        setting, _, origin = line.partition("  # ")
        if setting.startswith("["):
            table = setting.strip()[len("[traits.") : -1] + "."
        elif " = " in setting:
            key, _, value = setting.partition(" = ")
            found[table + key] = (value.strip(), origin.strip())
    return found


def refusal(*words: str) -> str:
    return printed("config", *words, code=2)


def test_a_table_of_a_trait_keeps_the_values_of_the_extended_bot() -> None:
    Path("mine.toml").write_text(
        'extends = "strong"\n[traits.search.weights]\ndanger = 0.9\n[traits.rollout.params]\ndrink = 55\n'
    )
    mine, strong = shown("mine.toml"), shown("strong")
    assert mine["search.weights.danger"] == ("0.9", "mine.toml, line 3")
    assert mine["rollout.params.drink"] == ("55", "mine.toml, line 5")
    changed = {"name", "version", "search.weights.danger", "rollout.params.drink"}
    assert {key: one for key, one in mine.items() if key not in changed} == {
        key: one for key, one in strong.items() if key not in changed
    }
    for key, (_, origin) in mine.items():
        if key.startswith("search.weights.") and key != "search.weights.danger":
            file, _, line = origin.rpartition(", line ")
            assert Path(file).read_text().splitlines()[int(line) - 1].startswith(key.rpartition(".")[2]), key


def test_reset_goes_back_to_the_defaults() -> None:
    keys = '"traits.search.weights", "traits.rollout.params.drink", "traits.rollout.rivals"'
    Path("mine.toml").write_text(f'extends = "strong"\nreset = [{keys}]\n[traits.search.weights]\nprey = 0.4\n')
    search, rollout = {spec.label: spec for spec in load_bot("mine").traits}["search"], load_bot("mine").traits[0]
    assert search.parameters["weights"] == {"prey": 0.4}
    assert "drink" not in rollout.parameters["params"]
    assert "thirst" in rollout.parameters["params"]
    assert "rivals" not in rollout.parameters
    assert shown("mine.toml")["rollout.params.drink"][1] == "default"


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ('extends = "strong"\nreset = ["traits.rollout.params.drnk"]', 'line 2: reset names "traits.rollout.params.drnk"'),
        ('extends = "strong"\nreset = ["traits.rollout.params.drnk"]', "did you mean 'traits.rollout.params.drink'"),
        ('reset = ["traits.stay"]\n[traits.stay]', "needs a file that this file extends"),
        ('extends = "strong"\nreset = ["not a key"]', 'line 2: reset names "not a key"'),
        ('extends = "strong"\nreset = [3]', "reset"),
    ],
)  # fmt: skip
def test_a_reset_of_nothing_is_refused(head: str, words: str) -> None:
    Path("mine.toml").write_text(f"{head}\n")
    assert words in refusal("--bot", "mine.toml")


def test_a_disabled_trait_stays_disabled() -> None:
    Path("one.toml").write_text('extends = "seed"\n[traits.combat]\nenabled = false\n')
    Path("two.toml").write_text('extends = "one"\n[traits.combat]\nweight = 5\n')
    assert "combat" not in [spec.label for spec in load_bot("two").traits]


def test_a_table_keeps_the_defaults_that_the_trait_declares() -> None:
    Path("declared.py").write_text(DECLARED)
    Path("mine.toml").write_text('[traits.x]\nuse = "declared:Declared"\n[traits.x.inner]\nb = 7\n')
    bot = load_bot("mine.toml")
    assert repr(bot.build()[0][1].inner) == "Inner(a=5, b=7)"
    assert bot.traits[0].parameters == {"inner": {"a": 5, "b": 7}}, "workers build the trait from these parameters"


def test_entrants_of_an_arena_file_are_merged(here: Path) -> None:
    (here / "far").mkdir()
    (here / "far" / "quick.toml").write_text('extends = "stay"\nname = "quick"\n')
    (here / "far" / "base.toml").write_text(
        'bots = ["c", "d", "stay"]\n[entrants.c]\nbot = "quick"\nnodes = 100\n[entrants.d]\nbot = "seed"\nnodes = 8\n'
        '[entrants.e]\ncommand = "true"\nfolder = "."\n'
    )
    Path("mine.toml").write_text('extends = "far/base"\nreset = ["entrants.d.nodes"]\n[entrants.c]\nnodes = 50\n')
    found = shown("mine.toml", "--for", "arena")
    assert found["entrants.c.bot"] == ('"quick"', "far/base.toml, line 3")
    assert found["entrants.c.nodes"] == ("50", "mine.toml, line 4")
    assert "entrants.d.nodes" not in found
    config = load_config(ArenaSettings, "mine", environ={})
    quick, seed, _ = read_entrants(config)
    assert quick.bot is not None
    assert (quick.bot.name, quick.limits.nodes, seed.limits.nodes) == ("quick", 50, None)
    (program,) = read_entrants(load_config(ArenaSettings, "mine", {"bots": ["e"]}, environ={}))
    assert program.folder == str(here / "far"), "relative to the file that sets it"


def test_a_tuned_bot_states_only_what_is_tuned() -> None:
    Path("base.toml").write_text('extends = "searcher"\n[traits.search.weights]\nkeep = 20\n')
    base = load_bot("base.toml")
    values = {"traits.search.weights.life": 61.5, "traits.search.weight": 2.0, "traits.search.depth": 30}
    NewBot(Path("tuned.toml"), "vindibot tune", "--out").write_variant(base, "tuned", tables_of(base, values), [])
    assert "keep" not in Path("tuned.toml").read_text()
    (search,) = load_bot("tuned.toml").traits
    weights = dict(base.traits[0].parameters["weights"])
    assert search.parameters == {**base.traits[0].parameters, "depth": 30, "weights": {**weights, "life": 61.5}}
    assert search.weight == 2


# ---- Chains and numbers ----


@pytest.mark.slow
def test_a_bot_has_a_limited_number_of_traits() -> None:
    def bot(count: int) -> str:
        Path("many.toml").write_text("".join(f'[traits.t{number}]\nuse = "stay"\n' for number in range(count)))
        return "many.toml"

    assert len(load_bot(bot(MOST_TRAITS)).traits) == 255
    for count in (256, 20_000):
        assert f"this bot has {count} enabled traits: at most 255 are possible" in refusal(bot(count))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("9" * 5000, "this is not TOML: exceeds the limit (4300 digits)"),
        ("0x" + "f" * 5000, "line 2: rounds must be a whole number of at most 64 bits"),
        ("nan", "line 2: rounds must be a whole number, not nan"),
        ("[1]", "line 2: rounds must be a whole number, not [1]"),
    ],
)
def test_numbers_that_no_setting_can_have(number: str, words: str) -> None:
    Path("mine.toml").write_text(f"games = 1\nrounds = {number}\n")
    assert words in refusal("mine.toml")


@pytest.mark.parametrize(
    ("command", "key"),
    [("serve", "body_seconds"), ("league-new", "absence_timeout_s"), ("arena", "limits.start_s"), ("play", "time.margin_ms"),
     ("tune-play", "spread"), ("challenge", "margin_ms")],
)  # fmt: skip
@pytest.mark.parametrize("number", ["nan", "1e999"])
def test_a_number_must_be_finite_for_every_command(command: str, key: str, number: str) -> None:
    Path("mine.toml").write_text(f"{key} = {number}\n")
    said = refusal("mine.toml", "--for", command)
    assert f"mine.toml, line 1: {key} must be" in said
    assert len(said.splitlines()) == 1


# ---- The lines of keys ----

NAMES = st.text("ab.# \"'[]=\\é", min_size=1, max_size=4)
VALUES = st.recursive(
    st.one_of(st.integers(-9, 9), st.booleans(), st.text("a\n#]\"'=", max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=6,
)


@given(st.dictionaries(NAMES, VALUES, max_size=3), st.booleans())
def test_every_key_has_a_line(data: dict[str, Any], multiline: bool) -> None:
    def paths(value: Any, path: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
        items = [*(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())]
        found = {(*path, str(key)) for key, _ in items}
        return found.union(*(paths(inner, (*path, str(key))) for key, inner in items))

    text = tomli_w.dumps(data, multiline_strings=multiline)
    lines = key_lines(text)
    assert set(lines) == paths(data)
    assert all(1 <= line <= len(text.splitlines()) for line in lines.values())


def test_lines_of_keys_in_all_forms() -> None:
    text = 'a.b = """\nx = 1\n"""\n[t."c d"]\nv = {n = [1,\n 2], m = 3}\n[[l]]\nk = 1\n[[l]]\nk = 2\n'
    lines = key_lines(text)
    wanted = {("a", "b"): 1, ("t", "c d", "v", "n", "1"): 5, ("t", "c d", "v", "m"): 5, ("l",): 7, ("l", "1", "k"): 10}
    assert {path: lines[path] for path in wanted} == wanted
    assert ("x",) not in lines
