"""
A conversation as a document: Markdown, one HTML file, or JSON.

::

    claude_sync.export(client, "chat.html")
    claude_sync.export("recording.jsonl", "chat.md")
    text = claude_sync.export("1b4e28ba-2fa1-11d2-883f-0016d3cca427", format="md")

The HTML needs nothing but itself: no script, no network, pictures inside, light and dark.
Nothing that the model, a tool or a file said runs in it, or leads anywhere but to the web.
In the Markdown, what people and models wrote stays Markdown, within its bounds (see
``prose``); what tools said is code that it cannot leave. Paths are told as seen from the
folder of the conversation, and the name of a person's home folder is left out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import shutil
import threading
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Dict, Optional, Union

from ..errors import UsageError
from .chats import Chat, Round, Step
from .html import MARKS, page_of, round_facts, shortened
from .prose import code, fenced, tamed, tamed_words

__all__ = ["FORMATS", "export", "written"]

COUNTED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)

FORMATS = ("md", "html", "json")
ENDINGS = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
# Of the JSON.
FORMAT = 1


def export(
    source: Any,
    path: Union[str, os.PathLike[str], None] = None,
    *,
    format: Optional[str] = None,
    title: Optional[str] = None,
    cwd: Any = None,
    config_dir: Any = None,
) -> Union[Path, str]:
    """
    Write a conversation to a file, and return its path; without one, return the text.

    Args:
        source: A client, an answer, a :class:`~claude_sync.testing.Recording`, an item of
            ``list_sessions()``, the id of a session, messages, or the path of a recording or
            of a session's file.
        path: The file, whose ending is ``.md``, ``.html`` or ``.json``.
        format: ``md``, ``html`` or ``json``, where no ending tells it.
        title: Instead of what the conversation is called, or begins with.
        cwd, config_dir: Where the session is, as for ``read_session()``.

    Recordings have no secrets in them. **Saved sessions, and those of clients, are exported as
    they are**: look at what you give away.

    """
    chosen = format_of(path, format)
    if path is not None:
        spare_source(source, path)
    from .sources import chat_of

    chat = chat_of(source, cwd, config_dir)
    if title is not None:
        chat.title = " ".join(title.split())
    text = written(chat, chosen)
    if path is None:
        return text
    target = Path(path)
    # Half a pair of a letter, which JSON can hold, is none that a file can.
    data = text.encode("utf-8", "replace")
    try:
        write_whole(target, data)
    except OSError as error:
        raise UsageError(
            f"{os.fspath(path)!r} cannot be written: {error.strerror}. Name another file."
        ) from error
    return target


def spare_source(source: Any, path: Any) -> None:
    """Refuse to write over what is exported, of which there may be no other copy."""
    file = source if isinstance(source, (str, os.PathLike)) else getattr(source, "path", None)
    try:
        is_same = file is not None and os.path.samefile(file, path)
    except (OSError, TypeError, ValueError):  # one of them is no file
        return
    if is_same:
        raise UsageError(
            f"{os.fspath(path)!r} is what is exported, and would be lost. Name another file."
        )


def write_whole(target: Path, data: bytes) -> None:
    """Write a file so that a failure leaves what was there; devices are written to."""
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    file = Path(os.path.realpath(target))
    part = file.with_name(f".claude-sync-{os.getpid()}-{threading.get_ident()}")
    try:
        part.write_bytes(data)
        if file.exists():
            shutil.copymode(file, part)
        os.replace(part, file)
    except BaseException:
        with contextlib.suppress(OSError):
            part.unlink()
        raise


def format_of(path: Any, format: Optional[str]) -> str:
    """The format that is meant; refused before anything is read."""
    if format is not None:
        if format not in FORMATS:
            raise UsageError(f"format is one of {', '.join(FORMATS)}; not {format!r}.")
        return format
    ending = "" if path is None else os.path.splitext(os.fspath(path))[1].lower()
    if ending not in ENDINGS:
        raise UsageError(
            "a conversation is exported as .md, .html or .json. Give the file one of these "
            "endings, or say format=."
        )
    return ENDINGS[ending]


def written(chat: Chat, format: str) -> str:
    """*chat* in a format."""
    chat = without_places(chat)
    if format == "html":
        return page_of(chat, facts_of(chat))
    if format == "md":
        return markdown_of(chat)
    return json.dumps(json_of(chat), indent=2, ensure_ascii=False, default=str) + "\n"


def json_of(chat: Chat) -> Dict[str, Any]:
    """*chat* as JSON: nothing is shortened in it."""
    told: Dict[str, Any] = {
        "format": FORMAT,
        "title": chat.title,
        "source": chat.source,
        "session_id": chat.session_id,
        "model": chat.model or None,
        "cwd": chat.cwd,
        "began": chat.began,
        "cost_usd": chat.cost_usd,
        "usage": dict(chat.usage),
    }
    return {**told, "steps": [step.as_json() for step in chat.steps]}


# What a document does not tell about the machine that it was made on.


def without_places(chat: Chat) -> Chat:
    """*chat* with paths as seen from its folder, and without the name of a home folder."""
    folder = (chat.cwd or "").rstrip("/\\")
    places = [(os.path.expanduser("~"), "~")]
    if len(folder) > 2:  # not a root
        places = [(folder + "/", ""), (folder + "\\", ""), (folder, "."), *places]
    patterns = [
        (re.compile(re.escape(place) + ("" if place[-1] in "/\\" else r"(?![\w.-])")), name)
        for place, name in places
        if len(place) > 1
    ]

    def told(value: Any) -> Any:
        """*value* with all of its texts told otherwise."""
        if isinstance(value, str):
            for pattern, name in patterns:
                value = pattern.sub(name, value)
        elif isinstance(value, Step):
            parts = {
                part: told(getattr(value, part)) for part in ("text", "input", "diff", "steps")
            }
            return dataclasses.replace(value, **parts)
        elif isinstance(value, Mapping):
            return {key: told(each) for key, each in value.items()}
        elif isinstance(value, (list, tuple)):
            return type(value)(map(told, value))
        return value

    name = folder.replace("\\", "/").rpartition("/")[2] if folder else None
    return dataclasses.replace(chat, title=told(chat.title), cwd=name, steps=told(chat.steps))


def facts_of(chat: Chat) -> list[str]:
    """What is told about the whole, in a few words each."""
    facts = [chat.model] if chat.model else []
    if chat.session_id:
        facts.append(f"session {chat.session_id}")
    if chat.began is not None:
        facts.append(day(chat.began))
    if chat.cwd:
        facts.append(chat.cwd)
    if chat.cost_usd is not None:
        facts.append(f"${chat.cost_usd:.4f}")
    tokens = sum(count for name in COUNTED if type(count := chat.usage.get(name)) is int)
    if tokens:
        facts.append(f"{tokens:,} tokens")
    return [" ".join(fact.split()) for fact in facts]


def day(seconds: float) -> str:
    """A time as a date; nothing of a time that is none."""
    try:
        when = datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return ""
    return f"{when:%Y-%m-%d %H:%M} UTC"


# Markdown.


def markdown_of(chat: Chat) -> str:
    """The whole document."""
    lines = [f"# {tamed_words(chat.title)}", ""]
    facts = [tamed_words(fact) for fact in facts_of(chat)]
    if facts:
        lines += [" · ".join(facts), ""]
    for each in chat.rounds:
        lines += round_lines(each)
    if chat.timeline is not None and chat.timeline.turns:
        lines += ["## Where the time went", "", chat.timeline.summary(), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def round_lines(each: Round) -> list[str]:
    """A prompt and what came of it: one heading for each of the two."""
    lines: list[str] = []
    if each.prompt is not None:
        body = tamed(shortened(each.prompt.text))
        lines += ["## You", "", *([body, ""] if body else []), *picture_lines(each.prompt)]
    answer = [line for step in each.steps for line in step_lines(step)]
    if answer:
        lines += ["## Claude", "", *answer]
    facts = round_facts(each)
    return lines + ([f"*{' · '.join(facts)}*", ""] if facts else [])


def step_lines(step: Step) -> list[str]:
    """One step, with an empty line at its end."""
    if step.kind == "tool":
        return tool_lines(step)
    body = tamed(shortened(step.text))
    if not body:
        return picture_lines(step)
    if step.kind == "claude":
        return [body, "", *picture_lines(step)]
    words = {"thinking": ["*thought:*", ""], "summary": ["*summary of what was before:*", ""]}
    failed = ["*failed:*", ""] if step.state == "failed" or step.kind == "error" else []
    return [*words.get(step.kind, failed), quoted(body), "", *picture_lines(step)]


def tool_lines(step: Step) -> list[str]:
    """A tool: what it was called with, the change it made, and what it returned."""
    asked = f", {step.decision}" if step.decision else ""
    mark = MARKS.get(step.state, ("", ""))[0]
    lines = [f"**{mark} {code(step.tool)}** {step.state}{asked}", ""]
    if step.diff:
        path = step.input.get("file_path") or step.input.get("notebook_path")
        lines += [code(str(path)), ""] if path else []
        lines += [fenced(shortened("\n".join(step.diff)), "diff"), ""]
    elif step.input:
        lines += [fenced(shortened(step.input_text())), ""]
    for inner in step.steps:
        lines += [quoted("\n".join(step_lines(inner)).rstrip("\n")), ""]
    if step.text:
        lines += [fenced(shortened(step.text)), ""]
    return lines + picture_lines(step)


def picture_lines(step: Step) -> list[str]:
    """The images of a step, inside of the document."""
    lines: list[str] = []
    for picture in step.pictures:
        if picture.is_shown:
            data = "".join(picture.data.split())
            lines += [f"![image](data:{picture.media_type};base64,{data})", ""]
        else:
            lines += [f"*an image{f': {code(picture.url)}' if picture.url else ''}*", ""]
    return lines


def quoted(text: str) -> str:
    """A text as a quote."""
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
