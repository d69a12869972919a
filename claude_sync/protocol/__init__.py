"""
What is said between the library and the CLI, without saying it.

RULE: no thread, no file, no clock in this folder. Bytes go in and messages come
out; intentions go in and bytes come out. Everything here is tested by plain
function calls, and the threads of ``engine/`` wrap around it.

::

    codec       bytes -> lines -> JSON objects, and back
    streaming   stream events -> pieces of text, each character once
    control     the envelopes of requests and replies, both ways
    requests    a request of the CLI, from its arrival to its answer
    dialects    how questions, greetings and interrupts are put
    mcp         the CLI's talk with the program's own tools
    exchange    whose result is it, and when may the next question be sent
    outcomes    a result -> an answer, an error, or another try
    costs       running totals -> what one turn cost; the size of the context
"""
