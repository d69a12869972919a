"""Who decides what real CLIs may do: a handler, a person who takes time, a policy, nobody."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import LATER
from claude_sync.permissions import policies
from claude_sync.testing.model import text, tool_use

QUESTIONS = {
    "questions": [
        {
            "question": "Which colour shall the door have?",
            "header": "Colour",
            "options": [
                {"label": "Red", "description": "as a fire engine"},
                {"label": "Blue", "description": "as the sea"},
            ],
            "multiSelect": False,
        },
        {
            "question": "Which fruit shall be in the salad?",
            "header": "Fruit",
            "options": [
                {"label": "Apple", "description": "a green one"},
                {"label": "Pear", "description": "a soft one"},
            ],
            "multiSelect": True,
        },
    ]
}


@pytest.fixture(scope="module")
def chat_options(asking):
    """A client that may do nothing without being allowed to, and that has an agent."""
    return asking


class Asked:
    """A handler that keeps what it is asked, and answers as it is told to."""

    def __init__(self, decide):
        self.requests = []
        self.decide = decide
        self._changed = threading.Condition()

    def __call__(self, request):
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return self.decide(request)

    def wait(self, count=1):
        """The first *count* requests, once they are there."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE)
            assert came, f"only {self.requests} came"
            return list(self.requests)

    @property
    def tools(self):
        """The names of the tools it was asked about."""
        return [request.tool for request in self.requests]


@pytest.fixture
def deciding():
    """``deciding(client, decide)``: an :class:`Asked` on that client until the test ends."""
    registered = []

    def start(client, decide=lambda request: LATER, kind="permission"):
        asked = Asked(decide)
        registered.append((client, asked))
        getattr(client, f"on_{kind}")(asked)
        return asked

    yield start
    for client, asked in registered:
        client.off(asked)


def folder_of(client):
    """The folder in which its CLI works."""
    return Path(client._options.cwd)


def fifo(name):
    """A use of Bash that every version asks about, with a rule as its suggestion."""
    return bash(f"mkfifo {name}")


def bash(command):
    """A use of Bash."""
    return tool_use("Bash", {"command": command, "description": "make something"})


def write(client, name, content="hello\n"):
    """A use of Write."""
    return tool_use("Write", {"file_path": str(folder_of(client) / name), "content": content})


def start(client, model, words, *uses):
    """Ask something to which Claude answers by using tools; the turn."""
    model.when(words).reply(list(uses)).then_reply(f"after {words}")
    return client.submit(words, timeout=100)


def run(client, model, words, *uses):
    """As start(); the answer."""
    answer = start(client, model, words, *uses).result()
    assert answer == f"after {words}"
    return answer


def told(model, words):
    """What the tools of a question returned, as Claude read it."""
    rounds = [each for each in model.conversation if each.is_continuation and each.text == words]
    return [(result.text, result.is_error) for result in rounds[-1].tool_results]


# Yes and no.


def test_allow_runs_the_tool_and_deny_does_not(chat, model, deciding):
    """Allowed, it runs; denied, it does not, and Claude reads why."""
    asked = deciding(chat, lambda request: request.allow())
    answer = run(chat, model, "make yes", fifo("yes"))
    assert (folder_of(chat) / "yes").exists()
    (request,) = asked.requests
    ((use, result),) = answer.tool_uses
    assert (request.tool, request.input["command"]) == ("Bash", "mkfifo yes")
    assert request.tool_use_id == use.id
    assert request.agent_id is None
    assert not result.is_error

    asked.decide = lambda request: request.deny("not on a Sunday")
    answer = run(chat, model, "make no", fifo("no"))
    assert not (folder_of(chat) / "no").exists()
    assert told(model, "make no") == [("not on a Sunday", True)]
    ((_, result),) = answer.tool_uses
    assert result.is_error
    (denial,) = answer.permission_denials
    assert denial["tool_input"]["command"] == "mkfifo no"


