"""Owns the private Postgres and Valkey: finding, starting, watching and stopping them."""
