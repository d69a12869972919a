"""
A conversation as a document: Markdown, one HTML file, or JSON.

::

    claude_sync.export(client, "chat.html")
    claude_sync.export("recording.jsonl", "chat.md")
    text = claude_sync.export("1b4e28ba-2fa1-11d2-883f-0016d3cca427", format="md")

The HTML needs nothing but itself: no script, no network, pictures inside, light and dark.
Nothing that the model, a tool or a file said runs in it, or leads anywhere but to the web.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import threading
from pathlib import Path
from typing import Any, Dict, Optional, Union

from .errors import UsageError
from .export_chats import Chat

__all__ = ["FORMATS", "export"]

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
    from .export_sources import chat_of

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
    if format == "html":
        from .export_html import html_of

        return html_of(chat)
    if format == "md":
        from .export_markdown import markdown_of

        return markdown_of(chat)
    return json.dumps(json_of(chat), indent=2, ensure_ascii=False) + "\n"


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
