"""A CLI of long sessions: in each turn a bit of everything."""

from __future__ import annotations

from claude_sync.testing import builders


def does_everything(cli):
    """Answer every question after hooks, permissions, tools, an agent, tasks and streams."""
    greeting = cli.accept()
    callback = greeting["request"]["hooks"]["PreToolUse"][0]["hookCallbackIds"][0]
    number = 0
    while True:
        user = cli.receive()
        if user["type"] != "user":
            cli.reply(user)
            continue
        number += 1
        turn(cli, user, number, callback)


def turn(cli, user, number, callback):
    """One turn; every id in it is new."""
    tool, agent, task = f"toolu_{number}", f"agent_{number}", f"task_{number}"
    cli.begin_turn(user)
    cli.speak(f"Let me see, number {number}. ")
    use = builders.tool_use("Bash", {"command": f"echo {number}"}, tool)
    cli.say(builders.assistant(use, f"msg_tool_{number}"))
    # A hook and a permission, both about this use of a tool.
    called = cli.call_hook(
        callback, "PreToolUse", {"tool_name": "Bash", "tool_input": {"n": number}}
    )
    cli.expect_reply(called)
    cli.expect_reply(cli.ask_permission("Bash", {"command": f"echo {number}"}))
    withdrawn = cli.ask_permission("Write", {"file_path": f"{number}"})
    cli.cancel(withdrawn)
    cli.say(builders.user([builders.tool_result(tool, f"{number}")]))
    # A tool of the program's.
    call = {"name": "add", "arguments": {"a": number, "b": 1}}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}
    cli.expect_reply(cli.call_server("claude_sync", message))
    # An agent that streams without ever saying that a block has ended, and its task.
    use = builders.tool_use("Task", {"subagent_type": f"kind {number}", "prompt": "x"}, agent)
    cli.say(
        builders.assistant(use, f"msg_agent_{number}"),
        builders.task_started(task),
        builders.message_start(f"msg_inner_{number}", parent=agent),
        builders.text_delta(f"inner {number}", parent=agent),
        builders.assistant(f"inner {number}", f"msg_inner_{number}", parent=agent),
        builders.task_notification(task),
        builders.user([builders.tool_result(agent, "done")]),
        builders.system("status", status="requesting"),
    )
    cli.print_error(f"a line of stderr, number {number}")
    cli.print_raw(b"noise\n")
    cli.speak(f"It is {number}.")
    cli.end_turn(user, f"It is {number}.", total_cost_usd=0.01 * number)
