"""Reads and writes tables, laws and models; the theory takes arrays."""

from recrawl.tables.models import read_model, write_model

__all__ = ["read_model", "write_model"]
