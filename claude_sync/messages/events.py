"""What handlers get that does not come from the CLI itself."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Mapping, Optional, Tuple

__all__ = ["Closed", "HandlerError", "Info", "InterruptReceipt"]


@dataclasses.dataclass(frozen=True)
class HandlerError:
    """
    A handler failed; ``on_error`` gets this.

    Attributes:
        exception: What it raised.
        handler: The handler.
        event: What it was called with.

    """

    exception: BaseException
    handler: Callable[..., Any]
    event: Any


@dataclasses.dataclass(frozen=True)
class Closed:
    """
    The client is closed; ``on_close`` gets this, after everything else.

    Attributes:
        reason: Why, in words.
        exit_code: How the CLI ended, or None where there was none.

    """

    reason: str
    exit_code: Optional[int] = None


@dataclasses.dataclass(frozen=True)
class InterruptReceipt:
    """
    What the CLI answered to an interrupt.

    Attributes:
        still_queued: Uuids of messages that are still waiting, and will run.
        cancelled: Uuids of messages that were withdrawn before they ran.
        raw: The reply; empty where nothing ran, and from old CLIs.

    """

    still_queued: Tuple[str, ...] = ()
    cancelled: Tuple[str, ...] = ()
    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)


@dataclasses.dataclass(frozen=True)
class Info:
    """
    What the CLI has said about itself so far; None where it says nothing.

    Attributes:
        commands, models, agents: Lists of dicts, as the CLI gives them.
        account: A dict about the login.
        output_style, available_output_styles: The style of answers, and all there are.
        cli_version: The version of the CLI.
        capabilities: Names of what it can do.
        raw: The reply to ``initialize``.

    """

    commands: Optional[Tuple[Any, ...]] = None
    models: Optional[Tuple[Any, ...]] = None
    account: Optional[Mapping[str, Any]] = None
    agents: Optional[Tuple[Any, ...]] = None
    output_style: Optional[str] = None
    available_output_styles: Optional[Tuple[str, ...]] = None
    cli_version: Optional[str] = None
    capabilities: Optional[Tuple[str, ...]] = None
    raw: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, greeting: Mapping[str, Any], version: str | None, capabilities: object) -> Info:
        """Read the reply to ``initialize``; the first turn may say more of the capabilities."""
        account, style = greeting.get("account"), greeting.get("output_style")
        return cls(
            commands=tuple_of(greeting.get("commands")),
            models=tuple_of(greeting.get("models")),
            account=account if isinstance(account, dict) else None,
            agents=tuple_of(greeting.get("agents")),
            output_style=style if isinstance(style, str) else None,
            available_output_styles=tuple_of(greeting.get("available_output_styles")),
            cli_version=version,
            capabilities=tuple_of(capabilities or greeting.get("capabilities")),
            raw=greeting,
        )


def tuple_of(value: object) -> Optional[Tuple[Any, ...]]:
    """A list of the wire as a tuple; None for anything else."""
    return tuple(value) if isinstance(value, list) else None
