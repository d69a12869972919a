"""
Take secrets out of what is shown to people: error texts, logs, recordings.

The command line and the CLI's stderr may hold keys: in ``--settings`` given as
JSON, in headers of MCP servers, in a message about a failed login. Better too
much is hidden than too little; but token counts, file names and plain prose
stay readable. What a recording hides beyond that is in ``concealing``.

Decisions taken here and nowhere else:

* Secrets are found by their own form (``sk-ant-...``), by the name before them
  (``API_KEY=...``) and by where they stand (``Bearer ...``, ``//user:...@``).
* Secrets of the CLI's own environment are known: they are hidden wherever they turn
  up, whatever they look like.
* Texts may be JSON, or JSON inside JSON: quotes may have backslashes before them,
  and a key may follow an ``\\n`` that is two characters. What was JSON stays JSON.
* Time is in proportion to the length of the text, whatever is in it: a pattern
  either begins with a fixed word, or ends at once when it cannot match.
"""

from __future__ import annotations

import re
from functools import cache
from typing import (
    Any,
    Callable,
    Iterable,
    Iterator,
    List,
    Mapping,
    Match,
    Pattern,
    Sequence,
    Set,
    Tuple,
)

from .private_keys import PEM_WORD, hide_private_keys

__all__ = [
    "hide_secrets",
    "is_secret_name",
    "known_secrets",
    "redact_argv",
    "redact_lines",
    "redact_text",
    "remember_secrets",
]

HIDDEN = "***"
# What stands for something hidden, here or in a recording; hiding it again changes nothing.
PLACEHOLDER = r"(?:\*\*\*|<[a-z-]+-\d+>)[.,:)\]}>]*\Z"

Hide = Callable[[str], str]

# How names of secrets end, however they are spelled: API_KEY, apiKey, X-Auth-Token, password2.
# The beginning of the name is not looked at: that would cost too much on a
# line of stderr that is a megabyte long. "pass: 12" counts, and "pwd" may be a folder.
SECRET = (
    r"(?:(?:(?:api|access|account|auth|encryption|private|secret|signing|subscription)[_-]?key"
    r"|token|secret|passw(?:or)?d|passphrase|credentials?|authorization|cookie"
    r"|(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:pass(?!\\*[\"']?\s*[=:]\s*\d{1,4}\b)"
    r"|pwd(?!\\*[\"']?\s*[=:]\s*\\*[\"']?(?:[/~.$]|[A-Za-z]:[\\/])))"
    r"|(?-i:(?<=[a-z])P(?:ass|wd)|_(?:KEY|PASS|PWD)))"
    r"(?:[_-]?(?:\d{1,3}|confirm(?:ation)?|hash|again|repeat|old|new))?)"
)
NAMES = ("key", "token", "secret", "pass", "pwd", "credential", "authorization", "cookie")
# Fields that hold several of them.
SECRETS = r"(?:(?:api|access|private|secret)[_-]?key|token|secret|password|credential|cookie)s\Z"

# What is inside quotes, up to the closing one, or to the end of the line if there is none:
# plain, in the text of JSON, and in JSON inside that, where escapes have escapes. No two of
# the alternatives can begin alike: otherwise backslashes would take for ever.
LAST = r"\\+(?=\n|\Z)"
QUOTED = tuple(
    rf"(?P<quote>{quote})(?P<secret>(?:(?!{ending})(?:[^\\\n]|{escape}|{LAST}))*)"
    for quote, escape, ending in (
        (r"[\"']", r"\\[^\n]", "(?P=quote)"),
        (r"\\[\"']", r"\\\\(?:\\\\|\\[^\\\n]|[^\\\n])|\\[^\\\n]", "(?P=quote)"),
        (r"\\{2,}[\"']", r"\\+[^\\\n]", r"(?<!\\)(?P=quote)"),
    )
)

# The beginning of a word, also after an escape in the text of JSON or of an address, and after
# a colour of a terminal. The second kind is for a pattern that may fail after a long run, which
# must not be run through again from each hyphen in it.
AFTER_ESCAPE = (
    r"(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})|(?<=\\x[0-9A-Fa-f]{2})"
    r"|(?<=[\[;0-9][mK])"
)
BEGIN = rf"(?:(?<![A-Za-z0-9])|{AFTER_ESCAPE})"
ALONE = rf"(?:(?<![\w-])|{AFTER_ESCAPE})"
COLOUR = r"(?:\x1b|\\u001b|\\x1b|\\033)\[[0-9;]*[A-Za-z]"
# Between a name and its value; in the text of JSON, blanks may be two characters.
BLANKS = rf"(?:\s|\\+[nrt]|{COLOUR})*"

