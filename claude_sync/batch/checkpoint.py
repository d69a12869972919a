"""
A SQLite file that remembers what was finished, so that a batch which was stopped can go on.

::

    items     one row for each finished prompt, failed ones included
    settings  what the answers were made with, each time that changed
    totals    what all runs have cost together
    shards    what each shard had cost when it was merged

* An item is committed before anybody sees it, and what an attempt has cost when the attempt
  is over, so ``kill -9`` loses nothing that was seen or reported. WAL without a sync for each
  commit: only a power failure can lose the last moments, and the file stays whole.
* Failed items are there to be looked at; the next run asks them again.
* A row is found by its place, or by the ``id=`` of the program. What it was made with has to
  be what it would be made with now: the settings that change answers, the prompt, and the
  content of attachments.
* One process at a time uses the file: SQLite holds its lock for as long as it is open.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..errors import ClaudeError, UsageError
from ..messages.answer import Answer
from .items import Item, Task, digest_of, error_as_json, structured_output

__all__ = ["ON_CHANGE", "Checkpoint", "merge", "refuse_to_overwrite", "shard_path"]

ON_CHANGE = ("raise", "ask_again", "keep")
# Written into the file, so that it is known again.
APPLICATION = 0x636C7379
FORMAT = 2
# The number of the settings of rows that came from a file of 0.1, which knew little of them.
IMPORTED = 0
# The files that this process uses. Locks are between processes, and to close any descriptor of a
# file ends those that this process has on it.
OPEN: set[str] = set()
OLD_HEAD = b'{"claude_sync_checkpoint"'

TABLES = """
CREATE TABLE items (
    key PRIMARY KEY, place INTEGER, id TEXT, answer TEXT, data TEXT, error TEXT,
    cost_usd REAL, attempts INTEGER, seconds REAL, session_id TEXT, digest TEXT,
    settings INTEGER
);
CREATE TABLE settings (number INTEGER PRIMARY KEY, told TEXT);
CREATE TABLE totals (cost_usd REAL);
INSERT INTO totals VALUES (0.0);
CREATE TABLE shards (name TEXT PRIMARY KEY, cost_usd REAL);
"""
COLUMNS = (
    "key, place, id, answer, data, error, cost_usd, attempts, seconds, session_id, digest, settings"
)
MARKS = ", ".join("?" * 12)
HOW_TO_GO_ON = (
    "Pass on_change='ask_again' to ask again what is different, on_change='keep' to keep the "
    "answers, or another checkpoint file."
)


class Checkpoint:
    """
    The file of one batch.

    Args:
        path: Where it is; made if it is missing.
        settings: What the answers are made with, as :func:`settings_told` tells it.
        on_change: What to do about answers that were made with something else.

    Attributes:
        has_answers: Whether earlier runs have answered something.
        cost_usd: What earlier runs have cost.

    """

    def __init__(
        self, path: Any, settings: Mapping[str, Any] | None = None, on_change: str = "raise"
    ) -> None:
        self._path = os.fspath(path)
        self._on_change = on_change
        self._identity = os.path.realpath(self._path)
        if self._identity in OPEN:
            raise in_use(self._path)
        self._database = opened(self._path)
        OPEN.add(self._identity)
        try:
            self._settings = self._number_of(settings)
            self.has_answers = self._find_answers()
            self.cost_usd: float = self._run("SELECT cost_usd FROM totals").fetchone()[0]
        except BaseException:
            self.close()
            raise

    # While the batch runs.

    def find(self, task: Task, form: Any = None) -> Item | None:
        """
        The item of an earlier run; *form* reads its data.

        Raises:
            UsageError: It has the answer to another prompt.

        """
        row = self._good_row(task)
        if row is None:
            return None
        answer = restored_answer(row, form)
        figures = (row["cost_usd"], row["attempts"], row["seconds"])
        return Item(task.index, task.prompt, answer, None, *figures, id=task.id, restored=True)

    def check(self, tasks: Iterable[Task], has_keys: bool) -> None:
        """Compare all prompts before anything is sent, where they can be read twice."""
        last = self._run("SELECT max(key) FROM items WHERE key < ''").fetchone()[0]
        count = 0
        for task in tasks:
            # Of prompts without an end no more than are known.
            if not has_keys and last is not None and task.index > last:
                return
            self._good_row(task)
            count = task.index + 1
        self.check_end(count, has_keys)

    def check_end(self, count: int, has_keys: bool) -> None:
        """All prompts have come; found by their places, there must be no further answers."""
        if has_keys or self._on_change != "raise":
            return
        # Numbers stand before texts, so this is a look into the index.
        query = "SELECT min(key) FROM items WHERE key >= ? AND key < '' AND error IS NULL"
        beyond = self._run(query, count).fetchone()[0]
        if beyond is not None:
            raise UsageError(
                f"the checkpoint {self._path} has an answer to prompt {beyond}, and there are only "
                f"{count} prompts. Run the same prompts, or use another checkpoint file."
            )

    def _good_row(self, task: Task) -> sqlite3.Row | None:
        query = f"SELECT {COLUMNS} FROM items WHERE key = ? AND error IS NULL"
        row: sqlite3.Row | None = self._run(query, storable(task.key)).fetchone()
        if row is None or self._on_change == "keep":
            return row
        if row["settings"] == IMPORTED:
            is_same = row["digest"] in (task.digest, digest_of(task.asked, task.attach))
        elif row["settings"] != self._settings:
            return None  # that was decided when the file was opened
        else:
            is_same = row["digest"] == task.digest
        if is_same:
            return row
        if self._on_change == "ask_again":
            return None
        where = f"prompt {task.index}" if task.key == task.index else f"the prompt {task.key!r}"
        raise UsageError(
            f"the checkpoint {self._path} has the answer to another text or attachment of {where}. "
            f"{HOW_TO_GO_ON}"
        )

    def add(self, item: Item, task: Task, spent: float) -> None:
        """Write a finished item, and what its last attempt has cost, both or neither."""
        answer, data = item.answer, None
        if answer is not None and structured_output(answer) is not None:
            data = json.dumps(structured_output(answer))
        values = (
            *(storable(task.key), item.index, None if item.id is None else storable(str(item.id))),
            *(None if answer is None else storable(answer.text), data),
            None if item.error is None else json.dumps(error_as_json(item.error)),
            *(item.cost_usd, item.attempts, item.seconds),
            *(None if answer is None else answer.session_id, task.digest, self._settings),
        )
        with self._transaction():
            self.spend(spent)
            self._run(f"INSERT OR REPLACE INTO items ({COLUMNS}) VALUES ({MARKS})", *values)

    def spend(self, amount: float) -> None:
        """Remember what something has cost: an attempt, or what no prompt asked for."""
        if amount:
            self._run("UPDATE totals SET cost_usd = cost_usd + ?", amount)

    def take_over(self, shard: Checkpoint) -> None:
        """Add what the checkpoint of a shard has."""
        name = os.path.basename(shard._path)
        with self._transaction():
            numbers = {IMPORTED: IMPORTED}
            for number, told in shard._run("SELECT number, told FROM settings").fetchall():
                numbers[number] = self._number_for(told)
            for row in shard._run(f"SELECT {COLUMNS} FROM items"):
                values = (*tuple(row)[:-1], numbers.get(row["settings"], row["settings"]))
                self._run(
                    f"INSERT INTO items ({COLUMNS}) VALUES ({MARKS}) ON CONFLICT (key) DO UPDATE "
                    "SET (answer, data, error, cost_usd, attempts, seconds, session_id, digest, "
                    "settings) = (excluded.answer, excluded.data, excluded.error, "
                    "excluded.cost_usd, excluded.attempts, excluded.seconds, "
                    "excluded.session_id, excluded.digest, excluded.settings) "
                    "WHERE items.error IS NOT NULL",
                    *values,
                )
            before = self._run("SELECT cost_usd FROM shards WHERE name = ?", name).fetchone()
            self.spend(shard.cost_usd - (before[0] if before else 0.0))
            self._run("INSERT OR REPLACE INTO shards VALUES (?, ?)", name, shard.cost_usd)

    def close(self) -> None:
        """Put everything into the file itself, and let go of it. Twice is harmless."""
        with contextlib.suppress(sqlite3.Error):  # what is committed stays so without this
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()
        OPEN.discard(self._identity)

    # How.

    def _run(self, query: str, *values: Any) -> sqlite3.Cursor:
        try:
            return self._database.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise ClaudeError(
                f"the checkpoint {self._path} cannot be used: {error}. Make room on the disk, or "
                "mend the file; the same call goes on from there."
            ) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # a full disk has ended it already
                self._database.execute("ROLLBACK")
            raise

    def _number_of(self, settings: Mapping[str, Any] | None) -> int:
        """The number of these settings; raise, if others were used and nobody allowed that."""
        known = {
            number: json.loads(told)
            for number, told in self._run("SELECT number, told FROM settings")
        }
        newest = max(known, default=IMPORTED)
        if settings is None or known.get(newest) == settings:
            return newest
        different = differences(known[newest], settings) if known else ""
        if different and self._on_change == "raise" and self._find_answers():
            raise UsageError(
                f"the checkpoint {self._path} was made with {different}. {HOW_TO_GO_ON}"
            )
        with self._transaction():
            number = self._number_for(json.dumps(settings))
            if different and self._on_change == "ask_again":
                self._run("UPDATE items SET settings = -1 WHERE settings = ?", IMPORTED)
            elif self._on_change == "keep":
                self._run("UPDATE items SET settings = ? WHERE settings != ?", number, IMPORTED)
        return number

    def _number_for(self, told: str) -> int:
        """The number of settings that are as told; the newest, unless they were there."""
        query = "SELECT max(number) FROM settings WHERE told = ?"
        newest = self._run("SELECT max(number) FROM settings").fetchone()[0] or IMPORTED
        number: int | None = self._run(query, told).fetchone()[0]
        if number is None or number != newest:
            number = newest + 1
            self._run("INSERT INTO settings VALUES (?, ?)", number, told)
        return number

    def _find_answers(self) -> bool:
        query = "SELECT 1 FROM items WHERE error IS NULL LIMIT 1"
        return self._run(query).fetchone() is not None


# Opening.


def opened(path: str) -> sqlite3.Connection:
    """The database at *path*, made if it is missing, and kept from others."""
    check_kind(path)
    if begins_with(path, OLD_HEAD):
        import_old(path)
    try:
        is_new = not os.path.exists(path) or os.path.getsize(path) == 0
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        database = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"the checkpoint {path} cannot be opened: {reason}. Name a file that can be written, "
            "in a folder that exists."
        ) from None
    try:
        prepare(database, path, is_new)
    except BaseException:
        database.close()
        raise
    database.row_factory = sqlite3.Row
    return database


def prepare(database: sqlite3.Connection, path: str, is_new: bool) -> None:
    """Take the lock and make sure that the tables are ours."""
    try:
        # Before WAL: then the lock is in this file alone, also on a network's disk.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        if is_new:
            database.execute(f"PRAGMA application_id = {APPLICATION}")
        found = database.execute("PRAGMA application_id").fetchone()[0]
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if found != APPLICATION or version not in (0, FORMAT):
            raise not_ours(path)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute("BEGIN EXCLUSIVE")
        if version == 0:
            for statement in TABLES.split(";")[:-1]:
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise in_use(path) from None
        raise ClaudeError(
            f"the checkpoint {path} cannot be written: {error}. Make room on its disk, or name "
            "another file."
        ) from None
    except sqlite3.DatabaseError:
        raise not_ours(path) from None


def check_kind(path: str) -> None:
    """Refuse folders, pipes and devices."""
    with contextlib.suppress(OSError):  # it is missing, which is fine
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UsageError(f"the checkpoint {path} is no ordinary file. Name another one.")


def begins_with(path: str, head: bytes) -> bool:
    """Whether the file has these bytes first."""
    try:
        with open(path, "rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def in_use(path: str) -> UsageError:
    """Two batches would ask the same prompts."""
    return UsageError(
        f"the checkpoint {path} is being used by another batch. Wait for it to end, or use "
        "another file."
    )


def not_ours(path: str) -> UsageError:
    """Whatever it is, it is not written to."""
    return UsageError(
        f"{path} is no checkpoint of a batch, and is left alone. Name a file that does not exist "
        "yet."
    )


# Files of 0.1.


def import_old(path: str) -> None:
    """Make a database of a file of JSON lines, as 0.1 wrote it; that stays as ``PATH.0.1``."""
    new = path + ".new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    database = opened(new)
    try:
        database.execute("BEGIN")
        for told in old_lines(path):
            if "claude_sync_checkpoint" in told:
                database.execute("UPDATE totals SET cost_usd = ?", (told["failed_usd"],))
                settings = json.dumps({"returns": told["returns"]})
                database.execute("INSERT INTO settings VALUES (?, ?)", (IMPORTED, settings))
                continue
            spent = "UPDATE totals SET cost_usd = cost_usd + ?"
            database.execute(spent, (told["cost_usd"],))
            if told["error"] is None:
                data = told.get("data")
                insert = f"INSERT OR REPLACE INTO items ({COLUMNS}) VALUES ({MARKS})"
                values = (
                    *(told["index"], told["index"], storable(told.get("id"))),
                    *(storable(told["answer"]), None if data is None else json.dumps(data), None),
                    *(told["cost_usd"], told["attempts"], told["seconds"]),
                    *(told.get("session_id"), told["digest"], IMPORTED),
                )
                database.execute(insert, values)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except (LookupError, TypeError, ValueError, AttributeError, sqlite3.InterfaceError):
        raise UsageError(
            f"{path} is broken, and is left alone. Mend it, or name another file."
        ) from None
    finally:
        database.close()
    os.replace(path, path + ".0.1")
    os.replace(new, path)


def old_lines(path: str) -> Iterator[dict[str, Any]]:
    """The lines of a file of 0.1; half a line at the end is what a killed process leaves."""
    with open(path, "rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield json.loads(line)


# Shards.


def shard_path(path: Any, shard: tuple[int, int]) -> str:
    """Where the shard of a batch has its checkpoint."""
    return f"{os.fspath(path)}.{shard[0]}-of-{shard[1]}"


def merge(path: Any) -> int:
    """
    Put the checkpoints of all shards of a batch into one; how many shards there were.

    The shards' files stay. What one of them has cost is added once, so merging twice is
    harmless. A shard that still runs is refused: its file is locked.
    """
    path = os.fspath(path)
    sources = sorted(glob.glob(glob.escape(path) + ".*-of-*[0-9]"))
    target = Checkpoint(path)
    try:
        for source in sources:
            with contextlib.closing(Checkpoint(source)) as shard:
                target.take_over(shard)
    finally:
        target.close()
    return len(sources)


# Values.


def restored_answer(row: Mapping[str, Any] | sqlite3.Row, form: Any = None) -> Answer:
    """The answer that a row holds."""
    answer = Answer(readable(row["answer"]) or "")
    answer.cost_usd = row["cost_usd"]
    answer.session_id = row["session_id"]
    if row["data"] is not None:
        data = json.loads(row["data"])
        answer._raw = {"type": "result", "result": str(answer), "structured_output": data}
        answer.data = data if form is None else form.read(data)
    return answer


def storable(value: Any) -> Any:
    """A value as SQLite takes it: half a surrogate pair is no text there."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "surrogatepass")
        return str(value)
    return value


