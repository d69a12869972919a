"""
Turn Options into all that starts the CLI once: argv, environment, first request.

First station of the pipeline::

    [command] -> process -> lines -> messages -> dispatch -> handlers -> turn

The field of an option in ``options/options.py`` says how it reaches the CLI. What they share:

* Whatever can hold a secret (MCP servers, settings) goes into a private file, because every
  user of the machine can read a command line.
* A value too long for a command line goes into the ``initialize`` request, which has no limit,
  or into a private file. Short ones stay flags.
* A restart after a crash says ``--resume=ID`` and nothing else about which conversation is
  meant: the fork or the new id was made the first time.

An unknown flag ends the CLI with exit code 1.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from ...errors import BudgetExceeded, CliNotFound, UsageError
from ...options import CONVERSATION, SETTINGS, Options
from ...options.fields import mcp_servers, parsed_json
from ...protocol.dialects import dialect_of
from ...support.redact import redact_argv, redact_text
from .discovery import find_cli
from .environment import child_environment

__all__ = ["Launch", "build_launch", "creation_flags", "redact_argv", "redact_text"]

# The names in subprocess exist on Windows only.
CREATE_NEW_PROCESS_GROUP = 0x00000200
CREATE_NO_WINDOW = 0x08000000
# CreateProcess takes 32,767 characters; what is missing to that is left for what the system and
# a Node shim add.
LONGEST_COMMAND_LINE = 30_000

# Linux takes 131,072 bytes for one argument, whatever the total.
LONGEST_ARGUMENT = 100_000
LONGEST_ARGUMENT_AT_ALL = 131_000
# Keys of the dict forms of system_prompt that only the first request carries.
PROMPT_KEYS = {
    "exclude_dynamic_sections": "excludeDynamicSections",
    "snapshot": "systemPromptSnapshot",
}


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
        options: The options in force for this start, for transports that pass them on in
            another form: the conversation to go on with, the model in use.

    """

    argv: tuple[str, ...]
    environment: dict[str, str]
    cwd: str | None
    initialize: dict[str, Any]
    temporary_files: tuple[str, ...] = ()
    options: Options | None = None

    def remove_temporary_files(self) -> None:
        """Remove them and their folder. Once the process has ended; twice is harmless."""
        remove_private_files(self.temporary_files)


@dataclass(frozen=True)
class LongValue:
    """A value that is a flag if it can be; else *value* in ``initialize``, or a private file."""

    option: str
    text: str
    value: Any
    secret: bool = False

    @property
    def word(self) -> str:
        """It as a word of the command line."""
        return f"{SETTINGS[self.option].flag}={self.text}"

    @property
    def size(self) -> int:
        """Bytes of the text on a command line."""
        return len(self.text.encode("utf-8", "surrogatepass"))


def build_launch(
    options: Options,
    *,
    environ: Mapping[str, str] | None = None,
    windows: bool | None = None,
    resume: str | None = None,
    model: str | None = None,
    permission_mode: str | None = None,
    budget_left: float | None = None,
    own_tools: Sequence[str] = (),
    json_schema: Mapping[str, Any] | None = None,
) -> Launch:
    """
    Find the CLI and say how it is started.

    Args:
        options: The options.
        environ: The environment to inherit; None takes that of the program.
        windows: Whether to follow the rules of Windows; None asks the system.
        resume: The conversation to go on with after a crash. What the options say about
            conversations no longer counts then.
        model: The model in use by now, instead of the options'.
        permission_mode: The mode in use by now, instead of the options'.
        budget_left: What is left of ``max_budget_usd``.
        own_tools: Names of tools of this program that need no permission.
        json_schema: The form of all answers; None takes ``returns`` if it is a dict.

    Raises:
        CliNotFound: There is no CLI.
        UsageError: The folder does not exist, or a value cannot be passed on.
        BudgetExceeded: Nothing is left of the budget.

    """
    windows = os.name == "nt" if windows is None else windows
    changes: dict[str, Any] = {} if resume is None else {**CONVERSATION, "resume": resume}
    if model is not None:
        changes.update(model=model, fallback_model=fallback_beside(model, options))
    if permission_mode is not None:
        changes["permission_mode"] = permission_mode
    if budget_left is not None:
        if budget_left <= 0:  # the CLI would only call it an invalid argument
            raise BudgetExceeded("nothing is left of max_budget_usd")
        changes["max_budget_usd"] = budget_left
    if own_tools:
        changes["allowed_tools"] = [*options.allowed_tools, *own_tools]
    if json_schema is not None:
        changes["returns"] = json_schema
    options = options.replace(**changes) if changes else options
    cwd = working_folder(options)
    environment = child_environment(
        os.environ if environ is None else environ,
        options.env or {},
        cwd=cwd,
        variables=variables_of(options),
        windows=windows,
    )
    try:
        program = find_cli(options.cli, environment, windows=windows)
    except CliNotFound:
        if options.transport is None:
            raise
        # A transport of the program need not run a CLI of this machine.
        program = ["claude"]
    files = PrivateFiles()
    try:
        words = [*program, *dialect_of(options.dialect).flags, *flags_of(options, files, cwd)]
        kept, moved = share_out(words, long_values(options), windows)
        argv = words + [value.word for value in kept]
        initialize = first_request(options)
        for value in moved:
            setting = SETTINGS[value.option]
            if setting.key is not None:
                initialize[setting.key] = value.value
            else:
                file = files.write(f"{value.option}.txt", value.text)
                argv.append(f"{setting.flag}-file={file}")
        check_argv(argv, windows)
    except BaseException:
        remove_private_files(files.paths)
        raise
    return Launch(tuple(argv), environment, cwd, initialize, tuple(files.paths), options)


