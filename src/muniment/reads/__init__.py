"""Owns reading: the only door through which anything is looked up."""
