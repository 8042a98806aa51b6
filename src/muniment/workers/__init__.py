"""Owns the background jobs that run on Valkey."""
