"""
Every option of a client, in one frozen dataclass that checks its values when it is made.

An option is one field here. Its metadata (see ``Setting`` in ``fields.py``) says everything
that the library knows of it: its check, how it reaches the CLI, whether a restart keeps it,
what the bridge and the command line call it. Whatever needs a list of options derives it from
``SETTINGS``. After a change run ``python tests/option_keywords.py``, which writes
``keywords.py`` for type checkers.

* ``None``, or an empty list where a list is the default, means *not set*: nothing is sent and
  the CLI keeps its default. Every other value is sent, or is an error.
* Lists become tuples and mappings become dicts of our own, so that two Options with the same
  values are equal, and later changes to a list that was passed in have no effect.
"""

from __future__ import annotations

import dataclasses
import re
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Sequence

from . import fields as check
from .fields import (
    SAME,
    DialectName,
    Effort,
    OnCrash,
    PathLike,
    PermissionMode,
    PostName,
    Setting,
    SettingSource,
    ThinkingType,
    option,
)
from .rules import check_combinations, check_option

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import OptionKeywords

__all__ = [
    "CONVERSATION",
    "SETTINGS",
    "Options",
    "SignatureWithOptions",
    "names_of",
    "options_from",
    "settings_of",
    "signature_with",
    "unknown_to",
]

# The newest of the tested CLIs, for options that the older one does not know.
NEWEST = "2.1.325"


