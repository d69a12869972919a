"""Whose result a result is: the rules of binding, on the facts of real CLIs old and new."""

from __future__ import annotations

import pytest

from claude_sync.protocol.turns import (
    CONTEXT,
    STEER,
    Entry,
    TurnLedger,
    is_awaited,
    is_foreign,
    is_terminal,
    uuids_of_result,
)

NOTIFICATION = {"kind": "task-notification", "producer": "session-task"}


def sent(ledger, uuid="a"):
    """A question that was just written."""
    entry = Entry(uuid)
    ledger.sent(entry)
    return entry


def result(*uuids, **fields):
    """A result as a CLI sends it that lists uuids, or, without any, as an old one does."""
    return {"type": "result", **({"user_message_uuids": list(uuids)} if uuids else {}), **fields}


def new_ledger():
    """The ledger of a CLI that was seen to report the life of messages."""
    ledger = TurnLedger()
    ledger.tells_uuids = True
    return ledger


class TestTheUuidDecides:
    def test_a_result_that_lists_our_uuid_is_ours(self):
        """The plain case: one question, one result with its uuid."""
        ledger = TurnLedger()
        entry = sent(ledger)
        answer = result("a")
        assert ledger.on_result(answer) is entry
        assert entry.result is answer

    def test_the_single_field_counts_too(self):
        """CLIs that name one uuid only are understood."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_result({"user_message_uuid": "a"}) is entry

    def test_it_decides_against_a_foreign_origin(self):
        """A question that joined a notification turn is answered by that turn's result."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_result(result("x", "a", origin=NOTIFICATION)) is entry

    def test_a_result_with_other_uuids_is_nobodys(self):
        """The result of a steered message completes no question."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_result(result("steered")) is None
        assert ledger.running() is entry

    def test_a_foreign_result_between_two_questions_shifts_nothing(self):
        """A background agent reporting back never completes the question that waits."""
        ledger = TurnLedger()
        first = sent(ledger, "a")
        assert ledger.on_result(result("a")) is first
        ledger.finished(first)
        second = sent(ledger, "b")
        assert ledger.on_result(result(origin=NOTIFICATION)) is None
        assert ledger.on_result(result("b")) is second

    def test_a_late_result_of_a_finished_question_is_nobodys(self):
        """What belongs to a question that is over does not complete the next one."""
        ledger = TurnLedger()
        ledger.finished(sent(ledger, "a"))
        second = sent(ledger, "b")
        assert ledger.on_result(result("a")) is None
        assert ledger.running() is second

    def test_a_second_result_for_the_same_question_is_nobodys(self):
        """A duplicate does not bind again."""
        ledger = TurnLedger()
        sent(ledger)
        ledger.on_result(result("a"))
        assert ledger.on_result(result("a")) is None

    def test_before_ours_has_begun_a_nameless_result_is_not_ours(self):
        """On a CLI that tells uuids, a result without one answers somebody else."""
        ledger = new_ledger()
        entry = sent(ledger)
        assert ledger.on_result(result()) is None
        assert ledger.running() is entry


class TestOldClis:
    def test_the_replayed_message_binds_the_result(self):
        """Without uuids in results, the echo of our message says that the turn is ours."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_replay("a")
        assert entry.replayed
        assert ledger.on_result(result()) is entry

    def test_a_slash_command_is_bound_by_order(self):
        """Slash commands are not echoed; the next result is theirs."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_result(result()) is entry

    def test_an_origin_of_a_person_is_ours(self):
        """Results whose origin is a human answer us."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_result(result(origin={"kind": "human"})) is entry

    def test_a_foreign_origin_is_not(self):
        """Results of other origins do not, unless they list our uuid."""
        ledger = TurnLedger()
        sent(ledger)
        assert ledger.on_result(result(origin=NOTIFICATION)) is None

    def test_an_echo_of_something_unknown_changes_nothing(self):
        """Echoes of messages we did not send, or without a uuid, are ignored."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_replay("other")
        ledger.on_replay(None)
        assert not entry.replayed

    def test_a_result_with_nothing_in_flight_is_nobodys(self):
        """A result before any question does not raise and binds nothing."""
        assert TurnLedger().on_result(result()) is None


class TestSending:
    def test_one_at_a_time(self):
        """Nothing more is sent until every handler of the turn has run."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert not ledger.may_send()
        ledger.on_result(result("a"))
        assert not ledger.may_send()
        ledger.finished(entry)
        assert ledger.may_send()

    def test_finishing_somebody_else_changes_nothing(self):
        """Only the question in flight can be finished."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.finished(Entry("other"))
        assert ledger.in_flight is entry

    def test_none_while_the_cli_runs_a_turn_of_its_own(self):
        """An init with nothing of ours running announces a turn of the CLI's own."""
        ledger = TurnLedger()
        ledger.finished(sent(ledger))
        ledger.on_init()
        assert not ledger.may_send()
        ledger.on_result(result(origin=NOTIFICATION))
        assert ledger.may_send()

    def test_an_init_before_anything_was_asked_is_no_turn(self):
        """Some say it once when they start; only one that says that it runs has a turn."""
        ledger = TurnLedger()
        ledger.on_init()
        assert ledger.may_send()
        ledger.on_session_state("running")
        ledger.on_init()
        assert not ledger.may_send()

    def test_where_no_turn_is_the_clis_own_an_init_is_none(self):
        """In other dialects it announces nothing but itself."""
        ledger = TurnLedger(begins_turns=False)
        ledger.finished(sent(ledger))
        ledger.on_init()
        assert ledger.may_send()

    def test_our_own_init_is_no_foreign_turn(self):
        """The init of our own turn holds nothing up afterwards."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_init()
        ledger.on_result(result("a"))
        ledger.finished(entry)
        assert ledger.may_send()

    def test_idle_ends_a_foreign_turn(self):
        """The CLI's word that it is idle counts more than a result that never came."""
        ledger = TurnLedger()
        ledger.on_init()
        ledger.on_session_state("idle")
        assert ledger.may_send()

    def test_an_entry_shows_what_it_is(self):
        """The representation names the kind and the uuid, for the log."""
        assert repr(Entry("12345678-9", CONTEXT)) == "<context 12345678>"