def test_updated_input_is_what_runs(chat, model, deciding):
    """allow(updated_input=...) runs that, and not what Claude wanted."""
    deciding(
        chat, lambda request: request.allow({**request.input, "command": "mkfifo the_right_one"})
    )
    run(chat, model, "make the wrong one", fifo("the_wrong_one"))
    assert (folder_of(chat) / "the_right_one").exists()
    assert not (folder_of(chat) / "the_wrong_one").exists()


def test_nobody_decides(chat, model):
    """Without a handler the answer is no, and the turn goes on."""
    run(chat, model, "make it unseen", fifo("unseen"))
    assert not (folder_of(chat) / "unseen").exists()
    ((text, is_error),) = told(model, "make it unseen")
    assert is_error
    assert "Permission denied" in text


def test_a_handler_that_fails_denies(chat, model, deciding):
    """A handler that raises after it said yes has said no."""
    deciding(chat, lambda request: request.allow() and 1 / 0)
    run(chat, model, "make it and fail", fifo("failing"))
    assert not (folder_of(chat) / "failing").exists()
    assert told(model, "make it and fail")[0][1]


def test_always_is_for_this_session_unless_saved(chat, model, deciding):
    """allow_always(): asked once in this session, nothing written; save=True writes the rule."""
    folder = folder_of(chat)
    asked = deciding(chat, lambda request: request.allow_always())
    run(chat, model, "make always one", fifo("always"))
    (folder / "always").unlink()
    run(chat, model, "make always two", fifo("always"))
    assert (folder / "always").exists()
    assert len(asked.requests) == 1
    settings = folder / ".claude" / "settings.local.json"
    assert not settings.exists()
    # It was about this command: another one is asked about.
    asked.decide = lambda request: request.allow_always(save=True)
    run(chat, model, "make it saved", fifo("saved"))
    assert len(asked.requests) == 2
    assert "mkfifo saved" in settings.read_text()
    assert "always" not in settings.read_text()
    (folder / "saved").unlink()
    run(chat, model, "make it once more", fifo("saved"))
    assert (folder / "saved").exists()
    assert len(asked.requests) == 2


def test_a_suggested_mode_is_not_followed(chat, model, deciding):
    """The CLI suggests acceptEdits for Write; after allow_always() the next Write is asked too."""
    asked = deciding(chat, lambda request: request.allow_always())
    run(chat, model, "write one", write(chat, "one.txt"))
    run(chat, model, "write two", write(chat, "two.txt"))
    assert (folder_of(chat) / "two.txt").read_text() == "hello\n"
    assert asked.tools == ["Write", "Write"]
    suggested = [suggestion["type"] for suggestion in asked.requests[0].suggestions]
    assert suggested == ["setMode"]


def test_the_edits_of_a_session_are_accepted(client_of, model, deciding):
    """accept_edits(): this edit and the next one run, and only the first is asked about."""
    client = client_of()
    asked = deciding(client, lambda request: request.can_accept_edits and request.accept_edits())
    run(client, model, "edit one", write(client, "one.txt"))
    run(client, model, "edit two", write(client, "two.txt"))
    assert (folder_of(client) / "two.txt").exists()
    assert asked.tools == ["Write"]
    run(client, model, "and a fifo", fifo("fifo"))
    assert asked.tools == ["Write", "Bash"]


def test_deny_can_end_the_turn(chat, model, deciding):
    """deny(interrupt=True): TurnInterrupted, the tool did not run, the next is answered."""
    deciding(chat, lambda request: request.deny("enough", interrupt=True))
    turn = start(chat, model, "make and stop", fifo("stopped"))
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    assert not (folder_of(chat) / "stopped").exists()
    assert chat.ask("after the no", timeout=PATIENCE) == "echo: after the no"


# A person takes time.


