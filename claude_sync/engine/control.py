"""
The control requests that have a method: a row each, sent to a CLI that answers, and repeated.

::

    client.set_model(...) -> [a row; controls] -> connection -> CLI
                                      ^ what the CLI accepted, for the next process

Decisions taken here and nowhere else:

* A request that the CLI does not know fails at once, not after a timeout: by its version where
  the CLI would not answer (before 2.1.40), by the code of its refusal otherwise.
* What the program changed stays changed after a restart. Model and mode go back as flags, the
  rest is requested again before the first question. What counts is what the CLI accepted, in
  the order of its replies.
"""

from __future__ import annotations

import copy
import os
import subprocess
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..errors import ControlError, ControlTimeout, UnsupportedByCli
from ..log import logger
from ..messages import replies
from ..options.fields import EFFORTS, PERMISSION_MODES, choice, count, flag, mapping, word
from ..options.fields import mcp_servers as servers_option
from ..support.checks import check_name, check_path, refuse
from ..support.waiting import Deadline
from .connection import reply_of, version_of
from .launch.command import creation_flags
from .launch.process import ProcessTransport

if TYPE_CHECKING:
    from ..protocol.control import Reply
    from .connection import Connection
    from .session import Session

__all__ = ["ROWS", "Controls", "Row", "Rows", "ask_version", "controls_of"]

Version = tuple[int, ...]
R = TypeVar("R")

# CLIs before this one never answer a request that they do not know; later ones refuse it.
FIRST_THAT_REFUSES: Version = (2, 1, 40)
# How a CLI refuses a request that it does not know. The code came later than the text.
UNKNOWN_CODE = "unsupported_request"
UNKNOWN_TEXT = "Unsupported control request subtype"

# How long a CLI may take to print its version: Node starts slowly on a busy machine.
VERSION_PATIENCE = 30.0
# How long a CLI that was started again may take to accept what was changed before.
REPEATING_PATIENCE = 10.0

# What --model takes for "no model in particular", which null means in a request.
DEFAULT_MODEL = "default"

# Times of files are below this: the year 9999.
LATEST = 253_402_300_800

# A value that does not go into the request.
LEFT_OUT: Any = object()


# Checks of values: each returns the value to send.


def optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """A check for a field that is left out where the value is None or False."""
    return lambda name, value: LEFT_OUT if value is None or value is False else check(name, value)


def mode(name: str, value: Any) -> Any:
    """A permission mode. Of the two names of one mode every CLI knows "default"."""
    checked = choice(*PERMISSION_MODES, optional=False)(name, value)
    return "default" if checked == "manual" else checked


def settings(name: str, value: Any) -> Any:
    """Settings by name. The CLI accepts any word as an effort, and ignores a wrong one."""
    checked = mapping(name, value)
    choice(*EFFORTS)("effort", checked.get("effortLevel"))
    return checked


def path(name: str, value: Any) -> Any:
    """A path, as a text."""
    return os.fspath(check_path(name, value))


def milliseconds(name: str, value: Any) -> int:
    """A time of a file: seconds, as ``os.stat()`` has them. The wire has milliseconds."""
    if not isinstance(value, (int, float)) or not 0 <= value < LATEST:
        raise refuse(name, value, "a time in seconds, such as os.stat(path).st_mtime")
    # Rounded first: seconds as a float are not exact.
    return round(value * 1e6) // 1000


def servers(name: str, value: Any) -> Any:
    """MCP servers by name, as the option takes them."""
    if not isinstance(value, Mapping):
        raise refuse(name, value, 'a dict: {"name": {"command": ...}}')
    # A program without a list of arguments is not started by 2.1.327.
    return {
        server: {**config, "args": config.get("args") or []} if "command" in config else config
        for server, config in servers_option(name, value).items()
    }


def plain(reply: dict[str, Any]) -> dict[str, Any]:
    """A rare reply stays as it came."""
    return reply


# The requests.

# The argument that names an MCP server.
SERVER = ("serverName", check_name)


