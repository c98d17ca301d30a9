"""Other APIs over a BatchEnv: the old gym's and dm_env's."""
