"""Answer, made by hand: programs are tested with it."""

from __future__ import annotations

import pickle

from tables import each

from claude_sync import Answer, Assistant, CompactBoundary, User

DOCUMENTED = """
data result messages tool_uses thinking cost_usd total_cost_usd usage model_usage agent_usage
context_tokens duration_ms num_turns session_id stop_reason stopped_by permission_denials
time_to_first_token_ms user_message_id is_error
"""
SPOKEN = {
    "type": "assistant",
    "message": {"usage": {"input_tokens": 1, "cache_read_input_tokens": 20}},
}


def test_an_answer_is_complete_without_a_cli():
    """Every attribute that is documented is there, and has the value for nothing."""
    answer = Answer("hi")
    names = DOCUMENTED.split()
    assert not any(getattr(answer, name) for name in names)
    assert all(name in Answer.__doc__ for name in names)
    assert (answer.text, type(answer.text)) == ("hi", str)
    assert (answer.cost_usd, answer.num_turns, answer.is_error) == (0.0, 0, False)
    assert pickle.loads(pickle.dumps(answer)) == "hi"


@each(
    ("messages", "tokens"),
    [
        ([], None),
        ([SPOKEN], 21),
        ([SPOKEN, {"type": "user"}], 21),
        ([SPOKEN, {**SPOKEN, "parent_tool_use_id": "t1"}], 21),
        ([SPOKEN, {**SPOKEN, "message": {"model": "<synthetic>"}}], 21),
        ([SPOKEN, {"type": "assistant", "message": "text"}], 21),
        ([SPOKEN, {"type": "system", "subtype": "compact_boundary"}], None),
        ([SPOKEN, {"type": "assistant", "message": {"usage": 5}}], None),
        ([SPOKEN, {"type": "assistant", "message": {"usage": {"output_tokens": 1}}}], None),
    ],
)
def test_the_size_of_the_context(messages, tokens):
    """What the last request of the main conversation had the model read, since it was compacted."""
    kinds = {"assistant": Assistant, "user": User, "system": CompactBoundary}
    answer = Answer("hi")
    answer._before = tuple(kinds[raw["type"]].read(raw) for raw in messages)
    assert answer.context_tokens == tokens
