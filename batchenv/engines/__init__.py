"""What finds the simulators of others (their libraries, ROMs, models) and hands them to the C core."""
