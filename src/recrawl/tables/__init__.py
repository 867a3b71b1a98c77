"""Reads and writes tables, laws and models; the theory takes arrays."""

from recrawl.tables.laws import read_law
from recrawl.tables.models import read_model, write_model
from recrawl.tables.pages import PageTable, read_pages, write_table

__all__ = ["PageTable", "read_law", "read_model", "read_pages", "write_model", "write_table"]
