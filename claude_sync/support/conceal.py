"""
What a recording shows of a message: no secrets, no names, and still a message.

A recording is made to be kept, sent to somebody and replayed. So more is hidden in
it than in an error text, and in a way that keeps it useful. Decisions taken here and
nowhere else:

* Beside secrets, it hides e-mail addresses, what is known about the account, and
  whose home a path is in: ``/home/alice/project`` becomes ``~/project``, in plain
  text and in the name of the folder that the CLI makes of it.
* Secrets of the CLI's own environment and of its MCP servers are known: they are
  hidden wherever they turn up, whatever they look like.
* The same secret becomes the same text, numbered in order of appearance:
  ``<secret-1>``. A string stays a string, numbers and everything else stay.
* Names decide before texts do: all of ``env``, ``headers`` and ``account`` is hidden.
  The properties of a JSON Schema are names, not values.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from .redact import (
    DEEPEST,
    HOLDERS,
    PEM_WORD,
    hide_all,
    is_placeholder,
    is_secret_name,
    known_secrets,
    named,
    patterns,
    redact_argv,
)

# A home that is shorter is looked for only where a path can begin.
SHORTEST_HOME = 8
# So many different secrets are told apart.
MOST_SECRETS = 10_000
# So many names of fields that need no second look are remembered.
MOST_NAMES = 2000

# Where none of these, nor a word of the patterns, is in a text, nothing is to be hidden.
WORDS = (
    *("account", "org", "workspace", "subscription", "billing", "user", "email", "home", "root"),
    *("@", "%40", PEM_WORD),
)


@cache
def common_words() -> tuple[str, ...]:
    """Where none of these is, nothing is to be hidden."""
    forms, places, _ = patterns()
    words = [word for each, _ in (*places, *forms) for word in each]
    return tuple(dict.fromkeys([*words, *HOLDERS, *WORDS]))


class TooDeep(ValueError):
    """A message that is nested too deeply to be looked through."""


class Concealer:
    """
    Hides what a recording must not show; one for each recording. Not thread-safe.

    Args:
        environment: The variables of the CLI: its home, and secrets to look for.
        configurations: Settings that hold more of them: MCP servers, agents.

    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, configurations: Iterable[Any] = ()
    ) -> None:
        self._numbers: dict[bytes, int] = {}
        self._counts: dict[str, int] = {}
        self._plain_names: set[str] = set()
        self._known: set[str] = set()
        self._homes: list[str] = []
        self.learn(environment or {}, configurations)

    def learn(self, environment: Mapping[str, str], configurations: Iterable[Any] = ()) -> None:
        """Another process is started: know its home and its secrets, too."""
        self._plain_names.clear()
        self._known |= known_secrets(environment, configurations)
        self._homes = list(dict.fromkeys([*self._homes, *homes_of(environment)]))
        homes = [*map(pattern_of_home, self._homes), patterns().named["HOMES"]]
        self._home_pattern = re.compile("|".join(homes))
        # A word that is there wherever they stand, however they are escaped; "" if none is.
        found = [re.findall("[a-z0-9]+", each.lower()) for each in (*self._known, *self._homes)]
        self._words = (*common_words(), *[max(words, key=len, default="") for words in found])

    def is_harmless(self, text: str) -> bool:
        """Whether there is certainly nothing to hide in *text*, which may be JSON."""
        lowered = text.lower()
        for word in self._words:  # noqa: SIM110 - as any(), this takes twice as long
            if word in lowered:
                return False
        return True

    def message(self, value: Any, kind: str = "", depth: int = 0) -> Any:
        """
        A copy of a JSON value that can be shown; TooDeep if it is nested too deeply.

        Of a value of a *kind*, ``secret`` or ``account``, no text is shown.
        """
        if isinstance(value, str):
            return self._placeholder(kind, value) if kind and value else self.text(value)
        if not isinstance(value, (dict, list)):
            return value
        if depth > DEEPEST:
            raise TooDeep
        if isinstance(value, list):
            pairs = zip(["", *value], value)
            return [
                self._word(before, item)
                if str(before).startswith("-") and isinstance(item, str) and not kind
                else self.message(item, kind, depth + 1)
                for before, item in pairs
            ]
        shown: dict[str, Any] = {}
        is_picture = value.get("type") == "base64" and "media_type" in value and not kind
        for name, item in value.items():
            if name == "properties" and isinstance(item, dict) and is_schema(item) and not kind:
                # Names of properties are no names of values.
                item = {each: self.message(inner, "", depth + 2) for each, inner in item.items()}
                shown[name] = self._renamed(item)
            elif is_picture and name == "data" and isinstance(item, str):
                shown[name] = item
            else:
                made = self.message(item, kind or kind_of(name, item), depth + 1)
                shown[self._name(name, shown)] = made
        return shown

    def text(self, text: str) -> str:
        """*text* as it can be shown."""
        if self.is_harmless(text):
            return text
        text = hide_all(text, self._known, self.secret)
        text = self._home_pattern.sub("~", text)
        return named("ADDRESS").sub(self._address, text)

    def argv(self, argv: Iterable[str]) -> list[str]:
        """The words of a command as they can be shown."""
        return [self.text(word) for word in redact_argv(list(argv))]

    def secret(self, secret: str) -> str:
        """What stands for *secret*: the same for the same."""
        return self._placeholder("secret", secret)

    def _word(self, flag: str, word: str) -> str:
        """The word of a command that follows *flag*."""
        if named("SECRETFLAG").match(flag) and not word.startswith("-"):
            return self._placeholder("secret", word)
        user, colon, password = word.partition(":")
        if flag in ("-u", "--user") and password and not password.isdigit():
            return self.text(user) + colon + self._placeholder("secret", password)
        return self.text(word)

    def _name(self, name: str, others: Mapping[str, Any]) -> str:
        """The name of a field as it can be shown: a path, for example."""
        if name in self._plain_names:
            return name
        shown = self.text(name)
        if shown == name and len(self._plain_names) < MOST_NAMES:
            self._plain_names.add(name)  # the same few names, in every message
        while shown in others:  # two paths that differ in the home only
            shown += "'"
        return shown

    def _renamed(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """An object, its names as they can be shown."""
        shown: dict[str, Any] = {}
        for name, item in value.items():
            shown[self._name(name, shown)] = item
        return shown

    def _placeholder(self, kind: str, text: str) -> str:
        if is_placeholder(text):
            return text
        # Not the secret itself: a recording may be open for weeks.
        key = hashlib.blake2b(
            text.encode("utf-8", "surrogatepass"), digest_size=12, person=kind.encode()
        ).digest()
        number = self._numbers.get(key)
        if number is None:
            if len(self._numbers) >= MOST_SECRETS:
                del self._numbers[next(iter(self._numbers))]
            number = self._numbers[key] = self._counts[kind] = self._counts.get(kind, 0) + 1
        return f"<{kind}-{number}>"

    def _address(self, found: re.Match[str]) -> str:
        # In the text of JSON, the n of \\n is not the first letter of a name.
        skipped = int(found.string[found.start() - 1 : found.start()] == "\\")
        if len(found[1]) == skipped:
            return found[0]
        return found[0][:skipped] + self._placeholder("email", found[0][skipped:])


def kind_of(name: str, value: Any) -> str:
    """What a field holds, by its name: ``secret``, ``account``, or nothing special."""
    if not isinstance(value, (dict, list, str)):
        return ""
    is_text = isinstance(value, str)
    is_folder = name.lower() == "pwd" and str(value).startswith(("/", "~", "."))
    is_holder = name.lower() in HOLDERS and isinstance(value, dict)
    if is_holder or (is_secret_name(name) and not is_folder):
        return "secret"
    if not is_text and named("SECRETS").search(name):
        return "secret"
    plain = name.lower().replace("_", "").replace("-", "")
    is_account = named("ACCOUNTFIELD" if is_text else "ACCOUNT").fullmatch(plain)
    return "account" if is_account else ""


def homes_of(environment: Mapping[str, str]) -> list[str]:
    """The home of the CLI and of this program, by all names they have."""
    found = [environment.get("HOME"), environment.get("USERPROFILE"), os.path.expanduser("~")]
    homes: list[str] = []
    for home in found:
        if home and len(home) > len("/a") and home != "~":
            homes += [home.rstrip("/\\"), os.path.realpath(home)]
    return [home for home in dict.fromkeys(homes) if len(home) > len("/a")]


def is_schema(value: Mapping[str, Any]) -> bool:
    """Whether these are the properties of a JSON Schema: each says what a value is like."""
    keyword = named("KEYWORD").fullmatch
    return all(
        isinstance(each, bool) or (isinstance(each, dict) and (not each or any(map(keyword, each))))
        for each in value.values()
    )


def pattern_of_home(home: str) -> str:
    """Where *home* stands, and the name that the CLI gives to a folder for it."""
    separator, start = patterns().named["SEPARATOR"], patterns().named["START"]
    first, *parts = re.split(r"[/\\]+", home)
    # At the beginning a run of backslashes is tried as a whole, or it would take for ever.
    begin = re.escape(first) + separator if first else rf"(?<!\\){separator}"
    path = begin + separator.join(map(re.escape, parts))
    folder = re.escape(re.sub(r"[^A-Za-z0-9]", "-", home))
    # A short one, such as /root, may be part of something else.
    is_short = len(home) < SHORTEST_HOME
    before_path, before_folder = (start, r"(?<=[/\\])") if is_short else ("", "(?<![A-Za-z0-9])")
    return rf"{before_path}{path}(?![\w.-])|{before_folder}{folder}(?![A-Za-z0-9])"
