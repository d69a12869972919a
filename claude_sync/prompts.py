"""
Make a user message from a prompt and its attachments, checked before it is sent.

What an attachment is, is found by its content, never by its name.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

from .errors import UsageError

__all__ = ["user_message"]

# Limits of the Messages API. Beyond them the whole turn would fail, after the upload.
LARGEST_IMAGE = 5 * 1024 * 1024
LARGEST_DOCUMENT = 32 * 1024 * 1024
LARGEST_TEXT = 10 * 1024 * 1024

SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)

Prompt = Union[str, Iterable[Dict[str, Any]]]


def user_message(prompt: Prompt, attach: Any = ()) -> Dict[str, Any]:
    """The wire message that asks *prompt*; without a uuid, which is given when it is queued."""
    return {
        "type": "user",
        "message": {"role": "user", "content": content_of(prompt, attach)},
        "parent_tool_use_id": None,
        "session_id": "",
    }


def content_of(prompt: Prompt, attach: Any) -> Union[str, List[Dict[str, Any]]]:
    """The prompt as the wire takes it: a text, or a list of content blocks."""
    attachments: List[Dict[str, Any]] = []
    if attach != ():
        if isinstance(attach, (str, bytes, os.PathLike)):
            raise UsageError("attach= takes a list. Write attach=[...] around the one thing.")
        attachments = [attachment_block(each) for each in attach]
    if isinstance(prompt, str):
        if not prompt.strip():
            raise UsageError("the prompt is blank. Pass what Claude should answer.")
        prompt = str(prompt)
        return [*attachments, {"type": "text", "text": prompt}] if attachments else prompt
    if isinstance(prompt, (bytes, dict)) or not isinstance(prompt, Iterable):
        raise UsageError(
            f"a prompt is a text or a list of content blocks, not {type(prompt).__name__}. "
            "Pass a str; files go into attach=[...]."
        )
    blocks = list(prompt)
    for block in blocks:
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise UsageError(
                f"{block!r} is not a content block. Each is a dict with a 'type', for example "
                "{'type': 'text', 'text': '...'}."
            )
    if not blocks:
        raise UsageError("the prompt is an empty list. Pass at least one content block.")
    return [*attachments, *blocks]


def attachment_block(source: Any) -> Dict[str, Any]:
    """A file, or the bytes of one, as a content block."""
    data, name = read_attachment(source)
    kind = media_type(data)
    if kind is None:
        return text_block(data, name)
    limit = LARGEST_DOCUMENT if kind == "application/pdf" else LARGEST_IMAGE
    check_size(data, limit, name)
    import base64

    encoded = base64.b64encode(data).decode("ascii")
    block: Dict[str, Any] = {
        "type": "document" if kind == "application/pdf" else "image",
        "source": {"type": "base64", "media_type": kind, "data": encoded},
    }
    if block["type"] == "document" and name:
        block["title"] = name
    return block


def text_block(data: bytes, name: Optional[str]) -> Dict[str, Any]:
    """A text file as a document block."""
    check_size(data, LARGEST_TEXT, name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = ""
    if not text.strip() or "\0" in text:
        what = f"{name!r}" if name else "the attachment"
        raise UsageError(
            f"{what} is {'empty' if not data else 'of a kind Claude cannot read'}. Attach png, "
            "jpeg, gif or webp images, PDF files, or texts in UTF-8."
        )
    block = {"type": "document", "source": {"type": "text", "media_type": "text/plain"}}
    source: Dict[str, Any] = block["source"]  # type: ignore[assignment]
    source["data"] = text
    if name:
        block["title"] = name
    return block


def read_attachment(source: Any) -> Tuple[bytes, Optional[str]]:
    """The bytes of an attachment, and its name if it has one."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), None
    if not isinstance(source, (str, os.PathLike)):
        raise UsageError(
            f"cannot attach {type(source).__name__}. Pass the path of a file, or its bytes."
        )
    path = os.fspath(source)
    try:
        with open(path, "rb") as file:
            return file.read(), os.path.basename(path)
    except OSError as error:
        raise UsageError(
            f"cannot attach {path!r}: {error.strerror}. Check the path (relative ones start at "
            "the program's own folder, not at cwd=...)."
        ) from error


def media_type(data: bytes) -> Optional[str]:
    """The type that the first bytes give away, or None: perhaps a text."""
    for signature, kind in SIGNATURES:
        if data.startswith(signature):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None


def check_size(data: bytes, limit: int, name: Optional[str]) -> None:
    """Refuse what the service would refuse."""
    if len(data) > limit:
        raise UsageError(
            f"{name or 'the attachment'} has {len(data) / 1e6:.1f} MB, more than the "
            f"{limit // (1024 * 1024)} MB that can be sent. Make it smaller, or let Claude read "
            "the file itself."
        )
