"""``python -m claude_sync.bridge``: serve sessions on stdin and stdout."""

from __future__ import annotations

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
