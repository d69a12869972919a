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
from functools import cache
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set, Tuple

from .private_keys import PEM_WORD
from .redact import (
    DEEPEST,
    HOLDERS,
    RULES,
    SECRET_FLAG,
    compiled,
    forms,
    hide_all,
    is_name_of_secrets,
    is_placeholder,
    is_secret_name,
    known_secrets,
    redact_argv,
)

__all__ = ["Concealer", "TooDeep"]

# A home that is shorter is looked for only where a path can begin.
SHORTEST_HOME = 8
# So many different secrets are told apart.
MOST_SECRETS = 10_000
# So many names of fields that need no second look are remembered.
MOST_NAMES = 2000

# Fields about whoever pays, in small letters and without "_" and "-".
ACCOUNT_FIELDS = frozenset(
    [
        *("account", "accountid", "accountuuid", "accountname", "oauthaccount"),
        *("organization", "organizationid", "organizationuuid", "organizationname"),
        *("organizationrole", "orgid", "orguuid", "orgname", "workspaceid", "workspacename"),
        *("subscription", "subscriptiontype", "billingtype", "apikeysource", "tokensource"),
        *("userid", "useruuid", "username", "useremail", "email", "emailaddress"),
    ]
)
# Of these, whatever is inside is hidden as well.
ACCOUNT_OBJECTS = frozenset(["account", "oauthaccount", "organization", "subscription"])
ACCOUNT_WORDS = ("account", "org", "workspace", "subscription", "billing", "user", "email")

# Of these, one is in whatever describes a value.
SCHEMA_WORDS = frozenset(
    [
        *("type", "$ref", "enum", "const", "anyOf", "oneOf", "allOf", "not", "properties"),
        *("items", "description", "title", "default", "format", "pattern"),
    ]
)

NAME = r"""[^\s/\\"'`:;,<>|()\[\]{}*?&=$#!%]+"""
# Also in the text of JSON, where it may be escaped, and in an address.
SEPARATOR = r"(?:\\+/?|/|%(?:2F|2f|5C|5c))"
# At the beginning: a run of backslashes is tried as a whole, or it would take for ever.
FIRST_SEPARATOR = rf"(?<!\\){SEPARATOR}"
# A path begins here: not in the middle of a word or a web address. -I/home/alice does.
START = r"(?:(?<![\w.~-])|(?<=\\[nrt])|(?<=%2[Ff])|(?<=\s-[A-Za-z]))"
# Where the homes of a machine may be.
BEFORE_HOMES = r"/mnt/[a-z]|/[a-z]|/export|/var|/usr|/nfs|/net|/data"
HOMES = (
    rf"{START}(?:{BEFORE_HOMES})?/(?:home|Users)/(?!Shared\b|Public\b){NAME}",
    rf"{START}(?:\\/|%2[Ff])(?:home|Users)(?:\\/|%2[Ff]){NAME}",
    rf"{START}/(?:var/)?root(?![\w.-])",
    rf"(?:(?<![A-Za-z])|(?<=\\[nrt]))[A-Za-z]:{SEPARATOR}Users{SEPARATOR}(?!Public\b)"
    rf"(?:[^\\/:*?\"<>|\n]{{1,64}}(?=[\\/])|{NAME})",
    # The folder of a project below ~/.claude/projects.
    r"""(?:(?<=[\s/\\"'])|(?<=\\[nrt])|^)(?:-|[A-Za-z]--)(?:home|Users)-[A-Za-z0-9]+"""
    r"""(?=[-/\\\s"']|$)""",
    r"""(?<=[/\\])-root(?=[-/\\\s"']|$)""",
)
HOME_WORDS = ("home", "users", "root")

# The part of an address from the "@" on; what is before it is found from there.
DOMAIN = re.compile(r"(?:@|%40)[\w-]+(?:\.[\w-]+)*\.([^\W\d_]{2,})")
# left-pad@1.3.beta is a version.
VERSION = re.compile(r"(?:@|%40)\d+\.\d+\.")
LOCAL_PART = re.compile(r"[\w.+%-]+\Z")
LONGEST_LOCAL_PART = 64
# git@github.com is nobody, and logo@2x.png is a picture.
NOBODY = ("git", "noreply", "no-reply")
NO_DOMAINS = ("png", "jpg", "jpeg", "gif", "svg", "webp")


