"""
A file that remembers what was finished, so that a batch which was stopped can go on.

One JSON object a line: first a head, then each finished item, in the order in which they
were finished::

    {"claude_sync_checkpoint": 1, "returns": "5d1c...", "failed_usd": 0.0}
    {"index": 3, "digest": "a1b2...", "answer": "Paris", "cost_usd": 0.002, ...}

Decisions taken here and nowhere else:

* An item is written, in one piece, before anybody sees it: what was seen is not asked again,
  even if the process is killed. At least once a second, and at the end, the file is
  synced to the disk: only a power failure can lose that second.
* Failed items are written, too, but asked again by the next run, which takes their lines out
  and keeps what they have cost.
* The last line of a process that was killed may be half a line; it is cut off. A line that
  is broken elsewhere is not ours to mend.
* Prompts are known by their place and a digest. Another prompt in the same place is refused:
  the answers would be those to other questions. Prompts may be added at the end.
* One process at a time may use the file, where the system can see to that.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import operator
import os
import stat
import time
from array import array
from typing import Any, Dict, Iterable, Iterator, Optional, Set, Tuple

from ..errors import UsageError
from ..messages.answer import Answer
from .items import Item, Task

__all__ = ["Checkpoint", "refuse_to_overwrite", "restored_answer"]

FORMAT = 1
SYNC_EVERY = 1.0
NOWHERE = 0  # the head is there, so no item is
# Every write is at the end; Windows would change the ends of lines.
FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
PORTION = 1 << 20
LINE = 1 << 12
# The files that this process uses.
OPEN: Set[str] = set()


class Checkpoint:
    """
    The file of one batch.

    Args:
        path: Where it is; made if it is missing.
        returns: The JSON Schema of the answers, or None.

    Attributes:
        cost_usd: What earlier runs have cost.
        finished: How many items they have finished.

    """

    def __init__(self, path: Any, returns: Any = None) -> None:
        self._path = os.fspath(path)
        self._returns = digest_of_schema(returns)
        # By index: where its line is, and the digest of its prompt.
        self._places = array("Q")
        self._digests = array("Q")
        self.cost_usd = 0.0
        self.finished = 0
        self._synced = time.monotonic()
        # What of this process uses the file: locks of the system are between processes.
        self._identity = os.path.realpath(self._path)
        if self._identity in OPEN:
            raise in_use(self._path)
        OPEN.add(self._identity)
        try:
            self._file = opened(self._path)
            try:
                self._read()
            except BaseException:
                os.close(self._file)
                raise
        except BaseException:
            OPEN.discard(self._identity)
            raise
        self._is_open = True

    # While the batch runs.

    def is_finished(self, task: Task) -> bool:
        """
        Whether an earlier run has the answer.

        Raises:
            UsageError: It has the answer to another prompt.

        """
        place = self._places[task.index] if task.index < len(self._places) else NOWHERE
        if place == NOWHERE:
            return False
        if self._digests[task.index] != task.digest:
            raise UsageError(
                f"the checkpoint {self._path} has the answer to another prompt {task.index}. "
                "Run the same prompts in the same order, or use another checkpoint file."
            )
        return True

    def check(self, tasks: Iterable[Task]) -> None:
        """Compare all prompts at once, where they can be read twice; no more than are known."""
        count = 0
        for task in itertools.islice(tasks, len(self._places)):
            self.is_finished(task)
            count += 1
        self.check_end(count)

    def check_end(self, count: int) -> None:
        """All prompts have come: there must be no answers to further ones."""
        beyond = [index for index in range(count, len(self._places)) if self._places[index]]
        if beyond:
            raise UsageError(
                f"the checkpoint {self._path} has an answer to prompt {beyond[0]}, and there are "
                f"only {count} prompts. Run the same prompts, or use another checkpoint file."
            )

    def restore(self, task: Task, form: Any = None) -> Item:
        """The item of an earlier run; *form* reads its data."""
        told = json.loads(self._line_at(self._places[task.index]))
        answer = restored_answer(told, form)
        return Item(
            task.index,
            task.prompt,
            answer,
            None,
            told["cost_usd"],
            told["attempts"],
            told["seconds"],
            id=task.id,
            restored=True,
        )

    def add(self, item: Item, digest: int) -> None:
        """Write a finished item."""
        told = item.as_json()
        del told["prompt"]
        told["digest"] = f"{digest:016x}"
        if item.answer is not None:
            told["session_id"] = item.answer.session_id
        self._write(told)

    def add_cost(self, amount: float) -> None:
        """Remember what was spent for no item; as what failed, it is taken over by the head."""
        self._write({"index": None, "error": {"type": "LateCost"}, "cost_usd": amount})

    def _write(self, told: Dict[str, Any]) -> None:
        before = os.fstat(self._file).st_size
        try:
            write_all(self._file, encoded(told))
        except BaseException:
            # Half a line can be mended at the end, and nowhere else.
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise
        now = time.monotonic()
        if now - self._synced >= SYNC_EVERY:
            os.fsync(self._file)
            self._synced = now

    def close(self) -> None:
        """Sync and close; twice is harmless."""
        if self._is_open:
            self._is_open = False
            OPEN.discard(self._identity)
            try:
                os.fsync(self._file)
            finally:
                os.close(self._file)

    # At the beginning.

    def _read(self) -> None:
        """Find out what is there; make it a file that can be added to."""
        head, failed_usd, failed, end = None, 0.0, 0, 0
        for place, line in self._lines():
            told = self._told(line, place)
            if told is None:
                break  # half a line
            end = place + len(line)
            try:
                if head is None:
                    head = self._checked_head(told)
                    failed_usd += head["failed_usd"]
                elif told["error"] is not None:
                    failed += 1
                    failed_usd += told["cost_usd"]
                else:
                    self._remember(told, place)
            except (LookupError, TypeError, ValueError, OverflowError, MemoryError):
                raise self._broken(f"is broken at byte {place}") from None
        os.ftruncate(self._file, end)
        self.cost_usd += failed_usd
        if head is None:
            write_all(self._file, encoded(self._head(0.0)))
        elif failed:
            self._rewrite(failed_usd)

    def _remember(self, told: Dict[str, Any], place: int) -> None:
        index, digest = operator.index(told["index"]), int(told["digest"], 16)
        if index < 0:
            raise ValueError(index)
        missing = index + 1 - len(self._places)
        if missing > 0:
            self._places.extend([NOWHERE] * missing)
            self._digests.extend([0] * missing)
        if self._places[index] == NOWHERE:
            self.finished += 1
            self.cost_usd += told["cost_usd"]
        self._places[index] = place
        self._digests[index] = digest

    def _rewrite(self, failed_usd: float) -> None:
        """Take out what failed; in another file, which then takes this one's place."""
        temporary = f"{self._identity}.tmp"  # beside the file itself, if the path is a link
        file = os.open(temporary, FLAGS | os.O_TRUNC, 0o600)
        try:
            lock(file, temporary)
            position = write_all(file, encoded(self._head(failed_usd)))
            for index, place in enumerate(self._places):
                if place != NOWHERE:
                    line = self._line_at(place)
                    self._places[index] = position
                    position += write_all(file, line)
            os.fsync(file)
            if os.name == "nt":  # an open file cannot be replaced there
                copy_over(file, self._file)
            else:
                os.replace(temporary, self._identity)
        except BaseException:
            os.close(file)
            raise
        if os.name == "nt":
            os.close(file)
            os.unlink(temporary)
        else:
            os.close(self._file)
            self._file = file

    def _head(self, failed_usd: float) -> Dict[str, Any]:
        return {
            "claude_sync_checkpoint": FORMAT,
            "returns": self._returns,
            "failed_usd": failed_usd,
        }

    def _checked_head(self, told: Dict[str, Any]) -> Dict[str, Any]:
        if told.get("claude_sync_checkpoint") != FORMAT:
            raise UsageError(
                f"{self._path} is no checkpoint of a batch, and is left alone. Name a file that "
                "does not exist yet."
            )
        if told.get("returns") != self._returns:
            raise UsageError(
                f"the checkpoint {self._path} has answers of another form than returns= asks for. "
                "Use another checkpoint file."
            )
        return told

    def _told(self, line: bytes, place: int) -> Optional[Dict[str, Any]]:
        """What a line says; None for the half line at the end."""
        is_complete = line.endswith(b"\n")
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            if isinstance(told, dict) and is_complete:
                return told
        if is_complete or place == 0:
            # A head is written in one piece, so half a head is something else.
            what = "is no checkpoint of a batch" if place == 0 else f"is broken at byte {place}"
            if place == 0 and b'{"claude_sync_checkpoint"'.startswith(line[:25]):
                return None
            raise self._broken(what)
        return None

    def _broken(self, what: str) -> UsageError:
        return UsageError(f"{self._path} {what}, and is left alone. Mend it, or name another file.")

    def _lines(self) -> Iterator[Tuple[int, bytes]]:
        """Every line, with its place; the last one may have no end."""
        place, rest, position = 0, b"", 0
        while True:
            data = read_at(self._file, position, PORTION)
            position += len(data)
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield place, line + b"\n"
                place += len(line) + 1
            if not data:
                break
        if rest:
            yield place, rest

    def _line_at(self, place: int) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            data = read_at(self._file, place + len(line), LINE)
            if not data:
                raise UsageError(
                    f"the checkpoint {self._path} was changed while it was used. Run it again."
                )
            line += data[: data.find(b"\n") + 1] or data
        return line


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


