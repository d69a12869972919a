"""
A backend that speaks the document of the envelope protocol, strictly and without a CLI.

Started as a program by the tests. A message that has a field the document does not know
is an INVALID_MESSAGE. What it does is in the words of the prompt::

    hi              an answer: "you said hi"
    use Bash        asks for permission, says what came back
    hook Bash       calls the PreToolUse hooks for that tool, says what came back
    wait            does nothing until it is interrupted or killed
    die             the process exits with code 3
    fail            the session's CLI dies: SDK_ERROR
    flood N         N messages of 1 KiB each before the answer
    own uuid        the result carries a uuid of the backend's own
"""

from __future__ import annotations

import json
import os
import sys
import uuid

MODELS = [{"value": "sonnet", "displayName": "Sonnet"}]
OPTIONS = {
    *("model", "permission_mode", "allowed_tools", "disallowed_tools", "system_prompt"),
    *("max_turns", "max_budget_usd", "max_thinking_tokens", "include_partial_messages"),
    *("enable_file_checkpointing", "additional_directories", "mcp_servers", "agents", "hooks"),
    *("sandbox", "setting_sources", "betas", "output_format", "fallback_model"),
}
FIELDS = {
    "session.create": {"prompt", "cwd", "options"},
    "session.send": {"message"},
    "session.interrupt": set(),
    "session.kill": set(),
    "query.call": {"method", "args"},
    "callback.response": {
        *("behavior", "updated_input", "message", "updated_permissions"),
        *("continue", "decision", "system_message", "reason", "hook_specific_output"),
    },
}
METHODS = {
    "supportedModels": lambda session, args: MODELS,
    "supportedCommands": lambda session, args: [{"name": "compact", "description": "shorter"}],
    "mcpServerStatus": lambda session, args: [{"name": "files", "status": "connected"}],
    "accountInfo": lambda session, args: {"email": "a@b.example"},
    "setModel": lambda session, args: session.set("model", args),
    "setPermissionMode": lambda session, args: session.set("mode", args),
    "setMaxThinkingTokens": lambda session, args: session.set("tokens", args),
    "rewindFiles": lambda session, args: {"canRewind": True, "args": args},
}


class Invalid(Exception):
    """A message that the document does not allow."""


def say(kind, payload, **about):
    """Send an envelope."""
    message = {"type": kind, **about, "payload": payload}
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Session:
    """One session, which has no CLI."""

    def __init__(self, payload):
        self.id = str(uuid.uuid4())
        self.sdk_id = str(uuid.uuid4())
        self.payload = payload
        self.values = {}
        self.waiting = {}
        self.is_running = False

    def set(self, name, args):
        """Keep what a method set."""
        self.values[name] = args[0]

    def message(self, **fields):
        """A message of the CLI."""
        say("sdk.message", {**fields, "session_id": self.sdk_id}, session_id=self.id)

    def ask(self, prompt):
        """Play the turn of a question."""
        if not isinstance(prompt, str):
            prompt = " ".join(block["text"] for block in prompt)
        self.is_running = True
        self.message(type="system", subtype="init", model="stand-in", tools=["Bash"])
        words = prompt.split()
        if words[0] == "use":
            self.call_back("can_use_tool", words[1])
        elif words[0] == "hook":
            matchers = self.payload["options"].get("hooks", {}).get("PreToolUse", [])
            for config in matchers:
                if config.get("matcher", words[1]) == words[1]:
                    self.call_back("hook", words[1])
        elif words[0] == "die":
            sys.stderr.write("the backend has had enough\n")
            sys.stderr.flush()
            os._exit(3)
        elif words[0] == "fail":
            error = {"code": "SDK_ERROR", "message": "the CLI fell over"}
            say("error", error, session_id=self.id)
        elif words[0] == "flood":
            for number in range(int(words[1])):
                self.message(type="system", subtype="status", status=f"{number} " + "x" * 1024)
            self.end(f"{words[1]} messages")
        elif words[0] == "options":
            self.end(json.dumps({"cwd": self.payload["cwd"], **self.payload["options"]}))
        elif words[0] == "values":
            self.end(json.dumps(self.values))
        elif prompt == "own uuid":
            self.end("you said own uuid", user_message_uuids=[str(uuid.uuid4())])
        elif words[0] != "wait":
            self.end(f"you said {prompt}")

    def call_back(self, kind, tool):
        """Ask the front end."""
        identity = str(uuid.uuid4())
        self.waiting[identity] = kind
        payload = {"callback_type": kind, "tool_use_id": "toolu_1"}
        about = {"command": "ls"}
        if kind == "hook":
            payload["hook_event"] = "PreToolUse"
            payload["hook_input"] = {"tool_name": tool, "tool_input": about}
        else:
            payload.update(tool_name=tool, tool_input=about, suggestions=[])
        say("callback.request", payload, id=identity, session_id=self.id)

    def answered(self, identity, payload):
        """An answer of the front end: say it, as the answer of the turn."""
        if self.waiting.pop(identity, None) is None:
            text = f"no callback {identity}"
            error = {"code": "CALLBACK_NOT_FOUND", "message": text}
            say("error", error, id=identity, session_id=self.id)
        elif not self.waiting:
            self.end(json.dumps(payload))

    def end(self, text, **more):
        """Answer."""
        self.is_running = False
        content = [{"type": "text", "text": text}]
        message = {"role": "assistant", "id": "msg_1", "model": "m", "content": content}
        self.message(type="assistant", message=message)
        self.message(type="result", subtype="success", is_error=False, result=text, **more)

    def interrupt(self):
        """End the turn."""
        if self.is_running:
            self.is_running = False
            self.waiting.clear()
            self.message(type="result", subtype="error_during_execution", is_error=True)


