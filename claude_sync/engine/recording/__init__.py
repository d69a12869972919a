"""Recordings of both directions of the wire, with secrets removed."""
