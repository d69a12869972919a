"""
Conversations that cost money, and what each of them should have cost.

A scene is played three times: by ``recordings/make.py``, which records it; by
``real/test_real_money.py``, with the CLIs that are there; and by ``test_money.py``, with
the recordings. What the model reported is in its :class:`Book`, and what that costs
follows from the prices of the CLIs, not from anything the client does. So a scene only
asks, and says with :meth:`Stage.note` what it was told.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import signal
import threading
import time
from typing import Optional

from patience import PATIENCE

from claude_sync import CliExited
from claude_sync.testing.model import Reply, text, tool_use

COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
MODEL_COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")

# Dollars for a million tokens of each count. The scene "prices" measures them anew.
PRICES = {
    "claude-sonnet-4-5-20250929": (3.0, 15.0, 0.3, 3.75),
    "claude-haiku-4-5-20251001": (1.0, 5.0, 0.1, 1.25),
    "claude-opus-5-5": (4.0, 20.0, 0.2, 5.0),
}
# These count a reply that was interrupted as far as it came, but not in the usage of its turn.
# Those before count nothing of it: from 2.1.326 on.
COUNT_INTERRUPTED = ("bundled",)
# It does not know /clear.
OLD = "2.1.29"


@dataclasses.dataclass
class Line:
    """
    One reply of the model, as it is in the book.

    Attributes:
        model: Who replied.
        usage: What it reported.
        who: ``main``, ``agent``, or ``side`` for requests of the CLI's own.
        what: How the request began.
        counted: Whether CLIs count it: not if it was cut short.
        came: Of one that was interrupted, the tokens that had come; None of any other.

    """

    model: str
    usage: dict
    who: str
    what: str
    counted: bool = True
    came: Optional[int] = None

    def counts(self, version):
        """Whether that CLI counts it."""
        return self.counted or (self.came is not None and version in COUNT_INTERRUPTED)

    def paid_usage(self):
        """What is paid for it, where it counts."""
        return self.usage if self.came is None else {**self.usage, "output_tokens": self.came}


class Book:
    """What the model reported, in order."""

    def __init__(self):
        self._lock = threading.Lock()
        self.lines = []

    def reply(self, content, who="main", counted=True, came=None, usage=None):
        """A reply for a rule of the model; each time it is given it reports other counts."""

        def say(request):
            said = content(request) if callable(content) else content
            with self._lock:
                number = len(self.lines) + 1
                counts = usage or (1000 + number, 100 + 3 * number, 3000 + 7 * number, 500 + number)
                told = dict(zip(COUNTS, counts))
                is_main = who == "main" and request.kind in ("conversation", "notification")
                whose = who if is_main or who == "agent" else "side"
                what = request.text.partition(":")[0][:20]
                self.lines.append(Line(request.model, told, whose, what, counted, came))
            group = {"ephemeral_5m_input_tokens": told[COUNTS[3]], "ephemeral_1h_input_tokens": 0}
            return Reply(said, usage={**told, "cache_creation": group})

        return say

    def listen(self, model):
        """Have the model report everything it says by itself."""
        model.default(self.reply(lambda request: f"echo: {request.text[:20]}"))
        rule = model.when(lambda request: request.kind != "conversation", kind=None)
        rule.reply(self.reply("as you wish"))


@dataclasses.dataclass
class Note:
    """
    What the client said at one moment of a scene.

    Attributes:
        label: For messages about it.
        answer: The answer that has come; None: the client is asked alone.
        lines: What the model has reported since the note before.
        is_first: Whether it is the first of its client.

    The rest is what the client said.

    """

    label: str
    answer: object
    lines: list
    cost_usd: float
    usage: dict
    model_usage: dict
    context_tokens: object
    agent_usage: tuple
    is_first: bool


class Stage:
    """
    Where a scene is played.

    Args:
        version: Of the CLI; ``bundled`` is the newest.
        open_client: Makes a client, given options; it need not be closed.
        model: The real CLI's model; None: a recording is played.
        book: What the model reports. For a recording, lists of lines, one for each note.
        kill: Ends the process of a client.

    """

    def __init__(self, version, open_client, model, book, kill=None):
        self.version = version
        self._open = open_client
        self._kill = kill or (lambda client: os.kill(client.pid, signal.SIGKILL))
        self.model = model
        self.book = book
        self.notes = []
        self._read = 0
        self._is_first = True
        # Opened for the model when it shall go on; a recording goes on by itself.
        self.gates = collections.defaultdict(threading.Event)

    def client(self, **options):
        """A client of the CLI."""
        self._is_first = True
        return self._open(**{"allowed_tools": ["Bash", "Task", "Agent"], **options})

    def when(self, words, *replies, **settings):
        """What the model says to these words, round by round."""
        if self.model is not None:
            rule = self.model.when(words)
            for number, content in enumerate(replies):
                said = self.book.reply(content, **settings)
                rule = rule.then_reply(said) if number else rule.reply(said)

    def ask(self, client, prompt):
        """Ask, and note the answer."""
        return self.note(prompt, client, client.ask(prompt, timeout=PATIENCE, raise_on_error=False))

    def note(self, label, client, answer=None):
        """Note what the client says now."""
        if self.model is None:
            lines = self.book[len(self.notes)]
        else:
            lines, self._read = self.book.lines[self._read :], len(self.book.lines)
        self.notes.append(
            Note(
                label,
                answer,
                lines,
                client.cost_usd,
                client.usage,
                client.model_usage,
                client.context_tokens,
                client.agent_usage,
                self._is_first,
            )
        )
        self._is_first = False
        return answer

    def kill(self, client):
        """End the CLI without a word."""
        self._kill(client)
        until(lambda: client.state == "crashed")


def until(condition):
    """Wait for what nothing announces."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.005)


