"""What the pages' forms do: each is answered by going back to where it was sent from, with a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec
from starlette.responses import RedirectResponse

from recrawl.web.glossary import CONTROLS
from recrawl.web.problems import Problem, invalid, refused
from recrawl.web.requests import BudgetOrder, ControlOrder, WeightOrder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.responses import Response

    from recrawl.web.requests import Done
    from recrawl.web.source import Source

__all__ = ["ACTIONS", "Actions"]

Order = TypeVar("Order", BudgetOrder, ControlOrder, WeightOrder)
ACTIONS = ("visit", "remove", "weight", "pause", "resume", "control", "budget")
_LARGEST_FORM = 65_536  # bytes


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    body = await request.body()
    if len(body) > _LARGEST_FORM:
        raise Problem(413, "too_large", "The form is too large.")
    try:
        return dict(parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise invalid("The form cannot be read.") from None


def _numbers(text: str, name: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise invalid(f"{name}: {text!r} must be whole numbers, such as 8, 2") from None


def _order(fields: Mapping[str, object], kind: type[Order]) -> Order:
    """The same limits as in the API."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from None


class Actions:
    """Takes the actions of the source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    async def take(self, name: str, form: Mapping[str, str]) -> Done:
        """Do one thing, or raise a Problem that says why not."""
        source = self._source
        if name == "weight":
            try:
                weight = float(form.get("weight", ""))
            except ValueError:
                raise invalid(f"weight: {form.get('weight', '')!r} must be a number") from None
            order = _order({"url": form.get("url", ""), "weight": weight}, WeightOrder)
            return await source.set_weight(order.url, order.weight)
        if name == "control":
            return await self._switch(form)
        if name == "budget":
            return await source.set_budget(_order({"budget": form.get("budget", "")}, BudgetOrder).budget)
        if name in ("pause", "resume"):
            return await getattr(source, name)(form.get("site", ""))  # type: ignore[no-any-return]
        return await getattr(source, name)(form.get("url", ""))  # type: ignore[no-any-return]

    async def _switch(self, form: Mapping[str, str]) -> Done:
        control = form.get("control", "")
        if control not in dict(CONTROLS):
            raise invalid(f"control: {control!r} is not known")
        by_level = control == "thresholds"
        robots = _numbers(form.get("robots", ""), "robots") if control == "fixed" else []
        fields: dict[str, object] = {"control": control}
        if robots:
            fields["robots"] = robots[0]
        if by_level:
            fields["modes"] = _numbers(form.get("modes", ""), "robots")
            fields["thresholds"] = _numbers(form.get("thresholds", ""), "thresholds")
        return await self._source.switch(_order(fields, ControlOrder))

    def route(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """What answers the form of one action."""

        async def answer(request: Request) -> Response:
            return await self._answer(request, name)

        return answer

    async def _answer(self, request: Request, name: str) -> Response:
        form = await _form(request)
        try:
            if not getattr(request.state, "may_act", False):
                raise refused("Sign in first: actions need the token.")
            text = (await self.take(name, form)).text
        except Problem as error:
            text = f"!{error.detail}"
        response = RedirectResponse(_back(form.get("back", "/")), status_code=303)
        response.set_cookie(
            "notice", quote(text[:500]), max_age=20, httponly=True, samesite="strict", path="/"
        )
        return response


def _back(place: str) -> str:
    r"""A path on this server, whatever the form says.

    >>> _back("/sites?x=1"), _back("https://elsewhere.example/"), _back("//elsewhere.example/"), _back("/\\x")
    ('/sites?x=1', '/', '/', '/')
    """
    parts = urlsplit(place)
    inside = (
        place.startswith("/")
        and not place.startswith(("//", "/\\"))
        and not parts.netloc
        and not parts.scheme
    )
    return place if inside and place.isprintable() else "/"
