"""What happened in a turn can be read at any moment, in its order."""

from notebook_shells import running

from claude_sync.notebook.parts import Use, Words, outcome_of, parts_of, stamp_of
from claude_sync.testing import builders


def shape(parts):
    """The parts in short."""
    return [
        part.text if isinstance(part, Words) else (part.use.name, part.result and part.result.text)
        for part in parts
    ]


def test_text_and_tools_keep_their_order():
    """Also the text of which only a beginning has come."""
    with running() as scene:
        assert parts_of(scene.turn) == ()
        scene.speak("first ")
        scene.use_tool()
        assert shape(parts_of(scene.turn)) == ["first ", ("Bash", None)]
        scene.return_result("two files")
        scene.begin_to_speak("and ", "so")
        assert shape(parts_of(scene.turn)) == ["first ", ("Bash", "two files"), "and so"]
        scene.end()


def test_blocks_of_text_that_follow_each_other_are_one_text():
    """A paragraph may be cut anywhere."""
    with running() as scene:
        scene.speak("one ")
        scene.speak("two")
        assert parts_of(scene.turn) == (Words("one two"),)
        scene.end()


def test_tools_of_subagents_are_parts_and_their_words_are_not():
    """What an agent says is for Claude."""
    with running() as scene:
        scene.use_tool("Task")
        said = builders.assistant("agent's words", "m5", parent="t1")
        scene.cli.say(said)
        scene.use_tool("Read", use_id="t2", parent="t1")
        assert shape(parts_of(scene.turn)) == [("Task", None), ("Read", None)]
        scene.end()


def test_what_only_the_result_says_is_shown_at_the_end():
    """Commands print nothing before."""
    with running("/cost") as scene:
        scene.end("Total cost: 0")
        assert parts_of(scene.turn) == (Words("Total cost: 0"),)


def test_a_turn_that_is_asked_again_shows_what_is_said_now():
    """What was said the first time stays above it."""
    with running() as scene:
        scene.speak("first try")
        scene.turn._begin_again(None)
        scene.turn._texts.append("second")
        assert parts_of(scene.turn) == (Words("first trysecond"),)
        scene.turn._texts.clear()
        scene.speak(", second ")
        scene.turn._texts.append("half")
        assert parts_of(scene.turn) == (Words("first try, second half"),)
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
        # Somebody may look after the message was taken, and before its result was.
        scene.turn._tool_results["later"] = scene.turn._tool_results["t1"]
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
        assert parts_of(queued) == ()
        scene.end()


def test_a_use_without_a_result_runs():
    """Parts can be compared, for tests of those who show them."""
    with running() as scene:
        scene.use_tool(given={"command": "ls"})
        (part,) = parts_of(scene.turn)
        assert isinstance(part, Use)
        assert (part.use.input, part.result) == ({"command": "ls"}, None)
        scene.end()
