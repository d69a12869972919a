"""
What the fields of :class:`Options` are made of: which values they take, and how these are sent.

A check takes the name of an option and a value. It raises :exc:`UsageError` for a value that
cannot work, and returns the value in the form that Options keeps: sequences as tuples,
mappings as dicts. Nothing here reads a file: the start of the CLI looks whether a path exists.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Mapping, Union, get_args

from ..errors import UsageError
from ..support.checks import check_function, check_path, check_timeout, nearest, refuse
from ..support.checks import check_name as check_text
from ..support.text import camel_case

Check = Callable[[str, Any], Any]
PathLike = Union[str, "os.PathLike[str]"]

# Every closed set of values, for type checkers and for the checks.
PermissionMode = Literal[
    "default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto", "manual"
]
Effort = Literal["low", "medium", "high", "xhigh", "max"]
SettingSource = Literal["user", "project", "local"]
ThinkingType = Literal["adaptive", "disabled"]
DialectName = Literal["cli", "callback", "user-message"]
OnCrash = Literal["resume", "raise"]
PostName = Literal["manual", "caller"]

PERMISSION_MODES: tuple[str, ...] = get_args(PermissionMode)
EFFORTS: tuple[str, ...] = get_args(Effort)
SETTING_SOURCES: tuple[str, ...] = get_args(SettingSource)
DIALECTS: tuple[str, ...] = get_args(DialectName)

# The CLI's own tools, of all versions from 2.1 on and of those that older rules name. A name
# that is not here may be right: tools come with new versions.
KNOWN_TOOLS = (
    *("Agent", "AskUserQuestion", "Bash", "BashOutput", "CronCreate", "CronDelete", "CronList"),
    *("Edit", "EnterPlanMode", "EnterWorktree", "ExitPlanMode", "ExitWorktree", "Glob", "Grep"),
    *("KillBash", "KillShell", "LS", "ListAgents", "Monitor", "MultiEdit", "NotebookEdit"),
    *("NotebookRead", "PowerShell", "Read", "ReportFindings", "ScheduleWakeup", "SendMessage"),
    *("Skill", "SlashCommand", "Task", "TaskOutput", "TaskStop", "TodoRead", "TodoWrite"),
    *("ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write"),
)

# Flags that carry the conversation between the library and the CLI.
FLAGS_OF_THE_LIBRARY = (
    *("help", "input-format", "output-format", "permission-prompt-tool", "print"),
    *("replay-user-messages", "verbose", "version"),
)
FLAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(-[A-Za-z0-9]+)*")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
# What JavaScript counts to without a mistake.
LARGEST_INT = 2**53 - 1


# How values become words of the command line. Every value is one word with its flag, so that
# one that begins with a dash stays a value.


def words_of(flag: str, value: Any) -> list[str]:
    """``--flag`` for True, else ``--flag=value``, lists with commas."""
    if value is True:
        return [flag]
    return [f"{flag}={','.join(value) if isinstance(value, tuple) else value}"]


def each_word(flag: str, value: Any) -> list[str]:
    """``--flag=value`` for each value of a list of paths."""
    return [f"{flag}={os.fspath(item)}" for item in value]


def thinking_words(flag: str, value: Any) -> list[str]:
    """The flags of ``thinking``; a budget has a flag of another name."""
    if isinstance(value, str):
        return [f"{flag}={value}"]
    if value["type"] == "enabled":
        words = [f"--max-thinking-tokens={value['budget_tokens']}"]
    else:
        words = [f"{flag}={value['type']}"]
    if value.get("display") is not None:
        words.append(f"--thinking-display={value['display']}")
    return words


def plain(value: Any) -> Any:
    """Most values go as they are."""
    return value


def agents_on_the_wire(agents: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Subagents with the CLI's names of keys, without the keys that are None."""
    return {
        name: {
            camel_case(key): value
            for key, value in (agent if isinstance(agent, Mapping) else vars(agent)).items()
            if value is not None
        }
        for name, agent in agents.items()
    }


# The name of an option in the document of the bridge is mostly its own.
SAME = "="


