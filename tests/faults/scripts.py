"""
How CLIs misbehave: each function is a script that a stand-in process plays.

The process runs this file, so it imports only what starts quickly.
"""

import json
import os
import subprocess
import sys

LAST_WORDS = "fatal: the disk is full"


def be_good(cli, text):
    """Answer everything: questions with *text* and the question, requests with nothing."""
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        elif message["type"] == "user":
            cli.answer(text + message["message"]["content"], to=message)


# Exits.


def exits_at_start(cli):
    """Say why on stderr, and be gone before anything is answered."""
    cli.print_error("error: unknown option '--frobnicate'")
    cli.exit(2)


def exits_when_greeted(cli):
    """Read the greeting, answer nothing, be gone."""
    cli.expect("control_request", subtype="initialize")
    cli.print_error("error: no such configuration")
    cli.exit(4)


def exits_in_mid_turn(cli):
    """Begin a turn, and exit with the code that the test wants."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.print_error(LAST_WORDS)
    cli.exit(cli.settings["code"])


def is_killed_in_mid_line(cli):
    """Print half of a result, and be killed."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    line = json.dumps(cli.ending([user], "never complete")[0])
    cli.print_raw(line[: len(line) // 2].encode())
    cli.kill_itself()


def fails_then_exits(cli):
    """End the turn with an error, say that all is well, and exit."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "API Error: 529 overloaded", is_error=True)
    cli.say({"type": "keep_alive"})
    cli.exit(1)


def leaves_a_child_behind(cli):
    """Exit in mid-turn, while a child keeps the pipes open."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.leave_child(20)
    os._exit(5)


def starts_a_tool(cli):
    """A CLI that starts a process as a tool would, says its id, and goes on with its turn."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    program = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1, flush=True)"
    tool = subprocess.Popen(
        [sys.executable, "-c", f"{program}; time.sleep(600)"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    tool.stdout.readline()
    cli.end_turn(user, str(tool.pid))
    cli.swallow_input()


def closes_its_output(cli):
    """Say no more in mid-turn, but live on until the input ends."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    cli.close_output()
    cli.swallow_input()


def ends_without_a_newline(cli):
    """The last line, a result, has no line end."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.print_raw(json.dumps(cli.ending([user], "the last word")[0]).encode())
    cli.exit(0)


# Silence.


def never_answers_the_greeting(cli):
    """Read everything, say nothing."""
    cli.swallow_input()


def never_ends_a_turn(cli):
    """Begin a turn and ignore every interrupt; in the next life, behave."""
    cli.accept()
    if cli.option("--resume"):
        be_good(cli, "better now")
    cli.begin_turn(cli.expect("user"))
    cli.swallow_input()


def ignores_the_end_of_its_input(cli):
    """Answer, and stay when the input ends."""
    cli.ignore_end_of_input()
    cli.accept()
    while True:
        cli.answer("still here")


def ignores_termination(cli):
    """Neither the end of the input nor a polite signal ends it."""
    cli.ignore_termination()
    ignores_the_end_of_its_input(cli)


def reads_nothing_more(cli):
    """Answer the greeting, then never read again."""
    cli.accept()
    cli.wait_forever()


def closes_its_input(cli):
    """Answer the greeting, then let every write break; and live on."""
    cli.accept()
    cli.close_input()
    cli.print_error("stdin is closed")
    cli.wait_forever()


# Floods.


def floods_stderr(cli):
    """Print megabytes on stderr in the middle of a turn."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.flood_error(cli.settings["lines"], "x" * 80)
    cli.end_turn(user, "dry again")
    cli.swallow_input()


def says_a_huge_line(cli):
    """One message of many megabytes."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    text = "x" * cli.settings["size"]
    message = {"role": "assistant", "id": "msg_1", "content": [{"type": "text", "text": text}]}
    cli.say({"type": "assistant", "message": message, "parent_tool_use_id": None})
    cli.end_turn(user, "that was long")
    cli.swallow_input()


# Lives.


def dies_at_every_question(cli):
    """Count its lives in a file; die when asked."""
    with open(cli.settings["lives"], "a") as file:
        file.write(f"{cli.option('--resume')}\n")
    cli.accept()
    message = cli.receive()
    while message["type"] != "user":
        cli.reply(message)
        message = cli.receive()
    cli.begin_turn(message)
    cli.exit(9)


def dies_once(cli):
    """Die in the first turn; in the next life, answer what is asked."""
    cli.accept()
    if cli.option("--resume"):
        be_good(cli, "resumed: ")
    cli.begin_turn(cli.expect("user"))
    if cli.settings.get("wait"):
        cli.expect("control_request", subtype="interrupt")
    cli.exit(9)


def tells_its_environment(cli):
    """Answer with the names of all Claude variables it was given."""
    cli.accept()
    names = sorted(name for name in cli.environ if name.startswith(("CLAUDE", "MINE")))
    while True:
        cli.answer(" ".join(names))


def answers_then_dies(cli):
    """Answer one question; be killed by the second."""
    cli.accept()
    cli.answer("recorded")
    cli.expect("user")
    cli.kill_itself()


def pours_out_deltas(cli):
    """
    A torrent of numbered pieces, which ends only after an interrupt.

    That is acknowledged; then ``more`` pieces follow, and the answer is how many they were.
    """
    cli.accept()
    more, at_once = cli.settings["more"], 500
    user = cli.expect("user")
    messages = cli.spoken("?", ["?"])
    delta = next(i for i, each in enumerate(messages) if "delta" in each.get("event", {}))
    cli.begin_turn(user)
    cli.say(*messages[:delta])
    before, after = json.dumps(messages[delta]).split("?")
    count, end = 0, None
    while end is None or count < end:
        lines = [f"{before}{n:07d} {after}\n" for n in range(count, count + at_once)]
        cli.print_raw("".join(lines).encode())
        count += at_once
        message = cli.receive(0)
        if message is not None and message["type"] == "control_request":
            cli.reply(message, still_queued=["served"])
            end = count + more
    cli.end_turn(user, str(count))
    cli.swallow_input()
