"""What batchenv asks of the machine and the system: how it was built, CPUs, memory, limits."""
