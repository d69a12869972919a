"""What the CLIs of sessions do: scripts that a stand-in process plays."""

import json
import os

ODD = (
    b'{"zeta":1,"type":"odd","alpha":{"y":[1.5,1e-7,12345678901234567890],"x":null},'
    b'"m":"\\u2028\\ud83d"}'
)


def speaks_oddly(cli):
    """Say something that no release knows, with its keys in an odd order."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.print_raw(ODD + b"\n")
    cli.end_turn(user, "done")
    cli.expect_end()


def speaks_early(cli):
    """Say something before the greeting is answered."""
    greeting = cli.expect("control_request", subtype="initialize")
    cli.say({"type": "system", "subtype": "early", "session_id": "x"})
    cli.pause(0.2)
    cli.reply(greeting, commands=[], models=[], account={})
    cli.answer("ok", to=cli.expect("user"))
    cli.expect_end()


# A key in pieces, each of which looks like nothing.
SECRET_PIECES = ("it is sk-ant-api03-", "Zx9Qw7", "Lm5Tr3", "Pn1Kd8", "Fh6Gj4")
SECRET_LINES = ("-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkqhki", "-----END PRIVATE KEY-----")


def tells_secrets_in_pieces(cli):
    """Say a key as a stream, and tell people another one over several lines."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    for line in SECRET_LINES:
        cli.print_error(line)
    cli.speak("".join(SECRET_PIECES), pieces=SECRET_PIECES)
    cli.end_turn(user, "".join(SECRET_PIECES))
    cli.expect_end()


def asks_with_everything(cli):
    """Ask for permission as new CLIs do; end the turn with what was answered."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    request = cli.ask_permission(
        "Write",
        {"file_path": "/etc/passwd"},
        blocked_path="/etc",
        decision_reason="outside",
        permission_suggestions=[
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
        ],
    )
    cli.end_turn(user, json.dumps(cli.expect_reply(request)))
    cli.expect_end()


def dies_once(cli):
    """Die in the first turn; a CLI that is resumed answers."""
    cli.accept()
    if not any(word.startswith("--resume") for word in cli.argv):
        cli.begin_turn(cli.expect("user"))
        cli.print_error("fatal: out of luck")
        cli.exit(3)
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        else:
            cli.answer("resumed", to=message)


def calls_hooks(cli):
    """Call the hook of that number; end the turn with what it answered."""
    greeting = cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    request = cli.call_hook(
        cli.settings.get("hook", "hook_0"),
        "PreToolUse",
        {"tool_name": "Bash", "tool_input": {"command": "ls"}},
        tool_use_id="toolu_7",
    )
    if cli.settings.get("cancel"):
        cli.reply(cli.expect("control_request", subtype="interrupt"))
        cli.cancel(request)
        cli.end_interrupted(user)
    else:
        answered = {"hooks": greeting["request"]["hooks"], "reply": cli.expect_reply(request)}
        cli.end_turn(user, json.dumps(answered))
    cli.expect_end()


def asks_with_hooks(cli):
    """Ask for permission, and a hook as well; end the turn with what both answered."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    permission = cli.ask_permission("Bash", {"command": "ls"})
    replies = [cli.expect_reply(permission)]
    hook = cli.call_hook("hook_0", "PermissionRequest", {"tool_name": "Bash", "tool_input": {}})
    replies.append(cli.expect_reply(hook))
    cli.end_turn(user, json.dumps(replies))
    cli.expect_end()


def tells_how_it_was_started(cli):
    """End every turn with the command line, the folder, the variables and the greeting."""
    greeting = cli.accept()
    while True:
        message = cli.receive()
        if message["type"] != "user":
            cli.reply(message)
            continue
        files = {}
        for word in cli.argv:
            path = word.partition("=")[2] or word
            if os.path.isfile(path) and path.endswith(".json"):
                with open(path) as file:
                    files[word.partition("=")[0]] = json.load(file)
        told = {
            "argv": list(cli.argv),
            "cwd": os.getcwd(),
            "env": dict(cli.environ),
            "greeting": greeting["request"],
            "files": files,
        }
        cli.answer(json.dumps(told), to=message)


def floods(cli):
    """Say a lot, and note in its folder how much of it was taken."""
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    line = json.dumps({"type": "flood", "text": "x" * 10_000}).encode() + b"\n"
    for number in range(cli.settings["lines"]):
        cli.print_raw(line)
        with open("noted", "w") as noted:
            noted.write(str(number + 1))
    cli.end_turn(user, "all said")
    cli.expect_end()


def refuses_controls(cli):
    """Refuse every request that comes after the greeting."""
    cli.accept()
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.refuse(message, "not today", "too_busy")
        else:
            cli.answer("ok", to=message)


def says_it_to_people(cli):
    """Tell people something before the greeting, and in the turn."""
    cli.print_error("before")
    cli.accept()
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.print_error("within")
    cli.end_turn(user, "done")
    cli.expect_end()


def tells_of_its_life(cli):
    """Note when it begins, and when it ends, which takes a while."""

    def note(word):
        with open("life", "a") as life:
            life.write(word + "\n")

    note("begins")
    cli.accept()
    cli.expect_end()
    cli.pause(0.3)
    note("ends")


def stays(cli):
    """Do not end when the input does."""
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    cli.accept()
    while True:
        cli.pause(60)


# Whatever a process can print, in whatever portions; the last line has no end.
PRINTED = (b'{"b":1, "a":2}\n{"type', b'":"x"}\r\n\n', b"no JSON\n\xff\xfe\n", b"rest")


def prints_anything(cli):
    """Print what is no message among what is one, and exit with a code."""
    cli.expect("control_request", subtype="initialize")
    for portion in PRINTED:
        cli.print_raw(portion)
        cli.pause(0.05)
    cli.print_error("last words")
    cli.exit(7)


def repeats_its_input(cli):
    """Print what it reads, and exit at the end of its input."""
    while True:
        cli.say(cli.receive())


def repeats_requests(cli):
    """Answer each request with itself."""
    cli.accept()
    while True:
        message = cli.receive()
        cli.reply(message, asked=message.get("request"))
