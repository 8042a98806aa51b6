"""Owns the SQL of reads: what a reader may see, by functions of the database's visibility alone."""
