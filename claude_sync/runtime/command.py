"""
Turn Options into all that starts the CLI once: argv, environment, first request.

First station of the pipeline::

    [command] -> process -> lines -> messages -> dispatch -> handlers -> turn

Decided here and nowhere else:

* Whatever can hold a secret (MCP servers, settings) goes into a private file,
  because every user of the machine can read a command line.
* A value too long for a command line goes into the ``initialize`` request, which
  has no limit. Short ones stay flags: older CLIs know these settings as flags
  only. A long system prompt goes into a private file, which all of them read.
* A restart after a crash says ``--resume=ID`` and nothing else about which
  conversation is meant: the fork or the new id was made the first time.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ..errors import CliNotFound, UsageError
from ..options import Options
from ..protocol.dialects import dialect_of
from .discovery import find_cli
from .environment import child_environment
from .flags import (
    configuration_flags,
    conversation_flags,
    extra_flags,
    limit_flags,
    model_flags,
    permission_flags,
)
from .private_files import PrivateFiles, remove_private_files
from .redaction import redact_argv, redact_text
from .windows import LONGEST_COMMAND_LINE, command_line_length, creation_flags
from .wire_values import (
    SystemPrompt,
    agents_on_the_wire,
    json_text,
    system_prompt_of,
)

__all__ = ["Launch", "build_launch", "creation_flags", "redact_argv", "redact_text"]

# Linux takes 131,072 bytes for one argument, whatever the total.
LONGEST_ARGUMENT = 100_000
LONGEST_ARGUMENT_AT_ALL = 131_000


@dataclass(frozen=True)
class Launch:
    """
    All that is needed to start the CLI once.

    Attributes:
        argv: The command, its first word an absolute path.
        environment: Every variable the CLI gets.
        cwd: Its folder, absolute; None for that of the program.
        initialize: The body of the ``initialize`` request, without ``subtype``.
        temporary_files: Private files it reads, each alone in a private folder.
        moved_to_initialize: The options that are in *initialize* only because they
            are too long for a flag; CLIs before 2.1 ignore them there.
        options: The settings as they count for this start, for transports that pass
            them on in another form: the conversation to go on with, the model in use.
        confidential: Settings that may hold secrets and are none of the client's own:
            transports that pass such settings on add them, for recordings.

    """

    argv: Tuple[str, ...]
    environment: Dict[str, str]
    cwd: Optional[str]
    initialize: Dict[str, Any]
    temporary_files: Tuple[str, ...] = ()
    moved_to_initialize: Tuple[str, ...] = ()
    options: Optional[Options] = None
    confidential: List[Any] = field(default_factory=list)

    def remove_temporary_files(self) -> None:
        """Remove them and their folder. Once the process has ended; twice is harmless."""
        remove_private_files(self.temporary_files)


@dataclass(frozen=True)
class LongValue:
    """
    A setting that is a flag if it can be, and else goes another way.

    That way is *value* under *key* in ``initialize``; without a key, a private file.
    """

    option: str
    flag: str
    text: str
    key: Optional[str] = None
    value: Any = None
    secret: bool = False

    @property
    def size(self) -> int:
        """Bytes of the text on a command line."""
        return len(self.text.encode("utf-8", "surrogatepass"))


def build_launch(
    options: Options,
    *,
    environ: Optional[Mapping[str, str]] = None,
    windows: Optional[bool] = None,
    resume: Optional[str] = None,
    model: Optional[str] = None,
    permission_mode: Optional[str] = None,
    budget_left: Optional[float] = None,
    hooks: Optional[Mapping[str, Any]] = None,
    sdk_servers: Sequence[str] = (),
    own_tools: Sequence[str] = (),
    json_schema: Optional[Mapping[str, Any]] = None,
) -> Launch:
    """
    Find the CLI and say how it is started.

    Args:
        options: The settings.
        environ: The environment to inherit; None takes that of the program.
        windows: Whether to follow the rules of Windows; None asks the system.
        resume: The conversation to go on with after a crash. What the options say
            about conversations no longer counts then.
        model: The model in use by now, instead of the options'.
        permission_mode: The mode in use by now, instead of the options'.
        budget_left: What is left of ``max_budget_usd``.
        hooks: The hooks, as ``initialize`` takes them.
        sdk_servers: The names of the MCP servers inside this program.
        own_tools: Names of tools of this program that need no permission.
        json_schema: The form of all answers; None takes ``returns`` if it is a dict.

    Raises:
        CliNotFound: There is no CLI.
        UsageError: The folder does not exist, or a value cannot be passed on.
        BudgetExceeded: Nothing is left of the budget.

    """
    windows = os.name == "nt" if windows is None else windows
    cwd = working_folder(options)
    environment = child_environment(
        os.environ if environ is None else environ,
        options.env or {},
        cwd=cwd,
        file_checkpointing=options.enable_file_checkpointing,
        windows=windows,
    )
    try:
        program = find_cli(options.cli, environment, windows=windows)
    except CliNotFound:
        if options.transport is None:
            raise
        # A transport of the program's own need not run a CLI of this machine.
        program = ["claude"]
    files = PrivateFiles()
    try:
        prompt = system_prompt_of(options)
        words = [
            *program,
            *dialect_of(options.dialect).flags,
            *model_flags(options, model),
            *permission_flags(options, permission_mode, own_tools),
            *limit_flags(options, budget_left),
            *conversation_flags(options, resume),
            *configuration_flags(options, files, cwd),
            *extra_flags(options),
        ]
        if prompt.file is not None:
            words.append(f"--system-prompt-file={prompt.file}")
        kept, moved = share_out(words, long_settings(options, prompt, json_schema), windows)
        argv = words + words_of(kept)
        initialize = first_request(options, prompt, hooks, sdk_servers)
        for value in moved:
            if value.key is not None:
                initialize[value.key] = value.value
            else:
                path = files.write(f"{value.option}.txt", value.text)
                argv.append(f"{value.flag}-file={path}")
        check_argv(argv, windows)
    except BaseException:
        remove_private_files(files.paths)
        raise
    return Launch(
        tuple(argv),
        environment,
        cwd,
        initialize,
        tuple(files.paths),
        tuple(value.option for value in moved if value.key is not None),
        options_in_force(
            options, resume, model, permission_mode, budget_left, own_tools, json_schema
        ),
    )


def options_in_force(
    options: Options,
    resume: Optional[str],
    model: Optional[str],
    permission_mode: Optional[str],
    budget_left: Optional[float],
    own_tools: Sequence[str],
    json_schema: Optional[Mapping[str, Any]],
) -> Options:
    """*options* with what has changed since they were given; see :func:`build_launch`."""
    changes: Dict[str, Any] = {}
    if resume is not None:
        changes.update(resume=resume, continue_conversation=False, fork_session=False)
        changes.update(session_id=None, resume_at=None, resume_drops_turn=None)
    if model is not None:
        changes["model"] = model
        fallbacks = [name.strip() for name in (options.fallback_model or "").split(",")]
        if model in fallbacks:
            changes["fallback_model"] = ",".join(f for f in fallbacks if f != model) or None
    if permission_mode is not None:
        changes["permission_mode"] = permission_mode
    if budget_left is not None:
        changes["max_budget_usd"] = budget_left
    if own_tools:
        changes["allowed_tools"] = [*options.allowed_tools, *own_tools]
    if json_schema is not None:
        changes["returns"] = json_schema
    return options.replace(**changes) if changes else options


def working_folder(options: Options) -> Optional[str]:
    """The folder of the CLI, or UsageError if there is none such."""
    if options.cwd is None:
        return None
    cwd = os.path.abspath(options.cwd)
    if os.path.isdir(cwd):
        return cwd
    if options.transport is not None:
        # It may be a folder of another machine; whoever runs the CLI there knows.
        return os.fspath(options.cwd)
    what = "is not a folder" if os.path.exists(cwd) else "does not exist"
    raise UsageError(f"the working folder cwd={cwd!r} {what}: create it or name another one")


# What can be long.


def long_settings(
    options: Options, prompt: SystemPrompt, json_schema: Optional[Mapping[str, Any]]
) -> List[LongValue]:
    """The settings that are a flag only as long as they fit."""
    values = []
    if prompt.text is not None:
        # No key: a private file takes it, which every CLI reads.
        values.append(LongValue("system_prompt", "--system-prompt", prompt.text))
    if prompt.append is not None:
        values.append(
            LongValue(
                "append_system_prompt",
                "--append-system-prompt",
                prompt.append,
                "appendSystemPrompt",
                prompt.append,
            )
        )
    if options.agents:
        agents = agents_on_the_wire(options.agents)
        text = json_text("agents", agents)
        # The servers of an agent may have keys in them.
        secret = any("mcpServers" in agent for agent in agents.values())
        values.append(LongValue("agents", "--agents", text, "agents", agents, secret))
    if json_schema is None and isinstance(options.returns, Mapping):
        json_schema = options.returns
    if json_schema is not None:
        text = json_text("returns", json_schema)
        values.append(LongValue("returns", "--json-schema", text, "jsonSchema", dict(json_schema)))
    return values


def share_out(
    words: List[str], values: Sequence[LongValue], windows: bool
) -> Tuple[List[LongValue], List[LongValue]]:
    """The values that can be flags, and those that must go another way."""
    kept = [value for value in values if not value.secret and value.size <= LONGEST_ARGUMENT]
    moved = [value for value in values if value not in kept]
    while windows and kept and command_line_length(words + words_of(kept)) > LONGEST_COMMAND_LINE:
        largest = max(kept, key=lambda value: value.size)
        kept.remove(largest)
        moved.append(largest)
    return kept, moved


def words_of(values: Sequence[LongValue]) -> List[str]:
    """The values as flags."""
    return [f"{value.flag}={value.text}" for value in values]


def check_argv(argv: Sequence[str], windows: bool) -> None:
    """Raise UsageError, which names the flag, for what no system can start."""
    for word in argv:
        flag = word.partition("=")[0][:80]
        try:
            size = len(word.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise UsageError(
                f"the value of {flag} has a character that is no text: {error}"
            ) from error
        if "\0" in word:
            raise UsageError(f"the value of {flag} has a NUL character in it: remove it")
        if size > LONGEST_ARGUMENT_AT_ALL and not windows:
            raise UsageError(f"the value of {flag} is too long for a command line ({size} bytes)")
    if windows and command_line_length(argv) > LONGEST_COMMAND_LINE:
        longest = max(argv, key=len).partition("=")[0][:80]
        raise UsageError(
            f"the command line has {command_line_length(argv)} characters and Windows takes "
            f"{LONGEST_COMMAND_LINE} safely: shorten {longest}"
        )


def first_request(
    options: Options,
    prompt: SystemPrompt,
    hooks: Optional[Mapping[str, Any]],
    sdk_servers: Sequence[str],
) -> Dict[str, Any]:
    """The body of ``initialize``, as far as it does not depend on lengths."""
    request: Dict[str, Any] = dict(prompt.initialize)
    if hooks:
        request["hooks"] = dict(hooks)
    if sdk_servers:
        request["sdkMcpServers"] = list(sdk_servers)
    if options.skills is not None and not isinstance(options.skills, str):
        # Sent even if empty: then it hides every skill.
        request["skills"] = list(options.skills)
    if options.forward_subagent_text:
        request["forwardSubagentText"] = True
    return request
