"""Foreign simulators: how their libraries are found, and what the C core is told about them."""
