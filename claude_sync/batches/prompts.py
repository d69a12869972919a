"""
Read prompts, whatever they come as, one at a time: a generator of a million needs no memory.

A prompt that cannot be asked (blank, no text, a file that is missing) is a task with an
error, and the rest goes on. What is no collection of prompts at all is refused at once.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional, Tuple

from ..errors import UsageError
from ..log import logger
from .items import Task, digest_of

__all__ = ["check_prompts", "length_of", "tasks_of"]

KEYS = ("prompt", "attach", "id")
HOW = "Pass an iterable of texts, or of dicts {'prompt': ..., 'attach': ..., 'id': ...}."


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


def length_of(prompts: Any) -> Optional[int]:
    """How many there are, where that is known beforehand."""
    try:
        return len(prompts)
    except TypeError:
        return None


def tasks_of(prompts: Any, run: str, question: Optional[str] = None) -> Iterator[Task]:
    """The prompts as tasks, in order; or with a *question* about each of them."""
    for index, (label, prompt) in enumerate(labelled(prompts)):
        yield task_of(index, label, prompt, run, question)


def labelled(prompts: Any) -> Iterator[Tuple[Any, Any]]:
    """The prompts with their labels; only the column of a table has any."""
    if hasattr(prompts, "iloc") and hasattr(prompts, "items"):
        yield from prompts.items()
    else:
        for prompt in prompts:
            yield None, prompt


def task_of(index: int, label: Any, prompt: Any, run: str, question: Optional[str] = None) -> Task:
    """One prompt as a task; with an error, if it cannot be one."""
    task = Task(index, prompt, id=label, run=run, question=question)
    try:
        if isinstance(prompt, dict) and "type" not in prompt:
            unpack(task, prompt)
        asked = task.prompt if question is None else [question, task.prompt]
        task.digest = digest_of(asked, task.attach)
        check(task.prompt)
    except Exception as error:  # odd objects may raise anything
        logger.debug("prompt %d cannot be asked: %s", index, error)
        task.error = error
    return task


def unpack(task: Task, given: Any) -> None:
    """Take the parts out of a dict."""
    unknown = [repr(key) for key in given if key not in KEYS]
    if unknown or "prompt" not in given:
        what = f"has the unknown key {unknown[0]}" if unknown else "has no 'prompt'"
        raise UsageError(f"prompt {task.index} {what}. It takes 'prompt', 'attach' and 'id'.")
    task.prompt = given["prompt"]
    task.attach = given.get("attach") or ()
    task.id = given.get("id", task.id)


def check(prompt: Any) -> None:
    """Refuse what is no prompt, before anything is started for it."""
    if isinstance(prompt, str):
        if not prompt.strip():
            raise UsageError("the prompt is blank. Leave it out, or pass what is to be answered.")
    elif not isinstance(prompt, (list, tuple)):
        raise UsageError(
            f"a prompt is a text or a list of content blocks, not {type(prompt).__name__}."
        )
