"""Starting the CLI again on purpose; what goes wrong with that is in faults/."""

from types import SimpleNamespace

import pytest

from claude_sync.protocol.exchange import CONTEXT, QUESTION, Exchange
from claude_sync.runtime.restarting import Restarter, has_form

FORM, OTHER = {"type": "object", "title": "a"}, {"type": "object", "title": "b"}


def a_turn(schema=None, prompt="hi", kind=QUESTION):
    """A question as far as its form goes."""
    form = None if schema is None else SimpleNamespace(schema=schema)
    entry = SimpleNamespace(kind=kind)
    is_command = isinstance(prompt, str) and prompt.startswith("/")
    return SimpleNamespace(
        _schema=schema, _form=form, _entry=entry, prompt=prompt, _is_command=lambda: is_command
    )


@pytest.fixture
def engine():
    """What a restarter looks at."""
    tasks = []
    return SimpleNamespace(
        own_schema=None, queue=[], tasks=tasks, responders=SimpleNamespace(run=tasks.append)
    )


@pytest.fixture
def connection():
    """A process of no form that has nothing to do."""
    return SimpleNamespace(schema=None, retiring=False, exchange=Exchange())


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (a_turn(), True),
        (a_turn(FORM), True),
        (a_turn(prompt="/cost"), False),
        (a_turn(FORM, prompt="/mine"), True),
        (a_turn(prompt=[{"type": "text", "text": "/cost"}]), True),
        (a_turn(kind=CONTEXT), False),
    ],
)
def test_whose_form_matters(turn, expected):
    """Commands and context are sent to whatever runs."""
    assert has_form(turn) is expected


def test_an_equal_form_fits(engine, connection):
    """Forms are compared by what they say."""
    connection.schema = dict(FORM)
    assert Restarter(engine).fits(connection, a_turn(FORM))
    assert engine.tasks == []


def test_another_form_is_prepared_once(engine, connection):
    """The process is ended once, however often somebody looks."""
    restarter = Restarter(engine)
    for _ in range(3):
        assert not restarter.fits(connection, a_turn(FORM))
    assert connection.retiring
    assert len(engine.tasks) == 1


def test_what_works_is_not_ended(engine, connection):
    """A background agent is waited for."""
    connection.exchange.background_tasks["t1"] = "agent"
    restarter = Restarter(engine)
    assert not restarter.fits(connection, a_turn(FORM))
    assert not connection.retiring
    connection.exchange.background_tasks.clear()
    restarter.fits(connection, a_turn(FORM))
    assert connection.retiring


def test_the_next_question_decides(engine):
    """Commands do not count; without a question the form stays as it was."""
    restarter = Restarter(engine)
    engine.queue = [a_turn(prompt="/cost"), a_turn(OTHER), a_turn(FORM)]
    assert restarter.choose() == OTHER
    engine.queue = [a_turn(prompt="/cost")]
    assert restarter.choose() == OTHER
    engine.queue = [a_turn()]
    assert restarter.choose() is None
