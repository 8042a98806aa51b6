"""Owns the values and the rules: decide, evolve, identity, evidence; standard library only."""
