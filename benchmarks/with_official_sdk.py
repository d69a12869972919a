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


async def allow(tool, arguments, context):  # noqa: ARG001 - the form of such a function
    """Say yes."""
    return PermissionResultAllow()


@tool("add", "Add two numbers.", {"a": int, "b": int})
async def add(arguments):
    """Add two numbers."""
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


def with_client(**settings):
    """Make a task of a coroutine function: it gets a client instead of the executable."""

    def decorate(use):
        async def main(cli, count):
            options = ClaudeAgentOptions(cli_path=cli, include_partial_messages=True, **settings)
            async with ClaudeSDKClient(options) as client:
                return await use(client, count)

        return lambda cli, count: asyncio.run(main(cli, count))

    return decorate


async def answer(client, prompt):
    """Ask, wait, and take the answer."""
    await client.query(prompt)
    async for message in client.receive_response():
        if isinstance(message, ResultMessage):
            result = message.result
    return result


@with_client()
async def stream(client, count):
    """Deltas per second, of *count*."""
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
    return count / seconds


# It has one way to receive them.
raw_stream = stream


@with_client()
async def turns(client, count):
    """Seconds of each of *count* empty turns."""
    durations = []
    for _ in range(count):
        begin = time.perf_counter()
        await answer(client, "empty")
        durations.append(time.perf_counter() - begin)
    return durations


@with_client()
async def latency(client, count):
    """Seconds from the stand-in's write to the loop's body, for each of *count* deltas."""
    delays = []
    await client.query(f"paced {count}")
    async for message in client.receive_response():
        if isinstance(message, StreamEvent):
            delta = message.event.get("delta")
            if delta is not None and "text" in delta:
                delays.append(tasks.seconds_since(delta["text"]))
    return delays


# It refuses messages of more than 1 MiB unless told otherwise.
@with_client(max_buffer_size=2**28)
async def large(client, count):
    """Seconds until a message of *count* characters is delivered, and the growth of memory."""
    delays = []
    before = tasks.memory("VmRSS")
    await client.query(f"large {count}")
    async for message in client.receive_response():
        if isinstance(message, AssistantMessage):
            delays.append(tasks.seconds_since(message.content[0].text[:20]))
    return [delays[0], tasks.memory("VmHWM") - before]


@with_client(can_use_tool=allow)
async def everyday(client, count):
    """Memory after a tenth of *count* everyday turns, and after all."""
    sizes = []
    for number in range(count):
        await answer(client, "everyday")
        if number + 1 in (count // 10, count):
            sizes.append(tasks.memory("VmRSS"))
    return sizes


@with_client(can_use_tool=allow)
async def permissions(client, count):
    """Seconds of each of *count* requests for permission, measured by the stand-in."""
    return json.loads(await answer(client, f"permissions {count}"))


@with_client(mcp_servers={tasks.SERVER: create_sdk_mcp_server(tasks.SERVER, tools=[add])})
async def calls(client, count):
    """Seconds of each of *count* calls of a tool, measured by the stand-in."""
    return json.loads(await answer(client, f"calls {count}"))


if __name__ == "__main__":
    tasks.main(globals())
