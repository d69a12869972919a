"""
A front end by somebody who has read the description of the protocol, and nothing else.

    python seed_only.py FOLDER BACKEND [WORD ...]

It works with two sessions, does everything that the description has a word for, provokes all
of its errors, and prints as JSON what it was answered. ``seed_only.mjs`` does the same.
"""

import json
import os
import subprocess
import sys
import threading
import uuid

FOLDER, COMMAND = sys.argv[1], sys.argv[2:]
# Whoever waits longer waits in vain.
PATIENCE = 90

backend = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
alarm = threading.Timer(PATIENCE, backend.kill)
alarm.start()
sent, wrong, received = [], [], []


def send(kind, payload, session_id=None, identity=None):
    """Write a message; its id."""
    message = {"type": kind, "id": identity or str(uuid.uuid4()), "payload": payload}
    if session_id is not None:
        message["session_id"] = session_id
    sent.append(message)
    write(json.dumps(message))
    return message["id"]


def write(line):
    backend.stdin.write(line.encode() + b"\n")
    backend.stdin.flush()


def write_wrong(line):
    """Write what is no message."""
    wrong.append(line)
    write(line)


def until(fits):
    """The first message that fits, of those that have come and those that will."""
    place = 0
    while True:
        while place == len(received):
            line = backend.stdout.readline()
            if not line:
                sys.exit(f"the backend ended; its last words: {received[-3:]}")
            received.append(json.loads(line))
        if fits(received[place]):
            return received[place]
        place += 1


def answer(identity):
    """What answers a message."""
    return until(lambda message: message.get("id") == identity)


def nth(kind, session_id, number, said=None):
    """A message of a session, by its number among its like."""
    count = [number]

    def fits(message):
        if message["type"] != kind or message.get("session_id") != session_id:
            return False
        if said is not None and not said(message["payload"]):
            return False
        count[0] -= 1
        return count[0] < 0

    return until(fits)


def request(session_id, number):
    return nth("callback.request", session_id, number)


def result(session_id, number):
    return nth("sdk.message", session_id, number, lambda said: said["type"] == "result")["payload"]


def error(**ids):
    """An error with these ids."""
    return until(
        lambda message: (
            message["type"] == "error"
            and all(message.get(name) == value for name, value in ids.items())
        )
    )


def received_of(session_id):
    """What the CLI of a session has said so far."""
    return [
        message
        for message in received
        if message["type"] == "sdk.message" and message["session_id"] == session_id
    ]


def create(prompt):
    options = {
        "model": "sonnet",
        "permission_mode": "default",
        "include_partial_messages": True,
        "enable_file_checkpointing": True,
        "max_turns": 20,
    }
    return send("session.create", {"prompt": prompt, "cwd": FOLDER, "options": options})


def call(method, *args):
    called = send("query.call", {"method": method, "args": list(args)}, first)
    return answer(called)["payload"]


def is_text(said):
    return said["type"] == "stream_event" and "text" in said["event"].get("delta", {})


def is_question(said):
    return said["type"] == "user" and "tool_result" not in json.dumps(said)


report = {"errors": {}, "queries": {}}

# Two sessions. What the second one asks for is not answered until much later.
both = [create("please write the first file"), create("please wait for nobody")]
first = answer(both[0])["session_id"]

# One tool is approved, with another input than was wanted; another one is denied.
asked = request(first, 0)
changed = {**asked["payload"]["tool_input"], "content": "as the front end wants it"}
allowed = {"behavior": "allow", "updated_input": changed}
send("callback.response", allowed, first, asked["id"])
report["approved"] = result(first, 0)
with open(os.path.join(FOLDER, "first")) as file:
    report["written"] = file.read()
report["created"] = [answer(identity) for identity in both]
second = report["created"][1]["session_id"]
send("session.send", {"message": "please write the second file"}, first)
asked = request(first, 1)
denied = {"behavior": "deny", "message": "one file is enough"}
send("callback.response", denied, first, asked["id"])
report["denied"] = result(first, 1)
report["asked"] = [request(first, number)["payload"] for number in (0, 1)]

# The eight methods.
question = nth("sdk.message", first, 0, is_question)["payload"].get("uuid")
for method, *args in (
    ("supportedModels",),
    ("supportedCommands",),
    ("mcpServerStatus",),
    ("accountInfo",),
    ("setModel", "haiku"),
    ("setPermissionMode", "default"),
    ("setMaxThinkingTokens", 3000),
    ("rewindFiles", question),
):
    report["queries"][method] = call(method, *args)

# An interrupt in the middle of a text.
before = sum(is_text(message["payload"]) for message in received_of(first))
send("session.send", {"message": "please talk on and on"}, first)
nth("sdk.message", first, before, is_text)
report["interrupted"] = answer(send("session.interrupt", {}, first))
report["interrupted_result"] = result(first, 2)

# What is wrong is told, and the connection lives.
write_wrong("this is no JSON")
write_wrong('{"type": "session.fly", "id": "unknown-type", "payload": {}}')
report["errors"]["INVALID_MESSAGE"] = error(id="unknown-type")
nowhere = send("session.send", {"message": "hello"}, "no-such-session")
report["errors"]["SESSION_NOT_FOUND"] = answer(nowhere)
options = {"prompt": "hello", "cwd": os.path.join(FOLDER, "no", "such"), "options": {}}
report["errors"]["SESSION_CREATE_FAILED"] = answer(send("session.create", options))
send("callback.response", {"behavior": "allow"}, first, "no-such-callback")
report["errors"]["CALLBACK_NOT_FOUND"] = error(id="no-such-callback")
no_method = {"method": "flyToTheMoon", "args": []}
report["errors"]["QUERY_METHOD_FAILED"] = answer(send("query.call", no_method, first))

# The second session has waited for an answer all the time; then its CLI ends itself.
unanswered = request(second, 0)
report["errors"]["CALLBACK_TIMEOUT"] = error(id=unanswered["id"])
report["unanswered"] = result(second, 0)
deadly = send("session.send", {"message": "please end yourself"}, second)
send("callback.response", {"behavior": "allow"}, second, request(second, 1)["id"])
report["errors"]["SDK_ERROR"] = error(id=deadly)

# The first one has not noticed. Both are killed; then there is nobody to talk to.
send("session.send", {"message": "please say goodbye"}, first)
report["goodbye"] = result(first, 3)
report["killed"] = [answer(send("session.kill", {}, each)) for each in (first, second)]
report["after_the_end"] = answer(send("session.send", {"message": "hello?"}, first))

# The end of its input is the end of the backend.
backend.stdin.close()
with backend.stdout as rest:
    received += [json.loads(line) for line in rest]
report["exit_code"] = backend.wait()
alarm.cancel()
report.update(sent=sent, wrong=wrong, received=received)
print(json.dumps(report))
