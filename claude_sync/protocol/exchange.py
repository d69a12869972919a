"""
Decide whose result a result is, and when the next question may be sent.

::

    process -> lines -> messages -> [exchange] -> inbox -> handlers -> turn

An :class:`Exchange` knows what is on the wire of one CLI process. Every message of ours,
a question, a context or a steered message, has a state, and :data:`TRANSITIONS` is the
table of them. Whatever is not in the table is ignored: a CLI may say things twice, and late.

One question is on the wire at a time. None is sent while the CLI runs a turn of its own, or
while a steered message has not been consumed: new CLIs merge what waits into one turn, and
old ones answer it later, by itself.

Whose result is it? The best evidence decides:

1. ``user_message_uuids`` in the result, whatever its origin.
2. A foreign ``origin``: the result is nobody's.
3. The messages that the CLI has begun since the last result. It says so by
   ``command_lifecycle``, or by its echo of the user message.
4. Nothing was begun: the question that was sent, if it is one that the CLI never echoes (a
   slash command), if it was interrupted before it began, if the model was not asked (2.1.29
   does not echo what a hook blocks, or what its budget does not allow), or if this CLI echoes
   nothing.

Rule 4 guesses by order. If the CLI names that question later, the guess was wrong, and so is
every answer after it: the open question is dropped with ``CONTRADICTED``.

An Exchange has no lock, thread or clock; its owner calls it under a lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = [
    "ANSWERED",
    "CONTEXT",
    "CONTRADICTED",
    "DROPPED",
    "QUESTION",
    "QUEUED",
    "RUNNING",
    "SENT",
    "STEER",
    "Exchange",
    "Sent",
    "uuids_of_result",
]

# The kinds of messages.
QUESTION = "question"
CONTEXT = "context"
STEER = "steer"

# Their states.
QUEUED = "queued"
SENT = "sent"
RUNNING = "running"
ANSWERED = "answered"
DROPPED = "dropped"

TRANSITIONS = {
    (QUEUED, "send"): SENT,  # we wrote it
    (QUEUED, "drop"): DROPPED,  # cancel(), a timeout
    (SENT, "begin"): RUNNING,  # the CLI says that it started, or echoes it
    (SENT, "result"): ANSWERED,  # a result that is bound to it
    (RUNNING, "result"): ANSWERED,
    (SENT, "drop"): DROPPED,  # the CLI withdrew it, or is gone
    (RUNNING, "drop"): DROPPED,  # the CLI is idle and gave no result, or is gone
}

# Why a message was dropped.
CANCELLED = "cancelled"
IDLE = "idle"
ENDED = "ended"
CONTRADICTED = "contradicted"

# Results with these origins answer a message of a person: ours.
OWN_ORIGINS = ("human", "unclassified")
# Finished messages stay known for a while, so that late words about them are recognised.
REMEMBERED = 64
# Background tasks that may never end.
SHELLS = ("local_bash", "local_shell", "shell", "monitor")
TASK_ENDED = ("completed", "failed", "killed")
LIFECYCLE = "msg_lifecycle_v1"


class Sent:
    """
    One user message of ours.

    Attributes:
        uuid: What it carries on the wire; new for every message.
        kind: ``QUESTION``, ``CONTEXT`` or ``STEER``.
        owner: Whatever its sender wants to find again; not looked at here.
        state: See the table of states.
        reason: Why it was dropped.
        result: The result that is bound to it.
        interrupted: We asked the CLI to stop it.

    """

    __slots__ = (
        "bound_by_order",
        "given_up",
        "interrupted",
        "into",
        "is_announced",
        "is_command",
        "kind",
        "owner",
        "reason",
        "result",
        "said_completed",
        "state",
        "uuid",
    )

    def __init__(
        self, uuid: str, kind: str = QUESTION, owner: Any = None, *, is_command: bool = False
    ) -> None:
        self.uuid = uuid
        self.kind = kind
        self.owner = owner
        self.is_command = is_command
        self.state = QUEUED
        self.reason = ""
        self.result: Mapping[str, Any] | None = None
        self.interrupted = False
        # The CLI said that it is done with it, in a ``command_lifecycle``.
        self.said_completed = False
        # A steered message: the question into whose turn it was written, and whether it is no
        # longer waited for. It may begin all the same.
        self.into: Sent | None = None
        self.given_up = False
        # The CLI has said in a ``command_lifecycle`` that it knows it.
        self.is_announced = False
        # Its result was bound by rule 4.
        self.bound_by_order = False

    def __repr__(self) -> str:
        return f"<{self.kind} {self.uuid[:8]} {self.state}>"

    def move(self, event: str) -> bool:
        """Go to the next state; False where the table has none."""
        state = TRANSITIONS.get((self.state, event))
        if state is None:
            return False
        self.state = state
        return True

    @property
    def is_open(self) -> bool:
        """Whether a result may still come for it."""
        return self.state in (SENT, RUNNING)


class Exchange:
    """
    What is on the wire of one CLI process.

    Methods named ``on_...`` take what the CLI says. They return the messages that this
    finished: answered or dropped.
    """

    def __init__(self, *, in_order: bool = False) -> None:
        # A dialect whose CLI begins no turns and echoes nothing: order decides everything.
        self._in_order = in_order
        # The question or context on the wire, until its handlers have run.
        self.question: Sent | None = None
        # Steered messages that have no end yet, in the order in which they were sent.
        self._steered: dict[str, Sent] = {}
        # Every message that the CLI may still name.
        self._known: dict[str, Sent] = {}
        # A turn runs that no message of ours began.
        self.foreign_turn = False
        # The CLI sends command_lifecycle, or has said that it can.
        self.tells_lifecycle = False
        # It lists the uuids of user messages in its results.
        self.tells_uuids = False
        self._echoes = False
        self._untouched = True
        # The CLI's last word on whether it works: running, requires_action or idle.
        self.session_state: str | None = None
        # Agents and workflows that work in the background, by task id.
        self.background_tasks: dict[str, str] = {}
        self._last_result: object = None

    # What we do.

    def may_send(self) -> bool:
        """Whether the next question may be sent now."""
        return self.question is None and not self.foreign_turn and not self.awaited_steers()

    def send(self, message: Sent) -> None:
        """*message*, a question or a context, is about to be written."""
        assert self.question is None, "one question at a time"
        message.move("send")
        self.question = message
        self._know(message)

    def steer(self, message: Sent) -> None:
        """*message* is about to be written into the turn that runs."""
        message.move("send")
        message.into = self.running()
        self._steered[message.uuid] = message
        self._know(message)

    def finish(self, message: Sent) -> None:
        """The handlers of *message*'s turn have run: another question may follow."""
        if self.question is message:
            self.question = None
        # It stays known by its uuid; what hangs on it does not stay alive.
        message.owner = message.result = None

    def give_up_steers(self) -> None:
        """Wait no longer for steered messages of which the CLI says nothing."""
        for message in self._steered.values():
            if message.state == SENT and not message.is_announced:
                message.given_up = True

    # What is known.

    def running(self) -> Sent | None:
        """The question whose result is still to come."""
        question = self.question
        return question if question is not None and question.is_open else None

    def current(self) -> Sent | None:
        """The question to which a message that arrives now belongs."""
        question = self.running()
        if question is None or question.state == RUNNING:
            return question
        # Old CLIs echo a question only after its first text: until then it counts as begun.
        other = any(each.state == RUNNING for each in self._steered.values())
        return None if self.tells_lifecycle or other else question

    def awaited_steers(self) -> list[Sent]:
        """Steered messages that hold up the next question."""
        return [each for each in self._steered.values() if not each.given_up]

    def is_working(self) -> bool:
        """Whether a turn runs, ours or the CLI's own."""
        steered = any(each.state == RUNNING for each in self._steered.values())
        return self.running() is not None or self.foreign_turn or steered

    def is_stalled(self) -> bool:
        """Whether the CLI says that it is idle and has not begun what it was sent."""
        question = self.running()
        return question is not None and question.state == SENT and self.session_state == "idle"

    def is_idle(self) -> bool:
        """Whether no turn runs and no background agent is alive, as far as the CLI says."""
        return (
            self.may_send() and self.session_state in (None, "idle") and not self.background_tasks
        )

    # What the CLI says.

    def on_init(self, raw: Mapping[str, Any]) -> None:
        """A turn begins. Without an open question of ours it is the CLI's own."""
        if self._in_order:
            return
        capabilities = raw.get("capabilities")
        if isinstance(capabilities, list) and LIFECYCLE in capabilities:
            self.tells_lifecycle = True
        if self.running() is not None:
            return
        # Some CLIs send it once at the start, before anything was asked.
        if not self._untouched or self.session_state == "running":
            self.foreign_turn = True

    def on_echo(self, uuid: object) -> list[Sent]:
        """The CLI echoed the user message *uuid*: it works on it."""
        message = self._named(uuid)
        if message is None:
            return []
        self._echoes = True
        message.move("begin")
        return self._contradicted(message)

    def on_lifecycle(self, uuid: object, state: object) -> list[Sent]:
        """The CLI says how far it is with the message *uuid*."""
        self.tells_lifecycle = True
        message = self._named(uuid)
        if message is None:
            return []
        message.is_announced = True
        if state == "started":
            message.move("begin")
            return self._contradicted(message)
        if state == "cancelled" and message.state == SENT:
            return self._drop(message, CANCELLED)
        if state in ("completed", "cancelled"):
            # Its result came before this. If not, see on_session_state().
            message.said_completed = True
            if message.kind == STEER:
                return self._drop(message, IDLE)
        return []

    def on_cancelled(self, uuids: object) -> list[Sent]:
        """An interrupt withdrew messages that the CLI had not begun."""
        finished = []
        for uuid in uuids if isinstance(uuids, (list, tuple)) else ():
            message = self._named(uuid)
            if message is not None and message.state == SENT:
                finished += self._drop(message, CANCELLED)
        return finished

    def on_result(self, raw: Mapping[str, Any]) -> list[Sent]:
        """A turn ended: the messages that this result answers."""
        uuid = raw.get("uuid")
        if uuid is not None and uuid == self._last_result and not uuids_of_result(raw):
            return []  # the CLI says it twice: it must not answer the next question
        self._last_result = uuid
        owners = self._owners_of(raw)
        for message in owners:
            message.result = raw
            message.move("result")
            self._steered.pop(message.uuid, None)
        if self.running() is None:
            # Whatever the CLI did by itself is done.
            self.foreign_turn = False
        return owners

    def on_session_state(self, state: object) -> list[Sent]:
        """The CLI's own word on whether it works."""
        if not isinstance(state, str):
            return []
        self.session_state = state
        if state != "idle":
            return []
        self.foreign_turn = False
        self.background_tasks.clear()
        finished = []
        for message in [*self._steered.values(), *filter(None, [self.question])]:
            if message.state == RUNNING or message.said_completed:
                finished += self._drop(message, IDLE)
        return finished

    def on_task(self, raw: Mapping[str, Any]) -> None:
        """Keep the list of agents and workflows in the background."""
        subtype, task = raw.get("subtype"), raw.get("task_id")
        if subtype == "background_tasks_changed":
            tasks = raw.get("tasks")
            self.background_tasks = {
                str(each.get("task_id")): str(each.get("task_type"))
                for each in (tasks if isinstance(tasks, list) else [])
                if isinstance(each, dict) and each.get("task_type") not in SHELLS
            }
        elif not isinstance(task, str):
            return
        elif subtype == "task_started":
            if raw.get("task_type") not in SHELLS:
                self.background_tasks[task] = str(raw.get("task_type"))
        elif subtype == "task_notification" or has_ended(raw.get("patch")):
            self.background_tasks.pop(task, None)

    def on_end(self) -> list[Sent]:
        """The process is gone."""
        finished = []
        for message in [*self._steered.values(), *filter(None, [self.question])]:
            finished += self._drop(message, ENDED)
        self.foreign_turn = False
        self.background_tasks.clear()
        return finished

    def withdraw(self, message: Sent, reason: str) -> list[Sent]:
        """No result is waited for any more."""
        return self._drop(message, reason)

    # How it is decided.

    def _owners_of(self, raw: Mapping[str, Any]) -> list[Sent]:
        uuids = uuids_of_result(raw)
        if not uuids and "subtype" not in raw and not self._in_order:
            return []  # no result of a CLI is without one
        if uuids:
            self.tells_uuids = True
            return [message for uuid in uuids if (message := self._open(uuid)) is not None]
        if is_foreign(raw.get("origin")):
            return []
        question = self.running()
        begun = [message for message in self._all_open() if message.state == RUNNING]
        if begun:
            # No echo names a command. What was steered into its turn cannot begin before it.
            joined = any(message.into is question for message in begun)
            if question is not None and question.is_command and joined and question not in begun:
                begun.append(question)
            return begun
        if question is not None and self._may_guess(question, raw):
            question.bound_by_order = True
            return [question]
        if question is None and not self._echoes and not self.tells_lifecycle:
            # A CLI that names nothing: a steered message had a turn of its own.
            return self.awaited_steers()[:1]
        return []

    def _may_guess(self, question: Sent, raw: Mapping[str, Any]) -> bool:
        """Rule 4: whether a result without any evidence is that of *question*."""
        if self._in_order:
            return True
        if self.foreign_turn or self.tells_lifecycle or self.tells_uuids:
            return False
        is_silent = question.is_command or question.interrupted or uses_no_tokens(raw)
        return is_silent or not self._echoes

    def _contradicted(self, message: Sent) -> list[Sent]:
        """The CLI begins a question that a guess has answered: every answer is shifted."""
        if not message.bound_by_order:
            return []
        message.bound_by_order = False
        question = self.running()
        if question is None or question is message:
            return []
        return self._drop(question, CONTRADICTED)

    def _drop(self, message: Sent, reason: str) -> list[Sent]:
        if not message.move("drop"):
            return []
        message.reason = reason
        self._steered.pop(message.uuid, None)
        return [message]

    # Messages by uuid.

    def _know(self, message: Sent) -> None:
        self._untouched = False
        self._known[message.uuid] = message
        if len(self._known) > REMEMBERED:
            for uuid, known in self._known.items():
                if not known.is_open:
                    del self._known[uuid]
                    break

    def _named(self, uuid: object) -> Sent | None:
        return self._known.get(uuid) if isinstance(uuid, str) else None

    def _open(self, uuid: str) -> Sent | None:
        message = self._known.get(uuid)
        return message if message is not None and message.is_open else None

    def _all_open(self) -> list[Sent]:
        question = self.running()
        return [*([question] if question is not None else []), *self._steered.values()]


def uuids_of_result(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The uuids of the user messages that a result answers."""
    several = raw.get("user_message_uuids")
    if isinstance(several, list) and several:
        return tuple([uuid for uuid in several if isinstance(uuid, str)])
    one = raw.get("user_message_uuid")
    return (one,) if isinstance(one, str) and one else ()


def is_foreign(origin: object) -> bool:
    """Whether an origin says that no message of ours began the turn."""
    return isinstance(origin, dict) and origin.get("kind") not in OWN_ORIGINS


def uses_no_tokens(raw: Mapping[str, Any]) -> bool:
    """Whether a result says that its turn had no answer of the model."""
    usage = raw.get("usage")
    counts = ("input_tokens", "output_tokens")
    return isinstance(usage, dict) and all(usage.get(count) == 0 for count in counts)


def has_ended(patch: object) -> bool:
    """Whether an update of a task says that the task is over."""
    return isinstance(patch, dict) and patch.get("status") in TASK_ENDED
