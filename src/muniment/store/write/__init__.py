"""Statements that write. Importable from `muniment.actions` alone."""
