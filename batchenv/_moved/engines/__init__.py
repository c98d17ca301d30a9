"""Old names of modules in batchenv.engines."""