def check(message):
    """Invalid for what is not in the document."""
    kind = message.get("type")
    if kind not in FIELDS:
        raise Invalid(f"no type {kind}")
    known = {"type", "id", "payload"} | ({"session_id"} if kind != "session.create" else set())
    if set(message) != known or not isinstance(message["id"], str):
        raise Invalid(f"{kind} has {sorted(message)}")
    if not set(message["payload"]) <= FIELDS[kind]:
        raise Invalid(f"{kind} has {sorted(message['payload'])}")
    if kind == "session.create" and not set(message["payload"]["options"]) <= OPTIONS:
        raise Invalid(f"unknown options {sorted(message['payload']['options'])}")


def serve(message, sessions):
    """Do what a message says."""
    kind, payload, identity = message["type"], message["payload"], message["id"]
    if kind == "session.create":
        if payload["cwd"] == "/nowhere":
            error = {"code": "SESSION_CREATE_FAILED", "message": "there is no /nowhere"}
            say("error", error, id=identity)
            return
        session = Session(payload)
        sessions[session.id] = session
        created = {"sdk_session_id": session.sdk_id}
        say("session.created", created, id=identity, session_id=session.id)
        if payload["prompt"]:
            session.ask(payload["prompt"])
        return
    session = sessions.get(message["session_id"])
    about = {"id": identity, "session_id": message["session_id"]}
    if session is None:
        say("error", {"code": "SESSION_NOT_FOUND", "message": "no such session"}, **about)
    elif kind == "session.send":
        session.ask(payload["message"])
    elif kind == "session.interrupt":
        say("session.interrupted", {}, **about)
        session.interrupt()
    elif kind == "session.kill":
        del sessions[session.id]
        say("session.killed", {}, **about)
    elif kind == "callback.response":
        session.answered(identity, payload)
    elif payload["method"] in METHODS:
        result = METHODS[payload["method"]](session, payload["args"])
        say("query.result", {"success": True, "result": result}, **about)
    else:
        error = {"code": "QUERY_METHOD_FAILED", "message": f"no method {payload['method']}"}
        say("error", error, **about)


def main():
    """Serve until the input ends."""
    sys.stderr.write("plain backend\n")
    sys.stderr.flush()
    sessions = {}
    for line in sys.stdin:
        message = {}
        try:
            message = json.loads(line)
            if "--lenient" not in sys.argv:
                check(message)
            serve(message, sessions)
        except Invalid as error:
            about = {"id": message["id"]} if "id" in message else {}
            say("error", {"code": "INVALID_MESSAGE", "message": str(error)}, **about)


if __name__ == "__main__":
    main()
