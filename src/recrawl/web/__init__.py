"""The control room: search page, dashboard, HTTP API, metrics.

`documents` says what is shown, `source` where it comes from (the running engine, or its data directory), `app` puts
both behind HTTP. Importing this package loads none of them.
"""

__all__: list[str] = []
