"""The version, in one place: read by the build, by `recrawl --version` and by `recrawl.__version__`."""

__version__ = "0.1.0.dev0"
