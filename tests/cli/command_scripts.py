"""What stand-in CLIs do in the tests of commands."""

from __future__ import annotations

import json

from claude_sync.testing import builders

EVIL = "an \x1b[2Jevil \x1b]0;title\x07 word"


def tells_how_it_was_started(cli):
    """Answer with the options of its command line, and with what it was asked."""
    cli.accept()
    user = cli.expect()
    while user["type"] == "control_request":  # what a client asks of a resumed CLI
        cli.reply(user)
        user = cli.expect()
    told = {
        "content": user["message"]["content"],
        "disallowed": cli.option("--disallowedTools"),
        "continue": "--continue" in cli.argv,
    }
    cli.answer(json.dumps(told), to=user)
    cli.expect_end()


def says_evil_things(cli):
    """Answer with what a terminal would obey, and fail the second time with the same."""
    cli.accept()
    cli.answer(EVIL, to=cli.expect("user"))
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, EVIL, is_error=True)
    cli.expect_end()


def costs_a_dollar(cli):
    """Answer everything, for money."""
    cli.accept()
    while True:
        cli.answer("paid", to=cli.expect("user"), total_cost_usd=1.0)


def gives_data(cli):
    """Answer with an object, as a JSON Schema wants it."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant("It is ready."))
    wanted = list(json.loads(cli.option("--json-schema"))["properties"])
    data = {"name": "Ada", "age": 36, "wanted": wanted}
    cli.end_turn(user, "It is ready.", structured_output=data)
    cli.expect_end()
