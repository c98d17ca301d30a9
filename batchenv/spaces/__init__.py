"""Observations and actions of several parts."""
