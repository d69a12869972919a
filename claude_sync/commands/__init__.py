"""
The commands of ``claude-sync``, one module each; ``claude_sync/cli.py`` puts them together.

Each has ``DESCRIPTION``, ``EPILOG``, ``add_arguments(parser)`` and ``run(arguments)``, which
gives the exit code. They are loaded when they are run: ``claude-sync ask`` does not pay for
``claude-sync export``.
"""