@dataclass(eq=False, repr=False)  # what is not generated need not be loaded
class Setting:
    """
    All that the library knows of one option: the metadata of its field.

    Attributes:
        flag: The CLI's flag for it, ``--model``; *aliases* are other flags for the same.
        check: Its check; where none is given, the one of its type.
        name: The option.
        doc: What the docstring of Options says about it.
        words: Makes the words of the command line of the flag and a value.
        wire: Gives a value the CLI's form, for a flag and for *key*.
        way: ``flag``; ``long``: a flag as long as it fits on a command line, else *key* in
            ``initialize`` or a private file; ``private``: JSON in a private file.
        key: Its key in the ``initialize`` request.
        variable: The environment variable that carries it.
        kept: ``cli``: it is sent. ``client``: the library acts on it. ``program``: it has a
            meaning in this program only, and so for no backend of a bridge.
        scope: ``client``: it holds for every start of the CLI. ``restart``: a restart may have
            another value by then. ``conversation``: it says which conversation, for the first
            start; a restart leaves it out, and it is not for pools.
        since: The first of the tested CLIs that knows it.
        bridge: Its name in the document of the bridge.
        trust: Whether a bridge takes it from trusted front ends only.
        typed: The flag of ``claude-sync`` for it, with the word for its value.

    """

    flag: str | None = None
    check: Any = None
    name: str = ""
    doc: str = ""
    default: Any = None
    aliases: tuple[str, ...] = ()
    words: Callable[[str, Any], list[str]] = words_of
    wire: Callable[[Any], Any] = plain
    way: Literal["flag", "long", "private"] = "flag"
    key: str | None = None
    variable: str | None = None
    kept: Literal["cli", "client", "program"] = "cli"
    scope: Literal["client", "restart", "conversation"] = "client"
    since: str = "2.1"
    bridge: str | None = None
    trust: bool = False
    typed: str | None = None

    def is_set(self, value: Any) -> bool:
        """Whether *value* is sent: an empty tuple only where None is the default."""
        return value is not None and value is not False and (value != () or self.default is None)


def option(
    flag: str | None = None,
    check: Check | None = None,
    *,
    default: Any = None,
    secret: bool = False,
    **more: Any,
) -> Any:
    """A field of Options. The repr of Options leaves out a *secret* one."""
    setting = Setting(flag, check, default=default, **more)
    return field(default=default, repr=not secret, metadata={"setting": setting})


# Checks of the simple kinds.


def anything(_name: str, value: Any) -> Any:
    """Any value: the code that uses it checks it."""
    return value


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise refuse(name, value, "True or False")
    return value


def text(name: str, value: Any) -> Any:
    """None or any str, also an empty one."""
    if value is not None and not isinstance(value, str):
        raise refuse(name, value, "a str")
    return value


def word(name: str, value: Any) -> Any:
    """None or a str that is not blank."""
    return None if value is None else check_text(name, value)


def conversation(name: str, value: Any) -> Any:
    """None or the id of a conversation: not what has one, an answer or an item of a list."""
    if hasattr(value, "session_id"):
        raise refuse(name, value, "the id of a conversation (pass its .session_id)")
    return word(name, value)


def seconds(name: str, value: Any) -> float | None:
    """None or seconds above zero."""
    return check_timeout(name, value)


def path(name: str, value: Any) -> Any:
    """None or a path that is not blank."""
    return None if value is None else check_path(name, value)


def uuid(name: str, value: Any) -> Any:
    """None or a UUID as a str."""
    if value is not None and not (isinstance(value, str) and UUID.fullmatch(value)):
        raise refuse(name, value, "a UUID as a str; str(uuid.uuid4()) makes one")
    return value


def choice(*choices: str, optional: bool = True) -> Check:
    """One of *choices*."""

    def check(name: str, value: Any) -> Any:
        if (value is None and optional) or (isinstance(value, str) and value in choices):
            return value
        wanted = "one of " + ", ".join(map(repr, choices))
        raise refuse(name, value, wanted, nearest(value, choices))

    return check


def count(least: int, optional: bool = True) -> Check:
    """An int, at least *least*."""

    def check(name: str, value: Any) -> Any:
        if value is None and optional:
            return value
        # True is an int to Python, and never meant as a number.
        if type(value) is not int or not least <= value <= LARGEST_INT:
            raise refuse(name, value, f"an int of at least {least}")
        return value

    return check


