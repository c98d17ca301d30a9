"""BatchEnv, and what it consists of."""
