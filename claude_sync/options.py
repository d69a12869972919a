"""
Every setting of a client, in one frozen dataclass that is checked when it is made.

An :class:`Options` holds values and does nothing: ``runtime/command.py`` turns
it into the command line, the environment and the first request, and the rules
the values must obey are in ``option_values.py`` and ``option_rules.py``. Decided
here and nowhere else:

* ``None`` (or an empty list where a list is wanted) means *not set*: nothing is
  sent and the CLI keeps its own default. Every other value is sent, or is an
  error; no value is dropped because it happens to be false.
* Lists become tuples and mappings become dicts of their own, so that two
  Options with the same settings are equal and later changes to a list that was
  passed in have no effect.
* A misspelled name is an error that tells the right one, wherever it is given.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Callable, Dict, Mapping, Optional, Sequence, Union

from .option_rules import check_combinations, check_name
from .option_values import check_values

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .keywords import OptionKeywords

__all__ = ["Options", "options_from"]

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class Options:
    """
    The settings of a client, given by name; ``replace()`` makes changed copies.

    What Claude is:

    * ``model``: alias (``"sonnet"``) or full name; ``fallback_model``: used while
      the first is overloaded.
    * ``system_prompt``: replaces the CLI's own prompt, which is kept when this is
      ``None``; ``""`` means no prompt at all. Also a dict: ``{"type": "preset",
      "append": TEXT}``, ``{"type": "file", "path": PATH}``, ``{"type": "custom",
      "prompt": TEXT}``. ``append_system_prompt``: added to the CLI's own prompt.
    * ``thinking``: ``"adaptive"``, ``"disabled"``, or a dict ``{"type": "enabled",
      "budget_tokens": 8000, "display": "summarized"}``; ``max_thinking_tokens``:
      the budget alone, 0 turns thinking off; ``effort``: ``"low"``, ``"medium"``,
      ``"high"``, ``"xhigh"`` or ``"max"``.
    * ``betas``: names of API betas. ``agents``: subagents, ``{name: {"description":
      ..., "prompt": ..., "tools": [...], ...}}``, snake_case or camelCase keys.
    * ``skills``: names of the skills Claude may use, or ``"all"``. ``plugins``:
      folders. ``setting_sources``: which of ``"user"``, ``"project"``, ``"local"``
      settings are read; ``[]`` reads none. ``settings``: a dict, or the path of a
      settings file. ``sandbox``: a dict, merged into the settings.

    What Claude may do:

    * ``permission_mode``: ``"default"``, ``"acceptEdits"``, ``"plan"``,
      ``"bypassPermissions"``, ``"dontAsk"``, ``"auto"`` or ``"manual"``.
    * ``allowed_tools``, ``disallowed_tools``: rules, ``["Read", "Bash(git *)"]``.
      ``builtin_tools``: the CLI's own tools that exist at all (``[]``: none).
    * ``tools``: Python functions of this program that Claude can call.
    * ``mcp_servers``: ``{name: config}``, or the path of a configuration file;
      ``strict_mcp_config``: use these servers and no others.
    * ``permissions``: a policy, asked before ``on_permission`` handlers;
      ``permission_timeout``: seconds until an unanswered request is denied.
    * ``hooks``: ``{event: [matcher, ...]}``, as ``on_hook`` adds them.
    * ``add_dirs``: further folders Claude may work in.

    How much it may take:

    * ``max_turns``: steps per question. ``max_budget_usd``: the CLI stops there;
      ``budget_usd``: this client sends no further question; ``task_budget``:
      tokens, told to the model.

    Which conversation:

    * ``resume``: the id of one to go on with; ``continue_conversation``: the last
      one in ``cwd``; ``fork_session``: go on in a copy; ``session_id``: the id (a
      UUID) of the new one; ``resume_at``: go on from this message;
      ``resume_drops_turn``: leave out the turn of this user message.

    What is reported:

    * ``include_partial_messages``: text while it is written, on by default;
      ``include_hook_events``: messages about hooks of the CLI's settings;
      ``forward_subagent_text``: text of subagents too;
      ``enable_file_checkpointing``: makes ``rewind_files()`` work.
    * ``returns``: the type, or JSON Schema, of every answer's ``.data``;
      ``returns_retries``: how often to ask again for an answer of another form.

    How the CLI runs:

    * ``cwd``: its folder. ``env``: variables added to the inherited ones; ``None``
      removes one. ``cli``: path or name of the executable, or an argv list that
      starts it. ``extra_args``: ``{"flag-name": value}``, ``None`` for a flag
      without a value.
    * ``start_timeout``: seconds until the CLI must have answered the greeting;
      ``control_timeout``: seconds for every later request (``None``: no limit).
    * ``on_crash``: ``"resume"`` starts a CLI that died again at the next question,
      ``"raise"`` does not. ``retries``: how often a question is asked again after
      an overload, a used-up limit or a crash; ``retry_effects``: also when the failed
      attempt had already used tools.

    This client:

    * ``name``: for threads and the log. ``record``: a file for both directions of
      the wire. ``post``: where handlers run: ``None``, a function,
      ``"manual"`` or ``"caller"``. ``raise_handler_errors``: ``ask()`` raises what
      a handler raised. ``transport``: what to talk to instead of a process.
      ``dialect``: ``"cli"``, ``"callback"`` or ``"user-message"``.

    An older CLI ends at once when it is given what it does not know. Of the
    versions tried, 1.0.128 lacks ``max_budget_usd``, ``max_thinking_tokens`` and
    ``plugins``; it and 2.0.30 lack ``builtin_tools``, ``betas``, ``returns``, the mode
    ``"dontAsk"``, and ``session_id`` for a fork; they and 2.1.29 lack ``effort``,
    ``thinking``, ``task_budget``, ``include_hook_events``, ``resume_drops_turn`` and the
    modes ``"auto"`` and ``"manual"``. 2.1.325 knows everything.
    """

    # Settings that may hold keys are not shown by repr().

    # What Claude is.
    model: Optional[str] = None
    fallback_model: Optional[str] = None
    system_prompt: Union[str, Mapping[str, Any], None] = None
    append_system_prompt: Optional[str] = None
    thinking: Union[str, Mapping[str, Any], None] = None
    max_thinking_tokens: Optional[int] = None
    effort: Optional[str] = None
    betas: Sequence[str] = ()
    agents: Optional[Mapping[str, Any]] = None
    skills: Union[str, Sequence[str], None] = None
    plugins: Sequence[Union[PathLike, Mapping[str, Any]]] = ()
    setting_sources: Optional[Sequence[str]] = None
    settings: Union[PathLike, Mapping[str, Any], None] = field(default=None, repr=False)
    sandbox: Optional[Mapping[str, Any]] = None

    # What Claude may do.
    permission_mode: Optional[str] = None
    allowed_tools: Sequence[str] = ()
    disallowed_tools: Sequence[str] = ()
    builtin_tools: Union[str, Sequence[str], None] = None
    tools: Sequence[Callable[..., Any]] = ()
    mcp_servers: Union[PathLike, Mapping[str, Any], None] = field(default=None, repr=False)
    strict_mcp_config: bool = False
    permissions: Optional[Callable[..., Any]] = None
    permission_timeout: Optional[float] = None
    hooks: Optional[Mapping[str, Any]] = None
    add_dirs: Sequence[PathLike] = ()

    # How much it may take.
    max_turns: Optional[int] = None
    max_budget_usd: Optional[float] = None
    budget_usd: Optional[float] = None
    task_budget: Union[int, Mapping[str, Any], None] = None

    # Which conversation.
    resume: Optional[str] = None
    continue_conversation: bool = False
    fork_session: bool = False
    session_id: Optional[str] = None
    resume_at: Optional[str] = None
    resume_drops_turn: Optional[str] = None

    # What is reported.
    include_partial_messages: bool = True
    include_hook_events: bool = False
    forward_subagent_text: bool = False
    enable_file_checkpointing: bool = False
    returns: Any = None
    returns_retries: int = 1

    # How the CLI runs.
    cwd: Optional[PathLike] = None
    env: Optional[Mapping[str, Optional[str]]] = field(default=None, repr=False)
    cli: Union[PathLike, Sequence[str], None] = None
    extra_args: Optional[Mapping[str, Union[str, int, float, None]]] = None
    start_timeout: Optional[float] = 60.0
    control_timeout: Optional[float] = 60.0
    on_crash: str = "resume"
    retries: int = 0
    retry_effects: bool = False

    # This client.
    name: Optional[str] = None
    record: Optional[PathLike] = None
    post: Union[str, Callable[..., Any], None] = None
    raise_handler_errors: bool = False
    transport: Any = None
    dialect: str = "cli"

    def __new__(cls, *values: Any, **settings: Any) -> Options:
        """Refuse unknown names with advice, before the generated __init__ refuses them."""
        if values:
            raise TypeError("Options takes its settings by name: Options(model='sonnet')")
        for name in settings:
            check_name(name, names_of(cls))
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, value in check_values(self).items():
            object.__setattr__(self, name, value)  # the dataclass is frozen
        check_combinations(self)

    def replace(self, **changes: Unpack[OptionKeywords]) -> Options:
        """These options with some settings changed, checked again as a whole."""
        return type(self)(**{**settings_of(self), **changes})


def options_from(options: Optional[Options], overrides: Mapping[str, Any]) -> Options:
    """
    The options of ``Client(options, **overrides)``.

    Raises:
        TypeError: *options* is not an Options.
        UsageError: A name is unknown, a value is impossible, or two settings
            contradict each other; the text tells what to write instead.

    """
    if options is None:
        return Options(**overrides)
    if not isinstance(options, Options):
        raise TypeError(
            f"options must be a claude_sync.Options, got {type(options).__name__}; "
            "single settings are given by name: Client(model='sonnet')"
        )
    return options.replace(**overrides) if overrides else options


def names_of(options_class: type) -> Sequence[str]:
    """The names of all settings, in order."""
    return [field.name for field in fields(options_class)]


def settings_of(options: Options) -> Dict[str, Any]:
    """All settings by name. Not dataclasses.asdict(), which copies deeply."""
    return {name: getattr(options, name) for name in names_of(type(options))}