def amount(name: str, value: Any) -> Any:
    """None or a finite number above zero."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # Comparing is safe for an int that no float can hold. Nan fails every comparison.
    if value is not None and not (is_number and 0 < value <= sys.float_info.max):
        raise refuse(name, value, "a number above 0 (or None)")
    return value


def list_of(check_item: Check, example: str, optional: bool = False) -> Check:
    """A list or tuple of values that *check_item* accepts; kept as a tuple."""

    def check(name: str, value: Any) -> Any:
        if value is None and optional:
            return value
        # A str is a sequence of its letters, and a set has no order to repeat.
        if not isinstance(value, (list, tuple)):
            raise refuse(name, value, f"a list: {name}={example}")
        for item in value:
            if item is None:
                raise refuse(f"each item of {name}", item, f"set, as in {name}={example}")
        return tuple(check_item(f"each item of {name}", item) for item in value)

    return check


def mapping(name: str, value: Any) -> Any:
    """None or a mapping whose keys are str and not blank; kept as a dict."""
    if value is None:
        return value
    if not isinstance(value, Mapping):
        raise refuse(name, value, "a dict")
    for key in value:
        check_text(f"each key of {name}", key)
    return dict(value)


def texts(name: str, value: Any) -> Any:
    """None or a dict of str."""
    value = mapping(name, value)
    for key, item in (value or {}).items():
        text(f"{name}[{key!r}]", item)
    return value


# Checks of single options.


def system_prompt(name: str, value: Any) -> Any:
    """None, a text, or one of the three dict forms."""
    if value is None or isinstance(value, str):
        return value
    value = mapping(name, value)
    kind = choice("preset", "file", "custom", optional=False)(f"{name}['type']", value.get("type"))
    if kind == "file" and path(f"{name}['path']", value.get("path")) is None:
        raise refuse(name, value, "{'type': 'file', 'path': PATH}")
    if kind == "custom" and text(f"{name}['prompt']", value.get("prompt")) is None:
        raise refuse(name, value, "{'type': 'custom', 'prompt': TEXT}")
    text(f"{name}['append']", value.get("append"))
    return value


def thinking(name: str, value: Any) -> Any:
    """None, a type of thinking, or a dict with one."""
    if not isinstance(value, Mapping):
        return choice(*get_args(ThinkingType))(name, value)
    value = dict(value)
    kinds = ("adaptive", "enabled", "disabled")
    if choice(*kinds, optional=False)(f"{name}['type']", value.get("type")) == "enabled":
        count(1, optional=False)(f"{name}['budget_tokens']", value.get("budget_tokens"))
    choice("summarized", "omitted")(f"{name}['display']", value.get("display"))
    return value


def task_budget(name: str, value: Any) -> Any:
    """None, a number of tokens, or {"total": tokens}."""
    if isinstance(value, Mapping):
        value = count(1, optional=False)(f"{name}['total']", value.get("total"))
    return count(1)(name, value)


def agents(name: str, value: Any) -> Any:
    """None, or subagents by name: dicts, or objects with such attributes."""
    value = mapping(name, value)
    for agent_name, agent in (value or {}).items():
        if not isinstance(agent, Mapping) and not hasattr(agent, "__dict__"):
            raise refuse(f"{name}[{agent_name!r}]", agent, "a dict")
        known = agent if isinstance(agent, Mapping) else vars(agent)
        for key in ("description", "prompt"):  # the CLI leaves out an agent without them
            check_text(f"{name}[{agent_name!r}][{key!r}]", known.get(key))
    return value


def skills(name: str, value: Any) -> Any:
    """None, "all", or names that can stand inside a permission rule."""
    if value is None or value == "all":
        return value
    value = list_of(word, "['pdf'] or 'all'")(name, value)
    for skill in value:
        # The CLI cuts its list of rules at commas and parentheses, unescaped.
        if skill != skill.strip() or re.search(r"[(),*\\\x00-\x1f]|^/", skill):
            raise refuse(f"each item of {name}", skill, "the plain name of a skill")
    return value


def plugin(name: str, value: Any) -> Any:
    """A folder, or {"type": "local", "path": folder}; kept as the folder."""
    if isinstance(value, Mapping):
        choice("local", optional=False)(f"{name}['type']", value.get("type"))
        value = value.get("path")
    if value is None:
        raise refuse(name, value, "a folder, or {'type': 'local', 'path': folder}")
    return check_path(name, value)


def tool_name(name: str, value: Any) -> Any:
    """The name of a tool. Names of others than the CLI's own tools pass, unless nearly one."""
    word(name, value)
    for tool in re.split(r"[\s,]+", value.strip()):
        if tool in KNOWN_TOOLS or tool.startswith("mcp__"):
            continue
        meant = nearest(tool, KNOWN_TOOLS, cutoff=0.85)
        if meant is not None and abs(len(meant) - len(tool)) <= 1:
            raise refuse(name, value, "the name of a tool, in the CLI's spelling", meant)
    return value


