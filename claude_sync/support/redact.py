"""
Take secrets out of what is shown to people: error texts, logs, recordings.

The command line and the CLI's stderr may hold keys: in ``--settings`` given as
JSON, in headers of MCP servers, in a message about a failed login. Better too
much is hidden than too little; but token counts, file names and plain prose
stay readable. What a recording hides beyond that is in ``conceal``.

Decisions taken here and in ``redact_patterns.txt``:

* Secrets are found by their own form (``sk-ant-...``), by the name before them
  (``API_KEY=...``) and by where they stand (``Bearer ...``, ``//user:...@``).
* Secrets of the CLI's own environment are known: they are hidden wherever they turn
  up, whatever they look like.
* A private key goes on to its end, whatever stands between its lines: line numbers, quotes of
  programs and of mails, names of files. Without an end, as in a text that was cut, it goes on to
  the end of the string in which it is, or of the text.
* Texts may be JSON, or JSON inside JSON: quotes may have backslashes before them,
  and a key may follow an ``\\n`` that is two characters. What was JSON stays JSON.
* Time is in proportion to the length of the text, whatever is in it: a pattern
  either begins with a fixed word, or ends at once when it cannot match.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

HIDDEN = "***"
Hide = Callable[[str], str]

HOLDERS = ("env", "headers", "environment")
# What is there, in small letters, if there is a private key; and how long one may be.
PEM_WORD = "-----begin"
LONGEST_KEY = 64 * 1024
# A known value that is shorter may be a word like any other.
SHORTEST_SECRET = 8
DEEPEST = 200
# Their values may be JSON with secrets in places that no pattern knows.
FLAGS_WITH_JSON = ("--settings", "--mcp-config", "--managed-settings", "--agents")
# What is not escaped in an address.
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Patterns(NamedTuple):
    """The file ``redact_patterns.txt``: rules with the words that they need, and named patterns."""

    forms: list[tuple[list[str], str]]
    places: list[tuple[list[str], str]]
    named: dict[str, str]


@cache
def patterns() -> Patterns:
    """The patterns, when they are needed: all of them take longer than a client to start."""
    import pkgutil  # seldom needed; importlib.resources loads a lot

    text = (pkgutil.get_data(__package__, "redact_patterns.txt") or b"").decode("utf-8")
    found = Patterns([], [], {})
    for row in text.splitlines():
        if not row or row.startswith("#"):
            continue
        first, pattern, *example = row.split("\t")
        pattern = re.sub(r"\{([A-Z]+)\}", lambda name: found.named[name[1]], pattern)
        if not example:
            found.named[first] = pattern
        elif "(?P<secret>" in pattern:
            found.places.append((first.split(), pattern))
        else:
            found.forms.append((first.split(), f"(?P<form>(?P<secret>{pattern}))"))
    return found


@cache
def words_of_forms() -> re.Pattern[str]:
    """A pattern for all of their words: one look is quicker than one for each."""
    words = {re.escape(word) for words, _ in patterns().forms for word in words}
    return re.compile("|".join(sorted(words)))


compiled = cache(re.compile)


@cache
def named(name: str) -> re.Pattern[str]:
    """The pattern of that name."""
    return re.compile(patterns().named[name])


# Variables of the CLIs that were started: those not looked at yet, and the secrets found.
VARIABLES: set[tuple[str, str]] = set()
KNOWN: set[str] = set()


def remember_secrets(environment: Mapping[str, str]) -> None:
    """Hide the secrets of these variables from now on. Costs next to nothing until needed."""
    VARIABLES.update(environment.items())


def redact_text(text: str) -> str:
    """*text* without the secrets in it, for example a line of stderr."""
    return hide_all(text, remembered(), stars)


def redact_lines(lines: Iterable[str]) -> list[str]:
    """*lines* without the secrets in them, also those that go over several lines."""
    text = hide_known("\n".join(lines), remembered(), stars)
    return [redact_text(line) for line in hide_private_keys(text, stars).split("\n")]


def remembered() -> set[str]:
    """The secrets of the CLIs that were started."""
    while VARIABLES:
        KNOWN.update(known_secrets(dict([VARIABLES.pop()])))
    return KNOWN.copy()


def stars(_secret: str) -> str:
    """What is shown instead of a secret."""
    return HIDDEN


def hide_all(text: str, known: set[str], hide: Hide) -> str:
    """*text* without secrets, those that are *known* and those that the patterns find."""
    # Patterns may find a part of what is known, if it has other characters than a word. Of a
    # word they find all, and more: it may be part of another secret.
    text = hide_known(text, [each for each in known if not re.fullmatch(r"[\w-]+", each)], hide)
    return hide_known(hide_secrets(text, hide), known, hide)


def hide_known(text: str, secrets: Iterable[str], hide: Hide) -> str:
    """*text* without *secrets*, however they are written."""
    # Long ones first: one may be part of another.
    for secret in sorted(secrets, key=lambda each: (-len(each), each)):
        for form in forms_of(secret):
            if form in text:
                text = text.replace(form, hide(secret))
    return text


@cache
def forms_of(secret: str) -> tuple[str, ...]:
    """A secret as it is, in the text of JSON, in JSON inside that, and in an address."""
    escaped = json_escaped(secret)
    forms = [json_escaped(escaped), escaped, escaped.replace("/", "\\/"), secret]
    for hexadecimal in ("%{:02X}", "%{:02x}"):
        encoded = "".join(
            chr(byte) if byte in UNRESERVED else hexadecimal.format(byte)
            for byte in secret.encode("utf-8", "surrogatepass")
        )
        forms += [encoded, encoded.replace("%20", "+")]
    return tuple(dict.fromkeys(forms))


def json_escaped(text: str) -> str:
    """*text* as it is inside the quotes of JSON, letters of other languages left."""
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
    return text.translate(escapes)


def hide_secrets(text: str, hide: Hide) -> str:
    """*text*, each secret in it replaced by what *hide* makes of it."""

    def replace(found: re.Match[str]) -> str:
        secret = found["secret"]
        if not secret or is_placeholder(secret) or is_harmless(found, secret):
            return found[0]
        begin, end = (place - found.start() for place in found.span("secret"))
        return found[0][:begin] + hide(secret) + found[0][end:]

    def replace_all(found: re.Match[str]) -> str:
        inside = found[0]
        for held in ("HELD", "HELDINJSON", "HELDINBOTH"):
            inside = named(held).sub(replace, inside)
        return inside

    lowered = text.lower()
    if PEM_WORD in lowered:
        text = hide_private_keys(text, hide)
    forms, places, _ = patterns()
    known = forms if words_of_forms().search(lowered) else ()
    for words, pattern in (*places[:1], *known, *places[1:]):
        for word in words:
            if word in lowered:
                text = compiled(pattern).sub(replace, text)
                break
    if '"env' in lowered or "'env" in lowered or "headers" in lowered:
        text = named("HOLDER").sub(replace_all, text)
    return text


def is_harmless(found: re.Match[str], secret: str) -> bool:
    """Whether what stands where a secret stands is none: a word, code, a sentence."""
    kinds = found.re.groupindex
    if "form" in kinds and not named("BEGIN").match(found.string, found.start()):
        return True  # in the middle of a word
    if "line" in kinds and named("PROSE").match(secret):
        return True
    if named("HARMLESS").match(secret):
        return True
    return "quote" not in kinds and named("CODE").match(secret) is not None


def is_placeholder(text: str) -> bool:
    """Whether *text* stands for something that was hidden."""
    return named("PLACEHOLDER").match(text) is not None


def is_secret_name(name: str) -> bool:
    """Whether a field, a variable or a flag of this name holds a secret."""
    return named("SECRETNAME").search(name) is not None


# Private keys: many lines, of which only the first and the last are known.


def hide_private_keys(text: str, hide: Hide) -> str:
    """*text*, each private key in it replaced by what *hide* makes of it."""
    parts = []
    done = 0
    may_end = True
    for found in named("KEYBEGIN").finditer(text):
        if found.start() < done:
            continue
        stop = end_of_private_key(text, found.end()) if may_end else -1
        if stop < 0:
            may_end = False  # not looked for again
            limit = min(found.end() + LONGEST_KEY, len(text))
            closing = named("KEYCLOSING").search(text, found.end(), limit)
            stop = closing.start() if closing is not None else limit
        parts += [text[done : found.start()], hide(text[found.start() : stop])]
        done = stop
    return "".join([*parts, text[done:]])


def begins_private_key(text: str) -> bool:
    """Whether a key begins in *text*, and does not end in it."""
    begins = list(named("KEYBEGIN").finditer(text)) if PEM_WORD in text.lower() else []
    return bool(begins) and end_of_private_key(text, begins[-1].end()) < 0


def end_of_private_key(text: str, begin: int = 0) -> int:
    """Where the key ends whose first line is before *begin*; -1 if it does not."""
    found = named("KEYEND").search(text, begin)
    return found.end() if found is not None else -1


# Secrets that are known by the names of their variables, headers and fields.


def known_secrets(environment: Mapping[str, str], configurations: Iterable[Any] = ()) -> set[str]:
    """The secrets in variables, and anywhere in the configurations of servers and agents."""
    found = set(secrets_in([environment, *configurations]))
    return {each for each in found if len(each) >= SHORTEST_SECRET and not is_ordinary(each)}


def is_ordinary(value: str) -> bool:
    """Whether this may stand anywhere: a path to a secret, or a word as a password."""
    is_path = value.startswith(("/", "~", "./")) or value[1:3] == ":\\"
    return is_path or (value.isalpha() and value.islower() and len(value) < 2 * SHORTEST_SECRET)


def secrets_in(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in *value* that are secrets by their names."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        for name, each in value.items():
            is_secret = named("VARIABLE").search(str(name)) or is_secret_name(str(name))
            if is_secret and isinstance(each, str):
                yield each
                yield from each.split()[1:]  # "Bearer abc" is one without its first word, too
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from secrets_in(item, depth + 1)


# Command lines.


def redact_argv(argv: Sequence[str]) -> list[str]:
    """*argv* without the secrets in it; ``--flag=value`` and ``--flag value`` alike."""
    shown: list[str] = []
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
    is_json = flag in FLAGS_WITH_JSON and value.lstrip().startswith(("{", "["))
    if is_json or named("SECRETFLAG").match(flag):
        return HIDDEN
    return redact_text(value)
