"""
What goes into a batch and what comes out of it: tasks, outcomes, items.

A :class:`Task` goes to a worker, which may be on another machine; an :class:`Outcome` comes
back, one for each attempt; an :class:`Item` is what the program gets, one for each prompt.
All of them pickle.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
from typing import TYPE_CHECKING, Any, Dict, Generic, Optional

from ..messages.answer import Answer

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

__all__ = ["Item", "Outcome", "Task", "digest_of", "row_of"]

# Enough to tell two prompts apart; and it fits a machine word.
DIGEST_BYTES = 8


@dataclasses.dataclass(frozen=True)
class Item(Generic[T]):
    """
    One prompt of a batch, and what came of it: an answer, or an error.

    Attributes:
        index: Its place among the prompts, from 0.
        prompt: What was asked.
        answer: The :class:`Answer`; None if it failed.
        error: What went wrong, an exception; None if it was answered.
        cost_usd: What it has cost, failed attempts included.
        attempts: How often it was asked; 0: never, because something was in the way.
        seconds: How long the attempts took.
        id: The ``"id"`` of the prompt, or the label of a row; None if it had none.
        restored: Whether it comes from the checkpoint of an earlier run.

    """

    index: int
    prompt: Any
    # None if it failed. Checkers are not told so: "if item.ok" would not be enough for them.
    answer: Answer[T] = None  # type: ignore[assignment]
    error: Optional[BaseException] = None
    cost_usd: float = 0.0
    attempts: int = 0
    seconds: float = 0.0
    id: Any = None
    restored: bool = False

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.error is None

    @property
    def data(self) -> T:
        """The typed answer, where ``returns=`` asked for one; else None."""
        return getattr(self.answer, "data", None)  # type: ignore[return-value]

    def as_json(self) -> Dict[str, Any]:
        """The item as plain values, as ``to_jsonl()`` and the command write it."""
        told: Dict[str, Any] = {"index": self.index}
        if self.id is not None:
            told["id"] = plain(self.id)
        told["prompt"] = self.prompt if isinstance(self.prompt, str) else plain(self.prompt)
        told["answer"] = None if self.answer is None else self.answer.text
        if self.answer is not None and structured_output(self.answer) is not None:
            told["data"] = structured_output(self.answer)
        told["error"] = None if self.error is None else told_error(self.error)
        told["cost_usd"] = self.cost_usd
        told["attempts"] = self.attempts
        told["seconds"] = round(self.seconds, 3)
        return told


@dataclasses.dataclass
class Task:
    """
    A prompt on its way to a worker.

    Attributes:
        index, prompt, attach, id: As given.
        digest: By which the prompt is known again.
        error: Why it cannot be asked at all.
        run: Makes the tasks of two runs different, for executors that remember results.
        attempts, cost_usd, seconds: So far.
        last_error: What went wrong the last time.
        question: What is asked about the prompt, which is data then; None: it is asked itself.

    """

    index: int
    prompt: Any
    attach: Any = ()
    id: Any = None
    digest: int = 0
    error: Optional[Exception] = None
    run: str = ""
    attempts: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    last_error: Optional[BaseException] = None
    question: Optional[str] = None

    def __repr__(self) -> str:
        # Executors log what they were given; prompts are nobody else's business.
        return f"<Task {self.index} of {self.run}>"

    def item(self, answer: Any = None, error: Optional[BaseException] = None) -> Item:
        """What the program gets."""
        figures = (self.cost_usd, self.attempts, self.seconds)
        return Item(self.index, self.prompt, answer, error, *figures, id=self.id)

    def to_send(self) -> Task:
        """What a worker needs of it: an error may not pickle, and is none of its business."""
        return dataclasses.replace(self, last_error=None, error=None)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """
    What came of one attempt.

    Attributes:
        answer, error: One of them.
        cost_usd: What the attempt has cost, whatever came of it.
        seconds: How long it took.
        effects: Whether tools were used.
        was_sent: Whether the CLI was asked at all.
        until: When the service wants to be asked again, in seconds since 1970; None: not told.

    """

    answer: Optional[Answer] = None
    error: Optional[BaseException] = None
    cost_usd: float = 0.0
    seconds: float = 0.0
    effects: bool = False
    was_sent: bool = True
    until: Optional[float] = None


def row_of(item: Item) -> Dict[str, Any]:
    """A row of a table."""
    row: Dict[str, Any] = {"prompt": item.prompt}
    row["answer"] = None if item.answer is None else item.answer.text
    told = item.as_json().get("data")
    if isinstance(told, dict):
        row.update({key: value for key, value in told.items() if key not in row})
    row["error"] = None if item.error is None else f"{type(item.error).__name__}: {item.error}"
    row.update(cost_usd=item.cost_usd, attempts=item.attempts, seconds=item.seconds)
    return row


def structured_output(answer: Answer) -> Any:
    """The data of an answer as it came, before it was read into a type."""
    raw = answer._raw
    return None if raw is None else raw.get("structured_output")


def told_error(error: BaseException) -> Dict[str, str]:
    """An error as plain values."""
    from ..support.redact import redact_text

    return {"type": type(error).__name__, "message": redact_text(str(error))}


def digest_of(prompt: Any, attach: Any) -> int:
    """A number by which the same prompt, with the same attachments, is known again."""
    if isinstance(prompt, str) and type(attach) is tuple and not attach:
        # Nearly always; and a lone surrogate is somebody else's problem.
        digest = hashlib.sha256(prompt.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:DIGEST_BYTES], "big")
    told = json.dumps([plain(prompt), plain(attach)], ensure_ascii=True, sort_keys=True)
    digest = hashlib.sha256(told.encode("ascii")).digest()
    return int.from_bytes(digest[:DIGEST_BYTES], "big")


def plain(value: Any) -> Any:
    """*value* as JSON can hold it; what it cannot is told by its kind."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if hasattr(value, "isoformat"):  # dates are common labels of rows
        return str(value.isoformat())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (bytes, bytearray)):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return plain(value.item())  # a number of NumPy's
    return f"<{type(value).__name__}>"