# What closes the name of a secret, and what a program may say about its kind: password: str = 'x'
AFTER_NAME = (
    rf"""(?:\\*["']\s*\]?)?(?:{COLOUR})*"""
    r"""(?:\s*:\s*[A-Za-z_][\w.]{0,40}(?:\[[^\]\n"']{0,60}\])?(?=\s*=))?\s*"""
)
VALUE = rf"(?P<secret>(?:{COLOUR}|[^\s\"',;&\\\x1b])+)"

# Words, one of which is there if the pattern matches; the pattern; and its flags.
Rule = Tuple[Tuple[str, ...], str, int]


@cache
def forms() -> Tuple[Rule, ...]:
    """The rules for keys of a known form, of ``redact_patterns.txt``."""
    import pkgutil  # seldom needed; importlib.resources loads a lot

    text = (pkgutil.get_data(__package__, "redact_patterns.txt") or b"").decode("utf-8")
    rows = [row.split("\t") for row in text.splitlines() if row and not row.startswith("#")]
    return tuple((tuple(row[0].split()), f"(?P<form>(?P<secret>{row[1]}))", 0) for row in rows)


@cache
def words_of_forms() -> str:
    """A pattern for all of their words."""
    return "|".join(sorted({re.escape(word) for words, *_ in forms() for word in words}))


def by_place(words: Sequence[str], pattern: str, flags: int = re.IGNORECASE) -> Rule:
    """A rule for what stands where a secret stands; looked for only where a word is."""
    return tuple(words), pattern, int(flags)


PASSWORDS = (
    *("contraseña", "contrasena", "mot de passe", "motdepasse", "mot_de_passe", "passwort"),
    *("kennwort", "senha", "parola", "wachtwoord", "hasło", "haslo", "пароль", "lösenord"),
    *("adgangskode", "passord", "salasana", "heslo", "jelszó", "şifre", "sifre", "密码", "密碼"),
    *("パスワード", "비밀번호", "mật khẩu", "كلمة المرور", "סיסמה", "κωδικός"),
)

