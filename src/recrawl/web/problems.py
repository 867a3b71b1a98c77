"""What the web answers with when it does not do what was asked."""

from __future__ import annotations

from recrawl.errors import RecrawlError

__all__ = ["Problem", "invalid", "not_found", "refused"]


class Problem(RecrawlError):
    """A status of HTTP, a word for programs, a sentence for people."""

    def __init__(self, status: int, error: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.error, self.detail = status, error, detail


def not_found(detail: str) -> Problem:
    """There is no such thing."""
    return Problem(404, "not_found", detail)


def invalid(detail: str) -> Problem:
    """What was asked makes no sense."""
    return Problem(422, "invalid", detail)


def refused(detail: str) -> Problem:
    """It makes sense, but not here or not now."""
    return Problem(409, "refused", detail)
