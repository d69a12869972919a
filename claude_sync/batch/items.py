"""
What goes into a batch and what comes out of it.

::

    prompts -> [Task] -> Job -> worker -> Outcome -> [Task] -> Item -> program

A :class:`Task` stays in the program: one for each prompt. A :class:`Job` goes to a worker,
which may be on another machine, and an :class:`Outcome` comes back: one for each attempt. An
:class:`Item` is what the program gets. Prompts are read one at a time, as they are needed. A
prompt that cannot be asked is a task with an error, and the rest goes on.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic

from ..errors import UsageError
from ..log import logger
from ..messages.answer import Answer
from ..prompts import read_once

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

__all__ = ["Item", "Job", "Outcome", "Prompts", "Task", "digest_of"]

# Enough to tell two prompts apart.
DIGEST_BYTES = 8
KEYS = ("prompt", "attach", "id")
HOW = "Pass an iterable of texts, or of dicts {'prompt': ..., 'attach': ..., 'id': ...}."


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
    error: BaseException | None = None
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

    def as_json(self) -> dict[str, Any]:
        """The item as plain values, as ``to_jsonl()`` and the command write it."""
        data = None if self.answer is None else structured_output(self.answer)
        return {
            "index": self.index,
            **({} if self.id is None else {"id": plain(self.id)}),
            "prompt": self.prompt if isinstance(self.prompt, str) else plain(self.prompt),
            "answer": None if self.answer is None else self.answer.text,
            **({} if data is None else {"data": data}),
            "error": None if self.error is None else error_as_json(self.error),
            "cost_usd": self.cost_usd,
            "attempts": self.attempts,
            "seconds": round(self.seconds, 3),
        }


@dataclasses.dataclass
class Task:
    """
    A prompt of the program's, until it has an item.

    Attributes:
        number: The place among the prompts that this batch asks.
        index: The place among all prompts.
        prompt, attach, id: As given.
        question: What is asked about the prompt, which is data then; None: it is asked itself.
        key: By which the checkpoint finds it; its place unless the program said otherwise.
        digest: By which the same prompt is known again.
        error: Why it cannot be asked at all.
        attempts, cost_usd, seconds, last_error: Of the attempts so far.

    """

    number: int
    index: int
    prompt: Any
    attach: Any = ()
    id: Any = None
    question: str | None = None
    key: Any = None
    digest: str = ""
    error: Exception | None = None
    attempts: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    last_error: BaseException | None = None
    _content: tuple[Any, Any] | None = None

    def item(self, answer: Any = None, error: BaseException | None = None) -> Item:
        """What the program gets."""
        figures = (self.cost_usd, self.attempts, self.seconds)
        return Item(self.index, self.prompt, answer, error, *figures, id=self.id)

    def content(self) -> tuple[Any, Any]:
        """The prompt and the attachments as they are sent; files are read the first time."""
        if self._content is None:
            data = () if self.question is None else self.prompt
            prompt = self.prompt if self.question is None else self.question
            self._content = read_once(prompt, self.attach, data)
        return self._content

    @property
    def asked(self) -> Any:
        """What the digest is made of, attachments excepted."""
        return self.prompt if self.question is None else [self.question, self.prompt]


@dataclasses.dataclass(frozen=True)
class Job:
    """
    One attempt at a prompt, as a worker gets it.

    Attributes:
        index, prompt, attach: What is asked.
        attempts: Which attempt this is, from 1.
        run: Makes the jobs of two runs different, for executors that remember results.

    """

    index: int
    prompt: Any
    attach: Any = ()
    attempts: int = 1
    run: str = ""

    def __repr__(self) -> str:
        # Executors log what they were given, and prompts may be private.
        return f"<Job {self.index} of {self.run}>"


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
        refusals: How often the CLI tried again by itself, where only the outcome tells.

    """

    answer: Answer | None = None
    error: BaseException | None = None
    cost_usd: float = 0.0
    seconds: float = 0.0
    effects: bool = False
    was_sent: bool = True
    refusals: int = 0