def in_the_middle(stage, client, prompt, **settings):
    """Ask, and return when the answer has begun; it ends when its gate is opened."""
    begun = threading.Event()
    handler = client.on_text(lambda piece: begun.set())
    stage.when(prompt, text("a long story", gate=stage.gates[prompt]), counted=False, **settings)
    turn = client.submit(prompt, raise_on_error=False)
    assert begun.wait(PATIENCE)
    client.off(handler)
    return turn


# The scenes.


def prices(stage):
    """One kind of tokens in each turn: what does one cost?"""
    with stage.client() as client:
        stage.ask(client, "begin")
        for number in range(4):
            usage = [10000 if number == other else 0 for other in range(4)]
            stage.when(f"price {number}", "cheap", usage=usage)
            stage.ask(client, f"price {number}")


def turns(stage):
    """Several questions of one process."""
    with stage.client() as client:
        for prompt in ("one", "two", "three"):
            stage.ask(client, prompt)


def tools(stage):
    """A turn of several requests, some by the CLI's helper."""
    bash = tool_use("Bash", {"command": "echo hi"})
    stage.when("work", bash, [text("Once more."), bash], "done")
    with stage.client() as client:
        stage.ask(client, "work")
        stage.ask(client, "rest")


def agents(stage):
    """A subagent, which new CLIs let work in the background."""
    task = {"description": "sum", "prompt": "subwork", "subagent_type": "general-purpose"}
    stage.when("subwork", tool_use("Bash", {"command": "echo hi"}), "four", who="agent")
    stage.when("delegate", tool_use("Task", task), "delegated")
    with stage.client() as client:
        answer = client.ask("delegate", timeout=PATIENCE)
        client.wait_idle(PATIENCE)
        # Which of the requests were made before the answer, and which after, is chance.
        stage.note("idle", client)
        assert [agent.agent for agent in answer.agent_usage] == ["general-purpose"]
        stage.ask(client, "after")


def interrupt(stage):
    """A turn that is cut short costs what the CLI says: nothing, or as far as it came."""
    with stage.client() as client:
        stage.ask(client, "one")
        turn = in_the_middle(stage, client, "slow", came=2)
        client.interrupt()
        stage.note("slow", client, turn.result(PATIENCE))
        stage.gates["slow"].set()
        stage.ask(client, "after")


def crash(stage):
    """Killed while idle, killed in mid-turn: three processes, one conversation."""
    with stage.client() as client:
        stage.ask(client, "one")
        stage.kill(client)
        stage.ask(client, "two")
        turn = in_the_middle(stage, client, "slow")
        stage.kill(client)
        assert isinstance(turn.exception(PATIENCE), CliExited)
        stage.note("killed", client)
        stage.gates["slow"].set()
        stage.ask(client, "three")


def resume(stage, **how):
    """A conversation of an earlier client goes on; what that one paid is not paid again."""
    with stage.client() as client:
        stage.ask(client, "one")
        stage.ask(client, "two")
        session_id = client.session_id
    with stage.client(**(how or {"resume": session_id})) as client:
        stage.ask(client, "three")
        stage.ask(client, "four")
    return session_id


def goes_on(stage):
    """As resume, with the newest conversation."""
    resume(stage, continue_conversation=True)


def fork(stage):
    """As resume, in a conversation of its own."""
    with stage.client() as client:
        stage.ask(client, "one")
        session_id = client.session_id
    with stage.client(resume=session_id, fork_session=True) as client:
        stage.ask(client, "two")
        stage.ask(client, "three")


