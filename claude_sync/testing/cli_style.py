"""
What one CLI is like: its age, what it was asked for, and the messages of its turns.

Two styles are known. ``"new"`` CLIs report the life of each user message, list it in
the result of its turn and tell their version at once; ``"old"`` ones only repeat the
message, and that after the first pieces of the answer.

This module imports nothing but the standard library and :mod:`.builders`.
"""

from __future__ import annotations

import json

from . import builders

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

    Wire = Dict[str, Any]

__all__ = ["CliStyle", "text_of", "words_of"]


class CliStyle:
    """
    What one CLI is like: what it was asked for, and how it puts things.

    Attributes:
        argv: The words of the command line, without the command.
        environ: The environment.
        settings: Whatever else the script was given.
        style: ``"new"`` or ``"old"``.
        version: What it calls itself.
        session_id: Its conversation.
        model, mode: What ``set_model`` and ``set_permission_mode`` change.
        partial: Whether it streams pieces of text.
        replays: Whether it repeats user messages.
        session_states: Whether it reports running and idle.
        patience: How many seconds an ``expect`` waits, at most.
        cwd: The folder it says it works in.
        form: The JSON Schema that its answers are to have, or None.

    """

    # On the class, because a transport has a property of this name.
    argv: Sequence[str] = ()

    def __init__(self, settings: Optional[Mapping[str, Any]] = None) -> None:
        self.settings: Wire = dict(settings or {})
        self.style: str = self.settings.get("style", "new")
        if self.style not in builders.VERSIONS:
            raise ValueError(f"style is 'new' or 'old', not {self.style!r}")
        self.version: str = self.settings.get("version", builders.VERSIONS[self.style])
        self.session_id = builders.SESSION_ID
        self.patience: float = self.settings.get("patience", 10.0)
        self.cwd = "/home/user/project"
        self.model = builders.MODEL
        self.mode = "default"
        self.environ: Mapping[str, str] = {}
        self.partial = True
        self.replays = True
        self.form: Optional[Wire] = None
        self.session_states = False
        self.message_id = builders.API_MESSAGE_ID
        self._messages_begun = 0
        self._apply_settings()

    def read_command_line(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        """Take over what the client asked for; explicit settings win."""
        self.argv, self.environ = argv, environ
        self.partial = "--include-partial-messages" in argv
        self.replays = "--replay-user-messages" in argv
        self.session_states = self.style == "new" and bool(
            environ.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS")
            or environ.get("CLAUDE_CODE_SDK_READS_SESSION_STATE")
        )
        self.model = self.option("--model") or self.model
        self.mode = self.option("--permission-mode") or self.mode
        form = self.option("--json-schema")
        if form:
            self.form = json.loads(form)
        if "--fork-session" not in argv:
            self.session_id = self.option("--resume") or self.session_id
        self.session_id = self.option("--session-id") or self.session_id
        self._apply_settings()

    def _apply_settings(self) -> None:
        for name in ("partial", "replays", "session_states", "model", "session_id"):
            if name in self.settings:
                setattr(self, name, self.settings[name])

    def option(self, flag: str) -> Optional[str]:
        """The value of *flag* on the command line, in either form, or None."""
        for place, word in enumerate(self.argv):
            if word.startswith(flag + "="):
                return word[len(flag) + 1 :]
            if word == flag and place + 1 < len(self.argv):
                return self.argv[place + 1]
        return None

    # Messages.

    def initialized(self, request: Mapping[str, Any], **fields: Any) -> Wire:
        """The answer to an ``initialize`` request."""
        if self.style == "new":
            fields = {
                "claude_code_version": self.version,
                "current_permission_mode": self.mode,
                **fields,
            }
        body = builders.initialize_response(self.style, **fields)
        return builders.control_response(request["request_id"], body)

    # The parts of a turn.

    def repetition(self, user: Mapping[str, Any]) -> List[Wire]:
        """The question again, if this CLI repeats it: old ones leave out slash commands."""
        left_out = self.style == "old" and last_text_of(user).startswith("/")
        if left_out or not self.replays:
            return []
        return [builders.replay(user, session_id=self.session_id)]

    def beginning(self, user: Mapping[str, Any], announced: bool = False) -> List[Wire]:
        """What comes before Claude says anything; *announced*: that it is queued was said."""
        messages = []
        if self.session_states:
            messages.append(builders.session_state("running", session_id=self.session_id))
        uuid = user.get("uuid")
        if self.style == "new" and uuid:
            if not announced:
                messages.append(builders.lifecycle(uuid, "queued", session_id=self.session_id))
            messages.append(builders.lifecycle(uuid, "started", session_id=self.session_id))
        messages.append(self.init())
        return messages

    def init(self) -> Wire:
        """The message that begins a turn."""
        more: Wire = {}
        if self.form is not None:
            more["tools"] = [*builders.TOOLS, "StructuredOutput"]
        return builders.init(
            self.session_id,
            self.version,
            **more,
            model=self.model,
            permissionMode=self.mode,
            cwd=self.cwd,
            capabilities=list(builders.CAPABILITIES) if self.style == "new" else builders.ABSENT,
        )

    def next_message_id(self) -> str:
        """The id of a new message of Claude."""
        self._messages_begun += 1
        self.message_id = f"msg_{self._messages_begun:020d}"
        return self.message_id

    def spoken(self, text: str, pieces: Optional[Sequence[str]] = None) -> List[Wire]:
        """A message of Claude, with a message id of its own."""
        identity = self.next_message_id()
        common: Wire = {"session_id": self.session_id, "model": self.model}
        if not self.partial:
            return [builders.assistant(text, identity, **common)]
        cut = words_of(text) if pieces is None else pieces
        messages = builders.stream_of(cut, identity, complete=True, session_id=self.session_id)
        for message in messages:
            if "message" in message:
                message["message"]["model"] = self.model
        return messages

    def ending(self, users: Iterable[Mapping[str, Any]], text: str, **fields: Any) -> List[Wire]:
        """The result and what follows it."""
        uuids = [user.get("uuid") for user in users] if self.style == "new" else []
        result = builders.result(text, uuids, **{"session_id": self.session_id, **fields})
        return [result, *self.after_result(uuids, "completed")]

    def interruption(
        self, users: Iterable[Mapping[str, Any]], text: str, **fields: Any
    ) -> List[Wire]:
        """What comes after the answer to an interrupt."""
        uuids = [user.get("uuid") for user in users] if self.style == "new" else []
        common: Wire = {"session_id": self.session_id}
        messages = []
        if text and self.style == "new":
            messages.append(builders.assistant(text, self.message_id, aborted=True, **common))
        note = fields.pop("note", "[Request interrupted by user]")
        messages.append(builders.user([builders.text(note)], **common))
        if text and self.style == "new" and self.partial:
            rest: Wire = {"message_id": self.message_id, **common}
            messages += [builders.block_stop(**rest), builders.message_delta(None, **rest)]
            messages.append(builders.message_stop(**rest))
        messages.append(builders.interrupted_result(uuids, self.style, **common, **fields))
        return [*messages, *self.after_result(uuids, "cancelled")]

    def after_result(self, uuids: Iterable[Optional[str]], state: str) -> List[Wire]:
        """What a new CLI tells when a turn is over."""
        messages = [
            builders.lifecycle(uuid, state, session_id=self.session_id) for uuid in uuids if uuid
        ]
        if self.session_states:
            messages.append(builders.session_state("idle", session_id=self.session_id))
        return messages


def text_of(user: Mapping[str, Any]) -> str:
    """The text of a user message: its blocks of text, one per line."""
    body = user.get("message")
    content: Union[str, List[Any], None] = body.get("content") if isinstance(body, dict) else ""
    if isinstance(content, str):
        return content
    texts = [block.get("text") for block in content or () if isinstance(block, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def last_text_of(user: Mapping[str, Any]) -> str:
    """The text in which a CLI looks for a command: its last block, if that is one."""
    content = (user.get("message") or {}).get("content")
    last = content[-1] if isinstance(content, list) and content else {"text": content}
    text = last.get("text") if isinstance(last, dict) else None
    return text if isinstance(text, str) else ""


def words_of(text: str) -> List[str]:
    """*text* cut after each space."""
    words = text.split(" ")
    return [word + " " for word in words[:-1]] + words[-1:] if text else []
