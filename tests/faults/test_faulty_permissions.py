"""What goes wrong while somebody decides: nothing is let through, and nothing hangs."""

import logging
import threading

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import LATER, AlreadyAnswered, Client, UsageError
from claude_sync.testing import ScriptedCli, builders

COMMAND = {"command": "rm -rf build"}
QUESTIONS = {
    "questions": [
        {
            "question": "Red or blue?",
            "header": "Color",
            "options": [{"label": "Red", "description": ""}, {"label": "Blue", "description": ""}],
            "multiSelect": False,
        }
    ]
}


class Running:
    """A turn that runs, in which the CLI asks."""

    def __init__(self, client, cli):
        self.cli = cli
        self.turn = client.submit("hi")
        self.user = cli.expect("user", text="hi")
        cli.begin_turn(self.user)

    def ask(self, tool="Bash", input=COMMAND, **fields):
        """Ask for permission."""
        return self.cli.ask_permission(tool, input, **fields)

    def answer_to(self, request):
        """What the client answered."""
        return self.cli.expect_reply(request)

    def decided(self, tool="Bash", input=COMMAND, **fields):
        """Ask, and get the answer."""
        return self.answer_to(self.ask(tool, input, **fields))

    def end(self):
        """The turn ends, and its answer is its own."""
        self.cli.end_turn(self.user, "went on")
        assert self.turn.result(PATIENCE) == "went on"


@pytest.fixture
def running(client, cli):
    """See :class:`Running`."""
    running = Running(client, cli)
    yield running
    if not running.turn.done():
        running.end()


@pytest.fixture
def opened(greet, end_quickly):
    """Open clients with options; each with its own CLI and a turn that runs."""
    clients = []

    def open_client(**options):
        cli = ScriptedCli(patience=PATIENCE)
        client = Client(transport=cli, **options)
        clients.append(client)
        client.__enter__()
        greet(client, cli)
        return client, Running(client, cli)

    yield open_client
    end_quickly()
    for client in clients:
        client.close()


