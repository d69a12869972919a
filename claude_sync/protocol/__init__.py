"""
What is said between the library and the CLI, without saying it.

RULE: no thread, no file, no clock in this folder. Bytes go in and messages come
out; intentions go in and bytes come out. Everything here is tested by plain
function calls, and the threads of ``engine/`` wrap around it.

::

    lines       bytes -> lines
    codec       line <-> JSON object
    parsing     JSON object -> typed message
    streaming   stream events -> pieces of text, each character once
    control     requests and replies, both ways
    dialects    how questions, greetings and interrupts are put
    mcp         the CLI's talk with the program's own tools
    turns       whose result is it, and who may be sent next
    outcomes    a result -> an answer or an error
    costs       running totals -> what one turn cost
    tally       the size of the context; agent_usage: what each subagent used
"""
