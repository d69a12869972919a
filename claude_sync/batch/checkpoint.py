"""
A SQLite file that remembers what was finished, so that a batch which was stopped can go on.

::

    items     one row for each finished prompt, failed ones included
    batch     one row: what the answers are made with, and what all runs have cost together
    shards    what each shard had cost when it was merged

* An item is committed before anybody sees it, so ``kill -9`` loses nothing that was seen. WAL
  without a sync for each commit: only a power failure can lose the last moments, and the file
  stays whole.
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
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ClaudeError, UsageError
from ..messages.answer import Answer
from ..support.files import sendable
from .items import Item, Task, digest_of, error_as_json, structured_output

__all__ = ["ON_CHANGE", "Checkpoint", "merge", "shard_path"]

ON_CHANGE = ("raise", "ask_again", "keep")
# Written into the file, so that it is known again.
APPLICATION = 0x636C7379
FORMAT = 3
# What rows from a file of 0.1 were made with: it knew little of that.
IMPORTED = "0.1"
OLD_HEAD = b'{"claude_sync_checkpoint"'

TABLES = """
CREATE TABLE items (
    key PRIMARY KEY, place INTEGER, id TEXT, answer TEXT, data TEXT, error TEXT,
    cost_usd REAL, attempts INTEGER, seconds REAL, session_id TEXT, digest TEXT, made_with TEXT
);
CREATE TABLE batch (made_with TEXT, cost_usd REAL);
INSERT INTO batch VALUES (NULL, 0.0);
CREATE TABLE shards (name TEXT PRIMARY KEY, cost_usd REAL);
"""
ADD = f"INSERT OR REPLACE INTO items VALUES ({', '.join('?' * 12)})"
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
        cost_usd: What all runs have cost.

    """

    def __init__(
        self, path: Any, settings: Mapping[str, Any] | None = None, on_change: str = "raise"
    ) -> None:
        self.path = os.fspath(path)
        self._on_change = on_change
        self._database = opened(self.path)
        try:
            self.cost_usd: float = self._run("SELECT cost_usd FROM batch").fetchone()[0]
            self._made_with = self._compare(settings)
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
        answer = Answer(row["answer"] or "")
        answer.cost_usd, answer.session_id = row["cost_usd"], row["session_id"]
        if row["data"] is not None:
            try:
                data = json.loads(row["data"])
                answer.data = data if form is None else form.read(data)
            except Exception as error:  # a class of the program's may raise anything
                if self._on_change == "ask_again":
                    return None
                raise UsageError(
                    f"the checkpoint {self.path} has an answer to prompt {task.index} that is not "
                    "of the form of returns=. Pass on_change='ask_again' to ask it again, or "
                    "another checkpoint file."
                ) from error
            answer._raw = {"type": "result", "result": str(answer), "structured_output": data}
        figures = (row["cost_usd"], row["attempts"], row["seconds"])
        return Item(task.index, task.prompt, answer, None, *figures, id=task.id, restored=True)

    def add(self, item: Item, task: Task, cost_usd: float) -> None:
        """Write a finished item, and what the batch has cost, both or neither."""
        answer, data = item.answer, None
        if answer is not None and structured_output(answer) is not None:
            data = json.dumps(structured_output(answer))
        row = (
            *(storable(task.key), item.index, None if item.id is None else sendable(str(item.id))),
            *(None if answer is None else sendable(answer.text), data),
            None if item.error is None else json.dumps(error_as_json(item.error)),
            *(item.cost_usd, item.attempts, item.seconds),
            *(None if answer is None else answer.session_id, task.digest, self._made_with),
        )
        with self._transaction():
            self._run(ADD, *row)
            self.spend(cost_usd)

    def spend(self, cost_usd: float) -> None:
        """Remember what all runs have cost."""
        if cost_usd != self.cost_usd:
            self._run("UPDATE batch SET cost_usd = ?", cost_usd)
            self.cost_usd = cost_usd

    def take_over(self, path: str) -> None:
        """Add what the checkpoint of a shard has; what the shard has cost counts once."""
        with contextlib.closing(Checkpoint(path)) as shard:
            cost_usd, made_with = shard.cost_usd, shard._made_with_told()
        name = os.path.basename(path)
        before = self._run("SELECT cost_usd FROM shards WHERE name = ?", name).fetchone()
        self._run("ATTACH ? AS shard", path)
        try:
            with self._transaction():
                self._run(
                    "INSERT OR REPLACE INTO items SELECT * FROM shard.items AS new "
                    "WHERE NOT EXISTS (SELECT 1 FROM items "
                    "WHERE items.key = new.key AND items.error IS NULL)"
                )
                self._run("UPDATE batch SET made_with = ?", made_with)
                self.spend(self.cost_usd + cost_usd - (before[0] if before else 0.0))
                self._run("INSERT OR REPLACE INTO shards VALUES (?, ?)", name, cost_usd)
        finally:
            self._run("DETACH shard")

    def close(self) -> None:
        """Put everything into the file itself, and let go of it. Twice is harmless."""
        with contextlib.suppress(sqlite3.Error):  # what is committed stays so without this
            self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._database.close()

    # How.

    def _run(self, query: str, *values: Any) -> sqlite3.Cursor:
        try:
            return self._database.execute(query, values)
        except sqlite3.DatabaseError as error:
            raise ClaudeError(
                f"the checkpoint {self.path} cannot be used: {error}. Free some disk space, or "
                "repair the file; the same call continues from there."
            ) from None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        cost_usd = self.cost_usd
        self._run("BEGIN")
        try:
            yield
            self._run("COMMIT")
        except BaseException:
            self.cost_usd = cost_usd  # what was not written is written later
            with contextlib.suppress(sqlite3.Error):  # a full disk has ended it already
                self._database.execute("ROLLBACK")
            raise

    def _made_with_told(self) -> str | None:
        told: str | None = self._run("SELECT made_with FROM batch").fetchone()[0]
        return told

    def _compare(self, settings: Mapping[str, Any] | None) -> str:
        """By which rows that these settings made are known; raise, if that is not allowed."""
        told = self._made_with_told()
        before = None if told is None else json.loads(told)
        if settings is None or before == settings:
            return digest_of_value(before)
        made_with = digest_of_value(settings)
        different = "" if before is None else differences(before, settings)
        if different and self._on_change == "raise" and self._has_answers():
            raise UsageError(
                f"the checkpoint {self.path} was made with {different}. {HOW_TO_GO_ON}"
            )
        with self._transaction():
            self._run("UPDATE batch SET made_with = ?", json.dumps(settings))
            if different and self._on_change == "ask_again":
                self._run("UPDATE items SET made_with = NULL WHERE made_with = ?", IMPORTED)
            elif self._on_change == "keep":
                self._run(
                    "UPDATE items SET made_with = ? WHERE made_with != ?", made_with, IMPORTED
                )
        return made_with

    def _has_answers(self) -> bool:
        query = "SELECT 1 FROM items WHERE error IS NULL LIMIT 1"
        return self._run(query).fetchone() is not None

    def _good_row(self, task: Task) -> sqlite3.Row | None:
        query = "SELECT * FROM items WHERE key = ? AND error IS NULL"
        row: sqlite3.Row | None = self._run(query, storable(task.key)).fetchone()
        if row is None or self._on_change == "keep":
            return row
        if row["made_with"] == IMPORTED:
            is_same = row["digest"] in (task.digest, digest_of(task.asked, task.attach))
        elif row["made_with"] != self._made_with:
            return None  # that was decided when the file was opened
        else:
            is_same = row["digest"] == task.digest
        if is_same:
            return row
        if self._on_change == "ask_again":
            return None
        where = f"prompt {task.index}" if task.key == task.index else f"the prompt {task.key!r}"
        raise UsageError(
            f"the checkpoint {self.path} has the answer to another text or attachment of {where}. "
            f"{HOW_TO_GO_ON}"
        )


