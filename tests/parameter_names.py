"""Names of parameters that are the same in every process: without addresses of objects."""

from __future__ import annotations

import re

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def named(value):
    """*value* as text, for ``ids=``."""
    return ADDRESS.sub("", str(value))
