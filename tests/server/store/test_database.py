"""The store: what a file is opened as, older layouts, refusals with a reason, and writes that a disk refuses for a while."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import httpx
import pytest

from sim.generator import generate
from tests.support.serving import serving
from vindibot.base.errors import UsageError
from vindibot.games.game_record import GameRecord
from vindibot.games.outcome import Reason
from vindibot.server.store.database import VERSION, Database
from vindibot.server.store.tables import UserTable, begin_game, end_game, find_record, forget_games, list_games, load_bots
from vindibot.server.users import Users

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


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


async def test_what_is_written_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    store = Database(path)
    users = Users(UserTable(store))
    key = await users.sign_up("seed")
    await store.close()
    await store.close()
    again = Database(path)
    users = Users(UserTable(again))
    assert [user.name for user in users] == ["seed"]
    assert users.find("00000000") is None
    found = users.find(key)
    assert found is not None
    assert found.name == "seed"
    assert users.find(key) is found
    await again.close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert rows(path, "PRAGMA journal_mode") == [("wal",)]
    assert rows(path, "PRAGMA user_version") == [(VERSION,)]


async def test_no_key_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    store = Database(path)
    users = Users(UserTable(store))
    keys = [await users.sign_up("first"), users.add("second", "k3yk3yk3")]
    await store.close()
    everything = everything_in(tmp_path)
    assert b"second" in everything
    assert not any(key.encode() in everything for key in keys)
    with closing(sqlite3.connect(path)) as connection:
        digests = {bytes(digest) for _, digest, _ in load_bots(connection)}
    assert len(digests) == 2


async def test_only_a_key_that_was_made_may_be_written_with_capitals(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    for known in (False, True):
        store = Database(path)
        users = Users(UserTable(store))
        if not known:
            keys = [await users.sign_up("made"), users.add("chosen", "ch0senk3")]
        assert [user.name for key in keys if (user := users.find(key)) is not None] == ["made", "chosen"]
        assert users.find(keys[1].upper()) is None
        assert users.find(keys[0].upper()) is users.find(keys[0])
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
    for changed, message in (
        (None, r"league\.db\.secret is missing"),
        ("x", "no secret"),
        ("0" * 64, "secret of another database"),
    ):
        secret.unlink()
        if changed is not None:
            secret.write_text(changed)
        for _ in range(2):
            with pytest.raises(UsageError, match=message):
                Database(path)
        assert secret.exists() == (changed is not None)
        secret.write_text(content)
    shutil.copy(path, tmp_path / "copy.db")
    shutil.copy(secret, tmp_path / "copy.db.secret")
    copy = Database(tmp_path / "copy.db")
    assert Users(UserTable(copy)).find(key) is not None
    await copy.close()


async def test_a_key_has_another_digest_in_another_file(tmp_path: Path) -> None:
    digests = set()
    for name in ("one.db", "two.db"):
        store = Database(tmp_path / name)
        Users(UserTable(store)).add("seed", "samekey1")
        await store.close()
        digests |= set(rows(tmp_path / name, "SELECT key FROM bots"))
    assert len(digests) == 2


async def test_in_memory_there_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Database()
    Users(UserTable(store)).add("seed")
    assert len(await store.read(load_bots)) == 1
    assert not store.persistent
    await store.close()
    assert not os.listdir(tmp_path)


# ---- Files that cannot be used ----


@pytest.mark.parametrize("layout", [VERSION - 1, VERSION + 1])
def test_a_file_of_another_version_is_left_alone(tmp_path: Path, layout: int) -> None:
    path = tmp_path / "other.db"
    asyncio.run(Database(path).close())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {layout}")
    with pytest.raises(UsageError, match=r"other\.db: another version of vindibot made it \(layout"):
        Database(path)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE bots (id)")
    with pytest.raises(UsageError, match="belongs to another program"):
        Database(path)
    assert rows(path, "SELECT name FROM sqlite_master") == [("bots",)]


def test_what_is_no_database_or_a_damaged_one_is_named(tmp_path: Path) -> None:
    text = tmp_path / "text.db"
    text.write_text("to do: buy milk\n" * 1000)
    with pytest.raises(UsageError, match=r"text\.db: this is not a database; replace it by a copy"):
        Database(text)
    broken = tmp_path / "broken.db"
    asyncio.run(Database(broken).close())
    content = bytearray(broken.read_bytes())
    content[4096:8192] = os.urandom(4096)
    broken.write_bytes(content)
    with pytest.raises(UsageError, match=r"broken\.db: the database is damaged"):
        Database(broken)


def test_places_where_no_file_can_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        Database(tmp_path / "nowhere" / "league.db")
    with pytest.raises(UsageError, match="this is a folder"):
        Database(tmp_path)


def test_another_server_uses_the_file(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    first = Database(path)
    with pytest.raises(UsageError, match="another vindibot server uses this file"):
        Database(path)
    assert asyncio.run(first.read(load_bots)) == []
    asyncio.run(first.close())
    asyncio.run(Database(path).close())


def test_a_file_has_one_server_under_all_its_names(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    first = Database(path)
    asyncio.run(first.read(load_bots))
    (tmp_path / "symbolic.db").symlink_to("league.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name in ("symbolic.db", "folder/league.db"):
        with pytest.raises(UsageError, match="another vindibot server uses this file"):
            Database(tmp_path / name)
    asyncio.run(first.close())
    asyncio.run(Database(tmp_path / "symbolic.db").close())
    assert sorted(os.listdir(tmp_path)) == ["folder", "league.db", "league.db.secret", "symbolic.db"]


def test_a_link_to_a_file_that_is_missing_makes_this_file(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to("new.db")
    asyncio.run(Database(tmp_path / "link.db").close())
    assert (tmp_path / "new.db").stat().st_mode & 0o777 == 0o600
    (tmp_path / "circle.db").symlink_to("circle.db")
    for name in ("circle.db", "a\0b", "x" * 300):
        with pytest.raises(UsageError, match=r"cannot be the path|name too long|Too many levels of symbolic links"):
            Database(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.db")
    with pytest.raises(UsageError, match="this is not a regular file"):
        Database(tmp_path / "pipe.db")


@pytest.mark.parametrize("name", [":memory:", "file:x.db", "file::memory:?cache=shared", "x.db?mode=ro", ""])
async def test_the_name_of_a_file_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    folder = tmp_path / "served"
    folder.mkdir()
    monkeypatch.chdir(folder)
    if not name:  # the current folder
        with pytest.raises(UsageError, match="this is a folder"):
            Database(Path(name))
        return
    async with serving(db=Path(name)) as server, httpx.AsyncClient(base_url=server.url) as client:
        page = (await client.post("/register", data={"name": "seed"})).text
        assert 'id="user-key"' in page
    assert sorted(os.listdir(folder)) == [name, f"{name}.secret"]
    assert (folder / name).stat().st_mode & 0o777 == 0o600
    async with serving(db=Path(name)) as server:
        assert server.lobby.users.by_name("seed") is not None


def test_another_program_locks_the_file(tmp_path: Path) -> None:
    path = tmp_path / "league.db"
    asyncio.run(Database(path).close())
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(UsageError, match="locked by another program"):
            Database(path, locked_seconds=0.05)


@contextmanager
def nobody() -> Iterator[None]:
    """Without the superuser's right to write everywhere, if the tests run with it."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_read_only_file_and_a_read_only_folder() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        path = folder / "league.db"
        asyncio.run(Database(path).close())
        path.chmod(0o444)
        for mode in (0o755, 0o777):
            folder.chmod(mode)
            with nobody(), pytest.raises(UsageError, match="read-only; make the file and its folder writable"):
                Database(path)
        folder.chmod(0o755)
        with nobody(), pytest.raises(UsageError, match="read-only; make the file and its folder writable"):
            Database(folder / "new.db")
    finally:
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
