"""Other APIs around a BatchEnv."""
