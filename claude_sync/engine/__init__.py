"""The threads of a client and what they share; so far, turns and the recording of the wire."""
