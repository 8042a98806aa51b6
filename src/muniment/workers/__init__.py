"""Owns housekeeping that runs beside the service: an arq worker on Valkey or Redis.

Nothing that a caller waits for happens here. Without a queue reads and writes go on; the worker
tries again until there is one.
"""
