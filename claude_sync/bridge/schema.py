"""
A JSON Schema of every message of the bridge, for front ends in other languages.

``python -m claude_sync.bridge --schema`` prints it. Each message has a definition of its
own, named by its type; ``from_front_end`` and ``from_backend`` are all of one direction.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict

from ..options import Options, names_of
from .options import NOT_HERE

__all__ = ["schema"]


def schema() -> Dict[str, Any]:
    """The schema, as JSON Schema 2020-12 has it."""
    text = Path(__file__).with_name("schema.json").read_text(encoding="utf-8")
    found: Dict[str, Any] = json.loads(text)
    # Settings of this library, which check themselves; the file has those of the document.
    options = found["$defs"]["options"]["properties"]
    for name in names_of(Options):
        if name not in NOT_HERE:
            options.setdefault(name, {})
    return found
