"""``vindibot replay --gif`` and ``--svg``: pixels of known squares, the turns that are shown, and files that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageFont, ImageSequence

from sim.board import parse
from sim.game import EAST, STAY
from sim.maps import parse_map
from sim.pictures.layout import LETTERS, Layout, Words
from tests.support.recorded import record, record_of, states_of
from tests.viewer.test_replay import replay
from vindibot.games.game_record import dumps
from vindibot.viewer.painting import Painter
from vindibot.viewer.replay import LAST_MS, MOST_PLIES, PICTURE_MARK, PLY_MS, ROUND_MS

#: The side of a square of a small board.
SIDE = 32
GROUNDS = [(234, 225, 198), (230, 220, 191), (237, 229, 205)]
RED, BLUE, GREY, ROOF = (229, 72, 77), (62, 139, 245), (141, 138, 134), (168, 72, 47)
BOARD = """
    |@1  $-##|
    |        |
    |    []$2|
    |  @2    |
"""


def pixel(image: Image.Image, column: int, row: int, across: float, down: float) -> tuple[int, int, int]:
    """Return the colour of a point in a square; `across` and `down` are shares of its side."""
    found: Any = image.convert("RGB").getpixel((round((column + across) * SIDE), round((row + down) * SIDE)))
    assert len(found) == 3
    return found


def near(found: tuple[int, int, int], wanted: tuple[int, int, int]) -> bool:
    return all(abs(one - other) <= 12 for one, other in zip(found, wanted, strict=True))


@pytest.mark.parametrize("reduced", [False, True])
def test_known_squares_have_known_colours(reduced: bool) -> None:
    games = parse(BOARD)
    painter = Painter(games)
    image = painter.reduced(games) if reduced else painter.paint(games)
    assert any(near(pixel(image, 1, 1, 0.5, 0.05), ground) for ground in GROUNDS)
    assert near(pixel(image, 2, 0, 0.2, 0.75), GREY), "a mine without an owner"
    assert near(pixel(image, 3, 2, 0.2, 0.75), BLUE), "a mine of hero 2"
    assert near(pixel(image, 2, 2, 0.75, 0.4), ROOF)
    assert near(pixel(image, 0, 0, 0.22, 0.65), RED), "the cape of hero 1"
    assert near(pixel(image, 1, 3, 0.22, 0.65), BLUE)
    tree = pixel(image, 3, 0, 0.5, 0.5)
    assert tree[1] > max(tree[0], tree[2]) + 20


@pytest.mark.parametrize(("size", "rounds"), [(4, 5000), (10, 300), (12, 5000), (28, 300)])
def test_the_heading_does_not_reach_the_titles_of_the_columns(size: int, rounds: int) -> None:
    games = parse_map("@1  @2\n" + "\n" * (size - 2) + f"@3{' ' * (2 * size - 4)}@4").new_game(max_turns=4 * rounds)
    font = ImageFont.load_default(LETTERS)
    for turn in (0, 1000, 4 * rounds):
        games["turn"] = turn
        heading, life, *_ = (part for part in Layout(games).table() if isinstance(part, Words))
        assert heading.text.startswith(f"turn {turn} of {4 * rounds}")
        assert heading.x + font.getlength(heading.text) + 8 < life.x - font.getlength(life.text)


def test_letters_that_the_font_lacks_are_replaced() -> None:
    games = parse(BOARD)
    assert Painter(games, names=["日本"]).paint(games).tobytes() == Painter(games, names=["??"]).paint(games).tobytes()


def game_file(path: Path, rounds: int) -> Path:
    """Write a game in which hero 1 takes the mine beside it in the first ply. The other heroes stay."""
    board = parse_map("@1$-$-@4\n\n\n@2$-$-@3\n")
    path.write_bytes(dumps(record_of(board, [EAST, *[STAY] * (4 * rounds - 1)])) + b"\n")
    return path


@pytest.fixture
def game(tmp_path: Path) -> Path:
    return game_file(tmp_path / "game.jsonl", 3)


def gif(game: Path, *words: object) -> list[Image.Image]:
    """Make a GIF of a game, and return its pictures. Their `info` has the duration."""
    out = game.with_name("out.gif")
    result = replay(game, "--gif", out, *words)
    assert result.exit_code == 0, result.output
    with Image.open(out) as image:
        assert f"out.gif has {image.n_frames} picture" in result.output
        assert image.n_frames == 1 or image.info["loop"] == 0
        return [frame.copy() for frame in ImageSequence.Iterator(image)]


def test_a_short_game_is_shown_ply_by_ply(game: Path) -> None:
    pictures = gif(game)
    colours = [pixel(picture, 1, 0, 0.2, 0.75) for picture in pictures]
    assert near(colours[0], GREY)
    assert all(near(colour, RED) for colour in colours[1:])
    assert [picture.info["duration"] for picture in pictures] == [PLY_MS] * 12 + [LAST_MS]
    tables = {picture.convert("RGB").crop((0, 4 * SIDE, *picture.size)).tobytes() for picture in pictures}
    assert len(tables) == 13, "the table differs in each picture"


def test_turns_are_chosen_and_what_does_not_change_is_not_stored(game: Path) -> None:
    assert [len(gif(game, "--turns", turns)) for turns in ("4-6", "0-0", "12-12")] == [3, 1, 1]
    one = game.with_name("out.gif").stat().st_size
    gif(game)
    assert game.with_name("out.gif").stat().st_size < one + 12 * 1500


@pytest.mark.slow
def test_a_long_game_is_shown_round_by_round(tmp_path: Path) -> None:
    plies, path = MOST_PLIES + 4, tmp_path / "long.jsonl"
    pictures = gif(game_file(path, plies // 4))
    assert len(pictures) == plies // 4 + 1
    assert pictures[0].info["duration"] == ROUND_MS
    assert len(gif(path, "--turns", f"4-{plies}")) == MOST_PLIES + 1


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--gif", "o.gif", "--turns", "3"], "write it like 200-240"),
        (["--gif", "o.gif", "--turns", "5-4"], "the turns 5-4: the first is later than the last"),
        (["--gif", "o.gif", "--turns", "5-400"], "no turn 400: this game has the turns 0 to 12"),
        (["--svg", "o.svg", "--turn", "13"], "no turn 13"),
        (["--svg", "o.svg", "--turns", "1-2"], "--turns needs --gif"),
        (["--gif", "o.gif", "--turn", "1"], "--turn needs --svg"),
        (["--gif", "game.jsonl"], "is the game itself"),
        (["--svg", "game.jsonl"], "is the game itself"),
        (["--gif", "mine.gif"], "was not made by vindibot replay"),
        (["--svg", "mine.gif"], "was not made by vindibot replay"),
    ],
)
def test_what_is_refused(game: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str) -> None:
    monkeypatch.chdir(game.parent)
    Path("mine.gif").write_bytes(b"GIF89a of a user")
    kept = {path: path.read_bytes() for path in game.parent.iterdir()}
    result = replay(game.name, *words)
    assert result.exit_code == 2
    assert reason in " ".join(result.output.split())
    assert {path: path.read_bytes() for path in game.parent.iterdir()} == kept


def test_one_turn_as_svg(tmp_path: Path) -> None:
    path, out = record(tmp_path, states_of(2), 1).path, tmp_path / "new" / "turn.svg"
    assert "shows turn 8" in replay(path, "--svg", out, "--turn", "8").output
    root = ElementTree.fromstring(out.read_text())
    words = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert words[0] == "turn 8 of 120 · round 3"
    assert {"seed ★", "[red]two[/]", "drei ☃"} <= set(words)
    gif_out = out.with_suffix(".gif")
    several = replay(path, "--svg", out, "--gif", gif_out, "--turns", "0-0").output
    assert "shows turn 120" in several, "an earlier picture is overwritten"
    assert PICTURE_MARK.encode() in gif_out.read_bytes()[:2000]
