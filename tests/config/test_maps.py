"""Maps that the user of this machine names."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.generator import generate
from sim.maps import NAMES, named_map, parse_map
from vindibot.base.errors import UsageError
from vindibot.config.maps import load_map, map_text, standard_maps

pytestmark = pytest.mark.usefixtures("here")
TEXT = "@1@2\n@3@4"


def test_maps_are_names_files_or_text(here: Path) -> None:
    for value in ("", "  ", "random"):
        assert (load_map(value), map_text(value)) == (None, None)
    assert (load_map("m1"), map_text("m1")) == (named_map("m1"), "m1")
    assert (load_map("quarry"), map_text("quarry")) == (named_map("quarry"), "quarry")
    assert (load_map(f"{TEXT}\n"), map_text(f"{TEXT}\n")) == (parse_map(TEXT), f"{TEXT}\n")
    (here / "small").write_text(TEXT)
    assert (load_map("small"), map_text("small")) == (parse_map(TEXT), TEXT)
    (here / "sub").mkdir()
    (here / "sub" / "tiny.map").write_text(TEXT)
    assert [found.name for found in map(load_map, ("m1", "small", "sub/tiny.map")) if found] == [NAMES[0], "small", "tiny"]


def test_a_map_of_the_generator_is_named_by_its_size_and_seed() -> None:
    found = load_map("18-1234")
    assert found == generate(1234, 18)
    assert found is not None
    assert (found.name, map_text("18-1234")) == ("18-1234", found.text())
    for standard in standard_maps()[:10]:
        assert load_map(standard.name) == standard
    with pytest.raises(UsageError, match="size is odd: 17"):
        load_map("17-1")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none.map", 'there is no map file "none.map"'),
        ("bad.map", "bad.map: the map cannot be read: this is not UTF-8"),
        ("three.map", r"three.map: line 2, column 3: a map has four heroes"),
        ("m7", "there is no map named 'm7'; there are m1, m2"),
        ("@1@2\n@3", "the text of map: line 2, column 3"),
    ],
)
def test_what_cannot_be_says_why(here: Path, name: str, words: str) -> None:
    (here / "bad.map").write_bytes(b"\xff")
    (here / "three.map").write_text("@1@2\n@3")
    with pytest.raises(UsageError, match=words):
        load_map(name)


def test_another_server_may_know_names_that_we_do_not() -> None:
    assert map_text("m7") == "m7"


def test_the_standard_set() -> None:
    maps = standard_maps()
    assert len(maps) == len({found.digest for found in maps}) == 40
    for start in range(0, 40, 10):
        assert sorted(found.size for found in maps[start : start + 10]) == list(range(10, 30, 2))
