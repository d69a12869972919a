"""
The methods of a client that talk to the CLI about the session, beside the questions.

Each sends one request, waits for the CLI's word, and returns it as a small frozen
dataclass of ``replies`` with the CLI's own object in ``raw``. What is the same for all:

* The CLI is started if it does not run, as a question would.
* They work in handlers, from any number of threads, and while a turn runs.
* ``timeout`` is how long to wait for the reply; by default ``control_timeout``.
* ControlError: the CLI refused. ControlTimeout: it said nothing. UnsupportedByCli: it is
  too old for this. CliExited: it is gone. UsageError: the value cannot be; nothing is sent.
* What they changed is changed again after a restart of the CLI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Tuple, Type, TypeVar

from .errors import UsageError
from .option_kinds import choice, count, flag, mapping, refuse, word
from .option_values import EFFORTS, PERMISSION_MODES

if TYPE_CHECKING:
    from .answers import Answer
    from .replies import (
        AccountInfo,
        Acknowledgement,
        CommandInfo,
        ContextUsage,
        McpServersChange,
        McpStatus,
        ModelChange,
        ModelInfo,
        PermissionModeChange,
        RewindReport,
        SettingsReport,
        SideAnswer,
        TasksMoved,
        UsageReport,
    )
    from .runtime.engine import Engine

__all__ = ["ControlMethods"]

R = TypeVar("R")

# The requests that have another name than the method.
SUBTYPES = {
    "apply_settings": "apply_flag_settings",
    "set_mcp_servers": "mcp_set_servers",
    "context_usage": "get_context_usage",
    "usage_report": "get_usage",
    "rename": "rename_session",
}

# Tells "not given" from None, which takes a setting back.
UNSET: Any = object()


class ControlMethods:
    """What a client can ask of the CLI that is no question to Claude."""

    _engine: Engine

    # Model and mode.

    def set_model(self, model: Optional[str], *, timeout: Optional[float] = None) -> ModelChange:
        """
        Answer with another model from the next request on; None: the CLI's default.

        The name is not checked by the CLI: a wrong one fails the next question.
        """
        from .replies import ModelChange

        return self._control(ModelChange, "set_model", {"model": word("model", model)}, timeout)

    def set_permission_mode(
        self, mode: str, *, timeout: Optional[float] = None
    ) -> PermissionModeChange:
        """
        Change the mode: ``default``, ``acceptEdits``, ``plan``, ``dontAsk``, ``auto``, ...

        ``bypassPermissions`` is refused unless the CLI was started for it, with
        ``permission_mode="bypassPermissions"`` or the flag that allows it.
        """
        from .replies import PermissionModeChange

        choice(*PERMISSION_MODES, optional=False)("mode", mode)
        # Two names of one mode, of which every CLI knows the first.
        fields = {"mode": "default" if mode == "manual" else mode}
        return self._control(PermissionModeChange, "set_permission_mode", fields, timeout)

    def set_max_thinking_tokens(
        self, tokens: Optional[int], *, timeout: Optional[float] = None
    ) -> Acknowledgement:
        """
        Limit how much Claude thinks; 0: not at all; None: as when the CLI was started.

        New models decide that by themselves and take no notice; see ``effort`` in
        :meth:`apply_settings`.
        """
        from .replies import Acknowledgement

        fields = {"max_thinking_tokens": count(0)("tokens", tokens)}
        return self._control(Acknowledgement, "set_max_thinking_tokens", fields, timeout)

    # Settings.

    def get_settings(self, *, timeout: Optional[float] = None) -> SettingsReport:
        """The settings in force, and where each comes from."""
        from .replies import SettingsReport

        return self._control(SettingsReport, "get_settings", {}, timeout)

    def apply_settings(
        self,
        settings: Optional[Mapping[str, Any]] = None,
        *,
        effort: Optional[str] = UNSET,
        timeout: Optional[float] = None,
    ) -> Acknowledgement:
        """
        Change settings of this session, with the names they have in a settings file::

            client.apply_settings({"permissions": {"deny": ["WebFetch"]}})
            client.apply_settings(effort="high")

        They are added to those applied before; None takes one back. ``effort`` is short for
        the setting ``effortLevel``: ``low``, ``medium``, ``high``, ``xhigh`` or ``max``.
        """
        from .replies import Acknowledgement

        fields: Dict[str, Any] = mapping("settings", settings) or {}
        if effort is not UNSET:
            fields = {**fields, "effortLevel": effort}
        if not fields:
            raise UsageError("there is no setting to apply: pass a dict, or effort=...")
        # The CLI accepts any word here, and takes no notice of what it does not know.
        choice(*EFFORTS)("effort", fields.get("effortLevel"))
        request = {"settings": fields}
        return self._control(Acknowledgement, "apply_settings", request, timeout)

    # MCP servers.

    def mcp_status(self, *, timeout: Optional[float] = None) -> McpStatus:
        """The MCP servers, and how they are."""
        from .replies import McpStatus

        return self._control(McpStatus, "mcp_status", {}, timeout)

    def mcp_reconnect(self, name: str, *, timeout: Optional[float] = None) -> Acknowledgement:
        """Connect to an MCP server once more."""
        from .replies import Acknowledgement

        fields = {"serverName": given("name", name)}
        return self._control(Acknowledgement, "mcp_reconnect", fields, timeout)

    def mcp_toggle(
        self, name: str, enabled: bool, *, timeout: Optional[float] = None
    ) -> Acknowledgement:
        """Switch an MCP server on or off."""
        from .replies import Acknowledgement

        fields = {"serverName": given("name", name), "enabled": flag("enabled", enabled)}
        return self._control(Acknowledgement, "mcp_toggle", fields, timeout)

    def set_mcp_servers(
        self, servers: Mapping[str, Mapping[str, Any]], *, timeout: Optional[float] = None
    ) -> McpServersChange:
        """
        Have these MCP servers beside those the CLI was started with.

        They replace the ones of an earlier call; an empty dict removes them. A server that
        cannot be started is in ``errors`` of what is returned.
        """
        from .replies import McpServersChange

        wanted = mapping("servers", servers)
        if wanted is None:
            raise refuse("servers", servers, 'a dict: {"name": {"command": ...}}')
        for server, settings in wanted.items():
            if not isinstance(settings, Mapping):
                # Not repeated in the text: such values have keys in them.
                raise UsageError(f"servers[{server!r}] must be a dict of its settings")
        return self._control(McpServersChange, "set_mcp_servers", {"servers": wanted}, timeout)

    # Tokens and money.

    def context_usage(self, *, timeout: Optional[float] = None) -> ContextUsage:
        """How full the context window is, and with what."""
        from .replies import ContextUsage

        return self._control(ContextUsage, "context_usage", {}, timeout)

    def usage_report(self, *, timeout: Optional[float] = None) -> UsageReport:
        """What the session has used so far, as the CLI counts it."""
        from .replies import UsageReport

        return self._control(UsageReport, "usage_report", {}, timeout)

    # Files, tasks, the conversation.

    def rewind_files(
        self, user_message_id: str, dry_run: bool = False, *, timeout: Optional[float] = None
    ) -> RewindReport:
        """
        Put the files back as they were before a question::

            with Client(enable_file_checkpointing=True) as client:
                answer = client.ask("Rename the function.")
                client.rewind_files(answer.user_message_id)

        Only files that Claude changed with its tools for files, and only in a client with
        ``enable_file_checkpointing``. The conversation stays as it is. With *dry_run*
        nothing is changed, and the reply tells what would be.
        """
        from .replies import RewindReport

        fields: Dict[str, Any] = {"user_message_id": given("user_message_id", user_message_id)}
        if flag("dry_run", dry_run):
            fields["dry_run"] = True
        return self._control(RewindReport, "rewind_files", fields, timeout)

    def stop_task(self, task_id: str, *, timeout: Optional[float] = None) -> Acknowledgement:
        """
        End a background task; ``on_task`` tells the ids, and that it has ended.

        For one that does not run any more, some CLIs say yes and some refuse.
        """
        from .replies import Acknowledgement

        fields = {"task_id": given("task_id", task_id)}
        return self._control(Acknowledgement, "stop_task", fields, timeout)

    def background_tasks(
        self, tool_use_id: Optional[str] = None, *, timeout: Optional[float] = None
    ) -> TasksMoved:
        """
        Let what runs in the foreground go on in the background, so that the turn goes on.

        That is, commands and agents that Claude waits for now: the one of *tool_use_id*, or
        all. What runs in the background is told to ``on_task``.
        """
        from .replies import TasksMoved

        fields = {} if tool_use_id is None else {"tool_use_id": given("tool_use_id", tool_use_id)}
        return self._control(TasksMoved, "background_tasks", fields, timeout)

    def side_question(self, question: str, *, timeout: Optional[float] = None) -> SideAnswer:
        """
        Ask something beside the conversation: it knows what was said and uses no tools, and
        the conversation does not know of it. Also while a turn runs.
        """
        from .replies import SideAnswer

        fields = {"question": given("question", question)}
        return self._control(SideAnswer, "side_question", fields, timeout)

    def rename(self, title: str, *, timeout: Optional[float] = None) -> Acknowledgement:
        """Give the conversation a title, for lists of conversations."""
        from .replies import Acknowledgement

        return self._control(Acknowledgement, "rename", {"title": given("title", title)}, timeout)

    def compact(
        self,
        instructions: Optional[str] = None,
        *,
        timeout: Optional[float] = None,
        idle_timeout: Optional[float] = None,
    ) -> Answer:
        """
        Replace the conversation so far by a summary of it; *instructions* say what matters.

        This is a turn and waits for its end, as ``ask()`` does, with the same timeouts. The
        answer is what the CLI says about it.
        """
        self._engine.delivery.refuse_in_handler("compact")
        words = "" if instructions is None else given("instructions", instructions).strip()
        ask: Any = self.ask  # type: ignore[attr-defined]
        answer: Answer = ask(
            f"/compact {words}".strip(), timeout=timeout, idle_timeout=idle_timeout
        )
        return answer

    # What the CLI told when it was greeted.

    def supported_models(self, *, timeout: Optional[float] = None) -> Tuple[ModelInfo, ...]:
        """The models that the CLI offers; others may work, too."""
        from .replies import ModelInfo, each_of

        return each_of(ModelInfo)(self._greeting("supported_models", timeout).get("models"))

    def supported_commands(self, *, timeout: Optional[float] = None) -> Tuple[CommandInfo, ...]:
        """The slash commands that can be asked; skills are among them."""
        from .replies import CommandInfo, each_of

        return each_of(CommandInfo)(self._greeting("supported_commands", timeout).get("commands"))

    def account_info(self, *, timeout: Optional[float] = None) -> AccountInfo:
        """Who is logged in, as far as the CLI tells."""
        from .replies import AccountInfo
        from .wire_fields import build, mapping_of

        return build(
            AccountInfo, mapping_of(self._greeting("account_info", timeout).get("account"))
        )

    # How all of them do it.

    def _control(
        self,
        reply_class: Type[R],
        method: str,
        fields: Mapping[str, Any],
        timeout: Optional[float],
    ) -> R:
        """Send a request in the name of *method*; its reply."""
        from .client import seconds
        from .runtime.controls import controls_of
        from .wire_fields import build

        seconds("timeout", timeout)
        subtype = SUBTYPES.get(method, method)
        return build(reply_class, controls_of(self._engine).send(method, subtype, fields, timeout))

    def _greeting(self, method: str, timeout: Optional[float]) -> Mapping[str, Any]:
        """What the CLI answered to the greeting; it is started for that."""
        from .client import seconds

        self._engine.check()
        seconds("timeout", timeout)
        return self._engine.lifecycle.ensure_ready(method, timeout).greeting


def given(what: str, value: Any) -> str:
    """A text that is not blank."""
    if not isinstance(value, str) or not value.strip():
        raise refuse(what, value, "a str that is not blank")
    return value
