"""
Models of the CLIs, played against an ``Exchange``: nobody may get somebody else's answer.

Two ordered channels lie between the client and the model, so everything may happen while
something else is on its way. Each result carries, for the judge alone, whom it really answers.

``python tests/protocol/cli_model.py 200000`` plays so many random histories of each model.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from itertools import count

from claude_sync.protocol.exchange import (
    ANSWERED,
    CONTEXT,
    DROPPED,
    QUESTION,
    STEER,
    Exchange,
    Sent,
)

NEWEST = "newest"
OLD = "2.1.29"
SILENT = "silent"  # tells neither uuid nor echo
MODELS = (NEWEST, OLD, SILENT)

ACTIONS = (
    "ask",
    "ask",
    "command",
    "blocked",
    "steer",
    "context",
    "interrupt",
    "cancel",
    "background",
    "say twice",
    "stray",
    "crash",
    "cli reads",
    "cli reads",
    "cli works",
    "cli works",
    "tool round",
    "client hears",
    "client hears",
    "client hears",
    "silence",
)
TRUTH = "_answers"


class Turn:
    """A turn of the model: the messages in it, and whether it began by itself."""

    def __init__(self, members, foreign=False):
        self.members = members
        self.foreign = foreign
        self.echoed = False


class ModelCli:
    """A CLI that reads ``input`` and writes ``output``, one step at a time."""

    def __init__(self, kind, numbers):
        self.kind = kind
        self.input = deque()
        self.output = deque()
        self.queue = deque()
        self.turn = None
        self.background = 0
        self._numbers = numbers

    def say(self, kind, **fields):
        self.output.append({"type": kind, **fields})

    def is_idle(self):
        """Whether nothing will be said any more unless something is written."""
        return not (self.input or self.queue or self.turn or self.background or self.output)

    def read(self):
        """Take one message of the client."""
        if not self.input:
            return
        message = self.input.popleft()
        if message["type"] == "interrupt":
            self.interrupt(message["cancel"])
            return
        self.queue.append(message)
        if self.kind == NEWEST:
            self.lifecycle(message, "queued")

    def lifecycle(self, message, state):
        self.say("command_lifecycle", command_uuid=message["uuid"], state=state)

    def interrupt(self, cancel):
        """Stop the turn; withdraw what waits, if that is wanted and known."""
        cancelled = []
        if self.kind == NEWEST and cancel:
            for message in self.queue:
                self.lifecycle(message, "cancelled")
                cancelled.append(message["uuid"])
            self.queue.clear()
        self.say("reply", cancelled=cancelled)
        if self.turn is not None:
            self.end(stopped=True)

    def work(self):
        """Begin a turn, or end the one that runs."""
        if self.turn is not None:
            self.end()
        elif self.queue:
            several = self.kind == NEWEST
            members = list(self.queue) if several else [self.queue[0]]
            for _ in members:
                self.queue.popleft()
            self.begin(Turn(members))
        elif self.background:
            self.background -= 1
            self.begin(Turn([], foreign=True))

    def begin(self, turn):
        self.turn = turn
        if self.kind == NEWEST:
            self.say("state", state="running")
            for message in turn.members:
                self.lifecycle(message, "started")
            self.say("init", claude_code_version="2.1.326", capabilities=["msg_lifecycle_v1"])
            self.echo(turn.members)
        else:
            version = {"claude_code_version": "2.1.29"} if self.kind == OLD else {}
            self.say("init", **version)
            if not next(self._numbers) % 2:
                self.echo_late()

    def echo(self, members):
        for message in members:
            silent = message["command"] or (message["blocked"] and self.kind == OLD)
            if self.kind != SILENT and not silent:
                self.say("user", uuid=message["uuid"])

    def echo_late(self):
        """Old CLIs echo some time before the result."""
        if not self.turn.echoed:
            self.turn.echoed = True
            self.echo(self.turn.members[:1])

    def tool_round(self):
        """What waits joins the turn."""
        if self.turn is None or any(each["blocked"] for each in self.turn.members):
            return
        if self.kind == OLD:
            self.echo_late()
        joining = [message for message in self.queue if not message["command"]]
        if self.kind == NEWEST:
            for message in joining:
                self.lifecycle(message, "started")
        self.echo(joining)
        self.turn.members.extend(joining)
        self.queue = deque(message for message in self.queue if message["command"])

    def end(self, stopped=False):
        turn, self.turn = self.turn, None
        if self.kind == OLD and turn.members:
            self.turn = turn
            self.echo_late()
            self.turn = None
        uuids = [message["uuid"] for message in turn.members]
        fields = {"subtype": "error_during_execution" if stopped else "success"}
        local = turn.members and all(each["command"] or each["blocked"] for each in turn.members)
        tokens = 0 if local or stopped else 9
        fields["usage"] = {"input_tokens": tokens, "output_tokens": tokens}
        if self.kind == NEWEST and uuids:
            fields["user_message_uuids"] = uuids
        if turn.foreign:
            fields["origin"] = {"kind": "task-notification"}
        self.say("result", uuid=f"result-{next(self._numbers)}", **fields, **{TRUTH: uuids})
        if self.kind == NEWEST:
            for message in turn.members:
                self.lifecycle(message, "completed")
            if not self.queue:
                self.say("state", state="idle")


class Play:
    """A client that asks one question after the other, and a model that answers them."""

    def __init__(self, kind):
        self.kind = kind
        self.numbers = count(1)
        self.waiting = deque()
        self.all = []
        self.kept_from_model = set()
        self.wrong = []
        self.start()

    def start(self):
        self.cli = ModelCli(self.kind, self.numbers)
        self.exchange = Exchange()

    def do(self, action):
        getattr(self, action.replace(" ", "_"))()
        self.pump()

    # The client.

    def ask(self, kind=QUESTION, *, is_command=False):
        message = Sent(f"uuid-{next(self.numbers)}", kind, is_command=is_command)
        self.waiting.append(message)
        self.all.append(message)
        return message

    def blocked(self):
        """A hook of the settings keeps it from the model."""
        self.kept_from_model.add(self.ask().uuid)

    def command(self):
        self.ask(is_command=True)

    def context(self):
        if self.kind == NEWEST:
            self.ask(CONTEXT)

    def pump(self):
        while self.waiting and self.exchange.may_send():
            message = self.waiting.popleft()
            self.exchange.send(message)
            self.write(message)

    def write(self, message):
        self.cli.input.append(
            {
                "type": "user",
                "uuid": message.uuid,
                "command": message.is_command,
                "blocked": message.uuid in self.kept_from_model,
            }
        )

    def steer(self):
        if self.exchange.running() is not None:
            message = Sent(f"uuid-{next(self.numbers)}", STEER)
            self.exchange.steer(message)
            self.write(message)

    def interrupt(self, cancel=False):
        question = self.exchange.running()
        if question is not None:
            question.interrupted = True
        self.cli.input.append({"type": "interrupt", "cancel": cancel})

    def cancel(self):
        self.interrupt(cancel=True)

    def silence(self):
        """Nothing has come for seconds."""
        if self.cli.is_idle() and not self.exchange.is_working():
            self.exchange.give_up_steers()

    def crash(self):
        self.over(self.exchange.on_end())
        self.start()

    # The CLI.

    def background(self):
        if self.kind == NEWEST:
            self.cli.background += 1

    def stray(self):
        """A result that names a message of nobody's."""
        if self.kind == NEWEST:
            fields = {"subtype": "success", "user_message_uuids": ["nobody"], TRUTH: ["nobody"]}
            self.cli.say("result", uuid=f"result-{next(self.numbers)}", **fields)

    def say_twice(self):
        results = [said for said in self.cli.output if said["type"] == "result"]
        if results:
            place = list(self.cli.output).index(results[0])
            self.cli.output.insert(place + 1, dict(results[0]))

    def cli_reads(self):
        self.cli.read()

    def cli_works(self):
        self.cli.work()

    def tool_round(self):
        self.cli.tool_round()

    def client_hears(self):
        if not self.cli.output:
            return
        said, exchange = self.cli.output.popleft(), self.exchange
        kind = said["type"]
        if kind == "init":
            exchange.on_init(said)
        elif kind == "user":
            self.over(exchange.on_echo(said["uuid"]))
        elif kind == "command_lifecycle":
            self.over(exchange.on_lifecycle(said["command_uuid"], said["state"]))
        elif kind == "state":
            self.over(exchange.on_session_state(said["state"]))
        elif kind == "reply":
            self.over(exchange.on_cancelled(said["cancelled"]))
        else:
            self.over(exchange.on_result(said))

    def over(self, finished):
        for message in finished:
            # Nobody waits for the answer of a steered message, and one model names none.
            is_judged = message.kind != STEER or self.kind != SILENT
            answered = message.state == ANSWERED and is_judged
            if answered and message.uuid not in message.result[TRUTH]:
                self.wrong.append(message)
            self.exchange.finish(message)

    def settle(self):
        """Let everything end: whoever still waits then waits for ever."""
        for _ in range(10_000):
            self.pump()
            if not self.cli.is_idle():
                self.cli_reads()
                self.cli_works()
                self.client_hears()
            elif self.waiting:
                self.silence()
            else:
                break
        return [
            message
            for message in self.all
            if message.kind != STEER and message.state not in (ANSWERED, DROPPED)
        ]


def played(kind, actions):
    """What went wrong in one history: wrong answers, and messages that wait for ever."""
    play = Play(kind)
    for action in actions:
        play.do(action)
    return play.settle(), play.wrong


def main(histories):
    """Play random histories; print the first that goes wrong."""
    for kind in MODELS:
        for seed in range(histories):
            chance = random.Random(seed)
            actions = chance.choices(ACTIONS, k=chance.randrange(1, 60))
            hung, wrong = played(kind, actions)
            if hung or wrong:
                print(f"{kind}, seed {seed}: hung {hung}, wrong {wrong}\n{actions}")
                return 1
        print(f"{kind}: {histories} histories, no wrong answer, nobody waits for ever")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
