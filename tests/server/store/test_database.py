"""The store: what a file is opened as, older layouts, refusals with a reason, and writes that a disk refuses for a while."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from sim.generator import generate
from vindibot.base.errors import UsageError
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason
from vindibot.server.store.database import VERSION, Database
from vindibot.server.store.tables import UserTable, begin_game, end_game, find_record, forget_games, list_games, load_bots
from vindibot.server.users import RegistrationError, Users

WHEN = datetime(2030, 1, 2, tzinfo=UTC)


def record(
    game_id: str, moves: tuple[int, ...] = (), player_ids: tuple[str | None, ...] = ("u1", "u2", "u1", None)
) -> GameRecord:
    ending = Reason.FINISHED if len(moves) == 4 else Reason.INTERRUPTED
    return GameRecord.of(
        generate(1, size=8).new_game(4),
        id=game_id,
        names=("a", "b", "a", "random"),
        player_ids=player_ids,
        moves=moves,
        ending=ending,
        started=WHEN,
        finished=WHEN,
    )


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


async def test_what_is_written_is_there_when_the_file_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    digests = set()
    for name in (":memory:", "league.db"):  # both are names of files
        store = Database(Path(name))
        users = Users(UserTable(store))
        keys = [await users.sign_up("made"), users.add("chosen", "ch0senk3")]
        await store.close()
        digests |= {digest for _, digest, _ in rows(tmp_path / name, "SELECT id, key, name FROM bots")}
    assert len(digests) == 4, "a key has another digest in another file"
    path = tmp_path / "league.db"
    assert not any(key.encode() in path.read_bytes() for key in keys)
    assert path.stat().st_mode & 0o777 == 0o600
    assert rows(path, "PRAGMA user_version") == [(VERSION,)]
    store = Database(path)
    users = Users(UserTable(store))
    assert [user.name for key in keys if (user := users.find(key)) is not None] == ["made", "chosen"]
    assert users.find("00000000") is None
    with pytest.raises(RegistrationError, match="Name already taken"):
        await users.sign_up("made")
    assert users.find(keys[0].upper()) is users.find(keys[0])
    assert users.find(keys[1].upper()) is None, "only a key that was made may be written with capitals"
    await store.close()


async def test_a_database_with_bots_needs_its_own_secret(tmp_path: Path) -> None:
    path, secret = tmp_path / "league.db", tmp_path / "league.db.secret"
    await Database(path).close()
    secret.unlink()
    store = Database(path)  # without bots, it gets another secret
    assert secret.stat().st_mode & 0o777 == 0o600
    key = await Users(UserTable(store)).sign_up("seed")
    await store.close()
    content = secret.read_text()
    for changed, message in (("x", "no secret"), ("0" * 64, "secret of another database")):
        secret.write_text(changed)
        with pytest.raises(UsageError, match=message):
            Database(path)
    secret.unlink()
    with pytest.raises(UsageError, match=r"league\.db\.secret is missing"):
        Database(path)
    assert not secret.exists()
    path.rename(tmp_path / "copy.db")
    (tmp_path / "copy.db.secret").write_text(content)
    copy = Database(tmp_path / "copy.db")
    assert Users(UserTable(copy)).find(key) is not None
    await copy.close()


async def test_in_memory_there_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Database()
    Users(UserTable(store)).add("seed")
    assert len(await store.read(load_bots)) == 1
    assert not store.persistent
    await store.close()
    assert not os.listdir(tmp_path)


# ---- Files that cannot be used ----


def of_version(path: Path, version: int) -> None:
    asyncio.run(Database(path).close())
    rows(path, f"PRAGMA user_version = {version}")


def damage(path: Path) -> None:
    asyncio.run(Database(path).close())
    content = bytearray(path.read_bytes())
    content[4096:8192] = os.urandom(4096)
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (partial(of_version, version=VERSION - 1), r"other\.db: another version of vindibot made it \(layout"),
        (partial(of_version, version=VERSION + 1), r"other\.db: another version of vindibot made it \(layout"),
        (lambda path: rows(path, "CREATE TABLE bots (id)"), "belongs to another program"),
        (lambda path: path.write_text("to do: buy milk\n" * 1000), r"other\.db: this is not a database; replace it by a copy"),
        (damage, r"other\.db: the database is damaged"),
        (lambda path: path.parent.rmdir(), "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_left_alone(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    path = folder / "other.db"
    make(path)
    content = path.read_bytes() if path.is_file() else None
    with pytest.raises(UsageError, match=message):
        Database(path)
    assert (path.read_bytes() if path.is_file() else None) == content


def test_a_file_has_one_server_under_all_its_names(tmp_path: Path) -> None:
    (tmp_path / "symbolic.db").symlink_to("league.db")
    first = Database(tmp_path / "symbolic.db")  # the file that is missing is made
    with pytest.raises(UsageError, match="another vindibot server uses this file"):
        Database(tmp_path / "league.db")
    asyncio.run(first.close())
    asyncio.run(Database(tmp_path / "league.db").close())
    assert sorted(os.listdir(tmp_path)) == ["league.db", "league.db.secret", "symbolic.db"]


def test_another_program_locks_the_file(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    asyncio.run(Database(path).close())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="locked by another program"):
            Database(path, locked_seconds=0.05)


def test_a_read_only_file_and_a_read_only_folder() -> None:
    folder = Path(tempfile.mkdtemp())
    user = os.geteuid()
    try:
        path = folder / "league.db"
        asyncio.run(Database(path).close())
        path.chmod(0o444)
        folder.chmod(0o555)
        os.seteuid(user or 65534)  # the superuser may write everywhere
        for name in ("league.db", "new.db"):
            with pytest.raises(UsageError, match="read-only; make the file and its folder writable"):
                Database(folder / name)
    finally:
        os.seteuid(user)
        shutil.rmtree(folder)


# ---- Writing ----


async def test_what_a_locked_file_refuses_is_written_later_in_order(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    store = Database(path, locked_seconds=0.02)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        first = store.write("a game", lambda connection: begin_game(connection, record("game0001")))
        second = store.write(
            "its end", lambda connection: end_game(connection, record("game0001", (1, 2, 3, 4)), [1, 2, 3, 4], True)
        )
        assert not await asyncio.wrap_future(first)
        assert not await asyncio.wrap_future(second)
        other.execute("ROLLBACK")
    assert await asyncio.wrap_future(store.write("nothing", lambda connection: None))
    [game] = await store.read(list_games)
    assert (game.id, game.state, game.gold) == ("game0001", "finished", (1, 2, 3, 4))
    await store.close()


async def test_work_that_always_fails_has_no_effect_and_delays_no_other(tmp_path: Path) -> None:
    store = Database(tmp_path / "league.db")

    def half(connection: sqlite3.Connection) -> None:
        begin_game(connection, record("game0001"))
        raise ValueError("no")

    assert not await asyncio.wrap_future(store.write("half a game", half))
    twice = [store.write("a game", lambda connection: begin_game(connection, record("game0002"))) for _ in range(2)]
    assert [await asyncio.wrap_future(one) for one in twice] == [True, False]  # an id is taken once
    assert await store.read(lambda connection: connection.execute("SELECT id FROM games").fetchall()) == [("game0002",)]
    await store.close()


async def test_games_are_listed_newest_first_by_bot_and_page() -> None:
    store = Database()
    for number in range(6):
        game_id = f"game000{number}"
        player_ids = ("u1", "u1", None, "u2") if number % 2 else (None, None, None, "u2")
        store.write("begin", partial(begin_game, record=record(game_id, (), player_ids)))
        if number < 5:
            ended = record(game_id, (1, 2, 3, 4), player_ids)
            store.write("end", partial(end_game, record=ended, gold=[1, 2, 3, 4], rated=False))
    listed = await store.read(list_games)
    assert [game.number for game in listed] == [5, 4, 3, 2, 1]  # the sixth runs
    assert [game.number for game in await store.read(lambda c: list_games(c, bot="u1"))] == [4, 2]
    assert [game.number for game in await store.read(lambda c: list_games(c, bot="u2", before=4, limit=2))] == [3, 2]
    assert await store.read(lambda c: find_record(c, "game0005")) is None
    assert await store.read(lambda c: find_record(c, "game0099")) is None
    store.write("forget", lambda connection: forget_games(connection, 3))
    assert [game.number for game in await store.read(list_games)] == [5, 4]
    await store.close()