class TestTheLifeOfAMessage:
    def test_messages_belong_to_a_question_from_its_start_on(self):
        """Queued behind a foreign turn, a question owns nothing of that turn."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.current() is entry
        ledger.on_lifecycle("a", "queued")
        assert ledger.current() is None
        ledger.on_lifecycle("a", "started")
        assert ledger.current() is entry

    def test_once_known_a_new_question_begins_unstarted(self):
        """After the first report, a question owns nothing until it is reported as started."""
        ledger = new_ledger()
        sent(ledger)
        assert ledger.current() is None

    def test_nothing_belongs_to_a_question_after_its_result(self):
        """Messages after the result are nobody's."""
        ledger = TurnLedger()
        sent(ledger)
        ledger.on_result(result("a"))
        assert ledger.current() is None

    def test_withdrawn_before_it_began(self):
        """A question cancelled in the CLI's queue gets no result, and that is told once."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_lifecycle("a", "queued")
        assert ledger.on_cancelled(["b", "a"]) is entry
        assert ledger.on_lifecycle("a", "cancelled") is None
        assert ledger.running() is None

    def test_cancelled_after_it_began_its_result_has_come(self):
        """For a running turn the CLI says cancelled too, after the result: nothing to do."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_lifecycle("a", "started")
        ledger.on_result(result("a", subtype="error_during_execution"))
        assert ledger.on_lifecycle("a", "cancelled") is None
        assert ledger.on_session_state("idle") is None
        assert not entry.withdrawn

    @pytest.mark.parametrize("state", ["completed", "cancelled"])
    def test_over_without_a_result(self, state):
        """Done, idle, and no result: the question is given up rather than waited for."""
        ledger = TurnLedger()
        entry = sent(ledger)
        ledger.on_lifecycle("a", "started")
        assert ledger.on_lifecycle("a", state) is None
        assert ledger.on_session_state("idle") is entry

    def test_idle_before_we_began_gives_nothing_up(self):
        """The idle of the turn before does not end a question that was just sent."""
        ledger = TurnLedger()
        sent(ledger)
        assert ledger.on_session_state("idle") is None

    def test_an_unknown_state_is_ignored(self):
        """States this release does not know change nothing."""
        ledger = TurnLedger()
        entry = sent(ledger)
        assert ledger.on_lifecycle("a", "paused") is None
        assert ledger.current() is entry

    @pytest.mark.parametrize("junk", [None, 3, {"a": 1}, "a"])
    def test_junk_in_a_receipt_is_ignored(self, junk):
        """Whatever stands where a list of uuids should, nothing is withdrawn."""
        ledger = TurnLedger()
        sent(ledger)
        assert ledger.on_cancelled(junk) is None

    def test_junk_as_a_uuid_is_ignored(self):
        """A report about something without a uuid changes nothing."""
        assert TurnLedger().on_lifecycle(None, "completed") is None


