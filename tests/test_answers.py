"""Answer: a string with more to it. Turn: a future of one."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    as_completed,
    wait,
)

import pytest
from patience import PATIENCE

import claude_sync
from claude_sync import Answer, AskTimeout, Overloaded, Text, Turn, TurnInterrupted, UsageError
from claude_sync.testing import builders

pytestmark = pytest.mark.usefixtures("all_was_expected")


def answered(client, cli, *messages, **result):
    """The answer to a question during which the CLI said *messages*."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(*messages)
    cli.end_turn(user, **result)
    return turn.result(PATIENCE)


# Answer.


def test_an_answer_is_its_text(client, cli):
    """It prints, splits, formats, compares and hashes like the string it is."""
    answer = answered(client, cli, text="one two")
    assert isinstance(answer, str)
    assert answer == "one two" == str(answer)
    assert answer.split() == ["one", "two"]
    assert f"<{answer:>8}>" == "< one two>"
    assert {answer: 1}["one two"] == 1
    assert type(answer.text) is str
    assert answer.text == "one two"


def test_an_answer_knows_what_the_cli_reported(client, cli):
    """The fields of the result are attributes, the money is this turn's."""
    answer = answered(
        client,
        cli,
        text="done",
        total_cost_usd=0.25,
        duration_ms=1234,
        num_turns=3,
        stop_reason="end_turn",
        modelUsage={"opus": {"costUSD": 0.25}},
        permission_denials=[{"tool_name": "Bash"}],
        usage=builders.usage(10, 5),
    )
    assert answer.cost_usd == answer.total_cost_usd == 0.25
    assert (answer.duration_ms, answer.num_turns, answer.stop_reason) == (1234, 3, "end_turn")
    assert answer.model_usage == {"opus": {"costUSD": 0.25}}
    assert answer.permission_denials[0].tool_name == "Bash"
    assert (answer.stopped_by, answer.time_to_first_token_ms) == (None, None)
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (10, 5)
    assert answer.session_id == cli.session_id
    assert answer.result.result == "done"
    assert answer.is_error is False
    assert answer.data is None


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"terminal_reason": "completed"}, None),
        ({"terminal_reason": "max_turns", "subtype": "error_max_turns"}, "max_turns"),
        ({"subtype": "error_max_turns"}, "error_max_turns"),
        ({}, None),
    ],
)
def test_an_answer_knows_what_stopped_it(client, cli, fields, reason):
    """By the CLI's name for it."""
    turn = client.submit("hi", raise_on_error=False)
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, ttft_ms=7.5, **fields)
    answer = turn.result(PATIENCE)
    assert answer.stopped_by == reason
    assert answer.time_to_first_token_ms == 7.5


def test_a_result_has_the_cost_of_its_turn(client, cli):
    """For handlers and in the answer, though the CLI reports the total of the process."""
    heard = []
    client.on_result(lambda result: heard.append(result.cost_usd))
    answers = [answered(client, cli, total_cost_usd=total) for total in (1.0, 1.25)]
    assert heard == [answer.result.cost_usd for answer in answers] == [1.0, 0.25]
    assert answered(client, cli, total_cost_usd=1.5).messages[-1].cost_usd == 0.25


def test_an_answer_has_the_messages_of_its_turn(client, cli):
    """Complete messages are kept in order, those of other turns are not."""
    answered(client, cli, builders.assistant("before"), text="before")
    answer = answered(client, cli, builders.assistant("Hello", "msg_2"), text="Hello")
    kinds = [type(message).__name__ for message in answer.messages]
    assert kinds[-2:] == ["Assistant", "Result"]
    texts = [each.text for each in answer.messages if isinstance(each, claude_sync.Assistant)]
    assert texts == ["Hello"]


