"""The documents are written in short sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.documents import DOCUMENTS

#: Words that a sentence has at most, and on average in a document.
LONGEST, MEAN = 25, 14
_CODE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"\]\([^)]*\)")
_NO_PROSE = re.compile(r"^(#|\||!\[|    |<)")
_ITEM = re.compile(r"^\s*([-*]|\d+\.) ")


def sentences(text: str) -> Iterator[str]:
    """Return the sentences of a document in Markdown, without code, tables, headings and pictures."""
    text = _TARGET.sub("]", re.sub(r"!\[[^\]]*\]\([^)]*\)", "", _CODE.sub("", text)))
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip() or _NO_PROSE.match(line) or _ITEM.match(line):
            joined = re.sub(r"`[^`]*`", "code", " ".join(paragraph))
            yield from (part for part in re.split(r"(?<=[.!?:;])[\s)*]+", joined) if part.strip())
            paragraph = []
        if line.strip() and not _NO_PROSE.match(line):
            paragraph.append(_ITEM.sub("", line).strip())


def words_in(sentence: str) -> int:
    """Return the number of words of a sentence."""
    return len(re.findall(r"[\w'@%./+-]+", sentence))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_sentences_are_short(path: Path) -> None:
    lengths = {sentence: words_in(sentence) for sentence in sentences(path.read_text())}
    long = [f"{number} words: {sentence}" for sentence, number in lengths.items() if number > LONGEST]
    assert not long, "\n".join(long)
    assert sum(lengths.values()) <= MEAN * len(lengths)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_merge_is_unfinished(path: Path) -> None:
    assert not re.findall(r"^(?:<{7}|={7}$|>{7}).*", path.read_text(), re.MULTILINE)