def clear(stage):
    """The totals of new CLIs begin at zero; an old one does not know the command."""
    with stage.client() as client:
        for prompt in ("one", "/clear", "two", "three"):
            stage.ask(client, prompt)


def compact(stage):
    """A command that costs money, and whose result has no tokens."""
    with stage.client() as client:
        for prompt in ("one", "two", "/compact", "after it", "four"):
            stage.ask(client, prompt)


def failing(stage):
    """A turn that the service refuses costs nothing."""
    with stage.client() as client:
        stage.ask(client, "one")
        if stage.model is not None:
            stage.model.when("refuse").fail(400)
        stage.ask(client, "refuse")
        stage.ask(client, "two")


SCENES = {
    scene.__name__: scene
    for scene in (
        *(prices, turns, tools, agents, interrupt, crash),
        *(resume, goes_on, fork, clear, compact, failing),
    )
}


# What it should have cost.


def price(version, lines):
    """What CLIs ask for these replies."""
    return sum(sum(parts_of(version, line)) for line in lines)


def parts_of(version, line):
    """The price of a reply, count by count."""
    if not line.counts(version):
        return (0.0,)
    amounts = zip(COUNTS, PRICES[line.model])
    return tuple(line.paid_usage()[name] * amount / 1e6 for name, amount in amounts)


def tokens(lines):
    """The sums of their counts in the main conversation, by name."""
    counted = [line for line in lines if line.counted and line.who == "main"]
    return {name: sum(line.usage[name] for line in counted) for name in COUNTS}


def by_model(version, lines):
    """What each model did: its counts, then its cost."""
    found = {}
    for line in lines:
        if line.counts(version):
            found.setdefault(line.model, []).append(line)
    told = {}
    for model, mine in found.items():
        counts = [sum(line.paid_usage()[name] for line in mine) for name in COUNTS]
        if any(counts):
            told[model] = (*counts, price(version, mine))
    return told


def check(stage):
    """Every note of a scene says what follows from the book."""
    paid, known = [], None
    for note in stage.notes:
        paid = note.lines if note.is_first else [*paid, *note.lines]
        known = context_after(stage.version, note, None if note.is_first else known)
        where = f"{stage.version}, {note.label}"
        assert_close(note.cost_usd, price(stage.version, paid), where)
        assert counts_of(note.usage) == tokens(paid), where
        assert_models(stage.version, note.model_usage, paid, where)
        assert note.context_tokens == known, where
        if note.answer is not None:
            check_answer(stage.version, note, where)
    assert paid, "nothing was noted"


def check_answer(version, note, where):
    """An answer has what was reported since the one before."""
    answer, lines = note.answer, note.lines
    assert_close(answer.cost_usd, price(version, lines), where)
    assert_close(answer.total_cost_usd, note.cost_usd, where)
    assert counts_of(answer.usage) == tokens(lines), where
    groups = answer.usage.get("cache_creation", {})
    cached = groups.get("ephemeral_5m_input_tokens", 0)
    assert cached == answer.usage.cache_creation_input_tokens, where
    assert_models(version, answer.model_usage, lines, where)
    said = heard(version, note)
    assert answer.context_tokens == (context(said[-1]) if said else None), where


def context_after(version, note, before):
    """What is known of the context: until another reply, the same as before."""
    if note.label == "/compact" or (note.label == "/clear" and version != OLD):
        return None
    said = heard(version, note)
    return context(said[-1]) if said else before


def heard(version, note):
    """The replies of the main conversation that the CLI told of."""
    # An old one keeps a reply to itself that was cut short; so does one that was killed.
    is_told = version != OLD and note.answer is not None
    return [line for line in note.lines if line.who == "main" and (line.counted or is_told)]


def context(line):
    """What the model had to read for a reply."""
    return sum(line.usage[name] for name in COUNTS if name != "output_tokens")


def counts_of(usage):
    """The four counts; zero where there is none."""
    return {name: usage.get(name, 0) for name in COUNTS}


def assert_close(amount, expected, where):
    """Equal, but for the last digits of a float."""
    assert abs(amount - expected) < 1e-9, f"{where}: {amount} instead of {expected}"


def assert_models(version, told, lines, where):
    """Each model did what its replies reported."""
    expected = by_model(version, lines)
    assert set(told) == set(expected), where
    for model, (*counts, cost) in expected.items():
        assert [told[model].get(name, 0) for name in MODEL_COUNTS] == counts, where
        assert_close(told[model].cost_usd, cost, where)
