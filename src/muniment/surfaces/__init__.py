"""Owns the doors: every way in which a person or an agent reaches muniment."""