def test_an_answer_may_come_later_from_another_thread(chat, model, deciding):
    """LATER: the tool waits for a verb that another thread calls, and runs then."""
    asked = deciding(chat)
    turn = start(chat, model, "make it later", fifo("later"))
    (request,) = asked.wait()
    with pytest.raises(claude_sync.AskTimeout):
        turn.result(0.2)
    assert not (folder_of(chat) / "later").exists()
    button = threading.Thread(target=request.allow)
    button.start()
    button.join(PATIENCE)
    assert turn.result() == "after make it later"
    assert (folder_of(chat) / "later").exists()
    with pytest.raises(claude_sync.AlreadyAnswered):
        request.deny()


def test_an_interrupt_withdraws_the_request(chat, model, deciding):
    """Withdrawn: cancelled and on_cancel tell it, a late yes does nothing, the session goes on."""
    asked, closed = deciding(chat), threading.Event()
    turn = start(chat, model, "make and think", fifo("thought"))
    (request,) = asked.wait()
    request.on_cancel(closed.set)
    assert not request.cancelled.is_set()
    chat.interrupt()
    with pytest.raises(claude_sync.TurnInterrupted):
        turn.result()
    assert request.cancelled.wait(PATIENCE)
    assert closed.wait(PATIENCE)
    request.allow()
    assert chat.ask("after the thought", timeout=PATIENCE) == "echo: after the thought"
    assert not (folder_of(chat) / "thought").exists()
    # The next request is another one, and is answered by itself.
    asked.decide = lambda request: request.allow()
    run(chat, model, "make it anew", fifo("anew"))
    assert (folder_of(chat) / "anew").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")
def test_the_cli_dies_or_is_closed_while_a_person_thinks(client_of, new_cli, model, deciding):
    """The waiter fails at once, the request is withdrawn, close() does not wait for a person."""
    client = client_of()
    asked, closed = deciding(client), threading.Event()
    assert client.ask("a beginning", timeout=90) == "echo: a beginning"
    turn = start(client, model, "make and die", fifo("dead"))
    (request,) = asked.wait()
    request.on_cancel(closed.set)
    began = time.monotonic()
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(claude_sync.CliExited):
        turn.result()
    assert closed.wait(PATIENCE)
    assert time.monotonic() - began < 5
    assert request.cancelled.is_set()
    request.allow()
    assert client.ask("and now?", timeout=90).endswith("and now?")
    assert not (folder_of(client) / "dead").exists()

    turn = start(client, model, "make and close", fifo("closed"))
    request = asked.wait(2)[1]
    began = time.monotonic()
    client.close()
    assert time.monotonic() - began < 5
    assert isinstance(turn.exception(), (claude_sync.ClientClosed, claude_sync.TurnInterrupted))
    assert request.cancelled.is_set()
    request.allow()
    assert not (folder_of(client) / "closed").exists()


@pytest.mark.everything
def test_the_time_of_one_client_is_not_that_of_another(chat, new_cli, client_of, model, deciding):
    """permission_timeout denies what nobody answers; another client's request stays open."""
    hurried = client_of(permission_timeout=1, name="hurried")
    asked, asked_hurried = deciding(chat), deciding(hurried)
    patient = start(chat, model, "make patiently", fifo("patient"))
    (request,) = asked.wait()
    words = "make hurriedly"
    answer = run(hurried, model, words, fifo("hurried"))
    (late,) = asked_hurried.requests
    assert late.cancelled.is_set()
    assert "within 1 seconds" in told(model, words)[0][0]
    assert not (folder_of(hurried) / "hurried").exists()
    late.allow()
    assert not request.cancelled.is_set()
    assert not patient.done()
    request.allow()
    assert patient.result() == "after make patiently"
    assert (folder_of(chat) / "patient").exists()
    assert answer.session_id != patient.result().session_id


# Several at once.


