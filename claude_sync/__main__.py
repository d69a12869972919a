"""``python -m claude_sync`` is ``claude-sync``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
