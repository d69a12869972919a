"""``python -m claude_sync`` is ``claude-sync``."""

import sys

try:
    from .cli import main
except KeyboardInterrupt:  # it takes a moment to load
    sys.exit(130)

if __name__ == "__main__":
    sys.exit(main())
