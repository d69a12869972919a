"""
CLIs whose sessions are recorded: each function is a script that a stand-in process plays.

The process runs this file, so it imports only what starts quickly.
"""

KEY = "sk-ant-api03-" + "Ab3" * 12


def tells_its_secrets(cli):
    """Print keys everywhere: in pieces of text, to stderr, as noise, in a request."""
    cli.accept(account={"email": "alice@example.com", "organization": "Alice & Sons"})
    user = cli.expect("user")
    cli.begin_turn(user)
    cli.print_error(f"using {KEY}")
    cli.print_raw(f"warning: {KEY}\n".encode())
    cli.speak(f"The key is {KEY} now", ["The key is ", KEY[:9], KEY[9:20], KEY[20:], " now"])
    request = cli.ask_permission("Bash", {"command": f"export API_KEY={KEY}"})
    cli.expect_reply(request)
    cli.end_turn(user, f"The key is {KEY} now")
    cli.swallow_input()


def dies_and_lives(cli):
    """Die with code 9 in the first turn; in the next life, echo."""
    cli.accept()
    if not cli.option("--resume"):
        cli.begin_turn(cli.expect("user"))
        cli.speak("this is cut off here", ["this is cut off he", "re"])
        cli.exit(9)
    while True:
        message = cli.receive()
        if message["type"] == "control_request":
            cli.reply(message)
        else:
            cli.answer("resumed", to=message)


def never_stops_talking(cli):
    """Stream words until somebody ends it."""
    cli.accept()
    cli.begin_turn(cli.expect("user"))
    messages = cli.spoken("word ", ["word "])
    place = next(i for i, each in enumerate(messages) if "delta" in each.get("event", {}))
    cli.say(*messages[:place])
    while cli.receive(0) is None:
        cli.say(*[messages[place]] * 20)
