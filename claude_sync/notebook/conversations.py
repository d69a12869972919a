"""
The conversation of the magics: one client, opened when it is needed.

A CLI learns of its tools when it starts, so other tools mean another client that
resumes the same conversation. The money of all of them is added up, and a budget is one
for all of them.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional

from ..client import Client, handlers_among
from ..errors import BudgetExceeded, UsageError
from ..options import CONVERSATION, Options, options_from

__all__ = ["Conversation"]

# What the settings of the notebook must leave to us, and why.
OURS = {
    "post": "handlers of a notebook run in the cell that waits for them",
    "tools": "functions are named with --tools",
}
BUDGETS = ("budget_usd", "max_budget_usd")


class Conversation:
    """
    See the module.

    Args:
        handlers: The handlers of a new client, ``on_permission=...``, unless configured.

    """

    def __init__(self, handlers: Callable[[], Mapping[str, Any]]) -> None:
        self._handlers = handlers
        self._options = Options()
        self._own_handlers: Mapping[str, Any] = {}
        self._tools: Dict[str, Any] = {}
        self._client: Optional[Client] = None
        # What the clients before this one have cost, and those before the settings of now.
        self.spent_before = 0.0
        self._spent_otherwise = 0.0

    @property
    def client(self) -> Client:
        """The client, open; a new one that resumes the conversation if it was closed."""
        client = self._client
        if client is None or client.state in ("closing", "closed"):
            client = self._open()
        return client

    def configure(self, options: Optional[Options], overrides: Mapping[str, Any]) -> None:
        """Take other settings; the next question begins a conversation with them."""
        settings = dict(overrides)
        handlers = handlers_among(settings)
        wanted = options_from(options, settings)
        for name, reason in OURS.items():
            if getattr(wanted, name):
                raise UsageError(f"{name}= is not for notebooks: {reason}. Leave it out.")
        self.close()
        self._spent_otherwise = self.spent_before
        self._options = wanted
        self._own_handlers = handlers

    def begin(self) -> None:
        """Begin a new conversation with the next question, with the same settings."""
        self.close()
        self._options = self._options.replace(**CONVERSATION)
        self._tools = {}

    def use_model(self, model: str) -> None:
        """Ask this model from here on."""
        client = self._client
        if client is not None and client.state in ("starting", "idle", "busy"):
            client.set_model(model)
        self._options = self._options.replace(model=model)
        if client is not None and client.state in ("new", "open", "crashed"):
            self._reopen()

    def check_tools(self, functions: Mapping[str, Any], anew: bool = False) -> None:
        """Refuse what :meth:`use_tools`, of a new conversation perhaps, would not take."""
        from ..tools import make_tools

        make_tools(tuple({**({} if anew else self._tools), **functions}.values()))

    def use_tools(self, functions: Mapping[str, Any]) -> None:
        """Let Claude call these functions, too, from here on."""
        tools = {**self._tools, **functions}
        if any(self._tools.get(name) is not function for name, function in tools.items()):
            self.check_tools(functions)
            self._tools = tools
            self._reopen()

    def close(self) -> None:
        """End it; the next question begins another one."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
            self.spent_before += client.cost_usd  # what was stopped just now may have cost, too

    def _reopen(self) -> None:
        """Have the next question asked by a client with other settings, in this conversation."""
        client = self._client
        if client is None:
            return
        session_id = client.session_id
        self.close()
        if session_id is not None:
            self._options = self._options.replace(**{**CONVERSATION, "resume": session_id})

    def _open(self) -> Client:
        self._reopen()
        tools = tuple(self._tools.values())
        options = self._options.replace(post="caller", tools=tools, **self._budgets_left())
        client = Client(options, **{**self._handlers(), **self._own_handlers})
        self._client = client
        client.__enter__()
        return client

    def _budgets_left(self) -> Dict[str, Any]:
        """What the clients since the settings were made have left of their budgets."""
        spent = self.spent_before - self._spent_otherwise
        left: Dict[str, Any] = {}
        for name in BUDGETS:
            budget = getattr(self._options, name)
            if budget is not None and spent > 0:
                left[name] = budget - spent
                if left[name] <= 0:
                    raise BudgetExceeded(
                        f"{spent:.4f} USD of {name}={budget:g} are spent in this notebook; "
                        "nothing was sent. claude_sync.notebook.configure() takes another budget"
                    )
        return left
