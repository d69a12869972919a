"""Functions of a front end, as tools."""

from __future__ import annotations

from claude_sync.bridge.functions import FrontEndTool
from claude_sync.bridge.options import ToolWish
from claude_sync.tools import make_tools

WISH = ToolWish("weather", "Tells the weather.", {"type": "object", "required": ["city"]}, ask=True)


def test_it_is_what_the_front_end_said():
    """Name, description, schema; and it stays that when a client takes it."""
    tool = FrontEndTool(WISH, lambda arguments, context: None)
    (made,) = make_tools([tool])
    assert made is tool
    assert (tool.name, tool.description, tool.ask) == ("weather", "Tells the weather.", True)
    assert tool.schema == WISH.input_schema
    assert tool.changed(ask=False) is tool
    assert (tool.title, tool.annotations, tool.max_result_chars) == (None, {}, None)


def test_hints_are_kept_as_they_are():
    """Also those that are not known here."""
    wish = ToolWish("a", "", {}, False, "A", {"readOnlyHint": True, "newHint": 1}, 500)
    tool = FrontEndTool(wish, lambda arguments, context: None)
    assert tool.annotations == {"readOnlyHint": True, "newHint": 1}
    assert (tool.title, tool.max_result_chars) == ("A", 500)


def test_a_call_goes_there_and_its_result_comes_back():
    """Arguments are not looked at here: the front end has the schema."""
    result = {"content": [{"type": "text", "text": "snow"}], "isError": False}
    tool = FrontEndTool(WISH, lambda arguments, context: {**result, "given": arguments})
    assert tool.run({"town": 5}) == {**result, "given": {"town": 5}}


def test_a_call_that_is_withdrawn_is_an_error():
    """Nobody reads it, but there must be an answer."""
    assert FrontEndTool(WISH, lambda arguments, context: None).run({})["isError"]