# In this order. A rule is tried only if one of its words, in small letters, is in the text.
RULES: Tuple[Rule, ...] = (
    (("sk-ant-",), r"(?P<secret>sk-ant-[\w-]+)", 0),  # wherever it begins
    # Authorization: Bearer abc, to the end of the header
    by_place(
        ["authorization"],
        rf"authorization\s*[=:]{BLANKS}(?:(?:Bearer|Basic)\s+)?"
        r"(?P<secret>(?P<line>[^\s\"'\\][^\"'\n\\]*))",
    ),
    by_place(["cookie"], rf"cookie\s*:{BLANKS}(?P<secret>(?P<line>[^\s\"'\\][^\"'\n\\]*))"),
    # Bearer abc, but not: Bearer tokens are refused
    by_place(
        ["bearer"],
        BEGIN + r"B(?:earer|EARER)(?:\\?\s|\\+[nrt]|%20)+(?!(?:tokens?|auth\w*|scheme|realm|is|or"
        r"|and|of|for|with|in|to|the|an?|bonds?|headers?|prefix|shares?)\b)"
        r"(?P<secret>[\w.~+/=-]+)",
        0,
    ),
    by_place(
        ["bearer"],
        BEGIN + r"bearer(?:\s|\\+[nrt])+"
        r"(?P<secret>(?=[a-z.~+/=-]{0,4000}[0-9A-Z_])[\w.~+/=-]{8,4000})",
        0,
    ),
    by_place(
        ["basic"],
        BEGIN + r"Basic(?:\s|\\+[nrt])+"
        r"(?P<secret>(?=.[a-z+/]{0,4000}[0-9A-Z=])[\w+/=-]{8,4000})",
        0,
    ),
    # "apiKey": "abc", password='a b c', password: str = b'abc', d["password"] == 'abc'
    *(
        by_place(NAMES, rf"{SECRET}{AFTER_NAME}(?:={{1,3}}>?|:=?){BLANKS}[bfru]{{0,2}}{quoted}")
        for quoted in QUOTED
    ),
    # ["--password", "abc"]
    *(
        by_place(NAMES, rf"""{ALONE}--[\w-]{{0,40}}{SECRET}\\*["']\s*,\s*{quoted}""")
        for quoted in QUOTED
    ),
    # <password>abc</password>
    by_place(NAMES, rf"<(?!secret-\d)[\w:.-]{{0,40}}{SECRET}>(?P<secret>[^<>\n]+)"),
    # API_KEY=abc, --api-key=abc, api-key: abc
    by_place(
        NAMES,
        rf"{SECRET}(?<!authorization)(?!(?<=cookie)\s*:){AFTER_NAME}(?:=(?![=>])|:(?!=)|:=)"
        rf"{BLANKS}(?:[>|][+-]?\s*\n\s*)?(?!(?:Bearer|Basic)\s|[bfru]{{1,2}}\\*[\"']){VALUE}",
    ),
    # --password abc
    by_place(NAMES, rf"{ALONE}--[\w-]{{0,40}}{SECRET}\s+(?!-){VALUE}"),
    # curl -u user:abc, but not: docker run -u 1000:1000
    by_place(
        ["-u ", "--user"],
        r"(?:(?<!\S)|(?<=\\[nrt]))-(?:u|-user)[\s=]+[\"']?[^\s:\"'/=][^\s:\"'/]*:"
        r"(?!\d{1,6}(?![^\s\"'\\]))(?P<secret>[^\s\"'\\]+)",
    ),
    # https://user:password@host
    by_place(["://"], r"""://[^\s/:@"']*:(?P<secret>[^\s/@"'\\]+(?:@[^\s/@"'\\?#,]+)*)@"""),
    # https://TOKEN@host
    by_place(
        ["://"],
        r"""://(?P<secret>(?=[^\s/:@"']{0,200}\d)[\w-]{20,})(?::[^\s/@"']*)?@""",
    ),
    # A password with a slash in it
    by_place(
        ["://"],
        r"""://[^\s/:@"']+:(?!\d{1,5}[/?#])"""
        r"""(?P<secret>[^\s@"'\\/]{0,64}/[^\s@"'\\]{0,200})@(?=[\w.-])""",
    ),
    by_place(
        ["signature=", "sig=", "security-token=", "x-amz-credential="],
        r"[?&;](?:sig|(?:X-(?:Amz|Goog|Oss|Cos)-)?(?:Signature|Security-Token|Credential))="
        r"(?P<secret>[\w%+/=~.-]{16,})",
    ),
    by_place(
        [
            "hooks.slack.com",
            "/api/webhooks/",
            "webhook.office.com",
            "hooks.zapier.com",
            "/_trigger/",
        ],
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/\d+/"
        r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/)"
        r"(?P<secret>[\w@/-]{8,})",
    ),
    by_place(
        ["sess", "connect.sid", "xsrf", "csrf", "__secure-", "__host-", "remember", "_auth="],
        rf"{ALONE}(?:[\w.-]{{0,20}}sess(?:ion)?_?id|[\w-]{{0,20}}_session|connect\.sid"
        r"|\w{0,9}csrf_?token|XSRF-TOKEN|__(?:Secure|Host)-[\w.-]{1,40}"
        r"|remember_(?:me|web_\w{1,60})|\w{0,20}_auth)"
        r"=(?P<secret>[\w%+/.:=~-]{12,})",
    ),
    # docker login -p abc, mysql -pabc, sshpass -p abc, 7z -pabc
    by_place(
        ["login", "sshpass", "smbclient"],
        r"\b(?:(?:docker|podman|az|helm registry|npm|oc|cf)\s+login|sshpass|smbclient)\b"
        r"[^\n|;&]{0,200}?"
        r"\s-p[\s=]*[\"']?(?P<secret>[^\s\"'\\]+)",
    ),
    by_place(
        ["mysql", "mariadb", "7z", "sshpass"],
        r"\b(?:mysql\w*|mariadb[\w-]*|7z\w*|sshpass)\b[^\n|;&]{0,200}?"
        r"\s-p(?P<secret>[^\s\"'\\=]{3,})",
    ),
    # machine host login me password abc
    by_place(
        ["machine"],
        r"\bmachine(?:\s|\\n)+\S{1,100}?(?:\s|\\n)+login(?:\s|\\n)+\S{1,100}?"
        r"(?:\s|\\n)+password(?:\s|\\n)+"
        r"(?P<secret>[^\s\"'\\]+)",
    ),
    # localhost:5432:database:me:abc
    by_place(
        [":5432:", ":3306:", ":*:", ":5433:", ":6432:"],
        r"(?:^|(?<=[\n\s\"'])|(?<=\\n))[\w.*-]{1,100}:(?:\d{4,5}|\*)(?::[^:\s\"']{1,64}){2}:"
        r"(?P<secret>[^\s\"'\\]+)",
    ),
    # In other languages
    by_place(
        PASSWORDS,
        rf"(?:{'|'.join(PASSWORDS)})(?:\\*[\"'])?\s*(?:[:=]|=>)\s*\\*[\"']?"
        r"(?P<secret>[^\s\"'\\,;]+)",
    ),
    # The key of PuTTY, its lines and what proves them
    by_place(
        ["private-lines"],
        r"Private-Lines:\s*\d+(?:\s|\\+[nr])+(?P<secret>(?:[A-Za-z0-9+/=]+(?:\s|\\+[nr])*)+?)"
        r"(?=Private-(?:MAC|Hash)|[\"']|\Z)",
    ),
    by_place(["private-mac"], r"Private-(?:MAC|Hash):\s*(?P<secret>[0-9a-f]{20,})"),
)

