"""The fixtures of claude_sync, for the tests beside this file."""

pytest_plugins = ["claude_sync.testing.plugin"]