def rule(name: str, value: Any) -> Any:
    """A permission rule: ``Read``, ``Bash(ls *)``, ``mcp__server``. The CLI ignores others."""
    word(name, value)
    # The CLI cuts at commas and spaces outside parentheses, so that "Bash (git *)" is all of Bash;
    # and it takes the first closing parenthesis for the last one.
    for each in re.findall(r"(?:\([^)]*\)?|[^ ,(])+", value):
        tool, opened, rest = each.partition("(")
        if bool(opened) != rest.endswith(")") or not re.fullmatch(r"[^\s)]+", tool):
            form = (
                "a rule such as 'Bash(ls *)', its parentheses closed and no space before them "
                "(settings={'permissions': {'deny': [...]}} takes one with parentheses inside)"
            )
            raise refuse(name, value, form, nearest(tool, KNOWN_TOOLS))
        tool_name(name, tool)
    return value


def builtin_tools(name: str, value: Any) -> Any:
    """None, "default", or names of tools."""
    if value == "default" or (isinstance(value, Mapping) and value.get("type") == "preset"):
        return "default"
    return list_of(tool_name, "['Read', 'Grep']", optional=True)(name, value)


def tool_function(name: str, value: Any) -> Any:
    """A function of the program. Names of the CLI's tools are another option."""
    if not callable(value):
        names = "builtin_tools=[...] names the CLI's own tools, and allowed_tools=[...] allows them"
        raise refuse(name, value, f"a Python function; {names}")
    return value


def policy(name: str, value: Any) -> Any:
    """None, or a function that decides about requests for permission."""
    if value is None:
        return value
    if not callable(value):
        wanted = "a policy: claude_sync.policies.ask_on_terminal, policies.allow_tools('Read'), "
        raise refuse(name, value, wanted + "or a function of yours that takes the request")
    if getattr(value, "__module__", "") == "claude_sync.permissions.policies":
        made = getattr(value, "__name__", "")
        if made in ("allow_tools", "deny_tools", "first_of"):
            raise UsageError(
                f"{name}=policies.{made} makes a policy: call it, {made}(...)", option=name
            )
    return check_function(name, value, "policy(request)")


def mcp_servers(name: str, value: Any) -> Any:
    """None, a path, JSON text, or configurations by the names of servers."""
    if not isinstance(value, Mapping):
        return settings(name, value)
    value = mapping(name, value)
    if set(value) == {"mcpServers"}:
        raise refuse(name, value, "what is inside 'mcpServers': {name: config}")
    for server, config in value.items():
        if server == "claude_sync":
            raise UsageError(
                f"{name}[{server!r}]: this name belongs to the server with the program's own "
                "tools, which need no permission. Choose another name.",
                option=name,
            )
        mcp_server(f"{name}[{server!r}]", config)
    return value


def mcp_server(name: str, config: Any) -> None:
    """The configuration of one server. The CLI leaves out one that it does not understand."""
    config = mapping(name, {} if config is None else config)
    kind = config.get("type")
    remote = ("http", "streamable-http", "sse", "ws", "sse-ide", "ws-ide", "claudeai-proxy")
    if kind == "sdk":
        fault = "is an in-process server of another library; give its functions as tools=[...]"
    elif kind is None and "url" in config and "command" not in config:
        fault = "has a url and no type; add 'type': 'http' or 'sse'"
    else:
        choice("stdio", *remote)(f"{name}['type']", kind)
        needed = "url" if kind in remote else "command"
        if needed in config:
            check_text(f"{name}[{needed!r}]", config[needed])
            if config.get("args") is not None:
                list_of(text, "['--flag']")(f"{name}['args']", config["args"])
            for key in ("env", "headers"):
                texts(f"{name}[{key!r}]", config.get(key))
            return
        fault = (
            f"needs a {needed!r}: {{'command': 'program', 'args': [...]}}, or "
            "{'type': 'http', 'url': 'https://...'}"
        )
    raise UsageError(f"{name} {fault}", option="mcp_servers")


