"""Gymnasium's registry, `gymnasium.make` and `gymnasium.make_vec`."""
