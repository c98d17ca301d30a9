"""Helpers for tests in several folders. No test module is imported from another one."""
