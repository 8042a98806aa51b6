"""Owns the measurements: each module is one, run by `scripts/bench NAME`."""
