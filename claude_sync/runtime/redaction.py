"""
Take secrets out of what is shown to people: error texts, logs, recordings.

The command line and the CLI's stderr may hold keys: in ``--settings`` given as
JSON, in headers of MCP servers, in a message about a failed login. Better too
much is hidden than too little.
"""

from __future__ import annotations

import re
from typing import Any, List, Sequence

__all__ = ["redact_argv", "redact_message", "redact_text"]

HIDDEN = "***"

# How names of secrets end, however they are spelled: API_KEY, apiKey, X-Auth-Token.
# The beginning of the name is not looked at: that would cost too much on a
# line of stderr that is a megabyte long.
SECRET = (
    r"(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passw(?:or)?d|passphrase"
    r"|credentials?|authorization|cookie)"
)

PATTERNS = (
    # Keys of the API, wherever they stand.
    (re.compile(r"\bsk-ant-[\w-]+"), HIDDEN),
    # Authorization: Bearer abc
    (re.compile(r"\b(Bearer|Basic)(\s+)[\w.~+/=-]+", re.IGNORECASE), rf"\1\2{HIDDEN}"),
    # "apiKey": "abc" and 'apiKey': 'abc', escaped quotes included
    (
        re.compile(rf"""({SECRET}\\?["']\s*:\s*)(\\?["'])(?:(?!\2)(?:\\.|.))*\2""", re.I),
        rf"\1\2{HIDDEN}\2",
    ),
    # API_KEY=abc, --api-key=abc, api-key: abc
    (
        re.compile(
            rf"({SECRET}\s*[=:]\s*)(\\*[\"'])?(?!(?:Bearer|Basic)\s)[^\s\"',;&\\]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    # https://user:password@host
    (re.compile(r"(://[^\s/:@]+:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
)

SECRET_NAME = re.compile(rf"{SECRET}$", re.IGNORECASE)
HOLDERS = ("env", "headers", "environment")

# Their values may be JSON with secrets in places that no pattern knows.
FLAGS_WITH_JSON = ("--settings", "--mcp-config", "--managed-settings", "--agents")
SECRET_FLAG = re.compile(rf"--?[\w.-]*{SECRET}", re.IGNORECASE)


def redact_text(text: str) -> str:
    """*text* without the secrets in it, for example a line of stderr."""
    for pattern, replacement in PATTERNS:
        text = pattern.sub(replacement, text)
    return text


def redact_message(value: Any) -> Any:
    """A copy of a JSON value without the secrets in it, by the names and by the texts."""
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, dict):
        return {key: redact_field(str(key), item) for key, item in value.items()}
    if isinstance(value, list):
        return [redact_message(item) for item in value]
    return value


def redact_field(key: str, value: Any) -> Any:
    """The value of one field of a JSON object, as far as it can be shown."""
    if key.lower() in HOLDERS and isinstance(value, dict):
        # Variables and headers may be secret whatever they are called.
        return dict.fromkeys(value, HIDDEN)
    if isinstance(value, str) and SECRET_NAME.search(key):
        return HIDDEN
    return redact_message(value)


def redact_argv(argv: Sequence[str]) -> List[str]:
    """*argv* without the secrets in it; ``--flag=value`` and ``--flag value`` alike."""
    shown: List[str] = []
    flag_before = ""
    for word in argv:
        flag, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            shown.append(f"{flag}={redact_value(flag, value)}")
        elif word.startswith("-"):
            shown.append(redact_text(word))
        else:
            shown.append(redact_value(flag_before, word))
        flag_before = word if word.startswith("-") and not equals else ""
    return shown


def redact_value(flag: str, value: str) -> str:
    """The value of *flag*, as far as it can be shown."""
    if SECRET_FLAG.fullmatch(flag):
        return HIDDEN
    if flag in FLAGS_WITH_JSON and value.lstrip().startswith(("{", "[")):
        return HIDDEN
    return redact_text(value)
