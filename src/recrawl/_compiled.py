"""One way to compile a numerical loop.

Modules that import this one import numba, so they are themselves imported only where they are needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["compiled", "compiled_in_place", "compiled_inline"]

Function = TypeVar("Function", bound="Callable[..., Any]")


def compiled(function: Function) -> Function:
    """Compile on first use, keep the machine code on disk, release the interpreter lock while running.

    Division follows numpy (no exception), floating point keeps its exact meaning.
    """
    return cast("Function", numba.njit(cache=True, nogil=True, error_model="numpy")(function))


def compiled_inline(function: Function) -> Function:
    """Like `compiled`, for small functions that are called inside another compiled loop."""
    return cast("Function", numba.njit(inline="always", error_model="numpy")(function))


def compiled_in_place(function: Function) -> Function:
    """Like `compiled`, for functions that take many arrays: the machine code is copied to where it is called from.

    A call would hand over every field of every array, which can cost more than the function itself.
    """
    return cast(
        "Function", numba.njit(forceinline=True, cache=True, nogil=True, error_model="numpy")(function)
    )
