"""Owns the command line."""
