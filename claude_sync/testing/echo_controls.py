"""
Requests that only new CLIs answer, as the offline CLI answers them.

Nothing stands behind most of it: it remembers what it was told, and says so. Numbers are
made up where there is nothing to count.
"""

from __future__ import annotations

# Known to type checkers; importing typing would take longer than all the rest.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from .offline import Echo

    Wire = Dict[str, Any]

__all__ = ["EchoControls"]

WINDOW = 200_000


class EchoControls:
    """What the offline CLI does about settings, servers, files and tasks."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
        self._settings: Wire = {}
        # Servers that were added on the way; whether each is switched on.
        self._added: List[str] = []
        self._disabled: List[str] = []

    def serve_get_settings(self, request: Wire, _: Wire) -> None:
        """Tell what was applied."""
        sources = [{"source": "flagSettings", "settings": self._settings}] if self._settings else []
        applied = {"model": self._echo.cli.model, "effort": self._settings.get("effortLevel")}
        self._echo.cli.reply(
            request,
            effective=self._settings,
            sources=sources,
            applied=applied,
        )

    def serve_apply_flag_settings(self, request: Wire, body: Wire) -> None:
        """Remember settings; null takes one back."""
        merged = {**self._settings, **(body.get("settings") or {})}
        self._settings = {key: value for key, value in merged.items() if value is not None}
        self._echo.cli.reply(request)

    def serve_mcp_status(self, request: Wire, _: Wire) -> None:
        """Tell of the servers: those inside the client, and those it has added."""
        servers = [
            {"name": name, "status": "disabled" if name in self._disabled else "connected"}
            for name in self._names()
        ]
        self._echo.cli.reply(request, mcpServers=servers)

    def serve_mcp_set_servers(self, request: Wire, body: Wire) -> None:
        """Have these servers beside those inside the client."""
        wanted = list(body.get("servers") or {})
        added = [name for name in wanted if name not in self._added]
        removed = [name for name in self._added if name not in wanted]
        self._added = wanted
        self._echo.cli.reply(request, added=added, removed=removed, errors={})

    def serve_mcp_reconnect(self, request: Wire, body: Wire) -> None:
        """Every server is connected already."""
        if self._knows(request, body):
            self._echo.cli.reply(request)

    def serve_mcp_toggle(self, request: Wire, body: Wire) -> None:
        """Switch a server on or off."""
        if not self._knows(request, body):
            return
        name = body["serverName"]
        self._disabled = [other for other in self._disabled if other != name]
        if not body.get("enabled"):
            self._disabled.append(name)
        self._echo.cli.reply(request)

    def serve_get_context_usage(self, request: Wire, _: Wire) -> None:
        """A window with nothing in it."""
        free = {"id": "free_space", "name": "Free space", "tokens": WINDOW, "kind": "free"}
        self._echo.cli.reply(
            request,
            categories=[free],
            totalTokens=0,
            maxTokens=WINDOW,
            percentage=0,
            model=self._echo.cli.model,
        )

    def serve_get_usage(self, request: Wire, _: Wire) -> None:
        """What the turns so far claim to have cost."""
        session = {"total_cost_usd": self._echo.cost, "model_usage": {}}
        self._echo.cli.reply(request, session=session, subscription_type=None, rate_limits=None)

    def serve_rewind_files(self, request: Wire, body: Wire) -> None:
        """No file was changed, so there is nothing to restore."""
        if body.get("dry_run"):
            nothing: Wire = {"filesChanged": [], "insertions": 0, "deletions": 0}
            self._echo.cli.reply(request, canRewind=True, **nothing)
        else:
            self._echo.cli.reply(request, canRewind=True)

    def serve_stop_task(self, request: Wire, body: Wire) -> None:
        """A background task does not report back."""
        task = body.get("task_id")
        self._echo.background = [each for each in self._echo.background if each[1] != task]
        self._echo.cli.reply(request)

    def serve_background_tasks(self, request: Wire, _: Wire) -> None:
        """Nothing runs in the foreground."""
        self._echo.cli.reply(request)

    def serve_side_question(self, request: Wire, body: Wire) -> None:
        """Echo it."""
        text = f"echo: {body.get('question')}"
        self._echo.cli.reply(request, response=text, synthetic=False)

    def serve_rename_session(self, request: Wire, _: Wire) -> None:
        """Nothing is saved here."""
        self._echo.cli.reply(request)

    def _names(self) -> List[str]:
        return [*self._echo.servers, *self._added]

    def _knows(self, request: Wire, body: Wire) -> bool:
        """Whether there is such a server; if not, that is said."""
        if body.get("serverName") in self._names():
            return True
        self._echo.cli.refuse(request, f"Server not found: {body.get('serverName')}")
        return False
