"""
Make content blocks of what is attached to a question, checked before anything is sent.

What an attachment is, is found by its content, never by its name. What the service
would refuse is refused here: it would stay in the conversation, and every later
question would fail with it.

Decided here: a path may begin with ``~``; an open file gives what is left in it; a
text is UTF-8, or UTF-16 or UTF-32 with a mark, and no other encoding is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Dict, Iterator, List, Optional, Sequence

from .attachment_sources import LARGEST_TOTAL, Attachment, attachment_of, sendable
from .blocks import DocumentBlock, ImageBlock
from .errors import UsageError
from .image_files import LARGEST_IMAGE, MAKE_SMALLER, image_fault, image_size, media_type
from .images import Image

__all__ = ["attached_blocks", "image_of"]

# Limits of the Messages API; see also LARGEST_TOTAL.
LARGEST_TEXT = 10 * 1024 * 1024
MOST_IMAGES = 600
# With more images than this in a request, each may only be so large.
FEW_IMAGES = 20
LARGEST_SIDE_OF_MANY = 2000
# Results of tools hold images, and documents hold texts; nothing that is sent is deeper.
DEEPEST = 12
# The fields of a block that may be long.
CONTENT = ("data", "text", "content")

# The longer marks first: one of them begins like a shorter one.
MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)

# What people attach and Claude cannot read. Only asked about what is no text.
TO_PNG = "Convert it to png, or attach it opened with Pillow."
TO_PDF = "Export it as PDF or as text."
FOREIGN = (
    (0, b"BM", "a bmp image", TO_PNG),
    (0, b"II*\0", "a tiff image", TO_PNG),
    (0, b"MM\0*", "a tiff image", TO_PNG),
    (4, b"ftyphei", "a heic image", TO_PNG),
    (4, b"ftypmif", "a heic image", TO_PNG),
    (4, b"ftypavif", "an avif image", TO_PNG),
    (0, b"\0\0\1\0", "an icon", TO_PNG),
    (0, b"PK\3\4", "an office document or a zip archive", TO_PDF),
    (0, b"\xd0\xcf\x11\xe0", "an office document", TO_PDF),
    (0, b"\x1f\x8b", "a compressed file", "Unpack it first."),
)
KINDS = "Attach png, jpeg, gif or webp images, PDF files, or texts."

# Bytes that no text has in any encoding of one byte a letter, but terminals and tabs.
CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 26, 27})


def attached_blocks(attach: Any, prompt: Sequence[Mapping[str, Any]] = ()) -> List[Dict[str, Any]]:
    """
    The content blocks of ``attach=[...]``, in the same order.

    Args:
        attach: What is attached; None for nothing.
        prompt: The blocks that are sent with it, which must be fit to be sent, too.

    Raises:
        UsageError: One of them cannot be sent, or all together cannot.

    """
    if attach is None:
        attach = ()
    if is_single(attach):
        raise UsageError("attach= takes a list. Write attach=[...] around the one thing.")
    blocks = [block_of(source, number) for number, source in enumerate(attach, 1)]
    labels = [f"attachment {number}" for number in range(1, len(blocks) + 1)]
    for number, block in enumerate(prompt, 1):
        labels.append(f"block {number} of the prompt")
        check_given(block, labels[-1])
    check_together([*blocks, *prompt], labels)
    return blocks


def is_single(attach: Any) -> bool:
    """Whether this is an attachment rather than a list of them."""
    one_thing = (str, bytes, bytearray, memoryview, os.PathLike, Mapping)
    return (
        isinstance(attach, one_thing) or hasattr(attach, "read") or not isinstance(attach, Iterable)
    )


def block_of(source: Any, number: int) -> Dict[str, Any]:
    """One attachment as a content block; blocks as on the wire are passed on."""
    if isinstance(source, Mapping):
        if not isinstance(source.get("type"), str):
            raise UsageError(
                f"attachment {number} is a dict without a 'type'. Content blocks have one; for "
                "data of your own attach json.dumps(...).encode()."
            )
        check_given(source, f"attachment {number}")
        return dict(source)
    if isinstance(source, ImageBlock):
        source = source.image
    if isinstance(source, Image) and source.url is not None:
        return {"type": "image", "source": {"type": "url", "url": source.url}}
    if isinstance(source, DocumentBlock) and source.url and not source.data:
        return {"type": "document", "source": {"type": "url", "url": source.url}}
    attachment = attachment_of(source, f"attachment {number}")
    content = attachment.content
    if isinstance(content, str):
        return text_block(content, attachment)
    found = media_type(content)
    if found is None:
        return text_block(decoded_text(content, attachment), attachment)
    if found == "application/pdf":
        return pdf_block(content, attachment)
    return image_block(content, attachment)


def image_of(source: Any) -> Image:
    """The image that *source* is or holds; what :meth:`Image.open` does."""
    if isinstance(source, (Image, ImageBlock)):
        return source if isinstance(source, Image) else source.image
    attachment = attachment_of(source, "the image")
    # An open text is no image either.
    data = attachment.content if isinstance(attachment.content, bytes) else b""
    check_image(data, attachment)
    return Image(data)


# Blocks.


def image_block(data: bytes, attachment: Attachment) -> Dict[str, Any]:
    """An image."""
    check_image(data, attachment)
    return {"type": "image", "source": base64_source(data)}


def pdf_block(data: bytes, attachment: Attachment) -> Dict[str, Any]:
    """A PDF, with its name."""
    check_length(4 * len(data) // 3, LARGEST_TOTAL, attachment.label)
    if b"%%EOF" not in data:
        raise UsageError(
            f"{attachment.label} is cut off: it begins like a PDF and has no end. Copy or "
            "download it again."
        )
    return titled({"type": "document", "source": base64_source(data)}, attachment)


def text_block(text: str, attachment: Attachment) -> Dict[str, Any]:
    """A text as a document, with its name."""
    if not text.strip():
        raise UsageError(f"{attachment.label} is {'blank' if text else 'empty'}. {KINDS}")
    check_length(utf8_length(text), LARGEST_TEXT, attachment.label)
    source = {"type": "text", "media_type": "text/plain", "data": sendable(text)}
    return titled({"type": "document", "source": source}, attachment)


def base64_source(data: bytes) -> Dict[str, Any]:
    """The bytes of a file, as a block has them."""
    import base64

    encoded = base64.b64encode(data).decode("ascii")
    return {"type": "base64", "media_type": media_type(data), "data": encoded}


def titled(block: Dict[str, Any], attachment: Attachment) -> Dict[str, Any]:
    """*block* with the name of its file."""
    if attachment.name:
        block["title"] = attachment.name
    return block


def decoded_text(data: bytes, attachment: Attachment) -> str:
    """The text that the bytes are."""
    encoding = next((name for mark, name in MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{attachment.label} {why_no_text(data, attachment.name)}")
    return text


def why_no_text(data: bytes, name: Optional[str]) -> str:
    """What the bytes are, if they are no text that can be read, and what to do."""
    for offset, start, kind, advice in FOREIGN:
        if data.startswith(start, offset):
            return f"is {kind}, which Claude cannot read. {advice}"
    opened = f"attach=[open({name or 'notes.txt'!r}, encoding='...')]"
    if data.translate(None, CONTROLS) != data:
        return (
            f"is of a kind Claude cannot read. {KINDS} If it is a text in UTF-16, attach it "
            f"open, with its encoding: {opened}."
        )
    return (
        "seems to be a text, but is not in UTF-8. Convert it, or attach it open, with its "
        f"encoding: {opened}."
    )


# Limits.


def check_image(data: bytes, attachment: Attachment) -> None:
    """Refuse what is no image, or none that can be sent."""
    fault = image_fault(data)
    if fault is not None:
        raise UsageError(f"{attachment.label} {fault}")


def check_given(block: Mapping[str, Any], label: str) -> None:
    """Refuse a block as on the wire whose content is too long, or is not what it says."""
    data = base64_of(block)
    if data is None:
        return
    if block["type"] == "image" and len(data) > 4 * LARGEST_IMAGE // 3:
        raise UsageError(
            f"{label} has {len(data) / 1e6:.1f} MB as it is sent, and an image may have "
            f"{4 * LARGEST_IMAGE / 3e6:.1f}. {MAKE_SMALLER}"
        )
    if decoded_base64(data) is None:
        raise UsageError(
            f"{label} has no data in base64, though it says so. Make it with "
            "base64.b64encode(...).decode(), or attach the bytes or the path of the file itself."
        )


def base64_of(block: Mapping[str, Any]) -> Optional[str]:
    """What a block has in base64; None for a source of another kind."""
    source = block.get("source")
    if not isinstance(source, Mapping) or source.get("type") != "base64":
        return None
    data = source.get("data")
    return data if isinstance(data, str) else None


def decoded_base64(data: str) -> Optional[bytes]:
    """The bytes; None if that is no base64."""
    import binascii

    try:
        return binascii.a2b_base64(data)
    except ValueError:  # such as binascii.Error, or for letters that are not ASCII
        return None


def check_length(length: int, limit: int, label: str) -> None:
    """Refuse what is too long alone."""
    if length > limit:
        raise UsageError(
            f"{label} has {length / 1e6:.1f} MB as it is sent, more than the "
            f"{limit / 1e6:.0f} MB that can be. Attach a part of it, or let Claude read the "
            "file itself."
        )


def check_together(blocks: List[Mapping[str, Any]], labels: List[str]) -> None:
    """Refuse what is too much together."""
    parts = [(label, part) for label, block in zip(labels, blocks) for part in parts_of(block)]
    total = sum(length_of(part) for _, part in parts)
    if total > LARGEST_TOTAL:
        raise UsageError(
            f"the prompt and its attachments have {total / 1e6:.1f} MB together as they are "
            f"sent, more than the {LARGEST_TOTAL / 1e6:.0f} MB that can be. Ask about some of "
            "them at a time."
        )
    images = [(label, part) for label, part in parts if part.get("type") == "image"]
    if len(images) > MOST_IMAGES:
        raise UsageError(
            f"{len(images)} images are too many, {MOST_IMAGES} are the most. Ask about some of "
            "them at a time."
        )
    if len(images) > FEW_IMAGES:
        for label, image in images:
            check_side_of_many(image, label)


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


def length_of(part: Mapping[str, Any]) -> int:
    """How long the content is that a part of a block has itself."""
    found = (part.get(name) for name in CONTENT)
    return sum(utf8_length(each) for each in found if isinstance(each, str))


def utf8_length(text: str) -> int:
    """How long a text is as it is sent."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def check_side_of_many(image: Mapping[str, Any], label: str) -> None:
    """Refuse an image that is only too large because there are so many."""
    size = image_size(decoded_base64(base64_of(image) or "") or b"") or (0, 0)
    if max(size) > LARGEST_SIDE_OF_MANY:
        raise UsageError(
            f"{label} has {size[0]} x {size[1]} pixels. With more than {FEW_IMAGES} "
            f"images, {LARGEST_SIDE_OF_MANY} a side is the most: make it smaller, or ask about "
            "fewer at a time."
        )
