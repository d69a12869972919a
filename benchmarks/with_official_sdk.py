"""The benchmarks' tasks, done with the official SDK. Started by ``run.py``; see ``tasks.py``."""

from __future__ import annotations

import asyncio
import json
import time

import tasks
from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    ResultMessage,
    StreamEvent,
    create_sdk_mcp_server,
    tool,
)


def run_with_client(use, cli, count, **settings):
    """What the coroutine *use* returns, given a client of the executable *cli*."""

    async def main():
        options = ClaudeAgentOptions(cli_path=cli, include_partial_messages=True, **settings)
        async with ClaudeSDKClient(options) as client:
            return await use(client, count)

    return asyncio.run(main())


async def receive_stream(client, count):
    """Take every event of a stream, and its text."""
    lengths = []
    begin = time.perf_counter()
    await client.query(f"stream {count}")
    async for message in client.receive_response():
        if isinstance(message, StreamEvent):
            delta = message.event.get("delta")
            if delta is not None and "text" in delta:
                lengths.append(len(delta["text"]))
    seconds = time.perf_counter() - begin
    tasks.check_received(sum(lengths), count)
    return seconds


async def receive_turns(client, count):
    """Ask and wait, again and again."""
    durations = []
    for _ in range(count):
        begin = time.perf_counter()
        await client.query("empty")
        async for _message in client.receive_response():
            pass
        durations.append(time.perf_counter() - begin)
    return durations


async def receive_everyday(client, count):
    """Ask and wait, again and again; memory after a tenth of it, and after all."""
    sizes = []
    for number in range(count):
        await client.query("everyday")
        async for _message in client.receive_response():
            pass
        if tasks.is_early(number, count):
            sizes.append(tasks.memory("VmRSS"))
    return [*sizes, tasks.memory("VmRSS")]


async def receive_paced(client, count):
    """Take every delta and look at the clock."""
    delays = []
    await client.query(f"paced {count}")
    async for message in client.receive_response():
        if isinstance(message, StreamEvent):
            delta = message.event.get("delta")
            if delta is not None and "text" in delta:
                delays.append(tasks.seconds_since(delta["text"]))
    return delays


async def receive_large(client, count):
    """Take one large message."""
    delays = []
    before = tasks.memory("VmRSS")
    await client.query(f"large {count}")
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            delays.append(tasks.seconds_since(message.content[0].text[:20]))
    return [delays[0], tasks.memory("VmHWM") - before]


def stream(cli, count):
    """Seconds for *count* deltas."""
    return run_with_client(receive_stream, cli, count)


# It has one way to receive them.
raw_stream = stream


async def receive_figures(client, prompt):
    """Ask for what the stand-in measures itself."""
    await client.query(prompt)
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            return json.loads(message.result)
    raise AssertionError("no result came")


async def allow(tool, arguments, context):  # noqa: ARG001 - the form of such a function
    """Say yes."""
    return PermissionResultAllow()


@tool("add", "Add two numbers.", {"a": int, "b": int})
async def add(arguments):
    """Add two numbers."""
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


def permissions(cli, count):
    """Seconds of each of *count* requests for permission, measured by the stand-in."""
    return run_with_client(receive_figures, cli, f"permissions {count}", can_use_tool=allow)


def calls(cli, count):
    """Seconds of each of *count* calls of a tool, measured by the stand-in."""
    servers = {tasks.SERVER: create_sdk_mcp_server(tasks.SERVER, tools=[add])}
    return run_with_client(receive_figures, cli, f"calls {count}", mcp_servers=servers)


def everyday(cli, count):
    """Memory after a tenth of *count* everyday turns, and after all."""
    return run_with_client(receive_everyday, cli, count, can_use_tool=allow)


def turns(cli, count):
    """Seconds of each of *count* empty turns."""
    return run_with_client(receive_turns, cli, count)


def latency(cli, count):
    """Seconds from the stand-in's write to the loop's body, for each of *count* deltas."""
    return run_with_client(receive_paced, cli, count)


def large(cli, count):
    """Seconds until a message of *count* characters is delivered, and the growth of memory."""
    # It refuses messages of more than 1 MiB unless told otherwise.
    return run_with_client(receive_large, cli, count, max_buffer_size=2 * count)


if __name__ == "__main__":
    tasks.main(globals())
