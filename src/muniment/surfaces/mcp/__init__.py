"""Owns the Model Context Protocol surface."""
