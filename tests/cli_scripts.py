"""What stand-in CLIs do in the tests of the command line and of the README."""

from __future__ import annotations

import json

from claude_sync.testing import builders
from claude_sync.testing.offline import Echo


class ThinkingEcho(Echo):
    """The echo, which takes its time for questions that ask for it."""

    def take_question(self, user):
        """As a directive in the prompt would, without there being one."""
        message = user["message"]
        if "Think long" in str(message["content"]):
            user = {**user, "message": {**message, "content": "[[sleep 60]]"}}
        super().take_question(user)


def thinks_long(cli):
    """Echo; but a prompt with "Think long" takes a minute."""
    ThinkingEcho(cli).run()


def logged_in(cli):
    """Start, and tell of the account in the settings."""
    cli.accept(account=cli.settings["account"])
    cli.expect_end()


def breaks(cli):
    """End before the greeting is answered, with a word on stderr."""
    cli.print_error("error: the key sk-ant-verysecret is broken")
    cli.exit(7)


def dies_in_mid_turn(cli):
    """Begin a turn and be killed."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.kill_itself()


def is_not_logged_in(cli):
    """End the turn as a CLI without credentials does: with words, as if they were an answer."""
    cli.accept()
    user = cli.expect("user")
    words = "Not logged in · Please run /login"
    cli.begin_turn(user)
    failed = {"model": "<synthetic>", "error": "authentication_failed"}
    cli.say(builders.assistant(words, "msg_1", **failed))
    cli.end_turn(user, words, is_error=True)
    cli.expect_end()


def speaks_twice(cli):
    """Say something, use a tool, and say something else: two messages."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(*cli.spoken("Let me look."), *cli.spoken("It is 4."))
    cli.end_turn(user, "It is 4.")
    cli.expect_end()


def answers_with_its_options(cli):
    """Tell what it was started with."""
    cli.accept()
    told = {"model": cli.model, "resume": cli.option("--resume"), "cwd": cli.cwd}
    request = cli.expect()
    while request["type"] == "control_request":  # what a client asks of a resumed CLI
        cli.reply(request)
        request = cli.expect()
    cli.answer(json.dumps(told), to=request)
    cli.expect_end()


def notes_an_interrupt(cli):
    """Begin to answer, and write into a file what comes next."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.message_start(), builders.block_start(), builders.text_delta("Well,"))
    request = cli.expect("control_request", patience=60)
    with open(cli.settings["note"], "w") as file:
        file.write(request["request"]["subtype"])
    cli.reply(request)
    cli.end_interrupted(user, "Well,")
    cli.expect_end()