def test_several_requests_are_open_at_once(chat, model, deciding, tmp_path):
    """Two reads outside the folder are asked together; each answer goes to its own."""
    for name in ("first", "second"):
        (tmp_path / name).write_text(f"the {name} secret")
    asked = deciding(chat)
    reads = [tool_use("Read", {"file_path": str(tmp_path / name)}) for name in ("first", "second")]
    turn = start(chat, model, "read both", *reads)
    by_name = {Path(request.input["file_path"]).name: request for request in asked.wait(2)}
    assert not turn.done()
    by_name["second"].allow()
    by_name["first"].deny("that one is private")
    assert turn.result() == "after read both"
    # In the order of the uses, whichever came first.
    (_, first), (_, second) = turn.result().tool_uses
    assert (first.text, first.is_error) == ("that one is private", True)
    assert "the second secret" in second.text
    assert "the first secret" not in str(told(model, "read both"))


def test_one_tool_that_changes_something_after_the_other(chat, model, deciding):
    """Two commands of one reply are asked about one after the other: the first runs first."""
    asked = deciding(chat)
    turn = start(chat, model, "make two of them", fifo("left"), fifo("right"))
    (left,) = asked.wait(1)
    assert left.input["command"] == "mkfifo left"
    left.allow()
    right = asked.wait(2)[1]
    assert (folder_of(chat) / "left").exists()
    right.deny("one is enough")
    assert turn.result() == "after make two of them"
    assert told(model, "make two of them")[1] == ("one is enough", True)


def test_requests_of_agents(chat, cli, model, deciding, listen):
    """Two agents ask at once, with their ids; what they do is attributed to them."""
    names = ("anna", "otto")
    for name in names:
        model.when(f"work of {name}").reply([text(f"{name} works"), fifo(name)]).then_reply("done")
    asked = deciding(chat)
    messages, uses = listen(chat, "message"), listen(chat, "tool_use")
    agents = [
        tool_use(
            "Task",
            {"description": "work", "prompt": f"work of {name}", "subagent_type": "helper"},
        )
        for name in names
    ]
    turn = start(chat, model, "let both work", *agents)
    requests = {request.input["command"].split()[1]: request for request in asked.wait(2)}
    if cli.is_new:
        # There they work in the background: the turn ends, and their requests stay open.
        assert turn.result() == "after let both work"
        assert not any(request.cancelled.is_set() for request in requests.values())
    requests["otto"].allow()
    requests["anna"].deny("anna may not")
    assert turn.result() == "after let both work"
    chat.wait_idle(PATIENCE)
    assert (folder_of(chat) / "otto").exists()
    assert not (folder_of(chat) / "anna").exists()
    assert told(model, "work of anna") == [("anna may not", True)]
    ids = {request.agent_id for request in requests.values()}
    assert len(ids) == 2 and None not in ids
    # Every command belongs to the agent that ran it, and the agents to nobody.
    parents = {use.input["command"].split()[1]: use for use in uses if use.name == "Bash"}
    starts = {use.input["prompt"].split()[2]: use for use in uses if use.name != "Bash"}
    for name in names:
        assert parents[name].parent_tool_use_id == starts[name].id
        assert starts[name].parent_tool_use_id is None
    own = [each for each in messages if each.raw.get("parent_tool_use_id") == starts["otto"].id]
    assert {each.agent for each in own} == {"helper" if cli.is_new else None}


# Policies.


def test_policies_decide_real_requests(chat, model, deciding):
    """What is denied, what is allowed and what only reads, in this order; nobody else is asked."""
    policy = policies.first_of(
        policies.deny_tools("Bash(touch secret*)", "Write(*.key)"),
        policies.allow_tools("Bash(touch *)", "Write"),
        policies.read_only,
    )
    deciding(chat, policy)
    others, folder = deciding(chat), folder_of(chat)

    run(chat, model, "touch a plain one", bash("touch plain"))
    assert (folder / "plain").exists()
    run(chat, model, "touch two", bash("touch two_a; touch two_b"))
    assert (folder / "two_a").exists() and (folder / "two_b").exists()
    run(chat, model, "write a text", write(chat, "some.txt"))
    assert (folder / "some.txt").exists()

    run(chat, model, "smuggle one", bash("touch harmless; mkfifo smuggled"))
    run(chat, model, "smuggle another", bash("touch $(mkfifo smuggled)"))
    run(chat, model, "smuggle a third", bash("touch harmless && mkfifo smuggled"))
    assert not (folder / "smuggled").exists()
    assert not (folder / "harmless").exists()
    assert "only reads" in told(model, "smuggle one")[0][0]

    run(chat, model, "touch the secret", bash("touch secret.txt"))
    run(chat, model, "touch it hidden", bash("touch ok; touch 'sec'ret.txt"))
    assert not (folder / "secret.txt").exists()
    assert "touch secret*" in told(model, "touch the secret")[0][0]
    run(chat, model, "write a key", write(chat, "my.key"))
    assert not (folder / "my.key").exists()
    assert others.requests == []


