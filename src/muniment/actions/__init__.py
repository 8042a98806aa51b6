"""Owns writing: the only door through which anything enters the log."""