def fallback_beside(model: str, options: Options) -> str | None:
    """The fallbacks without *model*: after set_model() one may be it, and the CLI refuses that."""
    names = [name.strip() for name in (options.fallback_model or "").split(",")]
    return ",".join(name for name in names if name != model) or None


def working_folder(options: Options) -> str | None:
    """The folder of the CLI; UsageError if there is none."""
    if options.cwd is None:
        return None
    cwd = os.path.abspath(options.cwd)
    if os.path.isdir(cwd):
        return cwd
    if options.transport is not None:
        # It may be a folder of another machine, which is checked there.
        return os.fspath(options.cwd)
    what = "is not a folder" if os.path.exists(cwd) else "does not exist"
    text = f"the working folder {cwd!r} {what}. Create it, or name another."
    raise UsageError(text, option="cwd", value=cwd)


def variables_of(options: Options) -> dict[str, str]:
    """The options that are environment variables."""
    values = {name: getattr(options, name) for name, each in SETTINGS.items() if each.variable}
    return {
        SETTINGS[name].variable or "": "true" if value is True else str(value)
        for name, value in values.items()
        if SETTINGS[name].is_set(value)
    }


# Flags.


def flags_of(options: Options, files: PrivateFiles, cwd: str | None) -> list[str]:
    """The words for all options but the long ones."""
    values = {name: getattr(options, name) for name in SETTINGS}
    values["settings"] = with_sandbox(options, cwd)
    if options.skills is not None:
        names = ["Skill"] if options.skills == "all" else [f"Skill({s})" for s in options.skills]
        values["allowed_tools"] = (*options.allowed_tools, *names)
    words = []
    for name, setting in SETTINGS.items():
        value = setting.wire(values[name]) if setting.is_set(values[name]) else None
        if setting.flag is None or setting.way == "long" or value is None:
            continue
        if setting.way == "private":
            value = private_file(options, name, value, files, cwd)
        words += setting.words(setting.flag, value)
    if isinstance(options.system_prompt, Mapping) and options.system_prompt["type"] == "file":
        words.append(f"--system-prompt-file={os.fspath(options.system_prompt['path'])}")
    for name, value in (options.extra_args or {}).items():
        words.append(f"--{name}" if value is None else f"--{name}={value}")
    return words


def private_file(
    options: Options, name: str, value: Any, files: PrivateFiles, cwd: str | None
) -> str:
    """The path of a file with *value*; one of the program's is checked and stays where it is."""
    if isinstance(value, Mapping):
        value = {"mcpServers": value} if name == "mcp_servers" else value
        return files.write(f"{name}.json", json_text(name, value))
    given = os.fspath(value)
    if given.lstrip().startswith("{"):
        content = parsed_json(name, given)
        path = files.write(f"{name}.json", given)
    else:
        # The files of a transport may be on another machine.
        content = {} if options.transport is not None else json_in(name, given, cwd)
        path = given
    if name == "mcp_servers":
        mcp_servers(name, content.get("mcpServers", {}))
    return path


def json_in(name: str, file: str, cwd: str | None) -> dict[str, Any]:
    """The JSON object in a file. The CLI ignores one with a mistake, and what it forbids."""
    try:
        # Relative to the folder of the CLI, which reads it from there.
        with open(os.path.join(cwd or "", file), encoding="utf-8-sig") as opened:
            return parsed_json(name, opened.read(), file)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"the file {file!r} of {name} cannot be read: {error}. Correct its name.", option=name
        ) from error


def with_sandbox(options: Options, cwd: str | None) -> Any:
    """The settings with the sandbox in them; without a sandbox, what was given."""
    settings = options.settings
    if options.sandbox is None:
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        given = os.fspath(settings)
        is_text = given.lstrip().startswith("{")
        if is_text:
            settings = parsed_json("settings", given)
        else:
            # The files of a transport may be on another machine.
            settings = {} if options.transport is not None else json_in("settings", given, cwd)
    return {**(settings or {}), "sandbox": options.sandbox}