@pytest.mark.parametrize("path", ["evil", "./evil", "../secret/evil", "\ufeffevil"])
def test_a_rule_about_files_holds_where_the_folder_changes(chat, model, deciding, path):
    """Whatever CLIs make of a path that is not whole."""
    deny = policies.deny_tools("Edit(/secret/**)")
    deciding(chat, policies.first_of(deny, policies.allow_all))
    secret = folder_of(chat) / "secret"
    secret.mkdir(exist_ok=True)
    use = tool_use("Write", {"file_path": path, "content": "x"})
    back = bash(f"cd '{folder_of(chat)}'")
    played = model.when(f"go and write {path}").reply([bash("cd secret")])
    played.then_reply([use]).then_reply([back]).then_reply("done")
    chat.ask(f"go and write {path}", timeout=100)
    assert list(secret.iterdir()) == []


def test_rules_about_commands_hold_in_the_shell_of_the_cli(chat, model, deciding):
    """Where readers of command lines disagree; a harmless line runs."""
    policy = policies.first_of(policies.deny_tools("Bash(rm *)"), policies.allow_all)
    deciding(chat, policy)
    victim = folder_of(chat) / "victim"
    victim.write_text("x")
    lines = [
        *(">! rm -f victim", "ls; >>! rm -f victim", ">&-rm -f victim", "2>&-rm -f victim"),
        *("sh -c 'ls &>o rm -f victim'", "<<<! rm -f victim", "{ ls } always { rm -f victim }"),
        *("ls &!rm -f victim", "$='rm' -f victim", "test -v 'a[$(rm -f victim)]'"),
    ]
    run(chat, model, "evade it", *map(bash, lines))
    assert victim.exists()
    run(chat, model, "make something", bash("touch made"))
    assert (folder_of(chat) / "made").exists()


@pytest.mark.everything
def test_a_policy_is_asked_first(client_of, new_cli, model, deciding):
    """permissions=policy decides what it decides; the rest goes to on_permission."""
    client = client_of(permissions=policies.allow_tools("Bash(touch *)"))
    asked = deciding(client, lambda request: request.deny("not by me"))
    run(client, model, "touch and make", bash("touch touched"), fifo("made"))
    assert (folder_of(client) / "touched").exists()
    assert not (folder_of(client) / "made").exists()
    assert [request.input["command"] for request in asked.requests] == ["mkfifo made"]


# What a person is shown.


def test_previews_of_real_requests(chat, model, deciding):
    """preview() of Write, Edit and Bash: a diff against what is there, and the command."""
    previews = []
    asked = deciding(chat, lambda request: previews.append(request.preview()) or request.allow())
    path = folder_of(chat) / "poem.txt"
    run(chat, model, "write a poem", write(chat, "poem.txt", "roses\nare red\n"))
    assert previews.pop().splitlines() == [
        "new file poem.txt",
        "+roses",
        "+are red",
    ]
    edit = {"file_path": str(path), "old_string": "are red", "new_string": "are blue"}
    # Old CLIs edit only what was read.
    read = tool_use("Read", {"file_path": str(path)})
    run(chat, model, "edit the poem", read, tool_use("Edit", edit))
    assert previews.pop().splitlines() == [
        "--- a/poem.txt",
        "+++ b/poem.txt",
        "@@ -1,2 +1,2 @@",
        " roses",
        "-are red",
        "+are blue",
    ]
    assert path.read_text() == "roses\nare blue\n"
    run(chat, model, "make a preview", fifo("shown"))
    assert previews.pop().splitlines() == ["$ mkfifo shown", "# Claude says: make something"]
    assert asked.tools == ["Write", "Edit", "Bash"]