def readable(value: Any) -> Any:
    """The opposite of :func:`storable`."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value


def refuse_to_overwrite(checkpoint: Any, path: Any) -> None:
    """Raise if *path*, which is to be written, is that of a checkpoint."""
    if isinstance(path, int):  # a descriptor, which open() takes, too
        return
    if os.path.exists(checkpoint) and os.path.exists(path):
        is_same = os.path.samefile(checkpoint, path)
    else:
        is_same = os.path.realpath(checkpoint) == os.path.realpath(path)
    if is_same:
        raise UsageError(
            f"{os.fspath(path)} is the checkpoint of this batch, which would be lost. Name "
            "another file."
        )


# What answers depend on. Of these the values are told; of the others, which may be long or
# secret, only that they differ.
TOLD = ("model", "fallback_model", "permission_mode", "max_turns", "effort", "verbatim")
DIGESTED = (
    *("system_prompt", "append_system_prompt", "thinking", "max_thinking_tokens", "betas"),
    *("builtin_tools", "allowed_tools", "disallowed_tools", "tools", "agents", "skills"),
    *("mcp_servers", "plugins", "settings", "setting_sources", "prompt"),
)


def settings_told(values: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """What answers are made with, as it is remembered."""
    told: dict[str, Any] = {}
    for name in (*TOLD, *DIGESTED):
        value = values.get(name)
        if value is not None and value != () and value is not False:
            told[name] = value if name in TOLD else digest_of_value(value)
    told["returns"] = None if schema is None else digest_of_value(schema)
    return told


def digest_of_value(value: Any) -> str:
    """By which a setting is known again; functions by their names."""

    def name_of(odd: Any) -> str:
        return str(getattr(odd, "__qualname__", None) or getattr(odd, "name", None) or type(odd))

    told = json.dumps(value, sort_keys=True, default=name_of)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs, in words; "" if nothing that is known of both does."""
    # A file of 0.1 tells the form of the answers alone.
    names = set(before) if set(before) == {"returns"} else {*before, *now}
    words = []
    for name in sorted(names):
        if before.get(name) != now.get(name):
            if name in TOLD:
                words.append(f"{name}={before.get(name)!r}, not {now.get(name)!r}")
            else:
                words.append(f"another {name}=")
    return ", and ".join(words)