class Row(Generic[R]):
    """
    A control request that has a method.

    Attributes:
        name: The client's method.
        subtype: The wire's name of the request.
        make: Makes what the method returns of the CLI's JSON object.
        fields: For each argument of the method the wire's name of the field, and the check of
            the value.
        since: The first version that is known to answer.
        later: Values that only later versions know, with the first of them.
        repeated: Whether a new process gets the request again.
        trusted: Whether a bridge lets only trusted front ends send it.
        documented: The method's name for bridges that know the documented methods only.

    """

    def __init__(
        self,
        make: Callable[[dict[str, Any]], R],
        subtype: str,
        /,
        *,
        since: Version = (2, 1),
        later: Mapping[str, Version] | None = None,
        repeated: bool = False,
        trusted: bool = False,
        documented: str = "",
        **fields: Any,
    ) -> None:
        self.make = make
        self.subtype = subtype
        self.since = since
        self.later = later or {}
        self.repeated = repeated
        self.trusted = trusted
        self.documented = documented
        self.fields: dict[str, tuple[str, Callable[[str, Any], Any]]] = {
            argument: field if isinstance(field, tuple) else (argument, field)
            for argument, field in fields.items()
        }

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def request(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of the request for *arguments* of the method, checked."""
        request = {}
        for argument, value in arguments.items():
            field, check = self.fields[argument]
            checked = check(argument, value)
            if checked is not LEFT_OUT:
                request[field] = checked
        return request


class Rows:
    """All rows, by the name of the method."""

    set_model = Row(replies.ModelChange, "set_model", model=word, documented="setModel")
    set_permission_mode = Row(
        replies.PermissionModeChange,
        "set_permission_mode",
        mode=mode,
        later={"auto": (2, 1, 71)},
        documented="setPermissionMode",
    )
    set_max_thinking_tokens = Row(
        replies.Acknowledgement,
        "set_max_thinking_tokens",
        tokens=("max_thinking_tokens", count(0)),
        repeated=True,
        documented="setMaxThinkingTokens",
    )
    get_settings = Row(replies.SettingsReport, "get_settings", since=(2, 1, 69))
    apply_settings = Row(
        replies.Acknowledgement,
        "apply_flag_settings",
        settings=settings,
        since=(2, 1, 50),
        repeated=True,
        trusted=True,
    )
    mcp_status = Row(replies.McpStatus, "mcp_status", documented="mcpServerStatus")
    mcp_reconnect = Row(
        replies.Acknowledgement,
        "mcp_reconnect",
        name=SERVER,
        since=(2, 1, 15),
    )
    mcp_toggle = Row(
        replies.Acknowledgement,
        "mcp_toggle",
        name=SERVER,
        enabled=flag,
        since=(2, 1, 15),
    )
    set_mcp_servers = Row(
        replies.McpServersChange, "mcp_set_servers", servers=servers, repeated=True
    )
    context_usage = Row(replies.ContextUsage, "get_context_usage", since=(2, 1, 86))
    # Seen in 2.1.200, maybe known before; likewise background_tasks and rename.
    usage_report = Row(replies.UsageReport, "get_usage", since=(2, 1, 200))
    rewind_files = Row(
        replies.RewindReport,
        "rewind_files",
        user_message_id=check_name,
        dry_run=optional(flag),
        documented="rewindFiles",
    )
    stop_task = Row(replies.Acknowledgement, "stop_task", task_id=check_name, since=(2, 1, 41))
    background_tasks = Row(
        replies.TasksMoved,
        "background_tasks",
        tool_use_id=optional(check_name),
        since=(2, 1, 200),
    )
    side_question = Row(replies.SideAnswer, "side_question", question=check_name, since=(2, 1, 79))
    rename = Row(replies.Acknowledgement, "rename_session", title=check_name, since=(2, 1, 200))

    # Seen in 2.1.326, maybe known before; likewise what follows.
    reload_skills = Row(plain, "reload_skills", since=(2, 1, 326))
    reload_plugins = Row(plain, "reload_plugins", since=(2, 1, 326))
    reload_output_styles = Row(plain, "reload_output_styles", since=(2, 1, 326))
    read_file = Row(
        plain,
        "read_file",
        path=path,
        max_bytes=optional(count(1)),
        encoding=optional(choice("utf-8", "base64")),
        since=(2, 1, 326),
        trusted=True,
    )
    seed_read_state = Row(
        plain,
        "seed_read_state",
        path=path,
        mtime=milliseconds,
        since=(2, 1, 326),
        trusted=True,
    )
    mcp_read_resource = Row(
        plain,
        "mcp_read_resource",
        name=SERVER,
        uri=check_name,
        since=(2, 1, 326),
        trusted=True,
    )
    # It can only be made stricter: the CLI refuses other modes.
    set_mcp_permission_mode = Row(
        plain,
        "set_mcp_permission_mode_override",
        name=SERVER,
        mode=choice("default", "auto"),
        since=(2, 1, 326),
        repeated=True,
    )
    update_settings = Row(
        plain,
        "update_settings",
        source=choice("localSettings", "userSettings", optional=False),
        settings=settings,
        since=(2, 1, 326),
        trusted=True,
    )


ROWS: dict[str, Row[Any]] = {
    row.subtype: row for row in vars(Rows).values() if isinstance(row, Row)
}


# Sending and repeating.


class Controls:
    """
    The control methods of one client at work.

    ``session.lock`` guards what was accepted; ``_asking`` is held by the thread that asks for
    the version.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        # By the subtype, and the server that a request is about.
        self._accepted: dict[tuple[str, Any], dict[str, Any]] = {}
        self._settings: dict[str, Any] = {}
        self._asking = threading.Lock()
        self._asked: Connection | None = None

    def send(self, row: Row[R], fields: Mapping[str, Any], timeout: float | None) -> R:
        """
        Send a request, wait for the reply and return it.

        Raises:
            UnsupportedByCli: The CLI that runs does not know it.
            ControlError: The CLI refuses.
            ControlTimeout: No reply came within *timeout* seconds (``control_timeout``).
            CliFailed: The CLI does not start, or ended.

        """
        session = self._session
        session.check()
        patience = session.options.control_timeout if timeout is None else timeout
        deadline = Deadline(patience)
        connection = session.starter.ensure_ready(row.name, patience)
        self._check_version(connection, row, fields, deadline)
        replied = partial(self._replied, row, fields)
        try:
            body = session.request(row.name, row.subtype, fields, deadline.left(), replied)
        except ControlTimeout as error:
            raise ControlTimeout(row.subtype, patience or error.timeout) from None
        except ControlError as error:
            if error.code == UNKNOWN_CODE or error.text.startswith(UNKNOWN_TEXT):
                version = self._version_of(connection, deadline)
                raise UnsupportedByCli(f"{row.name}()", version) from error
            raise
        return row.make(body)

    def _check_version(
        self, connection: Connection, row: Row[R], fields: Mapping[str, Any], deadline: Deadline
    ) -> None:
        """Refuse what the CLI that runs would leave unanswered, or misunderstand."""
        late = [value for value in fields.values() if isinstance(value, str) and value in row.later]
        needed = max([min(row.since, FIRST_THAT_REFUSES), *(row.later[value] for value in late)])
        if needed <= (2, 1):
            return
        version = self._version_of(connection, deadline)
        # A CLI of an unknown version is tried.
        if () < version_of(version) < needed:
            feature = f"{row.name}({late[0]!r})" if late else f"{row.name}()"
            raise UnsupportedByCli(feature, version)

    def _version_of(self, connection: Connection, deadline: Deadline) -> str | None:
        """The version of the CLI; one that has not named it yet is asked, once. None: unknown."""
        left = deadline.left()
        known = connection.cli_version is not None
        if known or not self._asking.acquire(timeout=-1 if left is None else left):
            return connection.cli_version

        def is_pointless() -> bool:
            return self._session.closing or connection.has_ended or deadline.is_over()

        try:
            if self._asked is not connection and not is_pointless():
                version = ask_version(connection, is_pointless)
                if version is not None:
                    connection.cli_version = version
                if not is_pointless():
                    self._asked = connection
            return connection.cli_version
        finally:
            self._asking.release()

    def _replied(self, row: Row[Any], fields: Mapping[str, Any], reply: Reply) -> None:
        """Note what was changed. On the reader thread, in the order of the replies."""
        if reply.error is not None:
            return
        starter = self._session.starter
        with self._session.lock:
            if row is Rows.set_model:
                starter.model = fields["model"] or DEFAULT_MODEL
                # Repeated, it would come after the flag; but it came before.
                self._settings.pop("model", None)
            elif row is Rows.set_permission_mode:
                # New CLIs call a mode by its first name; 2.1.29 repeats what was requested.
                named = reply.body.get("mode")
                starter.permission_mode = named if isinstance(named, str) else fields["mode"]
            elif row is Rows.apply_settings:
                self._settings.update(fields["settings"])
                fields = {"settings": self._settings}
            if row.repeated:
                self._accepted[row.subtype, fields.get("serverName")] = dict(fields)

    def repeat(self, connection: Connection) -> None:
        """
        Request of a new process what was changed before.

        This waits for the replies: a backend of a bridge serves several requests in any order.
        """
        with self._session.lock:
            requests = copy.deepcopy(self._accepted)
        # Not so long that the start would count as failed.
        start_timeout = self._session.options.start_timeout
        deadline = Deadline(min(REPEATING_PATIENCE, (start_timeout or 60.0) / 2))
        for (subtype, _), fields in requests.items():
            reply = connection.request(subtype, fields)
            try:
                reply_of(connection, reply, subtype, deadline.left()).check(subtype)
            except ControlTimeout:
                logger.warning("the new CLI process did not answer %s in time", subtype)
            except ControlError as error:
                logger.warning("the new CLI process refused %s: %s", subtype, error.text)


def controls_of(session: Session) -> Controls:
    """The controls of *session*, made when they are used for the first time."""
    with session.lock:
        if session.controls is None:
            session.controls = Controls(session)
        return session.controls


def ask_version(connection: Connection, stop: Callable[[], bool]) -> str | None:
    """
    What the CLI of *connection* prints for ``--version``; None without a process, or a version.

    CLIs before 2.1.40 name their version with the first question only. *stop* ends the wait.
    """
    launch = connection.launch
    if not isinstance(connection.transport, ProcessTransport):
        return None
    program = launch.argv[: list(launch.argv).index(connection.dialect.flags[0])]
    try:
        process = subprocess.Popen(
            [*program, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=launch.cwd,
            env=launch.environment,
            creationflags=creation_flags(os.name == "nt"),
        )
    except OSError:
        return None
    printed = b""
    deadline = Deadline(VERSION_PATIENCE)
    with process:
        try:
            while not (printed or stop() or deadline.is_over()):
                with suppress(subprocess.TimeoutExpired):
                    printed = process.communicate(timeout=deadline.slice())[0] or b"-"
        finally:
            process.kill()
    word = printed.decode("utf-8", "replace").split()[:1]
    return word[0] if word and version_of(word[0]) else None