class Prompts:
    """
    The prompts of a batch, as tasks.

    Args:
        given: What the program passed.
        question: What is asked about each of them.
        identify: The ``id=`` of ``map``: a column, or a function of the prompt as given.
        shard: Only the prompts ``shard[0]``, ``shard[0] + shard[1]``, and so on.

    """

    def __init__(
        self,
        given: Any,
        question: str | None = None,
        identify: str | Callable[[Any], Any] | None = None,
        shard: tuple[int, int] | None = None,
    ) -> None:
        self._given = given
        self._question = question
        self._identify = identify
        self._first, self._step = shard or (0, 1)

    @property
    def total(self) -> int | None:
        """How many there are, where that is known beforehand."""
        try:
            return len(range(self._first, len(self._given), self._step))
        except TypeError:
            return None

    def tasks(self, with_digests: bool) -> Iterator[Task]:
        """The tasks, in order; *with_digests* for a checkpoint."""
        mine = itertools.islice(enumerate(self._labelled()), self._first, None, self._step)
        for number, (index, (label, prompt)) in enumerate(mine):
            task = Task(number, index, prompt, id=label, question=self._question, key=index)
            try:
                self._fill(task, with_digests)
            except Exception as error:  # odd objects may raise anything
                logger.debug("prompt %d cannot be asked: %s", index, error)
                task.error = error
            yield task

    def _labelled(self) -> Iterator[tuple[Any, Any]]:
        """The prompts with their labels; only the column of a table has any."""
        if hasattr(self._given, "iloc") and hasattr(self._given, "items"):
            yield from self._given.items()
        else:
            for prompt in self._given:
                yield None, prompt

    def _fill(self, task: Task, with_digest: bool) -> None:
        given = task.prompt
        if isinstance(given, dict) and "type" not in given:
            self._unpack(task, given)
        if self._identify is not None:
            task.key = str(self._key_of(task, given))
            if task.id is None:
                task.id = task.key
        if isinstance(task.prompt, str):
            if not task.prompt.strip():
                raise UsageError("the prompt is blank. Leave it out, or pass what to answer.")
        elif not isinstance(task.prompt, (list, tuple)):
            kind = type(task.prompt).__name__
            raise UsageError(f"a prompt is a text or a list of content blocks, not {kind}.")
        if with_digest:
            attached = task.content() if task.attach else ()
            task.digest = digest_of(task.asked, attached)

    def _unpack(self, task: Task, given: dict[Any, Any]) -> None:
        known = (*KEYS, self._identify)
        unknown = [repr(key) for key in given if key not in known]
        if task.question is not None and "prompt" not in given and given.get("attach"):
            # The question is about what is attached, and there is no text.
            given, task.question = {"prompt": task.question, **given}, None
        if unknown or "prompt" not in given:
            what = f"has the unknown key {unknown[0]}" if unknown else "has no 'prompt'"
            raise UsageError(f"prompt {task.index} {what}. It takes 'prompt', 'attach' and 'id'.")
        task.prompt = given["prompt"]
        task.attach = given.get("attach") or ()
        task.id = given.get("id", task.id)

    def _key_of(self, task: Task, given: Any) -> Any:
        if callable(self._identify):
            return self._identify(given)
        key = given.get(self._identify) if isinstance(given, dict) else task.id  # a row's label
        if key is None:
            raise UsageError(
                f"prompt {task.index} has no {self._identify!r}, which id= names. Pass dicts with "
                "it, or a function that makes an id of the prompt."
            )
        return key


def check_prompts(prompts: Any) -> None:
    """Refuse what is no collection of prompts."""
    if isinstance(prompts, (str, bytes)):
        raise UsageError(f"the prompts are one {type(prompts).__name__}. {HOW} For one: [prompt].")
    if isinstance(prompts, dict):
        raise UsageError(f"the prompts are a dict. {HOW} For one: [prompt].")
    if hasattr(prompts, "columns") and hasattr(prompts, "iloc"):
        raise UsageError("the prompts are a whole table. Pass one column of it: table['text'].")
    if not isinstance(prompts, Iterable):
        raise UsageError(f"the prompts are a {type(prompts).__name__}. {HOW}")


def structured_output(answer: Answer) -> Any:
    """The data of an answer as it came, before it was read into a type."""
    raw = answer._raw
    return None if raw is None else raw.get("structured_output")


def error_as_json(error: BaseException) -> dict[str, str]:
    """An error as plain values."""
    from ..support.redact import redact_text

    return {"type": type(error).__name__, "message": redact_text(str(error))}


def digest_of(prompt: Any, attach: Any = ()) -> str:
    """By which the same prompt, with the same content attached, is known again."""
    if isinstance(prompt, str) and not attach:
        # Half a surrogate pair is no reason to fail here.
        data = prompt.encode("utf-8", "surrogatepass")
    else:
        told = [plain(prompt), plain(attach or ())]
        data = json.dumps(told, ensure_ascii=True, sort_keys=True).encode("ascii")
    return hashlib.sha256(data).digest()[:DIGEST_BYTES].hex()


def plain(value: Any) -> Any:
    """*value* as JSON can hold it; of what it cannot hold, the kind."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, (bytes, bytearray)):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    for name in ("isoformat", "__fspath__", "item"):  # dates, paths, numbers of NumPy's
        if hasattr(value, name) and not hasattr(value, "__len__"):
            return plain(getattr(value, name)())
    return f"<{type(value).__name__}>"
