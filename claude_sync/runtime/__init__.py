"""
Every thread and every wait of the library.

RULE: what blocks, or runs on a thread of its own, is in this folder; what the
threads say to each other about the conversation is decided in ``protocol/``.

::

    process      the CLI as a child process          (transport: the interface)
    connection   one life of it: requests, replies, its end
    reader       stdout -> protocol -> inbox         (listening: of other processes)
    inbox        the queue between reader and dispatcher, bounded
    dispatcher   inbox -> handlers -> turns: the one place that calls user code
    responders   threads for whatever may wait: answers, large writes
    timers       one thread for all deadlines
    delivery     who delivers and who waits, where no thread does it
    stopping     interrupts and deadlines of turns
    lifecycle    starting, crashing, starting again, closing
    engine       the way of a question: queued, sent, ended
"""
