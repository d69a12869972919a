"""How errors are worded: sentences, exit codes, quotations, and advice by what was said."""

from __future__ import annotations

from typing import Iterable, Optional

__all__ = ["advice_for", "describe_exit", "quoted_lines", "sentence", "withdrawn_unsent"]

# What the CLI says when it refuses to start, and what to do then.
ADVICE_BY_WORDS = (
    (
        "the backend of the bridge has ended",
        "Make a new Bridge, and new clients with resume=client.session_id.",
    ),
    (
        "No conversation found",
        "Check resume=...: conversations belong to the folder (cwd=...) they were held in.",
    ),
    (
        "--resume requires",
        "resume=... takes the id of a conversation: answer.session_id, or client.session_id.",
    ),
    (
        "unknown option",
        "This CLI does not know one of the options that were set; update it "
        "(claude update, or pip install -U 'claude-sync[cli]'), or leave the option out.",
    ),
    (
        "Invalid value",
        "Check the values of the options that were set.",
    ),
    (
        "is already in use",
        "A session_id can begin one conversation only; pass resume=... to go on with it.",
    ),
)

# Enough of stderr to see a traceback's end, little enough to read in a terminal.
STDERR_LINES_SHOWN = 12


def advice_for(lines: Iterable[str]) -> Optional[str]:
    """What to do about a CLI that said this; None where its words tell nothing."""
    said = "\n".join(lines)
    for words, advice in ADVICE_BY_WORDS:
        if words in said:
            return advice
    return None


def quoted_lines(lines: Iterable[str]) -> str:
    """The last of *lines*, as a quotation; empty where there are none."""
    return "\n".join("  | " + line for line in list(lines)[-STDERR_LINES_SHOWN:])


def sentence(text: str) -> str:
    """*text* with one full stop at its end."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", ":")) else text + "."


def describe_exit(code: int) -> str:
    """An exit code in words: signals by name."""
    if code >= 0:
        return f"exit code {code}"
    import signal

    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def withdrawn_unsent(reason: Optional[str], seconds: float) -> str:
    """A question was never sent, for a *reason*; None: others were before it."""
    advice = "look at the start of the CLI with 'claude-sync doctor'"
    if reason is None:
        reason = "the question still waited for its turn"
        advice = "open a second client to ask in parallel"
    return (
        f"{reason} after {seconds:g} s, and the question was withdrawn unsent. "
        f"Raise timeout, or {advice}."
    )
