"""
``query.call``: the eight methods of the document.

A front end that wants more of the CLI has it in a raw session.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from ..support.checks import nearest
from .envelope import QUERY_METHOD_FAILED, Envelope, Refused
from .options import BYPASS, Policy

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["IN_ORDER", "bound_query"]

# These change what comes after them, and so keep their place among the messages.
IN_ORDER = ("setModel", "setPermissionMode", "setMaxThinkingTokens")


def methods_of(client: Client, policy: Policy) -> dict[str, Callable[..., Any]]:
    """The methods, which answer as they would in the library they come from."""

    def set_model(model: Any = None) -> None:
        client.set_model(model)

    def set_permission_mode(mode: Any) -> None:
        if mode == BYPASS:
            policy.require_trust(f"the permission mode {BYPASS}")
        client.set_permission_mode(mode)

    def set_max_thinking_tokens(tokens: Any = None) -> None:
        client.set_max_thinking_tokens(tokens)

    def rewind(user_message_id: Any, options: Any = None) -> Any:
        options = options if isinstance(options, dict) else {}
        dry_run = options.get("dryRun", options.get("dry_run", False))
        return client.rewind_files(user_message_id, dry_run).raw

    return {
        "supportedModels": lambda: plain(client.supported_models()),
        "supportedCommands": lambda: plain(client.supported_commands()),
        "mcpServerStatus": lambda: plain(client.mcp_status().servers),
        "accountInfo": lambda: plain(client.account_info()),
        "setModel": set_model,
        "setPermissionMode": set_permission_mode,
        "setMaxThinkingTokens": set_max_thinking_tokens,
        "rewindFiles": rewind,
    }


def bound_query(client: Client, request: Envelope, policy: Policy) -> Callable[[], Any]:
    """
    What calls the method that a ``query.call`` names.

    Raises:
        Refused: There is no such method, or it cannot be called so.

    """
    name, args = request.payload.get("method"), request.payload.get("args")
    methods = methods_of(client, policy)
    if not isinstance(name, str) or name not in methods:
        meant = nearest(str(name), list(methods))
        hint = f"Did you mean {meant}?" if meant else f"There are {', '.join(methods)}."
        raise Refused(QUERY_METHOD_FAILED, f"there is no method {name!r}. {hint}")
    try:
        bound = inspect.signature(methods[name]).bind(*list_of(args))
    except (TypeError, UsageError) as error:
        raise Refused(QUERY_METHOD_FAILED, f"{name} cannot be called so: {error}") from None
    return lambda: methods[name](*bound.args)


def list_of(args: Any) -> Any:
    """The arguments of a call."""
    if args is not None and not isinstance(args, list):
        raise UsageError("args must be a list.")
    return args or []


def plain(value: Any) -> Any:
    """A reply as JSON: the CLI's own words where there are some."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.raw if hasattr(value, "raw") else value