def test_tool_uses_come_with_their_results(client, cli):
    """Each tool call is paired with its result, or with None if there was none."""
    answer = answered(
        client,
        cli,
        builders.assistant(builders.tool_use("Read", {"file": "a"}, "t1")),
        builders.assistant(builders.tool_use("Bash", {"command": "ls"}, "t2")),
        builders.user([builders.tool_result("t1", "content")]),
        text="done",
    )
    (read, content), (bash, nothing) = answer.tool_uses
    assert (read.name, content.content) == ("Read", "content")
    assert (bash.name, nothing) == ("Bash", None)


def test_thinking_is_kept_apart(client, cli):
    """What Claude thought aloud is not part of the text."""
    answer = answered(client, cli, builders.assistant(builders.thinking("hm")), text="done")
    assert (answer, answer.thinking) == ("done", "hm")


def test_structured_output_is_the_data(client, cli):
    """What the CLI made of a schema is in .data."""
    answer = answered(client, cli, text="{}", structured_output={"a": 1})
    assert answer.data == {"a": 1}


def test_a_result_without_text_gives_the_last_words(client, cli):
    """If the result has no text, the last message of the main conversation is the answer."""
    answer = answered(
        client,
        cli,
        builders.assistant("Let me see", "msg_1"),
        builders.assistant("It is 4", "msg_2"),
        text="",
    )
    assert answer == "It is 4"


def test_the_output_of_a_slash_command_is_the_answer(client, cli):
    """Old CLIs wrap it into a user message; the program gets it bare."""
    output = builders.user("<local-command-stdout>Total cost: 0</local-command-stdout>")
    assert answered(client, cli, output, text="") == "Total cost: 0"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_answers_survive_pickling(client, cli, protocol):
    """A pickled answer has the same text and the same attributes."""
    answer = answered(
        client,
        cli,
        builders.assistant(builders.tool_use("Read", {"file": "a"}, "t1")),
        text="done",
        total_cost_usd=0.5,
    )
    again = pickle.loads(pickle.dumps(answer, protocol))
    assert type(again) is Answer
    assert again == answer
    for name in ("messages", "tool_uses", "cost_usd", "usage", "model_usage", "result"):
        assert getattr(again, name) == getattr(answer, name)
    assert str(again.timeline()) == str(answer.timeline())
    assert copy.copy(answer).result == answer.result


def test_an_answer_made_by_hand_has_every_attribute():
    """Answer("...") is complete, so that programs can be tested with it."""
    answer = Answer("hi")
    documented = [
        *("text", "data", "result", "messages", "tool_uses", "thinking", "cost_usd"),
        *("total_cost_usd", "usage", "model_usage", "duration_ms", "num_turns", "session_id"),
        *("stop_reason", "permission_denials", "is_error"),
    ]
    for name in documented:
        getattr(answer, name)
        assert name in Answer.__doc__
    assert (answer.messages, answer.tool_uses, answer.cost_usd) == ((), (), 0.0)


def test_notebooks_show_markdown_and_safe_html():
    """The text is markdown as it is, and HTML only when escaped."""
    answer = Answer("**a** <script>")
    assert answer._repr_markdown_() == "**a** &lt;script>"
    assert "<script>" not in answer._repr_html_()
    assert "&lt;script&gt;" in answer._repr_html_()


# Turn as a future.


def test_a_turn_is_a_future(client, cli):
    """submit() returns at once; the result is the answer."""
    turn = client.submit("hi")
    assert isinstance(turn, (Turn, Future))
    assert isinstance(turn, Future)
    assert turn.prompt == "hi"
    assert not turn.done()
    user = cli.expect("user")
    assert turn.running()
    cli.answer("Hello", to=user)
    assert turn.result(PATIENCE) == "Hello"
    assert turn.done()
    assert not turn.running()
    assert turn.exception() is None


def test_result_times_out_without_interrupting(client, cli):
    """result(timeout) gives up waiting; the turn goes on and can be awaited again."""
    turn = client.submit("hi")
    user = cli.expect("user")
    with pytest.raises(AskTimeout) as caught:
        turn.result(0.01)
    assert caught.value.sent is True
    with pytest.raises(TimeoutError):
        turn.exception(0.01)
    cli.assert_done()
    cli.answer("Hello", to=user)
    assert turn.result(PATIENCE) == "Hello"