# Questions and plans.


def test_questions_are_answered(chat, model, deciding):
    """One label, several, free text, and no answer: Claude reads each."""
    questions = deciding(chat, kind="question")
    permissions = deciding(chat)
    colour, fruit = (each["question"] for each in QUESTIONS["questions"])
    ask = tool_use("AskUserQuestion", QUESTIONS)
    questions.decide = lambda questions: questions.answer(
        {colour: "blue", "Fruit": ["Apple", "Pear"]}
    )
    run(chat, model, "ask for labels", ask)
    ((words, is_error),) = told(model, "ask for labels")
    assert not is_error
    assert f'"{colour}"="Blue"' in words
    assert f'"{fruit}"="Apple, Pear"' in words
    (first,) = questions.requests
    assert [each.multi_select for each in first.questions] == [False, True]
    assert first.questions[0].labels == ("Red", "Blue")

    questions.decide = lambda questions: questions.answer(
        {"Colour": "as the old one was", "Fruit": ["Pear"]}, free_text=True
    )
    run(chat, model, "ask for words", tool_use("AskUserQuestion", QUESTIONS))
    ((words, is_error),) = told(model, "ask for words")
    assert not is_error
    assert f'"{colour}"="as the old one was"' in words
    assert f'"{fruit}"="Pear"' in words

    questions.decide = lambda questions: questions.decline("ask me tomorrow")
    run(chat, model, "ask for nothing", tool_use("AskUserQuestion", QUESTIONS))
    assert told(model, "ask for nothing") == [("ask me tomorrow", True)]
    assert permissions.requests == []

    # Without such a handler they are requests for permission like any other.
    chat.off(questions)
    permissions.decide = lambda request: request.answer({"Colour": "Red", "Fruit": "Apple"})
    run(chat, model, "ask whoever it is", tool_use("AskUserQuestion", QUESTIONS))
    assert f'"{colour}"="Red"' in told(model, "ask whoever it is")[0][0]
    assert permissions.tools == ["AskUserQuestion"]


def test_a_plan_is_approved_or_not(client_of, model, deciding):
    """Denied, it stays in plan mode; approve_plan() goes on in the mode that it names."""
    client = client_of(permission_mode="plan")
    modes = []
    client.on_system(lambda message: modes.append(message.raw.get("permissionMode")))
    asked = deciding(client, lambda request: request.deny("plan it better"))
    run(client, model, "plan badly", tool_use("ExitPlanMode", {"plan": "1. write it"}))
    assert told(model, "plan badly") == [("plan it better", True)]
    client.ask("still planning?", timeout=PATIENCE)
    assert {mode for mode in modes if mode} == {"plan"}
    run(client, model, "write too early", write(client, "early.txt"))
    assert not (folder_of(client) / "early.txt").exists()

    asked.decide = lambda request: request.approve_plan(mode="acceptEdits")
    run(client, model, "plan well", tool_use("ExitPlanMode", {"plan": "1. write it well"}))
    ((words, is_error),) = told(model, "plan well")
    assert "approved" in words and not is_error
    assert asked.tools == ["ExitPlanMode", "Write", "ExitPlanMode"]
    run(client, model, "write at last", write(client, "late.txt"))
    assert (folder_of(client) / "late.txt").exists()
    assert len(asked.requests) == 3
    assert [mode for mode in modes if mode][-1] == "acceptEdits"
    # Only edits: a command is still asked about.
    asked.decide = lambda request: request.deny("no commands")
    run(client, model, "and a command", fifo("command"))
    assert asked.tools[3:] == ["Bash"]
    assert not (folder_of(client) / "command").exists()
