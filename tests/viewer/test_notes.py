"""The notes of bots on the page of a game: shown on their turn, as text, with their marks on the board."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from behaviours.notes import Note
from sim.game import square
from tests.support.browser import DESKTOP, PHONE, visiting
from tests.support.recorded import BALLOT, HEADER, raw, record, states_of
from vindibot.games.ballot import Ballot, BallotEntry
from vindibot.games.files.recording import Recorder
from vindibot.games.outcome import Outcome
from vindibot.viewer.replay import replay_file

SCRIPT = "</script><script>document.title = 'run'</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The path of a recording of hero 1 in which a trait says something on the turns 4 and 8."""
    said = {4: (Note(SCRIPT), Note("here", square(0, 1))), 8: (Note("later"),)}
    states = states_of(2, 40)
    with Recorder(tmp_path_factory.mktemp("noted"), HEADER) as recorder:
        for state in states[:-1:4]:
            turn = int(state["turn"][0])
            entry = BallotEntry("loud", 1.0, None, 0.5, notes=said.get(turn, ()))
            ballot = Ballot([*BALLOT.entries, entry], BALLOT.sums, BALLOT.candidates, BALLOT.direction)
            recorder.turn(raw(state), ballot)
        recorder.finish(Outcome(), raw(states[-1]))
    assert recorder.path is not None
    return recorder.path


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_page_shows_notes_on_their_turn_as_text(
    browser: Any, recorded: Path, tmp_path: Path, size: tuple[int, int]
) -> None:
    file = replay_file(recorded, tmp_path / "page.html")
    assert file.read_text().count("</script>") == 2
    assert "<img" not in file.read_text()
    async with visiting(browser, f"{file.as_uri()}#turn=4", size=size) as page:
        title = await page.title()
        panel = page.get_by_role("region", name="Notes")
        rows = panel.get_by_role("listitem")
        assert await rows.all_text_contents() == [f"41 seed · loud: {SCRIPT}", "41 seed · loud: (0, 1) here"]
        assert await page.locator(".note-text").first.text_content() == SCRIPT
        assert await page.locator("img").count() == 0
        assert await page.title() == title
        await page.keyboard.press("ArrowRight")
        assert await rows.count() == 2, "until our next turn"
        for _ in range(3):
            await page.keyboard.press("ArrowRight")
        assert await rows.all_text_contents() == ["81 seed · loud: later"]
        await page.keyboard.press("2")
        assert await rows.count() == 0
        await panel.get_by_text("No bot said anything on these turns.").wait_for()
        box = page.get_by_label("Marked squares")
        assert await box.is_checked()
        await page.keyboard.press("h")
        assert not await box.is_checked()


@pytest.mark.asyncio(loop_scope="session")
async def test_a_game_without_notes_has_no_panel_for_them(browser: Any, tmp_path: Path) -> None:
    path = record(tmp_path, states_of(2, 24), 1).path
    async with visiting(browser, replay_file(path, tmp_path / "page.html").as_uri()) as page:
        assert await page.get_by_role("region", name="Notes").count() == 0
        assert await page.get_by_label("Marked squares").is_disabled()