def settings(name: str, value: Any) -> Any:
    """None, a path, JSON text, or the settings themselves."""
    if isinstance(value, Mapping):
        return mapping(name, value)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        parsed_json(name, value)
    return path(name, value)


def parsed_json(name: str, content: str, file: str | None = None) -> dict[str, Any]:
    """The JSON object in a text; UsageError with the place of the mistake."""
    import json  # most programs have no such option

    where = f"the file {file!r} of {name}" if file else name
    try:
        # Python reads NaN and the infinities; the CLI ignores settings in which they are.
        parsed = json.loads(content, parse_constant=not_json)
    except ValueError as error:
        # Errors about the text have the place; the text itself may hold keys.
        raise UsageError(f"{where} is not JSON: {error}. Correct it.", option=name) from None
    if not isinstance(parsed, dict):
        raise UsageError(f"{where} must be a JSON object, {{...}}.", option=name)
    return parsed


def not_json(constant: str) -> None:
    """Refuse a number that JSON does not have."""
    raise ValueError(f"it has no {constant}")


def environment(name: str, value: Any) -> Any:
    """None, or values by variable; a value None removes the variable."""
    value = texts(name, value)
    for variable, content in (value or {}).items():
        both = variable + (content or "")
        if "=" in variable or "\0" in both or not is_encodable(both):
            wanted = "text without NUL that this system can write, by names without '='"
            raise refuse(f"{name}[{variable!r}]", content, wanted)
    return value


def is_encodable(content: str) -> bool:
    """Whether the system can pass a text to a process: half of a surrogate pair it cannot."""
    try:
        os.fsencode(content)
    except UnicodeEncodeError:
        return False
    return True


def cli(name: str, value: Any) -> Any:
    """None, a path or name, or the words that start the CLI."""
    if hasattr(value, "command"):
        raise UsageError(f"{name} must be a command, not {value!r}. Pass its .command.", name)
    if not isinstance(value, (list, tuple)):
        return path(name, value)
    if not value:
        raise refuse(name, value, "a path, or a list that is not empty")
    return tuple(map(os.fspath, list_of(path, "['node', 'cli.js']")(name, value)))


def extra_args(name: str, value: Any) -> Any:
    """None, or values by the name of a flag, without dashes; None for a flag alone."""
    from .options import FLAGS_WITH_AN_OPTION

    value = mapping(name, value)
    for each, content in (value or {}).items():
        if not FLAG_NAME.fullmatch(each):
            raise refuse(f"each key of {name}", each, "a flag's name without its dashes")
        instead = FLAGS_WITH_AN_OPTION.get(each)
        if instead is not None or each in FLAGS_OF_THE_LIBRARY:
            why = f"use the option {instead}=" if instead else "the library sets it itself"
            raise UsageError(f"{name} cannot set {each!r}: {why}", option=name)
        if isinstance(content, bool) or not isinstance(content, (str, int, float, type(None))):
            raise refuse(f"{name}[{each!r}]", content, "a str or number, or None for a bare flag")
    return value


def post(name: str, value: Any) -> Any:
    """None, a function, or one of the two named ways."""
    if callable(value):
        return check_function(name, value, "post(call)")
    return choice(*get_args(PostName))(name, value)


def transport(name: str, value: Any) -> Any:
    """None, a transport, or a function that makes one."""
    if value is None or all(hasattr(value, method) for method in ("start", "read", "write")):
        return value
    if not callable(value):
        raise refuse(name, value, "a claude_sync.Transport, or a function that makes one")
    return value


rules = list_of(rule, "['Read', 'Bash(ls *)']")

# The checks of options that need no other than that of their type.
CHECKS: dict[str, Check] = {
    "Any": anything,
    "bool": flag,
    "int": count(0, optional=False),
    "str | None": word,
    "float | None": seconds,
    "PathLike | None": path,
    "Mapping[str, Any] | None": mapping,
    "Effort | None": choice(*EFFORTS),
    "PermissionMode | None": choice(*PERMISSION_MODES),
    "OnCrash": choice(*get_args(OnCrash), optional=False),
    "DialectName": choice(*DIALECTS, optional=False),
    "Sequence[SettingSource] | None": list_of(
        choice(*SETTING_SOURCES), "['user', 'project']", optional=True
    ),
}