# Opening.


def opened(path: str) -> sqlite3.Connection:
    """The database at *path*, made if it is missing, and kept from others."""
    try:
        with contextlib.suppress(FileExistsError):  # SQLite would let others read it
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        database = sqlite3.connect(path, timeout=0.5, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"the checkpoint {path} cannot be opened: {reason}. Name a file that can be written, "
            "in a folder that exists."
        ) from None
    try:
        is_ours = prepare(database, path)
    except BaseException:
        database.close()
        raise
    if not is_ours:
        database.close()
        import_old(path)
        return opened(path)
    database.row_factory = sqlite3.Row
    return database


def prepare(database: sqlite3.Connection, path: str) -> bool:
    """Take the lock and make sure that the tables are ours; False: it is a file of 0.1."""
    try:
        # Before WAL: then the lock is in this file alone, also on a network's disk.
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        if os.path.getsize(path) == 0:
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
        return True
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise UsageError(
                f"the checkpoint {path} is being used by another batch. Wait for it to end, or "
                "use another file."
            ) from None
        raise ClaudeError(
            f"the checkpoint {path} cannot be written: {error}. Free some disk space, or name "
            "another file."
        ) from None
    except sqlite3.DatabaseError:
        with open(path, "rb") as file:
            if file.read(len(OLD_HEAD)) == OLD_HEAD:
                return False
        raise not_ours(path) from None


