"""Owns `muniment connect`: one entry in one harness's configuration, everything else kept.

Files are edited as text, not written anew: comments, key order, indentation and line ends that a
person chose stay to the byte. An edit that cannot be proved to change our entry alone is refused,
with the text to paste.
"""