def restored_answer(told: Dict[str, Any], form: Any = None) -> Answer:
    """The answer that a line of a checkpoint holds."""
    answer = Answer(told["answer"] or "")
    answer.cost_usd = told["cost_usd"]
    answer.session_id = told.get("session_id")
    data = told.get("data")
    if data is not None:
        answer._raw = {"type": "result", "result": told["answer"], "structured_output": data}
        answer.data = data if form is None else form.read(data)
    return answer


def digest_of_schema(schema: Any) -> Optional[str]:
    """By which a form is known again."""
    if schema is None:
        return None
    told = json.dumps(schema, sort_keys=True, default=repr)
    return hashlib.sha256(told.encode()).hexdigest()[:16]


def encoded(told: Dict[str, Any]) -> bytes:
    """One line."""
    return json.dumps(told, ensure_ascii=True).encode("ascii") + b"\n"


def write_all(file: int, data: bytes) -> int:
    """Write everything: a full disk must not pass for success. How much it was."""
    left = memoryview(data)
    while left:
        left = left[os.write(file, left) :]
    return len(data)


def copy_over(source: int, target: int) -> None:
    """Make one file what another is."""
    os.lseek(source, 0, os.SEEK_SET)
    os.ftruncate(target, 0)
    while True:
        data = os.read(source, 1 << 20)
        if not data:
            return
        write_all(target, data)


def read_at(file: int, place: int, size: int) -> bytes:
    """
    What is there. The file is not opened a second time for this: to close any descriptor of
    a file ends the locks that this process has on it.
    """
    if hasattr(os, "pread"):
        return os.pread(file, size, place)
    os.lseek(file, place, os.SEEK_SET)
    return os.read(file, size)


def opened(path: str) -> int:
    """The file at *path*, made if it is missing, and kept from other processes."""
    while True:
        try:
            file = os.open(path, FLAGS, 0o600)
        except OSError as error:
            raise UsageError(
                f"the checkpoint {path} cannot be opened: {error.strerror}. Name a file that can "
                "be written, in a folder that exists."
            ) from None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise UsageError(f"the checkpoint {path} is no ordinary file. Name another one.")
            lock(file, path)
            # Another process may have put a new file in its place just before.
            if os.name == "nt" or os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def lock(file: int, path: str) -> None:
    """Keep other processes off, where the system can do that."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        # Not flock(): that would be held by forked workers of a batch that was killed.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise in_use(path) from None


def in_use(path: str) -> UsageError:
    """Two batches would write into each other's lines."""
    return UsageError(
        f"the checkpoint {path} is being used by another batch. Wait for it to end, or use "
        "another file."
    )