def test_wait_and_as_completed_work(client, cli):
    """The functions of concurrent.futures take turns as they take other futures."""
    turns = [client.submit(f"question {number}") for number in range(3)]
    cli.answer("answer 0", prompt="question 0")
    done, waiting = wait(turns, PATIENCE, FIRST_COMPLETED)
    assert turns[0] in done
    assert turns[2] in waiting
    cli.answer("answer 1", prompt="question 1")
    cli.answer("answer 2", prompt="question 2")
    answers = [turn.result() for turn in as_completed(turns, PATIENCE)]
    assert sorted(answers) == ["answer 0", "answer 1", "answer 2"]


def test_a_withdrawn_turn_completes_for_waiters(client, cli):
    """wait() sees a cancelled turn as done."""
    first, second = client.submit("first"), client.submit("second")
    user = cli.expect("user")
    assert second.cancel() is True
    done, _ = wait([first, second], PATIENCE, FIRST_COMPLETED)
    assert done == {second}
    cli.answer("Hello", to=user)
    assert first.result(PATIENCE) == "Hello"


def test_a_callback_runs_as_a_handler_does(client, cli):
    """Where handlers run: on the dispatcher thread, where waiting is refused."""
    heard = Future()

    def done(turn):
        try:
            turn.result()
            client.ask("more")
        except Exception as error:
            heard.set_result((threading.current_thread().name, turn.result(), error))

    turn = client.submit("hi")
    turn.add_done_callback(done)
    cli.answer("Hello")
    name, answer, error = heard.result(PATIENCE)
    assert name == f"{client.name}-dispatcher"
    assert answer == "Hello"
    assert isinstance(error, claude_sync.CalledFromHandler)


def test_a_callback_added_late_runs_too(client, cli):
    """A turn that is done already calls it, still where handlers run."""
    turn = client.submit("hi")
    cli.answer("Hello")
    turn.result(PATIENCE)
    heard = Future()
    turn.add_done_callback(lambda turn: heard.set_result(threading.current_thread().name))
    assert heard.result(PATIENCE) == f"{client.name}-dispatcher"


def test_a_failing_callback_is_reported_like_a_handler(client, cli, caplog):
    """Its exception is logged, told to on_error, and stops nobody."""
    heard = Future()
    client.on_error(heard.set_result)
    turn = client.submit("hi")

    def fails(turn):
        raise ValueError("oh")

    turn.add_done_callback(fails)
    cli.answer("Hello")
    assert heard.result(PATIENCE).handler is fails
    assert turn.result(PATIENCE) == "Hello"
    assert "oh" in caplog.text


def test_asyncio_can_await_a_turn(client, cli):
    """asyncio.wrap_future works in a running loop."""

    async def main():
        turn = client.submit("hi")
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, cli.answer, "Hello")
        return await asyncio.wait_for(asyncio.wrap_future(turn), PATIENCE)

    assert asyncio.run(main()) == "Hello"


def test_asyncio_can_cancel_a_turn(client, cli):
    """Cancelling the wrapper withdraws a question that is still queued."""

    async def main():
        first, second = client.submit("first"), client.submit("second")
        wrapped = asyncio.wrap_future(second)
        wrapped.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wrapped
        return first, second

    first, second = asyncio.run(main())
    assert second.cancelled()
    cli.answer("Hello", prompt="first")
    assert first.result(PATIENCE) == "Hello"


