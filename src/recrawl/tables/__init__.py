"""Reads and writes tables: theory takes arrays."""

__all__: list[str] = []
