"""
The wire protocol between the library and the CLI, without I/O.

RULE: no thread, no file, no clock in this folder. Bytes go in and messages come out;
intentions go in and bytes come out. The tests call these functions directly, and the threads
of ``engine/`` wrap around them.

::

    codec       bytes -> lines -> JSON objects, and back
    streaming   stream events -> pieces of text, each character once
    control     the envelopes of requests and replies, both ways
    requests    a request of the CLI, from its arrival to its answer
    dialects    the forms of questions, ``initialize`` and interrupts
    mcp         the CLI's messages to the program's own tools
    exchange    whose result it is, and when the next question may be sent
    outcomes    a result -> an answer, an error, or another try
    costs       running totals -> what one turn cost; the size of the context
"""
