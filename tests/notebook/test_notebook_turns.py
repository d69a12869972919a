"""What happened in a turn can be read at any moment, in its order."""

from notebook_shells import running

from claude_sync.render.turns import chat_of_turn, outcome_of, stamp_of
from claude_sync.testing import builders


def shape(turn):
    """The steps in short."""
    return [
        (step.tool, step.state, step.text) if step.kind == "tool" else step.text
        for step in chat_of_turn(turn).steps
    ]


def test_text_and_tools_keep_their_order():
    """Also the text of which only a beginning has come."""
    with running() as scene:
        assert shape(scene.turn) == []
        scene.speak("first ")
        scene.use_tool()
        assert shape(scene.turn) == ["first ", ("Bash", "unfinished", "")]
        scene.return_result("two files")
        scene.begin_to_speak("and ", "so")
        assert shape(scene.turn) == ["first ", ("Bash", "done", "two files"), "and so"]
        scene.end()


def test_messages_are_apart():
    """Each is a step, so that their words do not run together."""
    with running() as scene:
        scene.speak("one")
        scene.speak("two")
        assert shape(scene.turn) == ["one", "two"]
        scene.end()


def test_what_a_subagent_does_is_inside_of_its_step():
    """What an agent says, and the tools it uses."""
    with running() as scene:
        scene.use_tool("Task")
        scene.cli.say(builders.assistant("agent's words", "m5", parent="t1"))
        scene.use_tool("Read", use_id="t2", parent="t1")
        (step,) = chat_of_turn(scene.turn).steps
        assert [each.text or each.tool for each in step.steps] == ["agent's words", "Read"]
        scene.end()


def test_what_only_the_result_says_is_shown_at_the_end():
    """Commands print nothing before."""
    with running("/cost") as scene:
        scene.end("Total cost: 0")
        assert shape(scene.turn) == ["Total cost: 0"]


def test_a_turn_that_is_asked_again_shows_what_is_said_now():
    """What was said the first time stays above it."""
    with running() as scene:
        scene.speak("first try")
        scene.turn.asked.begin_again(None)
        scene.turn.asked.collected.texts.append("second")
        assert shape(scene.turn) == ["first try", "second"]
        scene.turn.asked.collected.texts.clear()
        scene.speak(", second ")
        scene.turn.asked.collected.texts.append("half")
        assert shape(scene.turn) == ["first try", ", second ", "half"]
        scene.end()


def test_the_stamp_changes_when_there_is_more_to_show():
    """And only then."""
    with running() as scene:
        stamps = [stamp_of(scene.turn)]
        assert stamp_of(scene.turn) == stamps[0]
        scene.speak("text")
        stamps.append(stamp_of(scene.turn))
        scene.use_tool()
        stamps.append(stamp_of(scene.turn))
        scene.return_result("result")
        stamps.append(stamp_of(scene.turn))
        scene.end()
        stamps.append(stamp_of(scene.turn))
        assert len(set(stamps)) == len(stamps)


def test_the_outcome_is_an_answer_an_error_or_nothing_yet():
    """A turn that failed has both."""
    with running() as scene:
        assert outcome_of(scene.turn) == (None, None)
        scene.end("good")
        assert outcome_of(scene.turn) == ("good", None)
    with running() as scene:
        scene.end("API Error: 529", is_error=True)
        answer, error = outcome_of(scene.turn)
        assert answer == "API Error: 529"
        assert error is scene.turn.exception(0)


def test_a_turn_that_was_withdrawn_has_no_outcome():
    """It never was a question."""
    with running() as scene:
        queued = scene.client.submit("later")
        assert queued.cancel()
        assert outcome_of(queued) == (None, None)
        assert shape(queued) == []
        scene.end()
