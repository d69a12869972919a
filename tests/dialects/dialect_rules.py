"""
What a strict backend takes: shapes of messages, and the complaint about all others.

::

    client -- stdin -->  [shape]  -- fits: goes on
                                  -- does not: a word on stderr, exit code 64

A shape is a type, a value, a dict of shapes (a key that ends with ``?`` may be missing,
no other key may be there), a list with the shape of its items, or a tuple of shapes of
which one must fit.
"""

from __future__ import annotations

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, NoReturn, Optional

    from claude_sync.testing.cli_side import CliSide

    Wire = Dict[str, Any]

__all__ = ["NOT_IN_THE_DOCUMENT", "TEXT_OR_BLOCKS", "StrictBackend", "misfit"]

# The exit code of a backend that was told something it does not know.
NOT_IN_THE_DOCUMENT = 64

IMAGE = {
    "type": "image",
    "source": {
        "type": "base64",
        "media_type": ("image/png", "image/jpeg", "image/gif", "image/webp"),
        "data": str,
    },
}
TEXT_OR_BLOCKS = (str, [({"type": "text", "text": str}, IMAGE)])


def misfit(value: Any, shape: Any, where: str = "the message") -> Optional[str]:
    """Why *value* does not fit *shape*; None if it does."""
    if isinstance(shape, tuple):
        reasons = [misfit(value, each, where) for each in shape]
        return None if None in reasons else reasons[0]
    if isinstance(shape, dict):
        return object_misfit(value, shape, where)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{where} is no list"
        found = (misfit(item, shape[0], f"{where}[{n}]") for n, item in enumerate(value))
        return next((reason for reason in found if reason), None)
    fits = isinstance(value, shape) if isinstance(shape, type) else value == shape
    wanted = shape.__name__ if isinstance(shape, type) else repr(shape)
    return None if fits else f"{where} is {value!r} and not {wanted}"


def object_misfit(value: Any, shape: Wire, where: str) -> Optional[str]:
    """The same for an object: every key is known, and none is missing."""
    if not isinstance(value, dict):
        return f"{where} is no object"
    optional = {key[:-1]: inner for key, inner in shape.items() if key.endswith("?")}
    needed = {key: inner for key, inner in shape.items() if not key.endswith("?")}
    for key in needed:
        if key not in value:
            return f"{where} has no {key!r}"
    for key, item in value.items():
        if key not in needed and key not in optional:
            return f"{where} has {key!r}"
        inner = needed[key] if key in needed else optional[key]
        reason = misfit(item, inner, f"{where}.{key}")
        if reason:
            return reason
    return None


class StrictBackend:
    """A backend that ends itself when it is told anything that is not in its document."""

    def __init__(self, cli: CliSide) -> None:
        self.cli = cli

    def complain(self, reason: str) -> NoReturn:
        """Say what is not in the document, and exit."""
        self.cli.print_error(f"not in the document: {reason}")
        self.cli.exit(NOT_IN_THE_DOCUMENT)

    def check(self, message: Wire, *shapes: Any) -> Wire:
        """*message*, if it fits one of *shapes*."""
        reasons = [misfit(message, shape) for shape in shapes]
        if None not in reasons:
            self.complain(f"{message}: {'; '.join(filter(None, reasons))}")
        return message

    def next_message(self) -> Wire:
        """What the client says next."""
        message = self.cli.receive()
        assert message is not None, "it was waited for without a limit"
        return message
