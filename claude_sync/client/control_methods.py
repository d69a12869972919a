"""
The methods of a client that talk to the CLI about the session, beside the questions.

Each sends one request, waits for the reply, and returns it with the CLI's own object in
``raw``; ``engine/control.py`` has a row for each request. What is the same for all:

* The CLI is started if it does not run, as a question would.
* They work in handlers, from any number of threads, and while a turn runs.
* ``timeout`` is how long to wait for the reply; by default ``control_timeout``.
* ControlError: the CLI refused. ControlTimeout: it did not reply. UnsupportedByCli: it is
  too old for this. CliExited: it ended. UsageError: the value is wrong; nothing is sent.
* What they changed is changed again after a restart of the CLI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ..errors import UsageError
from ..support.checks import check_name, check_seconds

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ..engine.control import Row, Rows
    from ..engine.session import Session
    from ..messages import replies
    from ..messages.answer import Answer
    from ..options.fields import Effort, PermissionMode

__all__ = ["ControlMethods"]

R = TypeVar("R")

# Tells "not given" from None, which takes a setting back.
UNSET: Any = object()


def rows() -> type[Rows]:
    """The rows of the requests; loaded when the first request is made."""
    from ..engine.control import Rows

    return Rows


class ControlMethods:
    """What a client can request of the CLI beside questions to Claude."""

    _session: Session

    # Model and mode.

    def set_model(self, model: str | None, *, timeout: float | None = None) -> replies.ModelChange:
        """
        Answer with another model from the next request on; None: the CLI's default.

        The name is not checked by the CLI: a wrong one fails the next question.
        """
        return self._send(rows().set_model, timeout, model=model)

    def set_permission_mode(
        self, mode: PermissionMode, *, timeout: float | None = None
    ) -> replies.PermissionModeChange:
        """
        Change the permission mode.

        The CLI refuses ``bypassPermissions`` unless it was started for it, with
        ``permission_mode="bypassPermissions"`` or the flag that allows it.
        """
        return self._send(rows().set_permission_mode, timeout, mode=mode)

    def set_max_thinking_tokens(
        self, tokens: int | None, *, timeout: float | None = None
    ) -> replies.Acknowledgement:
        """
        Limit how much Claude thinks; 0: not at all; None: as when the CLI was started.

        New models decide that by themselves and ignore the limit; see ``effort`` in
        :meth:`apply_settings`.
        """
        return self._send(rows().set_max_thinking_tokens, timeout, tokens=tokens)

    # Settings.

    def get_settings(self, *, timeout: float | None = None) -> replies.SettingsReport:
        """The settings in force, and where each comes from."""
        return self._send(rows().get_settings, timeout)

    def apply_settings(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        effort: Effort | None = UNSET,
        timeout: float | None = None,
    ) -> replies.Acknowledgement:
        """
        Change settings of this session, with the names they have in a settings file::

            client.apply_settings({"permissions": {"deny": ["WebFetch"]}})
            client.apply_settings(effort="high")

        They are added to those applied before; None takes one back. ``effort`` is short for
        the setting ``effortLevel``.
        """
        changes: Any = {} if settings is None else settings
        if effort is not UNSET and hasattr(changes, "keys"):
            changes = {**changes, "effortLevel": effort}
        if not changes:
            raise UsageError("there is no setting to apply: pass a dict, or effort=...")
        return self._send(rows().apply_settings, timeout, settings=changes)

    def update_settings(
        self,
        source: Literal["localSettings", "userSettings"],
        settings: Mapping[str, Any],
        *,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """
        Write settings into a settings file, also for later sessions.

        The CLI accepts ``outputStyle`` for ``localSettings`` and ``effortLevel`` for
        ``userSettings``.
        """
        return self._send(rows().update_settings, timeout, source=source, settings=settings)

    # MCP servers.

    def mcp_status(self, *, timeout: float | None = None) -> replies.McpStatus:
        """The MCP servers, and how they are."""
        return self._send(rows().mcp_status, timeout)

    def mcp_reconnect(self, name: str, *, timeout: float | None = None) -> replies.Acknowledgement:
        """Connect to an MCP server once more."""
        return self._send(rows().mcp_reconnect, timeout, name=name)

    def mcp_toggle(
        self, name: str, enabled: bool, *, timeout: float | None = None
    ) -> replies.Acknowledgement:
        """Switch an MCP server on or off."""
        return self._send(rows().mcp_toggle, timeout, name=name, enabled=enabled)

    def set_mcp_servers(
        self, servers: Mapping[str, Mapping[str, Any]], *, timeout: float | None = None
    ) -> replies.McpServersChange:
        """
        Have these MCP servers beside those the CLI was started with.

        They replace the ones of an earlier call; an empty dict removes them. A server that
        cannot be started is in ``errors`` of the reply.
        """
        return self._send(rows().set_mcp_servers, timeout, servers=servers)

    def set_mcp_permission_mode(
        self, name: str, mode: Literal["default", "auto"] | None, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """
        Have another permission mode for the tools of an MCP server; None: that of the session.

        Modes that ask less than the session's are refused by the CLI.
        """
        return self._send(rows().set_mcp_permission_mode, timeout, name=name, mode=mode)

    def mcp_read_resource(
        self, name: str, uri: str, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Read a ``ui://`` resource of an MCP server; it is in ``contents`` of the reply."""
        return self._send(rows().mcp_read_resource, timeout, name=name, uri=uri)

    # Tokens and money.

    def context_usage(self, *, timeout: float | None = None) -> replies.ContextUsage:
        """How full the context window is, and with what."""
        return self._send(rows().context_usage, timeout)

    def usage_report(self, *, timeout: float | None = None) -> replies.UsageReport:
        """What the session has used so far, as the CLI counts it."""
        return self._send(rows().usage_report, timeout)

    # What is on disk.

    def reload_skills(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Read the skills again from their folders; ``skills`` of the reply lists them."""
        return self._send(rows().reload_skills, timeout)

    def reload_plugins(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Load the plugins again; the reply lists ``commands``, ``agents``, ``plugins``, ..."""
        return self._send(rows().reload_plugins, timeout)

    def reload_output_styles(self, *, timeout: float | None = None) -> dict[str, Any]:
        """Read the output styles again; they are in ``available_output_styles`` of the reply."""
        return self._send(rows().reload_output_styles, timeout)

    def read_file(
        self,
        path: str | os.PathLike[str],
        max_bytes: int | None = None,
        encoding: Literal["utf-8", "base64"] | None = None,
        *,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """
        Read a file where the CLI runs; the reply has ``contents``, ``absPath``, ``truncated``.

        What Claude may not read without a question is refused.
        """
        arguments = {"path": path, "max_bytes": max_bytes, "encoding": encoding}
        return self._send(rows().read_file, timeout, **arguments)

    def seed_read_state(
        self, path: str | os.PathLike[str], mtime: float, *, timeout: float | None = None
    ) -> dict[str, Any]:
        """
        Let Claude take a file as read that the program has shown it, so that it can be edited.

        *mtime* is the file's ``os.stat(path).st_mtime`` of that moment.
        """
        return self._send(rows().seed_read_state, timeout, path=path, mtime=mtime)

    # Files, tasks, the conversation.

    def rewind_files(
        self, user_message_id: str, dry_run: bool = False, *, timeout: float | None = None
    ) -> replies.RewindReport:
        """
        Put the files back as they were before a question::

            with Client(enable_file_checkpointing=True) as client:
                answer = client.ask("Rename the function.")
                client.rewind_files(answer.user_message_id)

        Only files that Claude changed with its tools for files, and only in a client with
        ``enable_file_checkpointing``. The conversation stays as it is. With *dry_run*
        nothing is changed, and the reply says what would be.
        """
        arguments = {"user_message_id": user_message_id, "dry_run": dry_run}
        return self._send(rows().rewind_files, timeout, **arguments)

    def stop_task(self, task_id: str, *, timeout: float | None = None) -> replies.Acknowledgement:
        """
        End a background task; ``on_task`` gets its id, and hears of its end.

        If it has ended already, some CLIs say yes and some refuse.
        """
        return self._send(rows().stop_task, timeout, task_id=task_id)

    def background_tasks(
        self, tool_use_id: str | None = None, *, timeout: float | None = None
    ) -> replies.TasksMoved:
        """
        Move what runs in the foreground to the background, so that the turn goes on.

        That is, commands and agents that Claude waits for now: the one of *tool_use_id*, or
        all. ``on_task`` hears of what runs in the background.
        """
        return self._send(rows().background_tasks, timeout, tool_use_id=tool_use_id)

    def side_question(self, question: str, *, timeout: float | None = None) -> replies.SideAnswer:
        """
        Ask something beside the conversation, also while a turn runs.

        The answer knows the conversation and uses no tools; the conversation does not know of
        it.
        """
        return self._send(rows().side_question, timeout, question=question)

    def rename(self, title: str, *, timeout: float | None = None) -> replies.Acknowledgement:
        """Give the conversation a title, for lists of conversations."""
        return self._send(rows().rename, timeout, title=title)

    def compact(
        self,
        instructions: str | None = None,
        *,
        timeout: float | None = None,
        idle_timeout: float | None = None,
    ) -> Answer:
        """
        Replace the conversation so far by a summary of it; *instructions* say what matters.

        This is a turn and waits for its end, as ``ask()`` does, with the same timeouts. The
        answer is what the CLI says about it.
        """
        self._session.delivery.refuse_in_handler("compact")
        words = "" if instructions is None else check_name("instructions", instructions)
        ask: Any = self.ask  # type: ignore[attr-defined]
        prompt = f"/compact {words.strip()}".strip()
        answer: Answer = ask(prompt, timeout=timeout, idle_timeout=idle_timeout, verbatim=False)
        return answer

    # What the CLI answered to the greeting.

    def supported_models(self, *, timeout: float | None = None) -> tuple[replies.ModelInfo, ...]:
        """The models that the CLI offers; others may work, too."""
        from ..messages.replies import ModelInfo

        return tuple(map(ModelInfo, self._listed("supported_models", "models", timeout)))

    def supported_commands(
        self, *, timeout: float | None = None
    ) -> tuple[replies.CommandInfo, ...]:
        """The slash commands, skills among them."""
        from ..messages.replies import CommandInfo

        return tuple(map(CommandInfo, self._listed("supported_commands", "commands", timeout)))

    def supported_agents(self, *, timeout: float | None = None) -> tuple[Mapping[str, Any], ...]:
        """The subagents that Claude can start: ``name``, ``description``, maybe ``model``."""
        return self._listed("supported_agents", "agents", timeout)

    def account_info(self, *, timeout: float | None = None) -> replies.AccountInfo:
        """The account that is logged in, as far as the CLI says."""
        from ..messages.replies import AccountInfo

        return AccountInfo(self._greeting("account_info", timeout).get("account"))

    # How all of them do it.

    def _send(self, row: Row[R], timeout: float | None, **arguments: Any) -> R:
        """Send the request of *row* and return the reply."""
        from ..engine.control import controls_of

        if timeout is not None:
            timeout = check_seconds("timeout", timeout)
        with self._session.naming:
            return controls_of(self._session).send(row, row.request(arguments), timeout)

    def _greeting(self, method: str, timeout: float | None) -> Mapping[str, Any]:
        """What the CLI answered to the greeting; it is started for that."""
        if timeout is not None:
            timeout = check_seconds("timeout", timeout)
        with self._session.naming:
            self._session.check()
            return self._session.starter.ensure_ready(method, timeout).greeting

    def _listed(
        self, method: str, key: str, timeout: float | None
    ) -> tuple[Mapping[str, Any], ...]:
        """The JSON objects of a list in that answer."""
        from ..messages.fields import mappings_of

        return mappings_of(self._greeting(method, timeout).get(key))
