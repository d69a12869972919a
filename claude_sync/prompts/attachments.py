"""
Make content blocks of what is attached to a question, checked before anything is sent.

What an attachment is, is found by its content, never by its name. What the service would refuse
is refused here: CLIs keep it in the conversation, and every later question fails with it.

An open file gives what is left in it. A text is UTF-8, or UTF-16 or UTF-32 with a mark; no other
encoding is guessed.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..errors import UsageError
from ..messages.blocks import DocumentBlock, ImageBlock
from ..support.files import LARGEST_TOTAL, content_of, is_picture, sendable
from ..support.images import (
    LARGEST_IMAGE,
    MAKE_SMALLER,
    Image,
    decoded,
    image_fault,
    image_size,
    media_type_of,
)

# Limits of the Messages API; see also LARGEST_TOTAL.
MOST_IMAGES = 600
# With more images than this in a request, each may only be so large.
FEW_IMAGES = 20
LARGEST_SIDE_OF_MANY = 2000
# Results of tools hold images, and documents hold texts; nothing that is sent is deeper.
DEEPEST = 12

# The longer marks first: one of them begins like a shorter one.
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
KINDS = "Attach png, jpeg, gif or webp images, PDF files, or UTF-8 text."
ENCODING = "Attach a text of another encoding open: attach=[open(path, encoding='...')]."


def attached_blocks(attach: Any, prompt: Sequence[Mapping[str, Any]] = ()) -> list[dict[str, Any]]:
    """
    The content blocks of ``attach=[...]``, in the same order.

    Args:
        attach: What is attached; None for nothing.
        prompt: The blocks that are sent with it; limits hold for all of them together.

    Raises:
        UsageError: One of them cannot be sent, or all together cannot.

    """
    if attach is None:
        attach = ()
    from . import table_refused

    if (refused := table_refused("attach", attach)) is not None:
        raise UsageError(refused)
    if is_single(attach):
        raise UsageError("attach= takes a list. Write attach=[...] around the one thing.")
    blocks = [block_of(source, f"attachment {place}") for place, source in enumerate(attach, 1)]
    labels = [f"attachment {place}" for place in range(1, len(blocks) + 1)]
    labels += [f"block {place} of the prompt" for place in range(1, len(prompt) + 1)]
    check_together([*blocks, *prompt], labels)
    return blocks


def is_single(attach: Any) -> bool:
    """Whether this is an attachment rather than a list of them."""
    one_thing = (str, bytes, bytearray, memoryview, os.PathLike, Mapping)
    if isinstance(attach, one_thing) or hasattr(attach, "read") or is_picture(attach):
        return True
    return not isinstance(attach, Iterable)


def block_of(source: Any, label: str) -> dict[str, Any]:
    """One attachment as a content block; blocks as on the wire are passed on."""
    if isinstance(source, ImageBlock):
        source = source.image
    if isinstance(source, Image) and source.url is not None:
        return {"type": "image", "source": {"type": "url", "url": source.url}}
    if isinstance(source, DocumentBlock):
        source = source.raw
    if isinstance(source, Mapping):
        from . import check_block

        check_block(source, label)
        return dict(source)
    content, name = content_of(source, label)
    label = repr(name) if name else label
    kind = media_type_of(content) if isinstance(content, bytes) else None
    if isinstance(content, str) or kind is None:
        text = content if isinstance(content, str) else text_of(content, label)
        if not text.strip():
            raise UsageError(f"{label} is {'blank' if text else 'empty'}. {KINDS}")
        file = {"type": "text", "media_type": "text/plain", "data": sendable(text)}
    else:
        fault = None if b"%%EOF" in content else "is a PDF that is cut off. Copy it again."
        if kind != "application/pdf":
            fault = image_fault(content)
        if fault is not None:
            raise UsageError(f"{label} {fault}")
        encoded = base64.b64encode(content).decode("ascii")
        file = {"type": "base64", "media_type": kind, "data": encoded}
        if kind != "application/pdf":
            return {"type": "image", "source": file}
    block: dict[str, Any] = {"type": "document", "source": file}
    return {**block, "title": name} if name else block


def text_of(data: bytes, label: str) -> str:
    """The text that the bytes are."""
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{label} is of a kind that Claude cannot read. {KINDS} {ENCODING}")
    return text


# Limits.


def check_together(blocks: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> None:
    """Refuse what is too much together."""
    parts = [(label, part) for label, block in zip(labels, blocks) for part in parts_of(block)]
    texts = [each for _, part in parts for each in part.values() if isinstance(each, str)]
    total = sum(len(each.encode("utf-8", "replace")) for each in texts)
    if total > LARGEST_TOTAL:
        raise UsageError(
            f"the prompt and its attachments have {total / 1e6:.1f} MB together as they are "
            f"sent; the limit is {LARGEST_TOTAL / 1e6:.0f} MB. Ask about some of them at a time."
        )
    images = [(label, part) for label, part in parts if part.get("type") == "image"]
    if len(images) > MOST_IMAGES:
        raise UsageError(
            f"{len(images)} images are too many; the limit is {MOST_IMAGES}. Ask about some of "
            "them at a time."
        )
    for label, image in images:
        check_image(image, label, len(images) > FEW_IMAGES)


def check_image(block: Mapping[str, Any], label: str, is_one_of_many: bool) -> None:
    """Refuse an image in base64 that is too large."""
    source = block.get("source")
    data = source.get("data") if isinstance(source, Mapping) else None
    if not isinstance(data, str):
        return
    if len(data) > 4 * LARGEST_IMAGE // 3:
        limit = 4 * LARGEST_IMAGE / 3e6
        shown = f"{len(data) / 1e6:.1f} MB as it is sent; the limit is {limit:.1f} MB"
        raise UsageError(f"{label} has {shown}. {MAKE_SMALLER}")
    size = image_size(decoded(data) or b"") if is_one_of_many else None
    if size is not None and max(size) > LARGEST_SIDE_OF_MANY:
        raise UsageError(
            f"{label} has {size[0]} x {size[1]} pixels. With more than {FEW_IMAGES} images the "
            f"limit is {LARGEST_SIDE_OF_MANY} a side: make it smaller, or send fewer at a time."
        )


def parts_of(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """A block, and every dict in it."""
    if isinstance(value, Mapping):
        yield value
        inner: Iterable[Any] = value.values()
    else:
        inner = value if isinstance(value, (list, tuple)) else ()
    if depth < DEEPEST:
        for each in inner:
            yield from parts_of(each, depth + 1)
