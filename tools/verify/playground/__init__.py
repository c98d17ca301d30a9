"""Comparisons of tasks with MuJoCo Playground's own functions; compare_playground.py runs them."""
