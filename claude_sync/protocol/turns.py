"""
Decide whose result a result is, and which question may be sent next.

::

    process -> lines -> messages -> [turns] -> dispatch -> handlers -> answer

Rules of this file:

* One question is on the wire at a time, and none is sent while the CLI is known
  to run a turn of its own (a background agent reporting back, a message that
  was steered too late to join). New CLIs merge what arrives together into one
  turn; old ones do not; so we never let it come to that.
* The uuid decides. A result that lists our uuid is ours, whatever its origin:
  a question can join a turn the CLI began by itself. A CLI that lists uuids at
  all never answers us without one.
* Where results carry no uuid (CLIs before 2.1.200 or so), the replayed user
  message decides, and for slash commands, which are not replayed, the order.
* A result that belongs to nobody completes nobody.

A :class:`TurnLedger` covers the life of one CLI process. It is not thread-safe:
the runtime holds its lock around every call.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Tuple

__all__ = ["CONTEXT", "QUESTION", "STEER", "Entry", "TurnLedger", "uuids_of_result"]

QUESTION = "question"
CONTEXT = "context"
STEER = "steer"

# Results of these origins answer a message of a person, that is: of ours.
OWN_ORIGINS = frozenset({"human", "unclassified"})


class Entry:
    """
    One user message of ours: a question, a piece of context, or a steer.

    Attributes:
        uuid: What the message carries on the wire; new for every message.
        kind: ``QUESTION``, ``CONTEXT`` or ``STEER``.
        owner: Whatever the runtime wants to find again; not looked at here.
        over: Whether the CLI says that it is done with it.
        began: Whether the CLI works on it, as far as it tells.
        replayed: Whether the CLI has echoed it.
        result: The raw result that was bound to it, or None.
        withdrawn: Whether the CLI dropped it unasked, so that no result comes.

    """

    __slots__ = ("began", "kind", "over", "owner", "replayed", "result", "uuid", "withdrawn")

    def __init__(self, uuid: str, kind: str = QUESTION, owner: Any = None) -> None:
        self.uuid = uuid
        self.kind = kind
        self.owner = owner
        self.over = False
        self.began = False
        self.replayed = False
        self.result: Optional[Mapping[str, Any]] = None
        self.withdrawn = False

    def __repr__(self) -> str:
        return f"<{self.kind} {self.uuid[:8]}>"


class TurnLedger:
    """What is on the wire of one CLI process, and what the CLI is known to do."""

    def __init__(self, begins_turns: bool = True) -> None:
        # Whether the CLI may begin turns by itself; without that, order decides everything.
        self._begins_turns = begins_turns
        # Nothing of ours was sent yet: whatever the CLI says is not about a turn.
        self._untouched = True
        # The one message that was sent and whose handlers have not all run yet.
        self.in_flight: Optional[Entry] = None
        # Steered messages that the CLI has not consumed yet, by uuid.
        self.steered: Dict[str, Entry] = {}
        # The CLI runs a turn that no message of ours began.
        self.foreign_turn = False
        # The CLI lists our uuids in its results (seen, or told by its capabilities).
        self.tells_uuids = False
        # The CLI's own word on what it does, where it says so: running, idle, requires_action.
        self.session_state: Optional[str] = None
        # The uuid of the last result, which is not that of any message of ours.
        self._last_result: Any = None
        # Agents and workflows that work in the background, by task id.
        self.background_tasks: Dict[str, str] = {}

    # What we do.

    def may_send(self) -> bool:
        """Whether the next question may go out now."""
        return self.in_flight is None and not self.steered and not self.foreign_turn

    def sent(self, entry: Entry) -> None:
        """*entry* is about to be written; nothing else is until :meth:`finished`."""
        assert self.in_flight is None, "one question at a time"
        # A CLI that reports the life of a message says itself when it starts on it.
        entry.began = not self.tells_uuids
        self.in_flight = entry
        self._untouched = False

    def steer(self, entry: Entry) -> None:
        """*entry* is about to be written into the running turn."""
        self.steered[entry.uuid] = entry

    def finished(self, entry: Entry) -> None:
        """Every handler of *entry*'s turn has run."""
        if self.in_flight is entry:
            self.in_flight = None

    def forget_steered(self) -> None:
        """Give up waiting for steered messages: the CLI consumed them without a word."""
        self.steered.clear()

    def running(self) -> Optional[Entry]:
        """The entry whose turn is going on, or None: nothing sent, or its result is here."""
        entry = self.in_flight
        if entry is None or entry.result is not None or entry.withdrawn:
            return None
        return entry

    def current(self) -> Optional[Entry]:
        """The entry to which a message arriving now belongs."""
        entry = self.running()
        return entry if entry is not None and entry.began else None

    def is_idle(self) -> bool:
        """Whether no turn runs and no background agent is alive, as far as the CLI tells."""
        if self.in_flight is not None or self.steered or self.foreign_turn:
            return False
        # "requires_action" is a question to us in the middle of a turn.
        return self.session_state in (None, "idle") and not self.background_tasks

    # What the CLI says.

    def on_init(self) -> None:
        """A turn begins. With nothing of ours running, it is the CLI's own."""
        if self.running() is not None or not self._begins_turns:
            return
        # Some say it once when they start, before anybody has asked anything.
        if not self._untouched or self.session_state == "running":
            self.foreign_turn = True

    def on_replay(self, uuid: object) -> None:
        """The CLI echoed the user message *uuid*."""
        entry = self.in_flight
        if entry is not None and entry.uuid == uuid:
            entry.replayed = True
        elif isinstance(uuid, str) and uuid in self.steered:
            # Echoed inside our turn it has joined it. Echoed afterwards it runs as a
            # turn of its own, whose result removes it.
            steered = self.steered[uuid]
            steered.replayed = True
            if self.running() is not None and not self.tells_uuids:
                del self.steered[uuid]

    def on_lifecycle(self, uuid: object, state: object) -> Optional[Entry]:
        """
        The CLI tells how far it is with one message.

        Returns the question in flight if the CLI has withdrawn it, so that no
        result will come for it.
        """
        self.tells_uuids = True
        entry = self.in_flight
        if entry is not None and entry.uuid == uuid:
            if state == "queued":
                entry.began = False
            elif state == "started":
                entry.began = True
            elif state == "cancelled" and not entry.began:
                return self._withdraw(entry)
            elif state in ("cancelled", "completed"):
                # Its result came before this; if not, see on_session_state.
                entry.over = True
        elif isinstance(uuid, str) and state in ("completed", "cancelled"):
            self.steered.pop(uuid, None)
        return None

    def on_cancelled(self, uuids: object) -> Optional[Entry]:
        """An interrupt withdrew messages that had not started. As :meth:`on_lifecycle`."""
        if not isinstance(uuids, (list, tuple)):
            return None
        withdrawn = None
        for uuid in uuids:
            withdrawn = self.on_lifecycle(uuid, "cancelled") or withdrawn
        return withdrawn

    def on_result(self, raw: Mapping[str, Any]) -> Optional[Entry]:
        """Bind a result: the entry it completes, or None for a result of nobody."""
        uuid = raw.get("uuid")
        if uuid is not None and uuid == self._last_result:
            return None  # said twice: it must not answer the next question
        self._last_result = uuid
        entry = self._owner_of(raw)
        if entry is not None:
            entry.result = raw
            entry.began = True
        elif self.running() is None:
            # Whatever the CLI was doing by itself is done.
            self.foreign_turn = False
            self._consume_one_steered(raw)
        return entry

    def on_session_state(self, state: object) -> Optional[Entry]:
        """
        The CLI's own word on whether it works.

        Returns the question in flight if the CLI is done with it and idle, and
        never said how it ended: no result will come for it any more.
        """
        if not isinstance(state, str):
            return None
        self.session_state = state
        if state != "idle":
            return None
        self.foreign_turn = False
        self.background_tasks.clear()
        entry = self.running()
        return self._withdraw(entry) if entry is not None and entry.over else None

    def on_task(self, raw: Mapping[str, Any]) -> None:
        """Keep the list of background agents and workflows; shells are not counted."""
        subtype, task = raw.get("subtype"), raw.get("task_id")
        if subtype == "background_tasks_changed":
            tasks = raw.get("tasks")
            self.background_tasks = {
                str(each.get("task_id")): str(each.get("task_type"))
                for each in (tasks if isinstance(tasks, list) else [])
                if isinstance(each, dict) and is_awaited(each.get("task_type"))
            }
        elif not isinstance(task, str):
            return
        elif subtype == "task_started":
            if is_awaited(raw.get("task_type")):
                self.background_tasks[task] = str(raw.get("task_type"))
        elif subtype == "task_notification" or (
            subtype == "task_updated" and is_terminal(raw.get("patch"))
        ):
            self.background_tasks.pop(task, None)

    # How it is decided.

    def _owner_of(self, raw: Mapping[str, Any]) -> Optional[Entry]:
        entry = self.running()
        uuids = uuids_of_result(raw)
        if uuids:
            self.tells_uuids = True
            for uuid in uuids:
                self.steered.pop(uuid, None)
            return entry if entry is not None and entry.uuid in uuids else None
        if entry is None or is_foreign(raw.get("origin")):
            return None
        if entry.replayed:
            return entry
        # Not echoed: either a slash command of ours, or a turn that began before ours
        # was written. The latter is known, because we do not send during one.
        return None if self.tells_uuids and not entry.began else entry

    def _consume_one_steered(self, raw: Mapping[str, Any]) -> None:
        """A result without an owner may be a steered message's own; the echo says whose."""
        if uuids_of_result(raw) or is_foreign(raw.get("origin")):
            return
        for uuid, steered in list(self.steered.items()):
            if steered.replayed:
                del self.steered[uuid]
                return
        if self.steered:
            del self.steered[next(iter(self.steered))]

    def _withdraw(self, entry: Entry) -> Optional[Entry]:
        if entry.result is not None or entry.withdrawn:
            return None
        entry.withdrawn = True
        return entry


def uuids_of_result(raw: Mapping[str, Any]) -> Tuple[str, ...]:
    """The uuids of the user messages that a result answers; empty where the CLI tells none."""
    several = raw.get("user_message_uuids")
    if isinstance(several, list) and several:
        return tuple([uuid for uuid in several if isinstance(uuid, str)])
    one = raw.get("user_message_uuid")
    return (one,) if isinstance(one, str) and one else ()


def is_foreign(origin: object) -> bool:
    """Whether a result's origin says that no message of ours began its turn."""
    return isinstance(origin, dict) and str(origin.get("kind")) not in OWN_ORIGINS


def is_awaited(task_type: object) -> bool:
    """Agents and workflows end by themselves; a background shell may never."""
    return task_type not in ("local_bash", "local_shell", "shell", "monitor")


def is_terminal(patch: object) -> bool:
    """Whether a task update says that the task is over."""
    return isinstance(patch, dict) and patch.get("status") in ("completed", "failed", "killed")
