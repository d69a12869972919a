"""What handlers get that does not come from the CLI itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .fields import Raw, Wire, build

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
    exit_code: int | None = None


@dataclasses.dataclass(frozen=True)
class InterruptReceipt:
    """
    What the CLI answered to an interrupt.

    Attributes:
        still_queued: Uuids of messages that are still waiting, and will run.
        cancelled: Uuids of messages that were withdrawn before they ran.
        raw: The reply; empty where nothing ran, and from old CLIs.

    """

    still_queued: tuple[str, ...] = ()
    cancelled: tuple[str, ...] = ()
    raw: Raw = dataclasses.field(default_factory=dict, repr=False)


class Info(Wire):
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

    commands: tuple[Raw, ...] | None = None
    models: tuple[Raw, ...] | None = None
    account: Raw | None = None
    agents: tuple[Raw, ...] | None = None
    output_style: str | None = None
    available_output_styles: tuple[str, ...] | None = None
    cli_version: str | None = None
    capabilities: tuple[str, ...] | None = None

    @classmethod
    def of(cls, greeting: Raw, version: str | None, capabilities: object) -> Info:
        """Read the reply to ``initialize``; the first turn may say more of the capabilities."""
        told = {**greeting, "capabilities": capabilities or greeting.get("capabilities")}
        return build(cls, told, raw=greeting, cli_version=version)
