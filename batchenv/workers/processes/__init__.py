"""Environments written in Python, in processes."""
