"""What the README shows is what there is: its trait and its test run. (What holds for all documents is in test_docs.py.)"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parent.parent
README = (TOP / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_trait_is_loaded_tested_and_plays(tmp_path: Path) -> None:
    coward, test, _ = blocks("python")
    (bot,) = blocks("toml")
    (tmp_path / "coward.py").write_text(coward)
    (tmp_path / "test_coward.py").write_text(test)
    (tmp_path / "mybot.toml").write_text(bot)
    environment = {**os.environ, "PYTHONPATH": str(TOP)}
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_coward.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert tested.returncode == 0, tested.stdout
    words = ["play", "--bot", "mybot.toml", "--against", "seed", "--rounds", "5", "--display", "none"]
    played = subprocess.run(
        [sys.executable, "-m", "vindibot", *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert played.returncode == 0, played.stdout + played.stderr
    (recording,) = (tmp_path / "recordings").iterdir()
    assert '"label":"coward"' in recording.read_text()
