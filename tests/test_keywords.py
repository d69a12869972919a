"""What checkers are told about keyword arguments is what these really are."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import claude_sync
from claude_sync import client
from claude_sync.client import keywords
from claude_sync.engine.handlers import KINDS
from claude_sync.options.keywords import OptionKeywords

# Those that map() names itself; its others are passed on.
OF_THE_BATCH = {"budget_usd", "retries"}


def told(kind):
    """The names that a class of keywords has, with their types as they are written."""
    return {name: hint.__forward_arg__ for name, hint in kind.__annotations__.items()}


def parameters(function):
    """The parameters of a function that are given by name alone, with their types."""
    return {
        name: parameter.annotation
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def test_every_option_is_told_with_its_type():
    """None is missing, none is too many, and all are of the types that Options has."""
    assert told(OptionKeywords) == claude_sync.Options.__annotations__


def test_every_handler_is_told():
    """A client takes each kind of handler by name; hooks need an event, and are not there."""
    assert set(told(keywords.Handlers)) == {f"on_{kind}" for kind in KINDS}


def test_a_handler_by_name_gets_what_the_method_says():
    """The argument of ``on_text=`` is that of the handlers of ``client.on_text``, and so on."""
    for name, hint in told(keywords.Handlers).items():
        given = hint.partition("Callable[[")[2].partition("]")[0]
        signature = inspect.signature(getattr(claude_sync.Client, name))
        if name not in ("on_text", "on_thinking"):  # which are overloaded
            assert f"Callable[[{given}]," in signature.parameters["handler"].annotation, name


def test_a_client_takes_options_and_handlers():
    """And nothing else; ``returns`` is named where the type of the answers depends on it."""
    names = {*told(OptionKeywords), *told(keywords.Handlers)} - {"returns"}
    assert set(told(keywords.ClientKeywords)) == names


def test_rows_are_verbatim_by_default():
    """help(claude_sync.map) says so."""
    assert inspect.signature(claude_sync.map).parameters["verbatim"].default is True


def test_a_single_question_takes_what_questions_take():
    """ask() takes what a client takes, and what its ask() takes, with the same types."""
    more = parameters(claude_sync.Client.ask)
    assert set(more) == {*client.ASK_OPTIONS, "returns", "verbatim"}
    more.pop("returns")
    assert told(keywords.EchoKeywords) == more
    more.pop("verbatim")
    assert set(told(keywords.AskKeywords)) == {*told(keywords.ClientKeywords), *more}


def test_a_batch_passes_on_what_it_does_not_name():
    """No keyword of map() is there twice, which a checker would not accept."""
    passed_on = set(told(keywords.BatchKeywords))
    assert set(told(keywords.ClientKeywords)) - passed_on == OF_THE_BATCH
    own = set(told(keywords.MapKeywords)) - passed_on
    assert own >= {*OF_THE_BATCH, "workers", "executor", "timeout", "idle_timeout", "checkpoint"}
    overloaded = {"returns", "on_item", "options"}
    named = set(parameters(claude_sync.map))
    assert own | overloaded == named - set(told(keywords.Handlers)) - passed_on


@pytest.mark.parametrize("use", ["claude_sync.Client()", "claude_sync.Options().replace(name='a')"])
def test_a_program_that_runs_does_not_load_it(use):
    """It is for checkers, and costs a program nothing."""
    names = "[name for name in sys.modules if name.startswith('claude_sync.')]"
    code = f"import claude_sync, sys; {use}; print(any('keywords' in name for name in {names}))"
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout == "False\n"
