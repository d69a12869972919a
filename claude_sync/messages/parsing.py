"""
Turn a JSON object of the CLI into a typed message.

Third station of the pipeline::

    process -> lines -> codec -> [parsing] -> dispatch -> handlers -> turn

:func:`parse` takes any JSON object and always returns a message: nothing the CLI sends makes
it raise, and the object itself is the message's ``raw``. The classes register themselves
when their modules are loaded, which is here.
"""

from __future__ import annotations

from . import system as system
from . import tasks as tasks
from .base import TYPES, Message, Unknown
from .fields import Raw


def parse(raw: Raw) -> Message:
    """The message that *raw* is."""
    kind = raw.get("type")
    return (TYPES.get(kind, Unknown) if isinstance(kind, str) else Unknown).read(raw)
