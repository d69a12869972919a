"""What stand-in CLIs do in the tests of the command line and of the README."""

from __future__ import annotations

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


def tells_its_version_only_if_asked(cli):
    """Print the version like a program; tell nothing in the greeting."""
    if "--version" in cli.argv:
        cli.print_raw(b"1.0.128 (Claude Code)\n")
        cli.exit(0)
    logged_in(cli)


def does_not_start(cli):
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
    cli.say(builders.assistant(words, "msg_1", error="authentication_failed"))
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
