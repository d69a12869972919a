"""
Read what a program attaches: paths, bytes, open files, images, pictures of other packages.

Nothing here asks what the content is. Nothing here waits for ever: a path that is a pipe
is not opened, and reading ends where it is more than can be sent.
"""

from __future__ import annotations

import io
import os
import stat
from typing import Any, List, NamedTuple, Optional, Union

from .blocks import DocumentBlock, ToolResult
from .errors import UsageError
from .images import Image
from .pictures import is_picture, picture_bytes

__all__ = ["LARGEST_TOTAL", "Attachment", "attachment_of", "sendable"]

# The limit of the Messages API for a whole request is 32 MB, in base64; this leaves room for
# what else is in one.
LARGEST_TOTAL = 30 * 1024 * 1024

# More than anything that can be sent: reading stops here, whatever else is there.
MOST_READ = LARGEST_TOTAL + 1
PIECE = 1024 * 1024

# How much of a path an error shows; some are no paths at all, but megabytes of text.
SHOWN = 200

SOURCES = (
    "Pass the path of a file, its bytes, an open file, a claude_sync.Image, a Pillow image or "
    "a matplotlib figure."
)
READ_IT = "Read it yourself, and attach the bytes."


class Attachment(NamedTuple):
    """What was attached: its content, its name if it has one, and how errors call it."""

    content: Union[bytes, str]
    name: Optional[str]
    label: str


def attachment_of(source: Any, label: str) -> Attachment:
    """Read whatever was attached; errors call it *label*, unless it has a name."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Attachment(bytes(source), None, label)
    if isinstance(source, (str, os.PathLike)):
        return read_path(source)
    if isinstance(source, Image):
        return Attachment(source.data, None, label)
    if isinstance(source, DocumentBlock):
        return Attachment(source.text or source.bytes or b"", source.title, label)
    if isinstance(source, ToolResult):
        raise UsageError(
            "cannot attach the result of a tool as a whole. Attach its images: "
            "attach=[*result.images]."
        )
    if is_picture(source):
        return Attachment(picture_bytes(source, label), None, label)
    if callable(getattr(source, "read", None)):
        return read_file(source, label)
    if callable(getattr(source, "open", None)) and hasattr(source, "read_bytes"):
        # A file inside an archive or a package, which looks like a path and is none.
        return read_inside(source, label)
    raise UsageError(f"cannot attach {type(source).__name__}. {SOURCES}")


def read_path(source: Union[str, os.PathLike[Any]]) -> Attachment:
    """The content of the file at a path."""
    path = os.fsdecode(os.fspath(source))
    if path.startswith("~") and not os.path.exists(path):
        path = os.path.expanduser(path)
    name = sendable(os.path.basename(path))
    try:
        check_is_file(path)
        with open(path, "rb") as file:
            return Attachment(read_all(file), name, repr(name))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        shown = repr(path if len(path) <= SHOWN else path[:SHOWN] + "...")
        raise UsageError(f"cannot attach {shown}: {reason}. {advice_on(path)}") from error


def check_is_file(path: str) -> None:
    """Refuse what is no file, without opening it: a pipe could keep us waiting for ever."""
    found = os.stat(path)
    if stat.S_ISDIR(found.st_mode):
        raise UsageError(
            f"{path!r} is a folder. Attach files in it, or let Claude look into it: "
            "Client(add_dirs=[...])."
        )
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(
            f"{path!r} is a pipe or a device. Open and read it yourself, and attach the bytes."
        )
    if found.st_size > MOST_READ:
        raise UsageError(
            f"{path!r} has {found.st_size / 1e6:.0f} MB, which is more than can be sent. Attach "
            "a part of it, or let Claude read the file itself."
        )


def advice_on(path: str) -> str:
    """What to do about a path that cannot be read."""
    if "://" in path:
        return (
            "It is an address, not a file: download it, or attach {'type': 'image', 'source': "
            "{'type': 'url', 'url': ...}} to let the service do so."
        )
    if path.startswith("data:"):
        return "It has the content itself: attach base64.b64decode(...) of what follows the comma."
    if "\n" in path or len(path) > 255:
        return "A str is the path of a file; attach a text itself as text.encode()."
    return (
        "Check the path (relative paths start at the current folder, not at cwd=...) and "
        "whether you may read it."
    )


def read_file(file: Any, label: str) -> Attachment:
    """What is left in an open file."""
    name = name_of(file)
    label = repr(name) if name else label
    try:
        content = read_all(file)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{label} is open as a text, and is none in {error.encoding}. Open it with 'rb', or "
            "with its encoding."
        ) from error
    except (OSError, ValueError) as error:
        only_written = isinstance(error, io.UnsupportedOperation)
        reason = "it is open for writing only" if only_written else error
        raise UsageError(f"cannot read {label}: {reason}. Open it for reading.") from error
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"cannot read {label}: {told(error)}. {READ_IT}") from error
    if not content and is_at_its_end(file):
        raise UsageError(
            f"there is nothing left to read in {label}. Go back to its beginning first: "
            "file.seek(0)."
        )
    return Attachment(content, name, label)


def read_inside(place: Any, label: str) -> Attachment:
    """What is in a file that is not on the disk by itself."""
    try:
        with place.open("rb") as file:
            content = read_all(file)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"cannot attach {place}: {error}. Check its path.") from error
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"cannot attach {place}: {told(error)}. {READ_IT}") from error
    name = name_of(place)
    return Attachment(content, name, repr(name) if name else label)


def read_all(file: Any) -> Union[bytes, str]:
    """Read to the end, or until it is too much for anybody."""
    pieces: List[Any] = []
    total = 0
    while total <= MOST_READ:
        piece = file.read(PIECE)
        if not piece:
            break
        if not isinstance(piece, (bytes, str)):
            raise UsageError(
                f"cannot attach {type(file).__name__}: its read() gives no bytes. {READ_IT}"
            )
        if pieces and isinstance(piece, bytes) is not isinstance(pieces[0], bytes):
            raise UsageError(
                f"cannot attach {type(file).__name__}: its read() gives bytes and str. {READ_IT}"
            )
        pieces.append(piece)
        total += len(piece)
    return (b"" if not pieces else pieces[0][:0]).join(pieces)


def told(error: Exception) -> str:
    """What an error of somebody else's code says, briefly."""
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def is_at_its_end(file: Any) -> bool:
    """Whether somebody has read or written it before us."""
    try:
        return bool(file.tell())
    except (AttributeError, OSError, ValueError):  # a pipe has no place to be at
        return False


def name_of(file: Any) -> Optional[str]:
    """The name of an open file, or of an upload; None for numbers, ``<stdin>`` and the like."""
    for attribute in ("name", "filename"):
        name = getattr(file, attribute, None)
        if isinstance(name, (str, bytes)):
            base = sendable(os.path.basename(os.fsdecode(name)))
            return None if not base or base.startswith("<") else base
    return None


def sendable(text: str) -> str:
    """*text* without halves of letters, which names and texts of unknown encoding may have."""
    return text.encode("utf-8", "replace").decode("utf-8")
