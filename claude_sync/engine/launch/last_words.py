"""
Why a CLI has ended, as an error that says so: from its last words, and from ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import CliDidNotStart, ClientClosed, CliExited, UnsupportedByCli, UsageError
from ...support.redact import redact_lines, redact_text

if TYPE_CHECKING:
    from ..connection import Connection

__all__ = ["error_at_the_end"]

# What a CLI says that knows no forms of answers, and one that does not like this one.
NO_FORMS = "unknown option '--json-schema"
BAD_FORM = "--json-schema is not"


def error_at_the_end(
    connection: Connection, exit_code: int | None, cause: Exception | None, closing: bool
) -> Exception:
    """The error for whoever waits for something of *connection*, which has ended."""
    if closing:
        return ClientClosed("the client was closed during this call")
    said = tuple(redact_lines(connection.stderr_tail))
    if connection.schema is not None and not connection.was_ready:
        for line in said:
            if NO_FORMS in line:
                return UnsupportedByCli("returns=", connection.cli_version)
            if BAD_FORM in line:
                return UsageError(
                    f"the CLI does not accept the JSON Schema of returns=: {line}. Change what "
                    "it complains about, or pass a dataclass, whose schema is always accepted."
                )
    failed: Any = CliExited if connection.was_ready else CliDidNotStart
    if connection.refusal:
        reason = f"the CLI did not start: {connection.refusal}"
    elif connection.ended_because:
        reason = f"the CLI was ended because {connection.ended_because}"
    elif cause is not None:
        reason = f"the CLI could not be read any more: {cause}"
    elif connection.was_ready:
        reason = "the CLI exited"
    else:
        reason = "the CLI exited before it was ready"
    error: Exception = failed(redact_text(reason), exit_code, said, connection.transport.argv)
    error.__cause__ = cause
    return error