class Asked:
    """A handler that keeps what it is asked, for another thread to answer."""

    def __init__(self, returns=LATER):
        self.requests = []
        self._changed = threading.Condition()
        self._returns = returns

    def __call__(self, request):
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        return self._returns

    def wait(self, count=1):
        """The first *count* requests."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.requests) >= count, PATIENCE)
        return self.requests


# What a handler may return.


@pytest.mark.parametrize(
    ("decide", "behavior"),
    [
        (lambda request: request.allow(), "allow"),
        (lambda request: request.deny("no"), "deny"),
        (lambda request: True, "allow"),
        (lambda request: False, "deny"),
        (lambda request: request.allow() and None, "allow"),
        (lambda request: None, "deny"),
    ],
)
def test_what_a_handler_returns(client, running, decide, behavior):
    """A verb's value, its bare call, True and False decide; None is nobody's decision."""
    client.on_permission(decide)
    assert running.decided()["behavior"] == behavior


@pytest.mark.parametrize(
    "nonsense", ["yes", 1, 0, "allow", {"behavior": "allow"}, [True], object(), b"", ()]
)
def test_nonsense_denies(client, running, nonsense, caplog):
    """Whatever is no decision lets nothing through, and is told to on_error."""
    told = []
    client.on_error(told.append)
    client.on_permission(lambda request: nonsense)
    assert running.decided()["behavior"] == "deny"
    running.end()
    assert isinstance(told[0].exception, UsageError)
    assert "not a decision" in caplog.text


def test_the_decision_of_another_request_denies(client, running):
    """A decision counts for its own request only."""
    earlier = []

    def decide(request):
        if not earlier:
            earlier.append(request.allow())
        return earlier[0]

    client.on_permission(decide)
    assert running.decided()["behavior"] == "allow"
    assert running.decided()["behavior"] == "deny"


def test_handler_that_says_yes_and_fails_has_said_no(client, running, caplog):
    """What a handler answered counts when it returns."""

    def decide(request):
        request.allow()
        raise ValueError("after all not")

    client.on_permission(decide)
    client.on_permission(lambda request: request.allow())
    answer = running.decided()
    assert answer["behavior"] == "deny"
    assert "after all not" not in answer["message"]
    assert "after all not" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), RuntimeError("oops")])
def test_handler_that_raises_denies_and_the_client_goes_on(client, running, error):
    """Whatever a handler raises is a no, and the next request is served."""
    answers = [error, None]

    def decide(request):
        raised = answers.pop(0)
        if raised is not None:
            raise raised
        return True

    client.on_permission(decide)
    assert running.decided()["behavior"] == "deny"
    assert running.decided()["behavior"] == "allow"


def test_raise_handler_errors(opened):
    """With raise_handler_errors the failure of a permission handler is raised by ask()."""
    client, running = opened(raise_handler_errors=True)
    client.on_permission(lambda request: 1 / 0)
    assert running.decided()["behavior"] == "deny"
    running.cli.end_turn(running.user, "denied")
    with pytest.raises(ZeroDivisionError):
        running.turn.result(PATIENCE)


def test_handlers_are_asked_in_order(client, running):
    """One that returns None passes it on; the first that decides has decided."""
    order = []
    client.on_permission(lambda request: order.append("first"))
    client.on_permission(lambda request: order.append("second") or request.deny("second"))
    client.on_permission(lambda request: order.append("third") or request.allow())
    assert running.decided()["message"] == "second"
    assert order == ["first", "second"]


def test_removed_handler_is_not_asked(client, running):
    """off() removes a permission handler."""
    handler = client.on_permission(lambda request: True)
    client.off(handler)
    assert running.decided()["behavior"] == "deny"


def test_nobody_decides(client, running, caplog):
    """Without a handler the answer is no, and one warning tells how to add one."""
    with caplog.at_level(logging.WARNING, logger="claude_sync"):
        assert running.decided()["behavior"] == "deny"
        assert running.decided()["behavior"] == "deny"
    warnings = [record for record in caplog.records if "Denied Bash" in record.message]
    assert len(warnings) == 1
    assert "on_permission" in warnings[0].message


def test_policy_is_asked_first(opened):
    """permissions= decides before the handlers, which get what it leaves."""
    client, running = opened(
        permissions=lambda request: request.deny("policy") if request.tool == "Bash" else None
    )
    client.on_permission(lambda request: True)
    assert running.decided()["message"] == "policy"
    assert running.decided("Read", {"file_path": "x"})["behavior"] == "allow"


def test_policy_that_raises_denies(opened):
    """A policy that fails lets nothing through."""
    client, running = opened(permissions=lambda request: 1 / 0)
    client.on_permission(lambda request: True)
    assert running.decided()["behavior"] == "deny"


# On the wire.


def test_yes_to_a_changed_input_is_none(client, running):
    """Whoever decides may have looked at the change, which nothing runs with."""

    def decide(request):
        request.input["command"] = "something else"
        return request.allow()

    client.on_permission(decide)
    assert running.decided()["behavior"] == "deny"


def test_preview_shows_what_would_run(client, running):
    """Not what a handler made of it."""
    shown = []

    def decide(request):
        request.input["command"] = "ls"
        shown.append(request.preview())

    client.on_permission(decide)
    running.decided()
    assert shown == ["$ rm -rf build"]


def test_yes_carries_the_input_as_it_came(client, running):
    """What was approved is what runs."""
    client.on_permission(lambda request: request.allow())
    assert running.decided(tool_use_id="toolu_7") == {
        "behavior": "allow",
        "updatedInput": COMMAND,
        "toolUseID": "toolu_7",
    }


def test_old_cli_gets_no_id_of_the_use(client, running):
    """Where the CLI tells no id, none is answered: null would be refused."""
    client.on_permission(lambda request: True)
    request = running.cli.ask(
        builders.control_request("can_use_tool", tool_name="Bash", input=COMMAND)
    )
    assert running.answer_to(request) == {"behavior": "allow", "updatedInput": COMMAND}


def test_changed_input(client, running):
    """allow(updated_input) sends that input, and nothing else does."""
    client.on_permission(lambda request: request.allow({**request.input, "command": "ls"}))
    assert running.decided()["updatedInput"] == {"command": "ls"}


@pytest.mark.parametrize("value", ["ls", ["ls"], 1, {"a": object()}, {"a": float("nan")}])
def test_input_that_cannot_be_sent(client, running, value):
    """An input that is no JSON object is the handler's failure: denied."""
    client.on_permission(lambda request: request.allow(value))
    assert running.decided()["behavior"] == "deny"


def test_deny_and_interrupt(client, running):
    """deny(interrupt=True) says so, and a plain deny does not."""
    client.on_permission(lambda request: request.deny("stop it", interrupt=True))
    answer = running.decided()
    assert (answer["message"], answer["interrupt"]) == ("stop it", True)