@cache
def common_words() -> Tuple[str, ...]:
    """Where none of these is, nothing is to be hidden."""
    return tuple(
        dict.fromkeys(
            [
                *(word for words, *_ in (*RULES, *forms()) for word in words),
                *HOLDERS,
                *HOME_WORDS,
                *ACCOUNT_WORDS,
                PEM_WORD,
                "@",
                "%40",
            ]
        )
    )


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
        self, environment: Optional[Mapping[str, str]] = None, configurations: Iterable[Any] = ()
    ) -> None:
        self._numbers: Dict[bytes, int] = {}
        self._counts: Dict[str, int] = {}
        self._plain_names: Set[str] = set()
        self._known: Set[str] = set()
        self._homes: List[str] = []
        self._home_pattern = re.compile("|".join(HOMES))
        self._words = common_words()
        self.learn(environment or {}, configurations)

    def learn(self, environment: Mapping[str, str], configurations: Iterable[Any] = ()) -> None:
        """Another process is started: know its home and its secrets, too."""
        self._plain_names.clear()
        self._known |= known_secrets(environment, configurations)
        self._homes = list(dict.fromkeys([*self._homes, *homes_of(environment)]))
        patterns = [*map(pattern_of_home, self._homes), *HOMES]
        self._home_pattern = re.compile("|".join(patterns))
        further = map(longest_word, [*self._known, *self._homes])
        self._words = (*common_words(), *[each.lower() for each in further])

    def is_harmless(self, text: str) -> bool:
        """Whether there is certainly nothing to hide in *text*, which may be JSON."""
        lowered = text.lower()
        for word in self._words:  # noqa: SIM110 - as any(), this takes twice as long
            if word in lowered:
                return False
        return True

    def message(self, value: Any, depth: int = 0) -> Any:
        """A copy of a JSON value that can be shown; TooDeep if it is nested too deeply."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, (dict, list)):
            if depth > DEEPEST:
                raise TooDeep
            if isinstance(value, list):
                return self._list(value, depth + 1)
            return self._object(value, depth + 1)
        return value

    def text(self, text: str) -> str:
        """*text* as it can be shown."""
        if self.is_harmless(text):
            return text
        text = hide_all(text, self._known, self.secret)
        text = self._home_pattern.sub("~", text)
        return self._without_addresses(text) if "@" in text or "%40" in text else text

    def argv(self, argv: Iterable[str]) -> List[str]:
        """The words of a command as they can be shown."""
        return [self.text(word) for word in redact_argv(list(argv))]

    def secret(self, secret: str) -> str:
        """What stands for *secret*: the same for the same."""
        return self._placeholder("secret", secret)

    def _list(self, value: List[Any], depth: int) -> List[Any]:
        """A list; it may be a command: what follows ``--password`` is one."""
        shown: List[Any] = []
        before: Any = None
        for item in value:
            if isinstance(item, str) and isinstance(before, str) and before.startswith("-"):
                shown.append(self._word(before, item))
            else:
                shown.append(self.message(item, depth))
            before = item
        return shown

    def _word(self, flag: str, word: str) -> str:
        """The word of a command that follows *flag*."""
        if compiled(SECRET_FLAG).fullmatch(flag) and not word.startswith("-"):
            return self._placeholder("secret", word)
        user, colon, password = word.partition(":")
        if flag in ("-u", "--user") and password and not password.isdigit():
            return self.text(user) + colon + self._placeholder("secret", password)
        return self.text(word)

    def _object(self, value: Mapping[str, Any], depth: int) -> Dict[str, Any]:
        is_picture = is_base64(value)
        shown: Dict[str, Any] = {}
        for name, item in value.items():
            is_data = is_picture and name == "data" and isinstance(item, str)
            shown[self._name(name, shown)] = item if is_data else self._field(name, item, depth)
        return shown

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

    def _field(self, name: str, value: Any, depth: int) -> Any:
        if isinstance(value, (dict, list, str)) and value:
            if name == "properties" and isinstance(value, dict) and is_schema(value):
                return self._renamed(value, lambda item: self.message(item, depth + 1))
            if name.lower() in HOLDERS and isinstance(value, dict):
                return self._hidden("secret", value, depth)
            if is_secret_name(name) and not is_folder(name, value):
                return self._hidden("secret", value, depth)
            if not isinstance(value, str) and is_name_of_secrets(name):
                return self._hidden("secret", value, depth)
            plain = name.lower().replace("_", "").replace("-", "")
            if plain in ACCOUNT_FIELDS and (isinstance(value, str) or plain in ACCOUNT_OBJECTS):
                return self._hidden("account", value, depth)
        return self.message(value, depth)

    def _hidden(self, kind: str, value: Any, depth: int) -> Any:
        """A value of which no text is shown."""
        if isinstance(value, str):
            return self._placeholder(kind, value) if value else value
        if depth > DEEPEST:
            raise TooDeep
        if isinstance(value, list):
            return [self._hidden(kind, item, depth + 1) for item in value]
        if isinstance(value, dict):
            return self._renamed(value, lambda item: self._hidden(kind, item, depth + 1))
        return value

    def _renamed(self, value: Mapping[str, Any], show: Callable[[Any], Any]) -> Dict[str, Any]:
        """An object, its names as they can be shown."""
        shown: Dict[str, Any] = {}
        for name, item in value.items():
            shown[self._name(name, shown)] = show(item)
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

    def _without_addresses(self, text: str) -> str:
        parts = []
        done = 0
        for found in DOMAIN.finditer(text):
            at = found.start()
            local = local_part(text, max(done, at - LONGEST_LOCAL_PART), at)
            if not local or local in NOBODY or found[1].lower() in NO_DOMAINS:
                continue
            if VERSION.match(found[0]):
                continue
            begin = at - len(local)
            parts += [text[done:begin], self._placeholder("email", local + found[0])]
            done = found.end()
        return "".join([*parts, text[done:]])


def local_part(text: str, begin: int, at: int) -> str:
    """What belongs to an address whose "@" is at *at*; nothing, if it is none."""
    found = LOCAL_PART.search(text[begin:at])
    if found is None:
        return ""
    before = begin + found.start() - 1
    # In the text of JSON, the n of \n is not the first letter of a name.
    escaped = before >= 0 and text[before] == "\\"
    return found[0][1:] if escaped else found[0]


def is_base64(value: Mapping[str, Any]) -> bool:
    """Whether this is the source of a picture or a document."""
    return value.get("type") == "base64" and isinstance(value.get("media_type"), str)


def homes_of(environment: Mapping[str, str]) -> List[str]:
    """The home of the CLI and of this program, by all names they have."""
    found = [environment.get("HOME"), environment.get("USERPROFILE"), os.path.expanduser("~")]
    homes: List[str] = []
    for home in found:
        if home and len(home) > len("/a") and home != "~":
            homes += [home.rstrip("/\\"), os.path.realpath(home)]
    return [home for home in dict.fromkeys(homes) if len(home) > len("/a")]


def is_schema(value: Mapping[str, Any]) -> bool:
    """Whether these are the properties of a JSON Schema: each says what a value is like."""
    return all(
        isinstance(item, bool)
        or (isinstance(item, dict) and (not item or not SCHEMA_WORDS.isdisjoint(item)))
        for item in value.values()
    )


def is_folder(name: str, value: Any) -> bool:
    """Whether this is the working directory, and no password."""
    return name.lower() == "pwd" and isinstance(value, str) and value.startswith(("/", "~", "."))


def longest_word(known: str) -> str:
    """A word that is there wherever *known* stands, however it is escaped; "" if none is."""
    words: List[str] = re.findall(r"[A-Za-z0-9]+", known)
    return max(words, key=len, default="")


def pattern_of_home(home: str) -> str:
    """Where *home* stands, and the name that the CLI gives to a folder for it."""
    first, *parts = re.split(r"[/\\]+", home)
    begin = re.escape(first) + SEPARATOR if first else FIRST_SEPARATOR
    path = begin + SEPARATOR.join(map(re.escape, parts))
    folder = re.escape(re.sub(r"[^A-Za-z0-9]", "-", home))
    # A short one, such as /root, may be part of something else.
    is_short = len(home) < SHORTEST_HOME
    before_path, before_folder = (START, r"(?<=[/\\])") if is_short else ("", "(?<![A-Za-z0-9])")
    return rf"{before_path}{path}(?![\w.-])|{before_folder}{folder}(?![A-Za-z0-9])"
