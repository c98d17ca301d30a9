"""The command `python -m batchenv`."""