SECRET_NAME = rf"{SECRET}\Z"

# "env": {"ANY": "abc"}: variables and headers may be secret whatever they are called.
HOLDERS = ("env", "headers", "environment")
HOLDER = rf"""["'](?:{"|".join(HOLDERS)})\\*["']\s*:\s*\{{[^{{}}]*"""
HELD = tuple(rf":\s*{quoted}" for quoted in QUOTED)

# Words, not secrets: token: str, API_KEY=$API_KEY
HARMLESS = (
    r"(?:none|null|nil|true|false|undefined|str|string|bytes|int|bool|boolean|any|object|optional"
    r"|required|missing|invalid|expired|unknown|\$\{?[A-Z_][A-Z0-9_]*\}?|<[a-z][a-z _-]*>"
    r"|\$?\{\{|\$\d)"
    r"[.)\]}>]*\Z"
)
# Code, not secrets, if there are no quotes around it: password = get_password(), token: Token
CODE = (
    r"(?:[A-Za-z_][\w.]*\((?!\d+\))(?:[^()]*\)+[.:)\]}]*)?\Z"
    r"|(?:os\.environ|process\.env|self\.|args\.)"
    r"|(?-i:(?:Optional|Union|List|Sequence|Final|Annotated)\[[\w.\[\]|]*\Z"
    r"|(?:[A-Z][a-z]+)*(?:Token|Secret|Password|Credentials?|Key|Cookie|Str)[.:)\]}>]*\Z))"
)
# A word of a sentence, and how the values of headers begin.
PROSE_WORD = r"(?-i:[(]?(?:[A-Z]?[a-z]{1,15}|[A-Z]{1,5}|\d{1,4})[.,;:!?)]*)"
SCHEME = r"(?:bearer|basic|digest|token|apikey|negotiate|hmac)\b"
FEWEST_WORDS = 4

# Whether a variable's value is a secret that must not turn up anywhere.
SECRET_VARIABLE = r"(?:key|token|secret|pass|passwd|password|passphrase|auth)\Z"
WORD = re.compile(r"[\w-]+").fullmatch
# What is not escaped in an address.
UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# A known value that is shorter may be a word like any other.
SHORTEST_SECRET = 8
DEEPEST = 200

# Their values may be JSON with secrets in places that no pattern knows.
FLAGS_WITH_JSON = ("--settings", "--mcp-config", "--managed-settings", "--agents")
SECRET_FLAG = rf"--?[\w.-]*{SECRET}"


@cache
def compiled(pattern: str, flags: int = int(re.IGNORECASE)) -> Pattern[str]:
    """A pattern, when it is needed: all of them take longer than a client to start."""
    return re.compile(pattern, flags)


# Variables of the CLIs that were started: those not looked at yet, and the secrets found.
VARIABLES: Set[Tuple[str, str]] = set()
KNOWN: Set[str] = set()


def remember_secrets(environment: Mapping[str, str]) -> None:
    """Hide the secrets of these variables from now on. Costs next to nothing until needed."""
    VARIABLES.update(environment.items())


def redact_text(text: str) -> str:
    """*text* without the secrets in it, for example a line of stderr."""
    return hide_all(text, remembered(), stars)


def redact_lines(lines: Iterable[str]) -> List[str]:
    """*lines* without the secrets in them, also those that go over several lines."""
    text = hide_known("\n".join(lines), remembered(), stars)
    return [redact_text(line) for line in hide_private_keys(text, stars).split("\n")]


def remembered() -> Set[str]:
    """The secrets of the CLIs that were started."""
    while VARIABLES:
        KNOWN.update(known_secrets(dict([VARIABLES.pop()])))
    return KNOWN.copy()


