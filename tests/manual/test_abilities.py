"""What programs can do and no page of the documents shows any more."""

import claude_sync
from claude_sync.testing import StandIn
from claude_sync.testing.offline import echo


def test_the_prompts_of_a_batch_may_be_a_generator():
    """Items know the place of their prompt."""
    reviews = ["I love this kettle", "The lamp broke after a day"]
    prompts = (f"Good or bad, in one word: {review}" for review in reviews)
    cli = StandIn().command
    said = {
        reviews[item.index]: str(item.answer)
        for item in claude_sync.map(prompts, workers=2, budget_usd=5.0, cli=cli)
    }
    assert said == {each: f"echo: Good or bad, in one word: {each}" for each in reviews}


def test_the_cli_reports_what_it_used_and_how_it_is_set(claude):
    """The session's usage, and the settings in force."""
    claude.ask("Hello")
    assert claude.usage_report().cost_usd is not None
    assert claude.get_settings().model


def test_the_cost_of_an_answer_and_of_all(claude):
    """An answer knows its own cost and the client's; models have a window."""
    first, second = claude.ask("Hello"), claude.ask("Again")
    assert claude.cost_usd == second.total_cost_usd >= first.total_cost_usd
    for used in second.model_usage.values():
        assert used.context_window is None or used.context_window > 0


def test_subagents_are_counted(claude):
    """Each that has worked so far; the echo starts one in the background."""
    claude.ask("[[background 0]]")
    claude.wait_idle(timeout=30)
    for agent in claude.agent_usage:
        assert agent.agent is None or agent.status


def test_statistics_count_both_directions(claude):
    """Messages, bytes, and what waits."""
    claude.ask("Hello")
    stats = claude.stats()
    assert stats.bytes_received > stats.messages_received > stats.messages_sent > 0
    assert (stats.questions_waiting, stats.requests_open, stats.items_waiting) == (0, 0, 0)
    assert stats.reconnects == 0


def test_the_echo_is_a_script_as_others_are(scripted_cli, claude_options):
    """A test may begin with its own script and leave the rest to the echo."""
    scripted_cli.play(echo)
    with claude_sync.Client(**claude_options) as client:
        assert client.ask("Hello") == "echo: Hello"