def json_text(option: str, value: Any) -> str:
    """*value* as JSON, or a UsageError that names the option."""
    try:
        return json.dumps(value, allow_nan=False, default=path_as_text)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"{option} cannot be written as JSON: {error}", option=option) from error


def path_as_text(value: object) -> str:
    """Paths are the one thing people put into settings that JSON does not know."""
    if isinstance(value, os.PathLike):
        return str(value)
    raise TypeError(f"a {type(value).__name__} is not JSON")


# What can be long.


def long_values(options: Options) -> list[LongValue]:
    """The values that are flags only as long as they fit."""
    prompt, append = options.system_prompt, options.append_system_prompt
    if isinstance(prompt, Mapping):
        append = prompt.get("append") if append is None else append
        prompt = prompt["prompt"] if prompt["type"] == "custom" else None
    returns = options.returns if isinstance(options.returns, Mapping) else None
    given = {
        "system_prompt": prompt,
        "append_system_prompt": append,
        "agents": options.agents or None,
        "returns": None if returns is None else dict(returns),
    }
    values = []
    for name, value in given.items():
        if value is not None:
            value = SETTINGS[name].wire(value)
            text = value if isinstance(value, str) else json_text(name, value)
            # The servers of an agent may have keys in them.
            secret = name == "agents" and any("mcpServers" in each for each in value.values())
            values.append(LongValue(name, text, value, secret))
    return values


def share_out(
    words: list[str], values: Sequence[LongValue], windows: bool
) -> tuple[list[LongValue], list[LongValue]]:
    """The values that can be flags, and those that must go another way."""
    kept = [value for value in values if not value.secret and value.size <= LONGEST_ARGUMENT]
    moved = [value for value in values if value not in kept]
    while windows and kept:
        if command_line_length([*words, *(each.word for each in kept)]) <= LONGEST_COMMAND_LINE:
            break
        largest = max(kept, key=lambda value: value.size)
        kept.remove(largest)
        moved.append(largest)
    return kept, moved


def check_argv(argv: Sequence[str], windows: bool) -> None:
    """Raise UsageError, which names the flag, for what no system can start."""
    for word in argv:
        flag = word.partition("=")[0][:80]
        try:
            size = len(word.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise UsageError(
                f"the value of {flag} contains an invalid character: {error}"
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


def first_request(options: Options) -> dict[str, Any]:
    """The body of ``initialize``, as far as it does not depend on lengths."""
    request: dict[str, Any] = {}
    if isinstance(options.system_prompt, Mapping):
        for name, key in PROMPT_KEYS.items():
            if options.system_prompt.get(name) is not None:
                request[key] = options.system_prompt[name]
    for name, setting in SETTINGS.items():
        value = getattr(options, name)
        if setting.key and setting.flag is None and setting.kept == "cli" and setting.is_set(value):
            request[setting.key] = list(value) if isinstance(value, tuple) else value
    if request.get("skills") == "all":
        del request["skills"]  # a permission rule alone; an empty list hides every skill
    return request


# Private files.


class PrivateFiles:
    """
    Files for one run of the CLI that nobody else on the machine may read.

    They hold what must not stand on a command line: keys of MCP servers, settings, a very long
    prompt. One folder (mode 0700) for each run, made when it is needed; ``paths`` lists the files.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._folder: str | None = None

    def write(self, name: str, text: str) -> str:
        """Write *text* to a new file (mode 0600) and return its path."""
        try:
            content = text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{name}: {error.reason} (character {error.start}); remove it"
            ) from error
        if self._folder is None:
            import tempfile  # slow to import, and few programs need it

            self._folder = tempfile.mkdtemp(prefix="claude-sync-")
        path = os.path.join(self._folder, name)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            self.paths.append(path)
            file.write(content)
        return path


def remove_private_files(paths: Iterable[str]) -> None:
    """Remove *paths* and their folders; what is gone already is no error."""
    folders = set()
    for path in paths:
        with contextlib.suppress(OSError):
            os.unlink(path)
        folders.add(os.path.dirname(path))
    for folder in folders:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


# Windows. Nothing here needs it to be imported or tested.


def creation_flags(windows: bool) -> int:
    """
    The ``creationflags`` of Popen.

    No console window pops up for a program that has none, and a Ctrl-C in the
    console of the program does not reach the CLI. 0 elsewhere.
    """
    return CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP if windows else 0


def command_line_length(argv: Sequence[str]) -> int:
    """How many characters CreateProcess gets for *argv*, quotes included."""
    from subprocess import list2cmdline  # there on every platform; imported when needed

    return len(list2cmdline(argv))
