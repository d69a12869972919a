"""``python -m claude_sync.bridge``: the same as ``claude-sync bridge``."""

from __future__ import annotations

import sys

from ..cli import main

if __name__ == "__main__":
    sys.exit(main(["bridge", *sys.argv[1:]]))