SUGGESTIONS = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": None}],
        "behavior": "allow",
        "destination": "localSettings",
    },
    {"type": "addDirectories", "directories": ["/x"], "destination": "session"},
    {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
]


@pytest.mark.parametrize(("save", "destination"), [(False, "session"), (True, "localSettings")])
def test_allow_always(client, running, save, destination):
    """The suggested rules, for the session or where the CLI keeps them; never a mode."""
    client.on_permission(lambda request: request.allow_always(save=save))
    answer = running.decided(permission_suggestions=SUGGESTIONS)
    assert answer["updatedPermissions"] == [
        {
            "type": "addRules",
            "rules": [{"toolName": "Bash"}],
            "behavior": "allow",
            "destination": destination,
        }
    ]


def test_approve_plan(client, running):
    """A plan's approval switches the mode; the mode is checked."""
    client.on_permission(lambda request: request.approve_plan(mode="acceptEdits"))
    answer = running.decided("ExitPlanMode", {"plan": "1. do it"})
    assert answer["updatedPermissions"] == [
        {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    ]
    assert running.decided("Bash")["behavior"] == "deny"  # approve_plan() is not for this


def test_callback_request_is_answered_in_kind(client, running):
    """The older form of asking goes to the same handlers and gets its own form of answer."""
    seen = []
    client.on_permission(lambda request: seen.append(request) or request.allow())
    running.cli.say(
        {
            "type": "callback.request",
            "id": "c1",
            "session_id": "s1",
            "payload": {
                "callback_type": "can_use_tool",
                "tool_name": "Bash",
                "tool_input": COMMAND,
                "suggestions": SUGGESTIONS,
                "tool_use_id": "toolu_9",
            },
        }
    )
    assert running.cli.expect("callback.response") == {
        "type": "callback.response",
        "id": "c1",
        "session_id": "s1",
        "payload": {"behavior": "allow", "updated_input": COMMAND, "updated_permissions": []},
    }
    assert seen[0].tool_use_id == "toolu_9"
    assert len(seen[0].suggestions) == 3


def test_requests_that_were_open_before_the_greeting(cli, greet):
    """A CLI that tells of open requests in its greeting gets them answered, once."""
    asked = Asked(returns=True)
    pending = builders.can_use_tool("Bash", COMMAND)
    with Client(transport=cli, on_permission=asked) as client:
        greet(client, cli, pending_permission_requests=[pending, "junk", {"request_id": 5}])
        assert cli.expect_reply(pending)["behavior"] == "allow"
        turn = client.submit("hi")
        cli.answer("fine")
        assert turn.result(PATIENCE) == "fine"
    assert len(asked.requests) == 1


# Later, and from elsewhere.


def test_answered_later_from_another_thread(client, running):
    """LATER keeps it open until a button, on whatever thread, answers."""
    asked = client.on_permission(Asked())
    request = running.ask()
    asked.wait()[0].allow()
    assert running.answer_to(request)["behavior"] == "allow"


def test_second_answer(client, running):
    """The first answer stands; the second raises AlreadyAnswered and sends nothing."""
    asked = client.on_permission(Asked())
    request = running.ask()
    first = asked.wait()[0]
    decision = first.deny("no")
    with pytest.raises(AlreadyAnswered) as raised:
        first.allow()
    assert raised.value.decision is decision
    assert running.answer_to(request)["behavior"] == "deny"
    running.end()
    running.cli.assert_done()


def test_answered_twice_in_the_handler_denies(client, running):
    """A handler that answers twice has failed, and its first answer does not count."""
    client.on_permission(lambda request: request.allow() and request.allow())
    assert running.decided()["behavior"] == "deny"


def test_answers_of_many_threads_at_once(client, running):
    """Of ten threads that answer at the same time one does, and the others are told."""
    asked = client.on_permission(Asked())
    request = running.ask()
    subject = asked.wait()[0]
    barrier, refused = threading.Barrier(10), []

    def answer():
        barrier.wait(PATIENCE)
        try:
            subject.deny()
        except AlreadyAnswered as error:
            refused.append(error)

    threads = [threading.Thread(target=answer) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(refused) == 9
    assert running.answer_to(request)["behavior"] == "deny"
    running.end()
    running.cli.assert_done()


def test_twenty_requests_at_once(client, running):
    """Twenty handlers may think at the same time; each answer goes to its own question."""
    barrier = threading.Barrier(20)

    def decide(request):
        barrier.wait(PATIENCE)
        return request.deny(request.input["command"])

    client.on_permission(decide)
    requests = [running.ask(input={"command": f"command {n}"}) for n in range(20)]
    replies = {}
    for _ in requests:
        response = running.cli.expect("control_response")["response"]
        replies[response["request_id"]] = response["response"]["message"]
    assert replies == {r["request_id"]: r["request"]["input"]["command"] for r in requests}


def test_the_same_request_twice_is_asked_once(client, running):
    """A CLI that repeats an open request does not make a person decide twice."""
    asked = client.on_permission(Asked())
    request = running.ask()
    asked.wait()
    read = threading.Event()
    client.on_status(lambda status: read.set())
    running.cli.say(request)
    running.cli.say({"type": "system", "subtype": "status", "status": None})
    assert read.wait(PATIENCE)
    asked.requests[0].allow()
    assert running.answer_to(request)["behavior"] == "allow"
    running.end()
    assert len(asked.requests) == 1
    running.cli.assert_done()


def test_text_comes_before_the_request(client, running, until):
    """on_permission comes after the text before it, however slow its handler is."""
    order, inside, go_on = [], threading.Event(), threading.Event()

    def on_text(text):
        inside.set()
        assert go_on.wait(PATIENCE)
        order.append("text")

    client.on_text(on_text)
    client.on_permission(lambda request: order.append("asked") or True)
    running.cli.speak("I will remove it")
    request = running.ask()
    assert inside.wait(PATIENCE)
    until(lambda: client.stats().requests_open == 1)
    assert order == []
    go_on.set()
    running.answer_to(request)
    assert order[-1] == "asked"
    assert "text" in order


def test_ask_in_a_permission_handler(client, running):
    """ask() inside the handler would wait for itself: refused, and so denied."""
    told = []
    client.on_error(lambda error: told.append(error.exception))
    client.on_permission(lambda request: client.ask("may it?"))
    assert running.decided()["behavior"] == "deny"
    running.end()
    assert isinstance(told[0], claude_sync.CalledFromHandler)


# Withdrawn.


def test_withdrawn_while_a_person_thinks(client, running, caplog):
    """The event is set, on_cancel is called, and a late answer is dropped with a log line."""
    asked, closed = client.on_permission(Asked()), threading.Event()
    request = running.ask()
    subject = asked.wait()[0]
    subject.on_cancel(closed.set)
    running.cli.cancel(request)
    assert subject.cancelled.wait(PATIENCE)
    assert closed.wait(PATIENCE)
    with caplog.at_level(logging.INFO, logger="claude_sync"):
        subject.allow()
        subject.deny()
    assert "too late" in caplog.text
    running.end()
    running.cli.assert_done()


def test_on_cancel_after_the_withdrawal(client, running):
    """on_cancel on a request that is withdrawn already calls at once, with the request."""
    asked, got = client.on_permission(Asked()), []
    called = threading.Event()
    request = running.ask()
    subject = asked.wait()[0]
    running.cli.cancel(request)
    assert subject.cancelled.wait(PATIENCE)
    subject.on_cancel(lambda request: (got.append(request), called.set()))
    assert called.wait(PATIENCE)
    assert got == [subject]


def test_on_cancel_that_raises(client, running):
    """A failing on_cancel is logged and told, and stops nobody."""
    asked, told = client.on_permission(Asked()), threading.Event()
    client.on_error(lambda error: told.set())
    request = running.ask()
    subject, second = asked.wait()[0], threading.Event()
    subject.on_cancel(lambda: 1 / 0)
    subject.on_cancel(second.set)
    running.cli.cancel(request)
    assert second.wait(PATIENCE)
    assert told.wait(PATIENCE)


def test_answered_request_is_not_cancelled(client, running):
    """What was answered is not withdrawn by the end of the turn."""
    asked, closed = client.on_permission(Asked()), threading.Event()
    request = running.ask()
    subject = asked.wait()[0]
    subject.on_cancel(closed.set)
    subject.allow()
    running.answer_to(request)
    running.end()
    assert not subject.cancelled.is_set()
    assert not closed.is_set()


def test_end_of_the_turn_withdraws(client, running):
    """A request that is still open when its turn ends is withdrawn."""
    asked = client.on_permission(Asked())
    running.ask()
    subject = asked.wait()[0]
    running.end()
    assert subject.cancelled.wait(PATIENCE)


def test_request_of_a_subagent_survives_the_turn(client, running):
    """A subagent works on in the background, and its request stays open."""
    asked = client.on_permission(Asked())
    request = running.ask(agent_id="agent-1")
    subject = asked.wait()[0]
    running.end()
    assert not subject.cancelled.is_set()
    subject.allow()
    assert running.answer_to(request)["behavior"] == "allow"


def test_handler_blocked_while_its_request_is_withdrawn(client, running):
    """A handler that waits for a person learns of the withdrawal and the turn ends."""
    waiting = threading.Event()

    def decide(request):
        waiting.set()
        assert request.cancelled.wait(PATIENCE)
        return request.allow()

    client.on_permission(decide)
    request = running.ask()
    assert waiting.wait(PATIENCE)
    running.cli.cancel(request)
    running.end()
    running.cli.assert_done()


def test_cli_dies_while_a_person_thinks(client, running):
    """The waiter fails at once, the request is withdrawn, a late answer is harmless."""
    asked, closed = client.on_permission(Asked()), threading.Event()
    running.ask()
    subject = asked.wait()[0]
    subject.on_cancel(closed.set)
    running.cli.hang_up(7)
    with pytest.raises(claude_sync.CliExited):
        running.turn.result(PATIENCE)
    assert closed.wait(PATIENCE)
    subject.allow()


@pytest.mark.usefixtures("quick_close")
def test_never_answered_and_the_client_closes(opened):
    """close() does not wait for a person; the request is withdrawn."""
    client, running = opened()
    asked, closed = client.on_permission(Asked()), threading.Event()
    running.ask()
    subject = asked.wait()[0]
    subject.on_cancel(closed.set)
    client.close()
    assert closed.wait(PATIENCE)
    with pytest.raises(claude_sync.ClientClosed):
        running.turn.result(PATIENCE)


@pytest.mark.usefixtures("quick_close")
def test_handler_that_never_returns_does_not_hold_close(opened):
    """A handler at a prompt does not keep close() for long."""
    client, running = opened()
    thinking, leave = threading.Event(), threading.Event()

    def decide(request):
        thinking.set()
        leave.wait(PATIENCE)
        return True

    client.on_permission(decide)
    running.ask()
    assert thinking.wait(PATIENCE)
    closing = threading.Thread(target=client.close)
    closing.start()
    closing.join(PATIENCE / 2)
    still_closing = closing.is_alive()
    leave.set()
    closing.join(PATIENCE)
    assert not still_closing


def test_permission_timeout_denies(opened):
    """Nobody answers in time: denied, withdrawn, and a late answer is dropped."""
    client, running = opened(permission_timeout=0.05)
    asked, closed = client.on_permission(Asked()), threading.Event()
    request = running.ask()
    subject = asked.wait()[0]
    subject.on_cancel(closed.set)
    answer = running.answer_to(request)
    assert answer["behavior"] == "deny"
    assert "0.05 seconds" in answer["message"]
    assert closed.wait(PATIENCE)
    subject.allow()
    running.end()
    running.cli.assert_done()


def test_permission_timeout_beats_an_answer_that_is_kept(opened):
    """A handler that said yes and did not return in time is too late."""
    client, running = opened(permission_timeout=0.05)

    def decide(request):
        request.allow()
        assert request.cancelled.wait(PATIENCE)

    client.on_permission(decide)
    assert running.decided()["behavior"] == "deny"


# Questions.


def test_question_handler(client, running):
    """on_question answers; the original questions are kept beside the answers."""
    client.on_permission(lambda request: request.deny("not asked"))
    client.on_question(lambda questions: questions.answer({"Red or blue?": "Blue"}))
    answer = running.decided("AskUserQuestion", QUESTIONS)
    assert answer["updatedInput"] == {**QUESTIONS, "answers": {"Red or blue?": "Blue"}}


@pytest.mark.parametrize(
    ("decide", "behavior"),
    [
        (lambda questions: {"Red or blue?": "Red"}, "allow"),
        (lambda questions: questions.answer("Red"), "allow"),
        (lambda questions: questions.answer("Green", free_text=True), "allow"),
        (lambda questions: questions.answer("Green"), "deny"),
        (lambda questions: questions.decline("ask me tomorrow"), "deny"),
        (lambda questions: None, "deny"),
        (lambda questions: "Red", "deny"),
        (lambda questions: True, "deny"),
    ],
)
def test_what_a_question_handler_returns(client, running, decide, behavior):
    """Answers are checked against the options; what does not fit declines."""
    client.on_question(decide)
    assert running.decided("AskUserQuestion", QUESTIONS)["behavior"] == behavior


def test_question_without_its_own_handler_goes_to_on_permission(client, running):
    """on_permission may answer a question, too."""
    client.on_permission(lambda request: request.answer({"Color": "Red"}))
    answer = running.decided("AskUserQuestion", QUESTIONS)
    assert answer["updatedInput"]["answers"] == {"Red or blue?": "Red"}


def test_answering_what_is_no_question_denies(client, running):
    """answer() on another tool's request is a mistake, and lets nothing through."""
    client.on_permission(lambda request: request.answer("Red"))
    assert running.decided()["behavior"] == "deny"


# Where it runs.


def test_posted_handlers(opened):
    """With post=f the handler runs where f calls it; f raising denies."""
    calls, came = [], threading.Event()

    def post(call):
        calls.append(call)
        came.set()

    client, running = opened(post=post)
    client.on_permission(lambda request: request.allow())
    request = running.ask()
    assert came.wait(PATIENCE)
    while calls:
        calls.pop(0)()
    assert running.answer_to(request)["behavior"] == "allow"

    def full(call):
        raise RuntimeError("the queue is full")

    client._session.dispatch.posting._post = full
    assert running.decided()["behavior"] == "deny"
    client._session.dispatch.posting._post = lambda call: call()


def test_timeout_while_a_posted_handler_never_runs(cli, greet, hurry):
    """The thread that should run posted calls waits itself: its timeout ends that."""
    hurry(STOP_PATIENCE=0.2, INTERRUPT_AGAIN_AFTER=())
    with Client(transport=cli, post=lambda call: None, on_permission=bool) as client:
        greet(client, cli)
        turn = client.submit("hi", timeout=0.1)
        user = cli.expect("user")
        cli.begin_turn(user)
        request = cli.ask_permission("Bash", COMMAND)
        interrupt = cli.expect("control_request", subtype="interrupt")
        cli.cancel(request)
        cli.reply(interrupt)
        cli.end_interrupted(user)
        with pytest.raises(claude_sync.AskTimeout) as raised:
            turn.result(PATIENCE)
        assert raised.value.timeout == 0.1


@pytest.mark.parametrize("post", ["manual", "caller"])
def test_handlers_on_the_waiting_thread(cli, greet, post):
    """Without a dispatcher the handler runs on the thread that waits for the turn."""
    threads = []
    with Client(transport=cli, post=post) as client:
        greet(client, cli)
        client.on_permission(lambda request: threads.append(threading.current_thread()) or True)

        def serve():
            user = cli.expect("user")
            cli.begin_turn(user)
            request = cli.ask_permission("Bash", COMMAND)
            assert cli.expect_reply(request)["behavior"] == "allow"
            cli.end_turn(user, "done")

        serving = threading.Thread(target=serve)
        serving.start()
        assert client.ask("hi", timeout=PATIENCE) == "done"
        serving.join(PATIENCE)
    assert threads == [threading.main_thread()]


@pytest.mark.parametrize("post", ["manual", "caller"])
def test_ctrl_c_at_the_prompt(cli, greet, post):
    """KeyboardInterrupt in a handler on the main thread denies, and reaches ask()."""

    def decide(request):
        raise KeyboardInterrupt

    with Client(transport=cli, post=post, on_permission=decide) as client:
        greet(client, cli)
        behaviors = []

        def serve():
            user = cli.expect("user")
            cli.begin_turn(user)
            request = cli.ask_permission("Bash", COMMAND)
            behaviors.append(cli.expect_reply(request)["behavior"])
            cli.reply(cli.expect("control_request", subtype="interrupt"))
            cli.end_interrupted(user)

        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(KeyboardInterrupt):
            client.ask("hi", timeout=PATIENCE)
        serving.join(PATIENCE)
    assert behaviors == ["deny"]


@pytest.mark.parametrize(
    ("settings", "warns"),
    [
        ({"permission_mode": "bypassPermissions"}, True),
        ({"allowed_tools": ["Bash", "Write"]}, True),
        ({"allowed_tools": ["Bash(git status)"]}, False),
        ({}, False),
    ],
)
def test_a_handler_that_is_never_asked_is_warned_of(caplog, settings, warns):
    """Once, when the CLI starts; not where the CLI may ask, or nobody would be asked."""
    for handler in (lambda request: request.deny(), None):
        caplog.clear()
        cli = ScriptedCli(lambda cli: (cli.accept(), cli.pause(PATIENCE)))
        with Client(transport=cli, **settings) as client:
            if handler is not None:
                client.on_permission(handler)
            client.start(PATIENCE)
            warned = "will not be asked" in caplog.text
        assert warned == (warns and handler is not None)
