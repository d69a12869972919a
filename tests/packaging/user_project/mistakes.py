"""Mistakes that a checker has to find: in each line that says so, and in no other."""

# pyright: basic
# (Its strict mode would complain about unknown types: that is not to find a mistake.)

from typing import Dict

import claude_sync
from claude_sync import Client, Options, PermissionRequest, Pool, Text, hooks
from claude_sync.permissions import policies

claude_sync.ask("Hi", modle="haiku")  # wrong: the name of an option
claude_sync.ask("Hi", max_turns="3")  # wrong: a text for a number
claude_sync.ask(3)  # wrong: no prompt
print(claude_sync.ask("Hi").cost)  # wrong: no such attribute
print(claude_sync.Pol)  # wrong: no such name
Options(model=3)  # wrong: a number for a text
Options(modell="haiku")  # wrong: the name of an option
Options().replace(max_turn=3)  # wrong: the name of an option
Client(timeout=3)  # wrong: an option of questions
Client(on_txt=print)  # wrong: the name of a handler
Client(on_text=lambda text: text.snapshoot)  # wrong: no such attribute
Client(cwd=3)  # wrong: a number for a path
Client(permission_mode="yolo")  # wrong: no such mode
Client(post="nowhere")  # wrong: no such way
Client(on_crash="restart")  # wrong: no such way
Client(dialect="klingon")  # wrong: no such dialect
Options(setting_sources=["users"])  # wrong: no such source
claude_sync.ask("Hi", effort="huge")  # wrong: no such effort
claude_sync.map(["a"], thinking="much")  # wrong: no such thinking
Pool(size="4")  # wrong: a text for a number
Pool(modle="haiku")  # wrong: the name of an option
claude_sync.map(["a"], worker=3)  # wrong: the name of an option
policies.allow_tools(["Read"])  # wrong: rules are given one by one

client = Client()
client.ask("Hi", timeout="3")  # wrong: a text for a number
client.ask("Hi", timeouts=3)  # wrong: the name of an option
number: int = client.ask("Hi")  # wrong: an answer is a text
print(client.submit("Hi").result().foo)  # wrong: no such attribute
client.set_model(3)  # wrong: a number for a name
client.set_permission_mode("yolo")  # wrong: no such mode
client.apply_settings(effort="huge")  # wrong: no such effort
client.update_settings("flagSettings", {})  # wrong: no such place
print(client.mcp_status().server)  # wrong: no such attribute
print(client.context_usage().percentage.upper())  # wrong: a number is no text
client.on_txt(print)  # wrong: the name of a handler
client.on_text(lambda text: text.snapshoot)  # wrong: no such attribute
client.on_text(lambda: print())  # wrong: a handler takes one argument
client.on_permission(lambda request: request.alow())  # wrong: no such verb
client.on_permission(lambda request: request.allow)  # wrong: a verb that is not called
client.on_permission(lambda request: "yes")  # wrong: no decision
client.on_hook("PreTolUse")(print)  # wrong: no such event
client.on_hook("PreTolUse", print)  # wrong: no such event
client.on_hook("PreToolUse", print, on_failure="pass")  # wrong: no such word
client.on_hook("PreToolUse")(lambda event: "no")  # wrong: no decision


class City:
    """A form of answers."""

    name: str


print(client.ask("Hi").data.name)  # wrong: no form was asked for
print(client.ask("Hi", returns=City).data.nam)  # wrong: no such field
print(client.submit("Hi", returns=City).result().data.nam)  # wrong: no such field
client.ask("Hi", returns=City, timeout="3")  # wrong: a text for a number
print(claude_sync.ask("Hi", returns=City).data.nam)  # wrong: no such field
claude_sync.ask("Hi", returns=City, modle="haiku")  # wrong: the name of an option
print(Client(returns=City).ask("Hi").data.nam)  # wrong: no such field
print(Pool(returns=City).ask("Hi").data.nam)  # wrong: no such field
for item in claude_sync.map(["a"], returns=City):
    print(item.data.nam)  # wrong: no such field
Client(tools=[3])  # wrong: a number for a function
claude_sync.tool(read_only="yes")  # wrong: a text for True or False


@client.on_text  # wrong: pieces are texts, not numbers
def number_of(text: int) -> None:
    """Take something else."""


@client.on_permission  # wrong: two arguments
def two_arguments(request: PermissionRequest, more: str) -> bool:
    """Take too much."""
    return True


@client.on_text
def show(text: Text) -> None:
    """Do it right."""


show(3)  # wrong: it is still a function that takes a text


@client.tool
def population(city: str) -> int:
    """Do it right."""
    return 3


population(3)  # wrong: it is still a function that takes a text
text: str = population("Oslo")  # wrong: it is still a function that returns a number


@claude_sync.tool(nam="x")  # wrong: the name of a setting
def named(city: str) -> Dict[str, str]:
    """Be a tool."""
    return {}


@client.tool(descripton="x")  # wrong: the name of a setting
def described(city: str) -> Dict[str, str]:
    """Be a tool."""
    return {}


hooks.block()  # wrong: a reason is needed
