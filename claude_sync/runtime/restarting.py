"""
Start the CLI again on purpose: for a question whose answer has another form.

::

    [process] -> lines -> messages -> dispatch -> handlers -> turn

The form of answers (``returns=``) is fixed when a CLI starts. A question that needs
another one waits until the session is idle; then the process is ended politely,
so that it saves the conversation, and a new one resumes it. Decisions taken here
and nowhere else:

* The process that has the right form is kept until a question needs another, so many
  typed questions in a row cost one restart.
* A new CLI that was not greeted yet takes the form with the greeting.
* Slash commands and context are sent to whatever runs.
* It is no crash: nothing is counted, no handler is told, replies that are on their way
  are waited for.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Mapping, Optional

from ..engine.launch.transport import Transport
from ..errors import UnsupportedByCli, UsageError
from ..log import logger
from ..protocol.exchange import QUESTION
from ..support.waiting import Deadline

if TYPE_CHECKING:
    from ..engine.turn import Turn
    from .connection import Connection
    from .engine import Engine

__all__ = ["Restarter"]

# Replies that are on their way when a process is to be ended.
REPLIES_PATIENCE = 60.0
# The whole ladder from polite to firm.
ENDING_TIME = 7.0


class Restarter:
    """The restarts of one engine's CLI. ``engine.lock`` guards the attributes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # What the CLI is, or will be, started with: the form of the question that is next.
        self.schema: Optional[Mapping[str, Any]] = engine.own_schema
        # The CLI knows no forms at all.
        self.refused: Optional[UnsupportedByCli] = None

    def choose(self) -> Optional[Mapping[str, Any]]:
        """What to start the CLI with: the form that the next question wants; under the lock."""
        for turn in self._engine.queue:
            if has_form(turn):
                self.schema = turn._schema
                break
        return self.schema

    def fits(self, connection: Connection, turn: Turn) -> bool:
        """
        Whether *connection* gives answers of the form that *turn* wants; under the lock.

        If it does not, and nothing is in the way, a process that does is on its way.
        """
        if turn._schema == connection.schema or not has_form(turn):
            return True
        if not connection.retiring and connection.exchange.is_idle():
            connection.retiring = True
            self._engine.responders.run(lambda: self._change(connection))
        return False

    def form_to_greet_with(self, connection: Connection) -> Optional[Mapping[str, Any]]:
        """The form to be told in the greeting of a CLI that was started with none."""
        with self._engine.lock:
            schema = self.choose()
        return schema if connection.schema is None else None

    def _change(self, connection: Connection) -> None:
        """End a process and start another. On a responder: this takes a second."""
        engine, lifecycle = self._engine, self._engine.lifecycle
        try:
            with lifecycle.spawning:
                if lifecycle.connection is not connection:
                    return  # it died, and somebody was quicker
                engine.changes.wait_for(
                    lambda: not connection.pending or connection.ended or lifecycle.closing,
                    Deadline(REPLIES_PATIENCE),
                )
                connection.shut_down(ENDING_TIME)
                # What it said last comes before what the next one says.
                connection.reader_thread.join(ENDING_TIME)
                if lifecycle.closing:
                    return
                lifecycle.spawn(engine.conversed, on_purpose=True)
            lifecycle.ensure_begun()
        except Exception as error:  # whatever a transport raises
            logger.warning("the CLI could not be restarted: %s", error)
            with engine.lock:
                connection.retiring = False
            lifecycle.fail_queued(error)
        finally:
            engine.changes.tell()

    def form_refused(self, connection: Connection, error: Exception) -> None:
        """The CLI does not start with that form: whoever wants it is told, others go on."""
        engine = self._engine
        if isinstance(error, UnsupportedByCli):
            from ..engine.control import ask_version

            version = ask_version(connection, lambda: engine.lifecycle.closing)
            error = UnsupportedByCli(error.feature, error.cli_version or version)
        with engine.lock:
            if isinstance(error, UnsupportedByCli):
                self.refused = error
            self.schema = None
            refused = [
                turn
                for turn in engine.queue
                if turn._schema is not None
                and (self.refused is not None or turn._schema == connection.schema)
            ]
            for turn in refused:
                engine.queue.remove(turn)
                engine.open_turns.discard(turn)
        for turn in refused:
            turn._fail(copy.copy(error))  # each its own: raising adds to the traceback

    def check(self, turn: Turn) -> None:
        """Refuse a question whose form this CLI cannot have, before it is queued."""
        if self.refused is not None:
            raise UnsupportedByCli(self.refused.feature, self.refused.cli_version)
        engine = self._engine
        dialect = engine.dialect.name
        if dialect == "user-message" or (dialect != "cli" and turn._schema != engine.own_schema):
            raise UsageError(
                f"dialect={dialect!r} has no words for the form of one answer. Leave returns= "
                "out, or use dialect='cli', which is what real CLIs speak."
            )
        if isinstance(engine.options.transport, Transport) and turn._schema != engine.own_schema:
            raise UsageError(
                "this client's transport lives once, so the CLI cannot be started again for "
                "answers of another form. Make the client with Client(returns=...), or pass a "
                "function that makes transports."
            )


def has_form(turn: Turn) -> bool:
    """Whether the form of its answer matters: commands and context have no such answer."""
    if turn._form is not None:
        return True
    entry = turn._entry
    is_question = entry is None or entry.kind == QUESTION
    return is_question and not turn._is_command()