class TestSteering:
    def steered(self, ledger, uuid="s"):
        entry = Entry(uuid, STEER)
        ledger.steer(entry)
        return entry

    def test_joined_on_an_old_cli(self):
        """Echoed inside the turn, the message has joined it and holds nothing up."""
        ledger = TurnLedger()
        entry = sent(ledger)
        self.steered(ledger)
        ledger.on_replay("s")
        assert ledger.on_result(result()) is entry
        ledger.finished(entry)
        assert ledger.may_send()

    def test_a_turn_of_its_own_on_an_old_cli(self):
        """Steered too late, it becomes a turn of its own, whose result is nobody's."""
        ledger = TurnLedger()
        entry = sent(ledger)
        self.steered(ledger)
        assert ledger.on_result(result()) is entry
        ledger.finished(entry)
        assert not ledger.may_send()
        ledger.on_init()
        ledger.on_replay("s")
        assert ledger.on_result(result()) is None
        assert ledger.may_send()

    def test_the_echoed_one_is_consumed_first(self):
        """Of two that wait, the result belongs to the one that was echoed."""
        ledger = TurnLedger()
        ledger.finished(sent(ledger))
        self.steered(ledger, "s")
        self.steered(ledger, "t")
        ledger.on_replay("t")
        ledger.on_result(result())
        assert list(ledger.steered) == ["s"]

    def test_a_result_without_an_echo_consumes_the_oldest(self):
        """Where the echo is missing, order decides."""
        ledger = TurnLedger()
        self.steered(ledger, "s")
        self.steered(ledger, "t")
        ledger.on_result(result())
        assert list(ledger.steered) == ["t"]

    def test_a_foreign_result_consumes_none(self):
        """A notification's result says nothing about a steered message."""
        ledger = TurnLedger()
        self.steered(ledger)
        ledger.on_result(result(origin=NOTIFICATION))
        assert not ledger.may_send()

    def test_joined_on_a_new_cli(self):
        """Listed in our own result, it is consumed."""
        ledger = new_ledger()
        entry = sent(ledger)
        self.steered(ledger)
        ledger.on_replay("s")
        assert "s" in ledger.steered
        assert ledger.on_result(result("a", "s")) is entry
        ledger.finished(entry)
        assert ledger.may_send()

    @pytest.mark.parametrize("state", ["completed", "cancelled"])
    def test_its_end_is_reported(self, state):
        """A new CLI says itself when a steered message is done."""
        ledger = new_ledger()
        self.steered(ledger)
        ledger.on_lifecycle("s", "started")
        assert not ledger.may_send()
        ledger.on_lifecycle("s", state)
        assert ledger.may_send()

    def test_it_can_be_forgotten(self):
        """A message consumed without a word does not hold up the next question for ever."""
        ledger = TurnLedger()
        self.steered(ledger)
        ledger.forget_steered()
        assert ledger.may_send()


