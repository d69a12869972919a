"""What the offline CLI answers to requests that only new CLIs know."""

import pytest
from offline_session import Session

REQUESTS = {
    "get_settings": {"effective", "sources", "applied"},
    "apply_flag_settings": set(),
    "mcp_status": {"mcpServers"},
    "mcp_set_servers": {"added", "removed", "errors"},
    "get_context_usage": {"categories", "totalTokens", "maxTokens", "percentage", "model"},
    "get_usage": {"session", "subscription_type", "rate_limits"},
    "rewind_files": {"canRewind"},
    "stop_task": set(),
    "background_tasks": set(),
    "side_question": {"response", "synthetic"},
    "rename_session": set(),
}


@pytest.mark.parametrize("subtype", sorted(REQUESTS))
def test_a_new_one_answers(subtype):
    """The reply has the keys that a real one has."""
    with Session() as session:
        reply = session.control(subtype)
        assert reply["subtype"] == "success"
        assert set(reply["response"]) == REQUESTS[subtype]


def test_settings_are_remembered():
    """They add up, and null takes one back."""
    with Session() as session:
        session.control("apply_flag_settings", settings={"model": "a", "effortLevel": "high"})
        session.control("apply_flag_settings", settings={"model": None})
        told = session.control("get_settings")["response"]
        assert told["effective"] == {"effortLevel": "high"}
        assert told["sources"] == [{"source": "flagSettings", "settings": told["effective"]}]
        assert told["applied"]["effort"] == "high"


def test_servers_come_and_go():
    """Added, switched off and on, replaced."""
    with Session() as session:
        session.control("mcp_set_servers", servers={"a": {}, "b": {}})
        session.control("mcp_toggle", serverName="a", enabled=False)
        servers = session.control("mcp_status")["response"]["mcpServers"]
        assert [(each["name"], each["status"]) for each in servers] == [
            ("a", "disabled"),
            ("b", "connected"),
        ]
        session.control("mcp_toggle", serverName="a", enabled=True)
        change = session.control("mcp_set_servers", servers={"a": {}})["response"]
        assert (change["added"], change["removed"]) == ([], ["b"])
        assert session.control("mcp_reconnect", serverName="a")["subtype"] == "success"
        assert session.control("mcp_toggle", serverName="b")["error"] == "Server not found: b"


def test_a_stopped_task_does_not_report_back():
    """Its turn never comes."""
    with Session() as session:
        messages = session.ask("[[background 0.2]]")
        task = next(each for each in messages if each.get("subtype") == "task_started")["task_id"]
        session.control("stop_task", task_id=task)
        session.control("side_question", question="anything?")
        later = session.ask("[[sleep 0.4]]")
        assert not [each for each in later if each.get("subtype") == "task_notification"]


def test_costs_are_told():
    """What the turns so far claim."""
    with Session(cost=0.5) as session:
        session.ask("hi")
        assert session.control("get_usage")["response"]["session"]["total_cost_usd"] == 0.5
