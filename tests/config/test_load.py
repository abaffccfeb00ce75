"""Configurations: layers and their order, where values come from, and what is said of every slip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from vindibot.base.errors import UsageError
from vindibot.config import files
from vindibot.config.load import Config, PlaySettings, load_play, variable
from vindibot.config.maps import map_text

pytestmark = pytest.mark.usefixtures("here")
KEY = "k3yk3y42"


def play(text: str | None = None, overrides: dict[str, Any] | None = None, **environ: str) -> Config[PlaySettings]:
    """Settings from the text of a file, options and variables (without their prefix)."""
    if text is not None:
        Path("mine.toml").write_text(text, "utf-8")
    return load_play(
        "mine.toml" if text is not None else None,
        overrides,
        environ={f"VINDIBOT_{name}": value for name, value in environ.items()},
    )


def refusal(text: str | None = None, overrides: dict[str, Any] | None = None, **environ: str) -> str:
    with pytest.raises(UsageError) as caught:
        play(text, overrides, **environ)
    assert caught.value.exit_code == 2
    return caught.value.message


# The files that ship


def test_without_anything_the_defaults_count() -> None:
    config = play()
    assert config.settings == PlaySettings()
    assert config.settings.embedded
    assert {str(row.origin) for row in config.rows()} == {"default"}


@pytest.mark.parametrize("name", ["training", "training.toml", "config/training.toml"])
def test_the_training_file_writes_out_every_default(name: str) -> None:
    config = load_play(name, environ={})
    assert Path(config.settings.bot) == files.shipped("bots/seed.toml")
    assert config.settings.model_copy(update={"bot": "seed"}) == PlaySettings()
    assert {row.key for row in config.rows() if row.origin.kind == "default"} == {"key", "key_file"}


def test_the_shipped_files_of_an_installed_package_are_inside_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = here / "site" / "vindibot"
    (package / "config_files" / "bots").mkdir(parents=True)
    (package / "config_files" / "quick.toml").write_text("rounds = 7")
    monkeypatch.setattr(files, "_PACKAGE", package)
    assert load_play("quick", environ={}).settings.rounds == 7
    assert load_play("config/quick.toml", environ={}).settings.rounds == 7


# Layers


def test_each_layer_overrides_the_one_before() -> None:
    text = "rounds = 20\ngames = 2\nparallel = 2\n[time]\nmargin_ms = 20"
    config = play(text, {"rounds": 40, "seed": None}, ROUNDS="30", GAMES="3", TIME__LIMIT_MS="500", RECORDING__ENABLED="False")
    found = {row.key: (row.value, str(row.origin)) for row in config.rows()}
    assert found["rounds"] == ("40", "option --rounds")
    assert found["games"] == ("3", "environment variable VINDIBOT_GAMES")
    assert found["parallel"] == ("2", "mine.toml, line 3")
    assert found["time.limit_ms"] == ("500", "environment variable VINDIBOT_TIME__LIMIT_MS")
    assert found["recording.enabled"] == ("false", "environment variable VINDIBOT_RECORDING__ENABLED")
    assert found["time.margin_ms"] == ("20.0", "mine.toml, line 5")
    assert found["seed"] == ('"random"', "default")
    assert config.settings.time.limit_ms == 500


def test_a_file_extends_another_key_by_key() -> None:
    Path("base.toml").write_text("rounds = 20\n[time]\nlimit_ms = 400\nmargin_ms = 20")
    config = play('extends = "base"\n[time]\nlimit_ms = "server"')
    assert (config.settings.rounds, config.settings.time.limit_ms, config.settings.time.margin_ms) == (20, None, 20)


def test_a_file_may_extend_the_shipped_one_of_its_own_name() -> None:
    Path("training.toml").write_text('extends = "training.toml"\nrounds = 9')
    config = load_play("training.toml", environ={})
    assert config.settings.rounds == 9
    assert config.origin("games").name == str(files.shipped("training.toml"))


def test_the_configuration_may_be_named_by_a_variable() -> None:
    Path("mine.toml").write_text("rounds = 9")
    assert play(CONFIG="mine").settings.rounds == 9
    assert play("rounds = 8", CONFIG="nowhere").settings.rounds == 8


def test_variables_of_others_are_left_alone() -> None:
    assert (
        load_play(environ={"NUMBA_NUM_THREADS": "x", "VINDIBOT_KERNEL_CACHE": "/x", "VINDIBOTS": "1"}).settings == PlaySettings()
    )


WORDS_FOR_NONE = {
    "join_timeout_s": "mode",
    "pool.nodes": "none",
    "pool.workers": "cores",
    "seed": "random",
    "time.limit_ms": "server",
}


@pytest.mark.parametrize(("key", "word"), WORDS_FOR_NONE.items())
def test_a_word_stands_for_a_setting_that_is_not_set(key: str, word: str) -> None:
    table, _, name = key.rpartition(".")
    text = f'{f"[{table}]" if table else ""}\n{name} = "{word}"'
    for config in (play(text), play(None, {key: word}), play(**{key.replace(".", "__").upper(): word})):
        assert config.settings == PlaySettings()
        assert config.origin(key).kind != "default"


# Paths


def test_files_named_in_a_file_lie_beside_it(here: Path) -> None:
    project = here / "project"
    (project / "bots").mkdir(parents=True)
    (project / "bots" / "careful.toml").write_text("[traits.stay]")
    (project / "my.key").write_text(KEY)
    (project / "small.map").write_text("@1@2\n@3@4")
    (project / "mine.toml").write_text('bot = "careful"\nkey_file = "my.key"\nmap = "small.map"\nagainst = "random"')
    settings = load_play("project/mine.toml", environ={}).settings
    assert Path(settings.bot) == project / "bots" / "careful.toml"
    assert settings.key_file == project / "my.key"
    assert map_text(settings.map) == "@1@2\n@3@4"
    assert Path(settings.against) == files.shipped("bots/random.toml")


def test_what_is_written_goes_to_the_current_folder(here: Path) -> None:
    (here / "project").mkdir()
    (here / "project" / "mine.toml").write_text('[recording]\nfolder = "games"\n[log]\nfile = "~/x.log"')
    settings = load_play("project/mine", environ={}).settings
    assert settings.recording.folder == Path("games")
    assert settings.log.file == Path.home() / "x.log"


# Keys


def test_the_later_of_key_and_key_file_counts() -> None:
    settings = play(f'key = "{KEY}"').settings
    assert settings.key == SecretStr(KEY)
    settings = play('key_file = "a.key"', KEY=KEY).settings
    assert (settings.key, settings.key_file) == (SecretStr(KEY), None)
    settings = play(None, {"key_file": "a.key"}, KEY=KEY).settings
    assert (settings.key, settings.key_file) == (None, Path("a.key"))
    Path("base.toml").write_text(f'key = "{KEY}"')
    settings = play('extends = "base"\nkey_file = "a.key"').settings
    assert (settings.key, settings.key_file) == (None, Path("a.key"))
    assert play(f'key_file = "a.key"\nkey = "{KEY}"').settings.key_file is None
    assert play(KEY="").settings.key is None


def test_a_key_is_never_shown() -> None:
    config = play(KEY=KEY)
    rows = {row.key: row.value for row in config.rows()}
    assert rows["key"] == '"***"'
    assert KEY not in repr(config) + str(config.settings) + config.settings.model_dump_json() + repr(config.rows())
    for text in (f'key = ["{KEY}"]', f'[key]\nvalue = "{KEY}"', f'key = "{KEY}', f'keys = "{KEY}"', f"key = {KEY}"):
        assert KEY not in refusal(text)


def test_the_old_domain_is_refused_unless_forced() -> None:
    message = refusal('server = "http://vindinium.org"')
    assert "mine.toml, line 1: refusing to use" in message
    assert "allow_old_domain" in message
    assert play('server = "http://vindinium.org"\nallow_old_domain = true').settings.server == "http://vindinium.org"


# What is said of slips

SLIPS = [
    ("rouns = 3", ["mine.toml, line 1: rouns is an unknown key (did you mean 'rounds'?)"]),
    ("\n[time]\nmargn_ms = 3", ["mine.toml, line 3: time.margn_ms is an unknown key (did you mean 'margin_ms'?)"]),
    ("[recordings]\nenabled = true", ["line 1: recordings is an unknown key (did you mean 'recording'?)"]),
    ("xyzzy = 1", ["xyzzy is an unknown key here (there are: mode, server, "]),
    ('mode = "training"\nmode = "arena"', ["mine.toml: this is not TOML: cannot overwrite a value"]),
    ("rounds = 601", ["rounds must be at most 600, not 601"]),
    ('rounds = "3"', ['rounds must be a whole number, not "3"']),
    ('mode = "aren"', ["mode must be 'training' or 'arena', not \"aren\" (did you mean 'arena'?)"]),
    ("[time]\nmargin_ms = nan", ["line 2: time.margin_ms must be a finite number, not nan"]),
    ("time = 3", ["line 1: time must be a table, not 3"]),
    ("[pool]\nworkers = 0", ['pool.workers must be at least 1 or "cores", not 0']),
    ('[pool]\nworkers = "many"', ['pool.workers must be a whole number or "cores", not "many"']),
    ('[recording]\nfolder = ""', ["line 2: recording.folder must be a path, not empty"]),
    ('bot = "sed"', ["line 1: there is no bot or file named \"sed\" (did you mean 'seed'?); looked in "]),
    ('server = "ftp://x"', ["server cannot be used: 'ftp://x' is not the address of a server"]),
    ('server = "http://me:pw@x"', ["server cannot be used: the server's address must not hold a user name"]),
    ("rounds = 0\ngames = 0", ["line 1: rounds must be at least 1", "line 2: games must be at least 1"]),
    (
        'extends = "trainin"',
        ["mine.toml, line 1: there is no configuration or file named \"trainin\" (did you mean 'training'?)"],
    ),
    ("extends = 3", ["line 1: extends must be the name of a configuration file, not 3"]),
    ("key_file = 3", ["key_file must be a path in quotes, not 3"]),
    ('extends = "mine.toml"', ['there is no configuration or file named "mine.toml"']),
    (
        'against = "random"\nserver = "http://x:1"',
        ["line 1: against works on the embedded server only", "mine.toml, line 2"],
    ),
    ('mode = "arena"', ["line 1: mode arena needs other players", "server is set by default"]),
    ("[time]\nlimit_ms = 50", ["time.margin_ms must be less than the limit", "time.limit_ms is set by mine.toml, line 2"]),
]


@pytest.mark.parametrize(("text", "expected"), SLIPS, ids=[text[:30] for text, _ in SLIPS])
def test_slips_in_a_file(text: str, expected: list[str]) -> None:
    message = refusal(text)
    for words in expected:
        assert words in message


def test_slips_in_variables() -> None:
    assert refusal(MDE="x") == "environment variable VINDIBOT_MDE is an unknown setting (did you mean 'VINDIBOT_MODE'?)"
    assert refusal(TIME="x").startswith("environment variable VINDIBOT_TIME is an unknown setting")
    assert refusal(GAMES="few") == 'environment variable VINDIBOT_GAMES: games must be a whole number, not "few"'
    assert refusal(GAMES="0").startswith("environment variable VINDIBOT_GAMES: games must be at least 1")
    assert refusal(RECORDING__ENABLED="maybe").endswith('recording.enabled must be true or false, not "maybe"')


def test_slips_in_options() -> None:
    assert refusal(None, {"time.margin": 3}) == "there is no setting \"time.margin\" (did you mean 'time.margin_ms'?)"
    assert refusal(None, {"time.margin_ms": -3}).startswith("option --time-margin-ms: time.margin_ms must be at least 0")
    assert refusal(None, {"against": "malver"}).startswith('option --against: there is no bot or file named "malver" (did')
    with pytest.raises(UsageError, match=r"^option --margin: time\.margin_ms must be at least 0, not -3$"):
        load_play(None, {"time.margin_ms": -3}, environ={}, option_names={"time.margin_ms": "--margin"})


def test_files_that_extend_each_other() -> None:
    Path("a.toml").write_text('extends = "b.toml"')
    Path("b.toml").write_text('\nextends = "a.toml"')
    with pytest.raises(UsageError, match=r"b\.toml, line 2: extends makes a circle: a\.toml -> b\.toml -> a\.toml"):
        load_play("a", environ={})


def test_files_that_cannot_be_read(here: Path) -> None:
    (here / "latin.toml").write_bytes('bot = "käse"'.encode("latin-1"))
    (here / "deep.toml").write_text("a = " + "[" * 100_000)
    (here / "bom.toml").write_bytes(b"\xef\xbb\xbfrounds = 4")
    for name, words in (
        ("nowhere", 'there is no configuration or file named "nowhere"; looked in '),
        ("trainin", "did you mean 'training'"),
        ("/nowhere/x.toml", "there is no configuration file /nowhere/x.toml"),
        ("x" * 5000, "there is no configuration"),
        ("latin", "latin.toml: this is not UTF-8 text"),
        ("deep", "deep.toml: this is not TOML"),
        (".", "there is no configuration"),
    ):
        with pytest.raises(UsageError) as caught:
            load_play(name, environ={})
        assert words in caught.value.message
    assert load_play("bom", environ={}).settings.rounds == 4


def test_a_value_refused_later_names_its_origin() -> None:
    config = play('bot = "seed"')
    assert config.refuse("bot", "is too slow").message == "mine.toml, line 1: bot is too slow"
    assert config.refuse("games", "are too many").message == "games are too many"


def test_every_setting_has_a_variable_and_a_description() -> None:
    rows = play().rows()
    schema = PlaySettings.model_json_schema()
    for table in (schema, *schema["$defs"].values()):
        assert all("description" in setting or "$ref" in setting for setting in table["properties"].values())
    assert variable(("time", "margin_ms")) == "VINDIBOT_TIME__MARGIN_MS"
    assert len({variable(row.key.split(".")) for row in rows}) == len(rows)
