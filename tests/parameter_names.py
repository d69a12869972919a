"""Names of parameters that are the same in every process: no addresses, no order of a set."""

from __future__ import annotations

import re

ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def named(value):
    """*value* as text, for ``ids=``."""
    if isinstance(value, (set, frozenset)):  # their order depends on the hash seed
        value = sorted(value)
    return ADDRESS.sub("", str(value))
