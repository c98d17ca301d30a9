"""What finds the simulators of others (their libraries, ROMs, models) and hands them to the C core."""

from pathlib import Path

__path__.append(str(Path(__file__).parent.parent / "_moved" / "engines"))  # where old names of modules are found
