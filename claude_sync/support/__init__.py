"""Helpers that every floor of the house may use: nothing here knows a message or a client."""
