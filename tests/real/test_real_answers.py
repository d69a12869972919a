"""Questions and their answers, as every real CLI gives them."""

from __future__ import annotations

import threading

import claude_sync
from claude_sync.testing.model import text, thinking, tool_use


def test_it_answers(chat, model):
    """ask() returns what the model said, as a string with a history."""
    model.when("hello there").reply("hello yourself")
    answer = chat.ask("hello there", timeout=60)
    assert answer == "hello yourself"
    assert isinstance(answer, claude_sync.Answer)
    assert answer.text == "hello yourself"
    assert not answer.is_error
    assert answer.session_id == chat.session_id
    assert chat.state == "idle"


def test_the_module_function_opens_asks_and_closes(new_cli, model, home, tmp_path):
    """claude_sync.ask() needs nothing but a question."""
    answer = claude_sync.ask(
        "one question", cli=new_cli.path, cwd=tmp_path, env=model.environment(home), timeout=90
    )
    assert answer == "echo: one question"


def test_it_remembers(chat, model):
    """The second question is asked in the conversation of the first."""
    chat.ask("my name is Ada", timeout=60)
    session = chat.session_id
    chat.ask("what is my name?", timeout=60)
    sent = str(model.wait_for_request("what is my name?").messages)
    assert "my name is Ada" in sent
    assert "echo: my name is Ada" in sent
    assert chat.session_id == session


def test_many_threads_get_their_own_answers(chat):
    """24 questions of 8 threads at once: each gets the echo of its own words."""
    answers = {}

    def ask_three(thread):
        for number in range(3):
            question = f"thread {thread} asks {number}"
            answers[question] = chat.ask(question, timeout=100)

    threads = [threading.Thread(target=ask_three, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(110)
    assert answers == {
        f"thread {thread} asks {number}": f"echo: thread {thread} asks {number}"
        for thread in range(8)
        for number in range(3)
    }


def test_an_answer_knows_what_happened(chat, model):
    """Its attributes tell of cost, tokens, tools and thoughts of this turn only."""
    chat.ask("before it", timeout=60)
    before = chat.cost_usd
    model.when("look around").reply(
        [thinking("I should look"), text("Looking."), tool_use("Bash", {"command": "echo a file"})],
        usage={"input_tokens": 1000, "output_tokens": 100},
    ).then_reply("There is a file.", usage={"input_tokens": 2000, "output_tokens": 200})
    answer = chat.ask("look around", timeout=60)
    assert answer == "There is a file."
    assert answer.thinking == "I should look"
    ((use, result),) = answer.tool_uses
    assert (use.name, use.input["command"]) == ("Bash", "echo a file")
    assert result.tool_use_id == use.id
    assert result.text == "a file"
    assert not result.is_error
    assert answer.usage.input_tokens == 3000
    assert answer.usage.output_tokens == 300
    assert answer.cost_usd > 0
    assert abs(before + answer.cost_usd - chat.cost_usd) < 1e-9
    assert answer.total_cost_usd == chat.cost_usd
    assert answer.result.type == "result"
    assert answer.duration_ms > 0
    assert answer.model_usage
    assert answer.permission_denials == ()
    assert [message.type for message in answer.messages][-1] == "result"
    again = chat.ask("and now nothing special", timeout=60)
    assert (again.tool_uses, again.thinking) == ((), "")
    assert again.usage.output_tokens == 5


def test_a_failed_tool_is_told_as_such(chat, model):
    """The result of a tool that fails is paired with its use, and marked."""
    model.when("try it").reply(tool_use("Bash", {"command": "echo oh no; exit 3"}))
    answer = chat.ask("try it", timeout=60)
    ((_, result),) = answer.tool_uses
    assert result.is_error
    assert "oh no" in result.text
    assert "oh no" in answer


def test_the_output_of_a_slash_command_is_its_answer(chat):
    """/cost is answered with text, and the next question has its own answer."""
    assert "cost" in chat.ask("/cost", timeout=60).lower()
    assert chat.ask("after cost", timeout=60) == "echo: after cost"


def test_clear_begins_a_new_conversation(chat, model, cli):
    """After /clear the model sees nothing of what was before; the old CLI cannot do it."""
    chat.ask("something secret", timeout=60)
    session = chat.session_id
    answer = chat.ask("/clear", timeout=60)
    assert answer == ("" if cli.is_new else "Unknown skill: clear")
    assert chat.ask("after clear", timeout=60).endswith("after clear")
    seen = str(model.wait_for_request("after clear").messages)
    assert ("something secret" in seen) == (not cli.is_new)
    assert (chat.session_id == session) == (not cli.is_new)


def test_compact_is_a_turn_like_any_other(chat, model):
    """/compact has the conversation summarized, and the summary is what goes on."""
    chat.ask("a long story", timeout=60)
    assert isinstance(chat.ask("/compact", timeout=60), str)
    model.wait_for_request(lambda request: request.kind == "compact")
    assert chat.ask("after compact", timeout=60) == "echo: after compact"
    assert "A summary made by" in str(model.wait_for_request("after compact").messages)
