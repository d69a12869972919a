"""
A front end of the bridge that needs nothing of claude_sync, only its messages.

Two sessions at once, over one backend. Run it as  python front_end.py
"""

import json
import os
import shlex
import subprocess

command = shlex.split(os.environ.get("BRIDGE", "claude-sync bridge"))
backend = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(kind, payload, **ids):
    """One message, one line."""
    backend.stdin.write(json.dumps({"type": kind, "payload": payload, **ids}) + "\n")
    backend.stdin.flush()


questions = ["Which river is near Rome?", "Which river is near Paris?"]
for number, question in enumerate(questions):
    options = {"max_turns": 3, "allowed_tools": ["Read"]}
    payload = {"prompt": question, "cwd": os.getcwd(), "options": options}
    send("session.create", payload, id=str(number))

asked = {}  # by session
killed = 0
for line in backend.stdout:
    message = json.loads(line)
    session_id, payload = message.get("session_id"), message["payload"]
    if message["type"] == "session.created":
        asked[session_id] = questions[int(message["id"])]
    elif message["type"] == "callback.request":
        no = {"behavior": "deny", "message": "This program only reads."}
        send("callback.response", no, id=message["id"], session_id=session_id)
    elif message["type"] == "sdk.message" and payload["type"] == "result":
        print(asked.pop(session_id), payload.get("result"))
        send("session.kill", {}, id="kill", session_id=session_id)
    elif message["type"] == "session.killed":
        killed += 1
        if killed == len(questions):
            break
    elif message["type"] == "error":
        print(payload["code"], payload["message"])
        break

backend.stdin.close()  # the end of its input ends the backend
backend.wait()
