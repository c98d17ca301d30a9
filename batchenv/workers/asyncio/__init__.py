"""Environments written in Python, in an event loop."""
