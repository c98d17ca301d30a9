"""Environments written in Python as lanes of a BatchEnv."""