class SignatureWithOptions:
    """The ``__signature__`` of a class whose __init__ takes options, made when it is asked for."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        self._more = tuple(more)
        self._owner: type | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, instance: object, owner: Any = None) -> Signature:
        # A subclass may have an __init__ of its own; and under python -OO, where classes have no
        # docstrings, dataclasses ask for the signature before there are settings.
        if owner is not self._owner or "SETTINGS" not in globals():
            raise AttributeError("__signature__")
        return signature_with(vars(owner)["__init__"], more=self._more)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """
    The options of a client, given by name; ``replace()`` makes changed copies.

    ``None`` and an empty list mean: not set, the CLI keeps its default.

    What Claude is:

    * ``model``: alias (``"sonnet"``) or full name of the model.
    * ``fallback_model``: the model to use while the first one is overloaded; 2.1.29 only ends
      the turn.
    * ``system_prompt``: replaces the CLI's own prompt; ``""`` means no prompt at all. Also
      ``{"type": "preset", "append": TEXT}``, ``{"type": "file", "path": PATH}``, ``{"type":
      "custom", "prompt": TEXT}``.
    * ``append_system_prompt``: text added to the CLI's own prompt.
    * ``thinking``: ``"adaptive"``, ``"disabled"``, or ``{"type": "enabled", "budget_tokens":
      8000, "display": "summarized"}`` (CLI 2.1.325).
    * ``max_thinking_tokens``: the most tokens to think with; 0 turns thinking off.
    * ``effort``: how much work to put into an answer (CLI 2.1.325).
    * ``betas``: names of API betas.
    * ``agents``: subagents, ``{name: {"description": ..., "prompt": ..., "tools": [...],
      ...}}``, keys in snake_case or camelCase.
    * ``agent``: the subagent that the conversation itself is with, one of ``agents`` or of the
      CLI's own.
    * ``skills``: names of the skills Claude may use, or ``"all"``; 2.1.29 ignores it.
    * ``plugins``: folders of plugins.
    * ``setting_sources``: which settings files the CLI reads; ``[]`` reads none.
    * ``settings``: settings as a dict, or the path of a settings file.
    * ``sandbox``: settings of the CLI's sandbox, merged into ``settings``.

    What Claude may do:

    * ``permission_mode``: the CLI's permission mode; 2.1.29 has neither ``"auto"`` nor
      ``"manual"``.
    * ``plan_mode_instructions``: replaces the CLI's instructions for plan mode (CLI 2.1.325).
    * ``allowed_tools``: rules for what needs no permission, ``["Read", "Bash(git diff *)"]``; the
      CLI applies them, and asks your program nothing.
    * ``disallowed_tools``: rules for what the CLI denies.
    * ``builtin_tools``: which of the CLI's own tools Claude has; ``[]`` means none.
    * ``tools``: Python functions of this program that Claude can call.
    * ``mcp_servers``: ``{name: config}``, or the path of a configuration file.
    * ``strict_mcp_config``: use the servers of ``mcp_servers`` and no others.
    * ``permissions``: a policy, asked before ``on_permission`` handlers.
    * ``permission_timeout``: seconds until an unanswered request is denied.
    * ``hooks``: ``{event: [matcher, ...]}``, as ``on_hook`` adds them.
    * ``add_dirs``: further folders Claude may work in.

    How much it may take:

    * ``max_turns``: steps per question.
    * ``max_budget_usd``: the CLI stops in mid-turn when it has spent this much.
    * ``budget_usd``: no further prompt is sent once this much is spent.
    * ``task_budget``: tokens for a task; the model is told (CLI 2.1.325).

    Which conversation:

    * ``resume``: the id of the conversation to continue.
    * ``continue_conversation``: continue the last conversation in ``cwd``.
    * ``fork_session``: continue in a copy.
    * ``session_id``: the id of the new conversation, a UUID.
    * ``resume_at``: continue from this message.
    * ``resume_drops_turn``: leave out the turn of this user message (CLI 2.1.325).
    * ``title``: the title of the conversation in lists (CLI 2.1.325).

    What is reported:

    * ``include_partial_messages``: text while it is written; on by default.
    * ``include_hook_events``: messages about hooks of the CLI's settings (CLI 2.1.325).
    * ``forward_subagent_text``: text of subagents too (CLI 2.1.325).
    * ``prompt_suggestions``: after an answer, ``on_prompt_suggestion`` gets what to ask next; each
      costs a request (CLI 2.1.325).
    * ``enable_file_checkpointing``: makes ``rewind_files()`` work.
    * ``returns``: the type, or JSON Schema, of every answer's ``.data``.
    * ``returns_retries``: how often to ask again if the answer does not match.
    * ``verbatim``: send prompts as they are: no ``@path`` is read, and a ``/`` at the beginning
      is not a command.

    How the CLI runs:

    * ``cwd``: the folder Claude works in.
    * ``env``: variables to add to the inherited ones; ``None`` removes one.
    * ``client_app``: the name of the application, ``"my-app/1.2"``, for the service's
      statistics (CLI 2.1.325).
    * ``cli``: path or name of the executable, or an argv list that starts it.
    * ``user``: the account of this machine that the CLI runs as; only root can choose another.
    * ``extra_args``: ``{"flag-name": value}``, ``None`` for a flag without a value.
    * ``start_timeout``: seconds until the CLI must be ready.
    * ``control_timeout``: seconds for every later request (``None``: no limit).
    * ``on_crash``: ``"resume"`` restarts a CLI that died with the next prompt, ``"raise"`` does
      not.
    * ``retries``: further attempts after an overload, a used-up limit or a crash.
    * ``retry_effects``: repeat a failed attempt even if it had already used tools.

    This client:

    * ``name``: for threads and the log.
    * ``record``: a file that records what is sent and received, without secrets.
    * ``post``: where handlers run: ``None``, a function, ``"manual"`` or ``"caller"``.
    * ``raise_handler_errors``: ``ask()`` raises what a handler raised.
    * ``echo``: print text to stdout as it arrives, and a line for each tool call to stderr.
    * ``transport``: a ``Transport`` to use instead of a process.
    * ``dialect``: the dialect of the protocol that the CLI speaks.

    An option with a version in parentheses needs that CLI or a newer one.
    """

    # What Claude is.
    model: str | None = option("--model", scope="restart", bridge=SAME, typed="--model")
    fallback_model: str | None = option("--fallback-model", scope="restart", bridge=SAME)
    system_prompt: str | Mapping[str, Any] | None = option(
        "--system-prompt",
        check.system_prompt,
        aliases=("--system-prompt-file",),
        way="long",
        bridge=SAME,
    )
    append_system_prompt: str | None = option(
        "--append-system-prompt",
        check.text,
        aliases=("--append-system-prompt-file",),
        way="long",
        key="appendSystemPrompt",
    )
    thinking: ThinkingType | Mapping[str, Any] | None = option(
        "--thinking",
        check.thinking,
        aliases=("--thinking-display",),
        words=check.thinking_words,
        since=NEWEST,
    )
    max_thinking_tokens: int | None = option("--max-thinking-tokens", check.count(0), bridge=SAME)
    effort: Effort | None = option("--effort", since=NEWEST)
    betas: Sequence[str] = option(
        "--betas", check.list_of(check.word, "['context-1m-2025-08-07']"), default=(), bridge=SAME
    )
    agents: Mapping[str, Any] | None = option(
        "--agents",
        check.agents,
        way="long",
        key="agents",
        wire=check.agents_on_the_wire,
        bridge=SAME,
    )
    agent: str | None = option("--agent")
    skills: str | Sequence[str] | None = option(check=check.skills, key="skills")
    plugins: Sequence[PathLike | Mapping[str, Any]] = option(
        "--plugin-dir",
        check.list_of(check.plugin, "['path/of/plugin']"),
        default=(),
        words=check.each_word,
        trust=True,
    )
    setting_sources: Sequence[SettingSource] | None = option("--setting-sources", bridge=SAME)
    settings: PathLike | Mapping[str, Any] | None = option(
        "--settings", check.settings, secret=True, way="private", trust=True
    )
    sandbox: Mapping[str, Any] | None = option(bridge=SAME)

    # What Claude may do.
    permission_mode: PermissionMode | None = option(
        "--permission-mode", scope="restart", bridge=SAME
    )
    plan_mode_instructions: str | None = option(key="planModeInstructions", since=NEWEST)
    allowed_tools: Sequence[str] = option(
        "--allowedTools",
        check.rules,
        default=(),
        aliases=("--allowed-tools",),
        scope="restart",
        bridge=SAME,
    )
    disallowed_tools: Sequence[str] = option(
        "--disallowedTools", check.rules, default=(), aliases=("--disallowed-tools",), bridge=SAME
    )
    builtin_tools: str | Sequence[str] | None = option("--tools", check.builtin_tools)
    tools: Sequence[Callable[..., Any]] = option(
        check=check.list_of(check.tool_function, "[my_function]"),
        default=(),
        key="sdkMcpServers",
        kept="client",
    )
    mcp_servers: PathLike | Mapping[str, Any] | None = option(
        "--mcp-config", check.mcp_servers, secret=True, way="private", bridge=SAME
    )
    strict_mcp_config: bool = option("--strict-mcp-config", default=False)
    permissions: Callable[..., Any] | None = option(check=check.policy, kept="program")
    permission_timeout: float | None = option(kept="program")
    hooks: Mapping[str, Any] | None = option(key="hooks", kept="client", bridge=SAME)
    add_dirs: Sequence[PathLike] = option(
        "--add-dir",
        check.list_of(check.path, "['../other']"),
        default=(),
        words=check.each_word,
        bridge="additional_directories",
    )

    # How much it may take.
    max_turns: int | None = option("--max-turns", check.count(1), bridge=SAME)
    max_budget_usd: float | None = option(
        "--max-budget-usd", check.amount, scope="restart", bridge=SAME
    )
    budget_usd: float | None = option(check=check.amount, kept="client")
    task_budget: int | Mapping[str, Any] | None = option(
        "--task-budget", check.task_budget, since=NEWEST
    )

    # Which conversation.
    resume: str | None = option(
        "--resume", check.conversation, scope="conversation", typed="--resume ID"
    )
    continue_conversation: bool = option(
        "--continue", default=False, scope="conversation", typed="--continue"
    )
    fork_session: bool = option("--fork-session", default=False, scope="conversation")
    session_id: str | None = option("--session-id", check.uuid, scope="conversation")
    resume_at: str | None = option("--resume-session-at", scope="conversation")
    resume_drops_turn: str | None = option(
        "--resume-drops-turn", scope="conversation", since=NEWEST
    )
    title: str | None = option(key="title", scope="conversation", since=NEWEST)

    # What is reported.
    include_partial_messages: bool = option("--include-partial-messages", default=True, bridge=SAME)
    include_hook_events: bool = option("--include-hook-events", default=False, since=NEWEST)
    forward_subagent_text: bool = option(default=False, key="forwardSubagentText", since=NEWEST)
    prompt_suggestions: bool = option(default=False, key="promptSuggestions", since=NEWEST)
    enable_file_checkpointing: bool = option(
        default=False, variable="CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", bridge=SAME
    )
    returns: Any = option(
        "--json-schema", way="long", key="jsonSchema", scope="restart", bridge="output_format"
    )
    returns_retries: int = option(default=1, kept="client")
    verbatim: bool = option(default=False, kept="client")

    # How the CLI runs.
    cwd: PathLike | None = option(kept="program", typed="--cwd FOLDER")
    env: Mapping[str, str | None] | None = option(check=check.environment, secret=True, trust=True)
    client_app: str | None = option(variable="CLAUDE_AGENT_SDK_CLIENT_APP", since=NEWEST)
    cli: PathLike | Sequence[str] | None = option(check=check.cli, trust=True)
    user: str | None = option(kept="program")
    extra_args: Mapping[str, str | int | float | None] | None = option(
        check=check.extra_args, secret=True, trust=True
    )
    start_timeout: float | None = option(default=60.0, kept="client")
    control_timeout: float | None = option(default=60.0, kept="client")
    on_crash: OnCrash = option(default="resume", kept="client")
    retries: int = option(default=0, kept="client")
    retry_effects: bool = option(default=False, kept="client")

    # This client.
    name: str | None = option(kept="program")
    record: PathLike | None = option(kept="program", typed="--record FILE")
    post: PostName | Callable[..., Any] | None = option(check=check.post, kept="program")
    raise_handler_errors: bool = option(default=False, kept="program")
    echo: bool = option(default=False, kept="program")
    transport: Any = option(check=check.transport, kept="program")
    dialect: DialectName = option(default="cli", kept="program")

    __signature__ = SignatureWithOptions()

    def __new__(cls, *values: Any, **given: Any) -> Options:
        """Refuse unknown names with advice, before the generated __init__ refuses them."""
        if values:
            raise TypeError("Options takes its settings by name: Options(model='sonnet')")
        for name in given:
            check_option(name, names_of(cls))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, setting in SETTINGS.items():
            value = setting.check(name, getattr(self, name))
            object.__setattr__(self, name, value)  # the dataclass is frozen
        check_combinations(self)
        if self.dialect != "cli":
            from ..protocol.dialects import refuse_settings

            refuse_settings(self.dialect, greeting_only(self))

    def replace(self, **changes: Unpack[OptionKeywords]) -> Options:
        """These options with some of them changed, checked again as a whole."""
        return type(self)(**{**settings_of(self), **changes})


# What the docstring says about each; nothing where Python leaves out docstrings.
DOCS = {
    name: " ".join(text.split())
    for name, text in re.findall(
        r"\* ``(\w+)``: (.*?)\.?\n\s*(?=\*|\n)", Options.__doc__ or "", re.S
    )
}
SETTINGS: Mapping[str, Setting] = {
    field.name: dataclasses.replace(
        (setting := field.metadata["setting"]),
        name=field.name,
        doc=DOCS.get(field.name, ""),
        check=setting.check or check.CHECKS[str(field.type)],
        bridge=field.name if setting.bridge == SAME else setting.bridge,
    )
    for field in dataclasses.fields(Options)
}
# Flags of the CLI that options stand for: given twice they would contradict each other, and a
# restart could not tell which one to repeat.
FLAGS_WITH_AN_OPTION = {
    flag.lstrip("-"): name
    for name, setting in SETTINGS.items()
    for flag in (setting.flag, *setting.aliases)
    if flag
}
# The options that say which conversation, with their defaults.
CONVERSATION: Mapping[str, Any] = {
    name: setting.default for name, setting in SETTINGS.items() if setting.scope == "conversation"
}


def options_from(options: Options | None, overrides: Mapping[str, Any]) -> Options:
    """
    The options of ``Client(options, **overrides)``.

    Raises:
        TypeError: *options* is not an Options.
        UsageError: A name is unknown, a value is impossible, or two options contradict each
            other; the text says what to write instead.

    """
    if options is None:
        return Options(**overrides)
    if not isinstance(options, Options):
        raise TypeError(
            f"options must be a claude_sync.Options, not {type(options).__name__}; "
            "single options are given by name: Client(model='sonnet')"
        )
    return options.replace(**overrides) if overrides else options


def names_of(options_class: type = Options) -> Sequence[str]:
    """The names of all options, in order."""
    return [field.name for field in dataclasses.fields(options_class)]


def settings_of(options: Options) -> dict[str, Any]:
    """All options by name. Not dataclasses.asdict(), which copies deeply."""
    return {name: getattr(options, name) for name in SETTINGS}


def unknown_to(options: Options, version: tuple[int, ...]) -> list[str]:
    """The options that are set, and that a CLI of that version may not know."""
    return [
        name
        for name, value in settings_of(options).items()
        if (setting := SETTINGS[name]).is_set(value)
        and version < tuple(map(int, setting.since.split(".")))
    ]


def greeting_only(options: Options) -> list[str]:
    """The names of the options that are set and that only ``initialize`` carries."""
    return [
        name
        for name, value in settings_of(options).items()
        if (setting := SETTINGS[name]).key
        and setting.flag is None
        and setting.is_set(value)
        and value not in ((), {}, "all")
    ]


def signature_with(
    function: Callable[..., Any], also: Callable[..., Any] | None = None, more: Iterable[str] = ()
) -> Signature:
    """
    The signature of *function*, with names in place of its ``**overrides``, for completion.

    These are the keywords of *also*, all options that neither of them has, and *more*.
    """
    parameters: dict[str, Parameter] = {}
    for source in (function, also):
        if source is not None:
            found = Signature.from_callable(source).parameters
            parameters.update((name, each) for name, each in found.items() if name != "self")
    parameters = {
        name: each for name, each in parameters.items() if each.kind is not Parameter.VAR_KEYWORD
    }
    options = {name: setting.default for name, setting in SETTINGS.items()}
    for name, default in {**options, **dict.fromkeys(more)}.items():
        hint = Options.__annotations__.get(name, Parameter.empty)
        parameters.setdefault(
            name, Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        )
    return Signature(list(parameters.values()))