def hide_all(text: str, known: Set[str], hide: Hide) -> str:
    """*text* without secrets, those that are *known* and those that the patterns find."""
    # Patterns may find a part of what is known, if it has other characters than a word. Of a
    # word they find all, and more: it may be part of another secret.
    text = hide_known(text, [each for each in known if not WORD(each)], hide)
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
def forms_of(secret: str) -> Tuple[str, ...]:
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
    for character, escape in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r")):
        text = text.replace(character, escape)
    return text.replace("\t", "\\t")


def stars(secret: str) -> str:
    """What is shown instead of a secret."""
    del secret
    return HIDDEN


def hide_secrets(text: str, hide: Hide) -> str:
    """*text*, each secret in it replaced by what *hide* makes of it."""

    def replace(found: Match[str]) -> str:
        secret = found["secret"]
        if not secret or is_placeholder(secret) or is_harmless(found, secret):
            return found[0]
        begin, end = found.span("secret")
        start = found.start()
        return found[0][: begin - start] + hide(secret) + found[0][end - start :]

    def replace_all(found: Match[str]) -> str:
        inside = found[0]
        for held in HELD:
            inside = compiled(held, 0).sub(replace, inside)
        return inside

    lowered = text.lower()
    if PEM_WORD in lowered:
        text = hide_private_keys(text, hide)
    # One look at all words is quicker than one for each, where none is there.
    known = forms() if compiled(words_of_forms(), 0).search(lowered) else ()
    for words, pattern, flags in (*RULES[:1], *known, *RULES[1:]):
        for word in words:
            if word in lowered:
                text = compiled(pattern, flags).sub(replace, text)
                break
    if '"env' in lowered or "'env" in lowered or "headers" in lowered:
        text = compiled(HOLDER).sub(replace_all, text)
    return text


def is_harmless(found: Match[str], secret: str) -> bool:
    """Whether what stands where a secret stands is none: a word, code, a sentence."""
    kinds = found.re.groupindex
    if "form" in kinds and compiled(BEGIN, 0).match(found.string, found.start()) is None:
        return True  # in the middle of a word
    if "line" in kinds and is_prose(secret):
        return True
    if compiled(HARMLESS).match(secret) is not None:
        return True
    return "quote" not in kinds and compiled(CODE).match(secret) is not None


def is_prose(line: str) -> bool:
    """Whether this is a sentence, and no value of a header."""
    words = line.split()
    if len(words) < FEWEST_WORDS or compiled(SCHEME).match(line):
        return False
    return all(compiled(PROSE_WORD).fullmatch(word) for word in words)


def is_secret_name(name: str) -> bool:
    """Whether a field, a variable or a flag of this name holds a secret."""
    return compiled(SECRET_NAME).search(name) is not None


def is_name_of_secrets(name: str) -> bool:
    """Whether a list or an object of this name holds several."""
    return compiled(SECRETS).search(name) is not None


def is_placeholder(text: str) -> bool:
    """Whether *text* stands for something that was hidden."""
    return compiled(PLACEHOLDER, 0).match(text) is not None


def known_secrets(environment: Mapping[str, str], configurations: Iterable[Any] = ()) -> Set[str]:
    """Values that are secrets by the names of their variables, headers and fields."""
    found = set(named_secrets(environment))
    for configuration in configurations:
        found.update(secrets_in(configuration, 0))
    return {each for each in found if len(each) >= SHORTEST_SECRET and not is_ordinary(each)}


def is_ordinary(value: str) -> bool:
    """Whether this may stand anywhere: a path to a secret, or a word as a password."""
    is_path = value.startswith(("/", "~", "./")) or value[1:3] == ":\\"
    return is_path or (value.isalpha() and value.islower() and len(value) < 2 * SHORTEST_SECRET)


def named_secrets(values: Mapping[str, Any]) -> Iterator[str]:
    """The values, of variables or headers, that are secrets by their names."""
    for name, value in values.items():
        if isinstance(value, str) and (
            compiled(SECRET_VARIABLE).search(str(name)) or is_secret_name(name)
        ):
            yield value
            yield from value.split()[1:]  # "Bearer abc" is also a secret without its first word


def secrets_in(value: Any, depth: int) -> Iterator[str]:
    """The same, anywhere in *value*."""
    if depth > DEEPEST:
        return
    if isinstance(value, Mapping):
        yield from named_secrets(value)
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from secrets_in(item, depth + 1)


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
    if flag and compiled(SECRET_FLAG).fullmatch(flag):
        return HIDDEN
    if flag in FLAGS_WITH_JSON and value.lstrip().startswith(("{", "[")):
        return HIDDEN
    return redact_text(value)