class TestBeingIdle:
    def test_a_new_session_is_idle(self):
        """Nothing was asked, nothing runs."""
        assert TurnLedger().is_idle()

    @pytest.mark.parametrize("state", ["running", "requires_action"])
    def test_the_clis_own_word_counts(self, state):
        """A CLI that says it works is not idle, whatever else is known."""
        ledger = TurnLedger()
        ledger.on_session_state(state)
        assert not ledger.is_idle()
        ledger.on_session_state("idle")
        assert ledger.is_idle()

    def test_junk_is_no_state(self):
        """A state that is no text is ignored."""
        ledger = TurnLedger()
        ledger.on_session_state(None)
        assert ledger.is_idle()

    def test_a_turn_in_flight_is_not_idle(self):
        """Neither is a session whose question waits for its result."""
        ledger = TurnLedger()
        sent(ledger)
        assert not ledger.is_idle()

    @pytest.mark.parametrize(
        "end",
        [
            {"subtype": "task_notification", "task_id": "t"},
            {"subtype": "task_updated", "task_id": "t", "patch": {"status": "killed"}},
            {"subtype": "background_tasks_changed", "tasks": []},
        ],
    )
    def test_a_background_agent_holds_it(self, end):
        """From its start to any of the messages that may tell its end."""
        ledger = TurnLedger()
        ledger.on_task({"subtype": "task_started", "task_id": "t", "task_type": "local_agent"})
        ledger.on_task({"subtype": "task_progress", "task_id": "t"})
        ledger.on_task({"subtype": "task_updated", "task_id": "t", "patch": {"status": "running"}})
        assert not ledger.is_idle()
        ledger.on_task(end)
        assert ledger.is_idle()

    def test_a_background_shell_does_not(self):
        """Shells may never end and are not awaited."""
        ledger = TurnLedger()
        ledger.on_task({"subtype": "task_started", "task_id": "t", "task_type": "local_bash"})
        ledger.on_task(
            {
                "subtype": "background_tasks_changed",
                "tasks": [{"task_id": "t", "task_type": "local_bash"}, "junk"],
            }
        )
        assert ledger.is_idle()

    def test_the_list_replaces_what_was_known(self):
        """The list of background tasks is complete, not a change."""
        ledger = TurnLedger()
        listed = [{"task_id": "u", "task_type": "local_workflow"}]
        ledger.on_task({"subtype": "background_tasks_changed", "tasks": listed})
        assert ledger.background_tasks == {"u": "local_workflow"}
        ledger.on_task({"subtype": "background_tasks_changed", "tasks": None})
        assert ledger.is_idle()

    def test_a_task_without_an_id_is_ignored(self):
        """A task message of an unknown shape changes nothing."""
        ledger = TurnLedger()
        ledger.on_task({"subtype": "task_started", "task_type": "local_agent"})
        assert ledger.is_idle()


@pytest.mark.parametrize(
    ("raw", "uuids"),
    [
        ({}, ()),
        ({"user_message_uuids": []}, ()),
        ({"user_message_uuids": ["a", 3]}, ("a",)),
        ({"user_message_uuids": "a", "user_message_uuid": "b"}, ("b",)),
        ({"user_message_uuid": ""}, ()),
        ({"user_message_uuid": 7}, ()),
    ],
)
def test_uuids_of_a_result(raw, uuids):
    """Both fields are read, and junk in them is nothing."""
    assert uuids_of_result(raw) == uuids


def test_small_judgements():
    """What counts as foreign, as awaited, and as over."""
    assert is_foreign({"kind": "peer"})
    assert not is_foreign(None)
    assert is_awaited("local_agent")
    assert not is_awaited("local_bash")
    assert is_terminal({"status": "failed"})
    assert not is_terminal("failed")


def test_a_result_that_is_said_twice_answers_one_question():
    """Of a CLI that lists no uuids, the repetition comes when the next question is out."""
    ledger = TurnLedger()
    first, second = Entry("u1"), Entry("u2")
    ledger.sent(first)
    ledger.on_replay("u1")
    result = {"type": "result", "subtype": "success", "uuid": "r1"}
    assert ledger.on_result(result) is first
    ledger.finished(first)
    ledger.sent(second)
    assert ledger.on_result(dict(result)) is None
    assert ledger.on_result({**result, "uuid": "r2"}) is second
