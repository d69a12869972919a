"""
``query.call``: methods of a session, by name.

The documented eight answer as documented. Any other control method of the client can be
called too, in snake_case or camelCase, and answers with the CLI's own reply. What a front
end that is not trusted may send is what these methods send, except for what would undo
the rules about options.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Mapping, Tuple

from ..client.control_methods import ControlMethods
from ..engine.control import ROWS, Row, Rows
from ..errors import UsageError
from ..support.checks import nearest
from ..support.text import short_json as shown
from ..support.text import snake_case
from .envelope import QUERY_METHOD_FAILED, Refused
from .options import BYPASS, Policy

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["IN_ORDER", "bound_query"]

Query = Callable[[], Any]

METHODS = tuple(name for name in vars(ControlMethods) if not name.startswith("_"))

# These change what comes after them, and so keep their place among the messages.
IN_ORDER = ("set_model", "set_permission_mode", "set_max_thinking_tokens")


def documented(client: Client) -> Dict[str, Callable[..., Any]]:
    """The eight methods, which answer as they would in the library they come from."""

    def rewind(user_message_id: Any, options: Any = None, **more: Any) -> Any:
        if isinstance(options, dict):
            more["dry_run"] = options.get("dryRun", options.get("dry_run", False))
        elif options is not None:
            more["dry_run"] = options
        return client.rewind_files(user_message_id, **more)

    def set_model(model: Any = None, **more: Any) -> None:
        client.set_model(model, **more)

    def set_permission_mode(mode: Any, **more: Any) -> None:
        client.set_permission_mode(mode, **more)

    def set_max_thinking_tokens(tokens: Any = None, **more: Any) -> None:
        client.set_max_thinking_tokens(tokens, **more)

    return {
        "supportedModels": client.supported_models,
        "supportedCommands": client.supported_commands,
        "mcpServerStatus": lambda **more: client.mcp_status(**more).servers,
        "accountInfo": client.account_info,
        "setModel": set_model,
        "setPermissionMode": set_permission_mode,
        "setMaxThinkingTokens": set_max_thinking_tokens,
        "rewindFiles": rewind,
    }


def bound_query(client: Client, payload: Mapping[str, Any], policy: Policy) -> Tuple[str, Query]:
    """
    The method's name in snake_case, and what calls it.

    Raises:
        Refused: It cannot be called so, or must not be.

    """
    name = payload.get("method")
    args = payload.get("args")
    more = payload.get("kwargs")
    args = [] if args is None else args
    more = {} if more is None else more
    if not isinstance(name, str):
        raise Refused(QUERY_METHOD_FAILED, f"method must be a string, not {name!r}.")
    if not isinstance(args, list) or not isinstance(more, dict):
        raise Refused(QUERY_METHOD_FAILED, f"{name}: args must be a list, kwargs an object.")
    snake = "mcp_status" if name == "mcpServerStatus" else snake_case(name)
    function = method_of(client, name, snake)
    try:
        check_trust(snake, args, more, policy)
        inspect.signature(function).bind(*args, **more)
    except (TypeError, UsageError) as error:
        raise Refused(QUERY_METHOD_FAILED, f"{name} cannot be called so: {error}") from None
    return snake, lambda: plain(function(*args, **more))


def method_of(client: Client, name: str, snake: str) -> Callable[..., Any]:
    """The function of this name."""
    eight = documented(client)
    if name in eight:
        return eight[name]
    if snake == "control":

        def control(subtype: Any, fields: Any = None, timeout: Any = None) -> Any:
            if fields is not None and not isinstance(fields, dict):
                raise UsageError(f"the fields of control must be an object, not {shown(fields)}.")
            for name in ("subtype", "timeout", "self"):
                if name in (fields or {}):
                    raise UsageError(f"the fields of control cannot have {name!r} among them.")
            return client.control(subtype, timeout, **(fields or {}))

        return control
    if snake in METHODS:
        function: Callable[..., Any] = getattr(client, snake)
        return function
    known = [*METHODS, "control", *eight]
    meant = nearest(name, known)
    hint = f"Did you mean {meant}?" if meant else f"There are {', '.join(known)}."
    raise Refused(QUERY_METHOD_FAILED, f"there is no method {name!r}. {hint}")


def check_trust(snake: str, args: List[Any], more: Mapping[str, Any], policy: Policy) -> None:
    """UsageError for what a front end that is not trusted must not do."""
    if policy.trusted:
        return
    row: Any = vars(Rows).get(snake)
    if isinstance(row, Row) and row.trusted:
        policy.require_trust(snake)
    fields: Any = [*args, *more.values()]
    if snake == "control":
        subtype = args[0] if args else more.get("subtype")
        if subtype not in ROWS or ROWS[subtype].trusted:
            policy.require_trust(f"the request {subtype}")
        named = args[1] if len(args) > 1 else more.get("fields")
        fields = list(named.values()) if isinstance(named, dict) else []
    if snake in ("control", "set_permission_mode") and BYPASS in fields:
        policy.require_trust(f"the permission mode {BYPASS}")


def plain(value: Any) -> Any:
    """A reply as JSON: the CLI's own words where there are some."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, str) and hasattr(value, "result"):  # the Answer of compact()
        return {"text": str(value), "result": plain(value.result)}
    return value.raw if hasattr(value, "raw") else value