def test_an_error_is_the_exception_of_the_turn(client, cli):
    """A failed turn raises from result() and returns the same from exception()."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.end_turn(user, "API Error: 500 oh", is_error=True)
    error = turn.exception(PATIENCE)
    assert isinstance(error, claude_sync.ApiError)
    assert error.answer.is_error
    with pytest.raises(claude_sync.ApiError):
        turn.result()


# Stopping.


def test_a_queued_turn_is_withdrawn(client, cli):
    """cancel() of a question that was not sent returns True; the CLI never hears of it."""
    first, second = client.submit("first"), client.submit("second")
    user = cli.expect("user", text="first")
    assert second.cancel() is True
    assert second.cancelled()
    with pytest.raises(CancelledError):
        second.result()
    cli.answer("Hello", to=user)
    assert first.result(PATIENCE) == "Hello"


def test_a_running_turn_is_interrupted(client, cli):
    """cancel() of a running turn returns False; result() raises with the text so far."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant("Once upon"))
    assert turn.cancel() is False
    cli.reply(cli.expect("control_request", subtype="interrupt"), still_queued=[])
    cli.end_interrupted(user)
    with pytest.raises(TurnInterrupted) as caught:
        turn.result(PATIENCE)
    assert caught.value.answer == "Once upon"
    assert not turn.cancelled()


def test_a_finished_turn_cannot_be_cancelled(client, cli):
    """cancel() afterwards changes nothing and sends nothing."""
    turn = client.submit("hi")
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"
    assert turn.cancel() is False
    assert turn.result() == "Hello"


# Iterating.


def test_a_stream_gives_text_as_it_arrives(client, cli):
    """Each piece can be had before the next is written."""
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        pieces = iter(turn)
        cli.say(builders.message_start(), builders.block_start(), builders.text_delta("Hel"))
        piece = next(pieces)
        assert isinstance(piece, Text)
        assert piece == "Hel"
        cli.say(builders.text_delta("lo"), builders.assistant("Hello"))
        cli.end_turn(user, "Hello")
        assert list(pieces) == ["lo"]
        assert turn.result(PATIENCE) == turn.text == "Hello"


def test_a_stream_of_a_cli_that_does_not_stream(client, cli):
    """Text that comes complete is one piece."""
    cli.partial = False
    with client.stream("hi") as turn:
        cli.answer("Hello you")
        assert list(turn) == ["Hello you"]


def test_text_of_subagents_is_not_iterated_over(client, cli):
    """Iterating gives the main conversation; events() has the rest."""
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(
            builders.assistant(builders.tool_use("Task", {"subagent_type": "x"}, "t1")),
            builders.assistant("hidden", "msg_2", parent="t1"),
            builders.assistant("shown", "msg_3"),
        )
        cli.end_turn(user, "shown")
        assert list(turn) == ["shown"]


def test_events_are_everything_in_order(client, cli):
    """events() gives messages, raw events, pieces, tool uses and results as they came."""
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(*builders.stream_of(["Hel", "lo"], complete=True))
        cli.say(
            builders.assistant(builders.tool_use("Read", {}, "t1"), "msg_2"),
            builders.user([builders.tool_result("t1", "content")]),
        )
        cli.end_turn(user, "Hello")
        kinds = [type(event).__name__ for event in turn.events()]
    wanted = ["Init", "StreamEvent", "Text", "Text", "Assistant", "ToolUse", "ToolResult", "Result"]
    places = iter(kinds)
    assert all(kind in places for kind in wanted), kinds
    assert kinds.count("Text") == 2


@pytest.mark.parametrize("what", ["raw events", "pieces"])
def test_events_that_nobody_takes_stay_few(client, cli, what):
    """A program that is slow to iterate gets every character, in fewer and longer events."""
    words = [f"{number} " for number in range(20_000)]
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(*builders.stream_of(words, complete=True))
        cli.end_turn(user, "done")
        turn.result(PATIENCE)
        events = list(turn.events())
    assert len(events) < 1_500
    if what == "pieces":
        pieces = [event for event in events if isinstance(event, claude_sync.Text)]
        texts, last = pieces, pieces[-1].snapshot
    else:
        raw = [event.event for event in events if isinstance(event, claude_sync.StreamEvent)]
        texts = [event["delta"]["text"] for event in raw if "text" in event.get("delta", {})]
        last = "".join(texts)
    assert "".join(texts) == last == "".join(words)


def test_iterating_raises_what_went_wrong(client, cli):
    """After the last piece the error of the turn is raised."""
    heard = []
    with pytest.raises(claude_sync.MaxTurnsReached), client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.speak("so far")
        cli.end_turn(user, subtype="error_max_turns", is_error=True)
        for piece in turn:
            heard.append(piece)
    assert "".join(heard) == "so far"


