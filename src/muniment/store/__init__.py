"""Owns SQL: one typed function for each named statement, and nothing else."""
