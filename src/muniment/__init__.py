"""muniment: a memory and coordination graph for fleets of AI agents; owns the version number."""

__version__ = "0.1.0"
