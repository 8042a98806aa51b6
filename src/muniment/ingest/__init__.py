"""Owns what comes from outside: git, markdown and other stores, as batches of commands."""