def test_leaving_early_interrupts(client, cli):
    """A block that is left before the end stops the turn."""
    with client.stream("hi") as turn:
        user = cli.expect("user")
        cli.begin_turn(user)
        cli.say(builders.assistant("Once upon"))
        assert next(iter(turn)) == "Once upon"
    cli.reply(cli.expect("control_request", subtype="interrupt"))
    cli.end_interrupted(user)
    assert isinstance(turn.exception(PATIENCE), TurnInterrupted)


def test_leaving_after_the_end_sends_nothing(client, cli):
    """A turn that is done needs no interrupt."""
    with client.stream("hi") as turn:
        cli.answer("Hello")
        assert turn.result(PATIENCE) == "Hello"


def test_only_streams_can_be_iterated_over(client, cli):
    """A turn of submit() keeps no events, and says how to make one that does."""
    turn = client.submit("hi")
    with pytest.raises(UsageError, match=r"client\.stream"):
        next(iter(turn))
    cli.answer("Hello")
    assert turn.result(PATIENCE) == "Hello"


def test_the_text_so_far_can_be_had_any_time(client, cli):
    """turn.text grows with the turn."""
    seen = Future()
    turn = client.submit("hi")
    client.on_text(lambda text: seen.done() or seen.set_result(turn.text))
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.message_start(), builders.block_start(), builders.text_delta("Hel"))
    assert seen.result(PATIENCE) == "Hel"
    cli.say(builders.text_delta("lo"), builders.assistant("Hello"))
    cli.end_turn(user, "Hello")
    turn.result(PATIENCE)
    assert turn.text == "Hello"


def test_answers_and_turns_are_generic():
    """Type checkers read Answer[City]; at run time it is the same class, and pickles."""
    answer = Answer[int]("4")
    answer.data = 4
    copied = pickle.loads(pickle.dumps(answer))
    assert (copied, copied.data) == ("4", 4)
    assert issubclass(Turn[int].__origin__, Future)


def test_a_turn_shows_its_question_its_state_and_its_cost(client, cli):
    """Its repr is one short line, whatever the question was."""
    first, second = client.submit("one" * 100), client.submit("two")
    user = cli.expect("user")
    assert repr(first).startswith("<Turn 'oneone")
    assert repr(first).endswith(" running>")
    assert len(repr(first)) < 120
    assert repr(second) == "<Turn 'two' waiting>"
    assert second.cancel()
    assert repr(second) == "<Turn 'two' withdrawn>"
    cli.begin_turn(user)
    cli.end_turn(user, total_cost_usd=0.25)
    first.result(PATIENCE)
    assert repr(first).endswith(" answered, $0.2500>")


def test_a_blank_line_stands_between_the_messages_of_a_turn(client, cli):
    """What Claude said before a tool and after it are two paragraphs."""
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.say(builders.assistant([builders.text("I look.")], "one"))
    cli.say(builders.assistant([builders.text("Two files.")], "two"))
    cli.end_turn(user, "Two files.")
    assert turn.result(PATIENCE) == "Two files."
    assert turn.text == "I look.\n\nTwo files."


def test_what_the_cli_says_about_a_failure_is_not_claudes_text(client, cli):
    """It is in the error, and in on_message."""
    heard, messages = [], []
    client.on_text(heard.append)
    client.on_message(messages.append)
    turn = client.submit("hi")
    user = cli.expect("user")
    cli.begin_turn(user)
    failure = builders.assistant([builders.text("API Error: 529")], model="<synthetic>")
    cli.say({**failure, "error": "overloaded"})
    cli.end_turn(user, "API Error: 529", is_error=True)
    with pytest.raises(Overloaded, match="529"):
        turn.result(PATIENCE)
    assert (heard, turn.text) == ([], "")
    assert "API Error: 529" in [getattr(message, "text", None) for message in messages]
