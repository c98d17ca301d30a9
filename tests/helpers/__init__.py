"""What several rooms of the tests use. No test module is imported from another one."""
