"""The live engine: robots that access pages, a finite buffer, an indexer, a controller. Knows Protocols only."""

__all__: list[str] = []