def not_ours(path: str) -> UsageError:
    """Whatever it is, it is not written to."""
    return UsageError(
        f"{path} is not a batch checkpoint, so it was not changed. Name a file that does not exist "
        "yet."
    )


# Files of 0.1.


def import_old(path: str) -> None:
    """Make a database of a file of JSON lines, as 0.1 wrote it; that stays as ``PATH.0.1``."""
    new = path + ".new"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    cost_usd = 0.0
    with contextlib.closing(opened(new)) as database, open(path, "rb") as file:
        try:
            database.execute("BEGIN")
            for line in file:
                if not line.endswith(b"\n"):
                    break  # what a killed process leaves
                told = json.loads(line)
                if "claude_sync_checkpoint" in told:
                    made_with = json.dumps({"returns": told["returns"]})
                    database.execute("UPDATE batch SET made_with = ?", (made_with,))
                    cost_usd += told["failed_usd"]
                    continue
                cost_usd += told["cost_usd"]
                if told["error"] is None:
                    data = told.get("data")
                    row = (
                        *(told["index"], told["index"], told.get("id"), sendable(told["answer"])),
                        *(None if data is None else json.dumps(data), None),
                        *(told["cost_usd"], told["attempts"], told["seconds"]),
                        *(told.get("session_id"), told["digest"], IMPORTED),
                    )
                    database.execute(ADD, row)
            database.execute("UPDATE batch SET cost_usd = ?", (cost_usd,))
            database.execute("COMMIT")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (LookupError, TypeError, ValueError, AttributeError, sqlite3.InterfaceError):
            raise UsageError(
                f"{path} is damaged, so it was not changed. Repair it, or name another file."
            ) from None
    try:
        # A copy: whoever is killed in between finds the file where it was.
        shutil.copy2(path, path + ".0.1")
        os.replace(new, path)
    except OSError as error:
        raise ClaudeError(
            f"the checkpoint {path} cannot be written: {error.strerror}. Free some disk space, or "
            "name another file."
        ) from None


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
    before: tuple[str, str] | None = None
    for source in sources:
        with contextlib.closing(Checkpoint(source)) as shard:
            told = shard._made_with_told()
        if told is None:
            continue
        different = differences(json.loads(before[1]), json.loads(told)) if before else ""
        if before and different:
            # The answers of all but one would be asked again, and paid again.
            raise UsageError(
                f"the checkpoint {before[0]} was made with {different}, of {source}. Run one of "
                "the two again with the settings of the other and on_change='ask_again'."
            )
        before = (source, told)
    with contextlib.closing(Checkpoint(path)) as target:
        for source in sources:
            target.take_over(source)
    return len(sources)


# Values.


def storable(key: Any) -> Any:
    """A key as SQLite takes it: half a surrogate pair is no text there."""
    return sendable(key) if isinstance(key, str) else key


# What answers depend on. Of these the values are told; of the others, which may be long or
# secret, only that they differ.
TOLD = ("model", "fallback_model", "permission_mode", "max_turns", "effort", "verbatim")
DIGESTED = (
    *("system_prompt", "append_system_prompt", "thinking", "max_thinking_tokens", "betas"),
    *("builtin_tools", "allowed_tools", "disallowed_tools", "tools", "agents", "skills"),
    *("mcp_servers", "plugins", "settings", "setting_sources", "prompt"),
)

# A word of the stand-in's command; its answers are made up.
STAND_IN = "--stand-in="


def settings_told(values: Mapping[str, Any], schema: Any) -> dict[str, Any]:
    """What answers are made with, as it is remembered."""
    told: dict[str, Any] = {}
    for name in (*TOLD, *DIGESTED):
        value = values.get(name)
        if value is not None and value != () and value is not False:
            told[name] = value if name in TOLD else digest_of_value(value)
    told["returns"] = None if schema is None else digest_of_value(schema)
    if is_stand_in(values.get("cli")):
        told["stand-in"] = True
    return told


def is_stand_in(cli: Any) -> bool:
    """Whether this command starts the stand-in of ``claude_sync.testing``, as ``--offline``."""
    words = cli if isinstance(cli, (list, tuple)) else ()
    return any(str(word).startswith(STAND_IN) for word in words)


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
            if name == "stand-in":
                kinds = ("a Claude Code CLI", "the stand-in (offline)")
                words.append("{}, not {}".format(*(kinds if name in now else kinds[::-1])))
            elif name in TOLD:
                words.append(f"{name}={before.get(name)!r}, not {now.get(name)!r}")
            else:
                words.append(f"another {name}=")
    return ", and ".join(words)
