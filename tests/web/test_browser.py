"""The control room as a person uses it: a real browser, a real engine on the demonstration web.

One file and one group, so that only one worker starts a browser. Both end with the module: playwright keeps an event
loop running in this thread, which tests of coroutines could not bear.
"""

import io
import os
import re
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import expect, sync_playwright
from tests.web.browsing import FLAGS, chromium
from tests.web.demo_room import TITLE, TOKEN, Room

from recrawl.demo import DemoOptions
from recrawl.demo.pages import word_of

pytestmark = pytest.mark.xdist_group("browser")

DEMO = DemoOptions(sites=2, pages_per_site=60, mean_rate_per_second=0.3, log_sd=2.0, page_bytes=2_000)
WIDE, PHONE = {"width": 1180, "height": 800}, {"width": 360, "height": 720}
SLOW = replace(DEMO, delay_seconds=0.1)  # accesses that take longer than indexing, as on the web
QUEUE = {"budget": "", "control": "thresholds", "modes": (3, 1), "thresholds": (4,), "robots": 3, "capacity": 8,
         "service_delay": "exponential:0.05", "max_concurrency": 8}  # fmt: skip
LARGEST = 150_000  # bytes of a screenshot


@pytest.fixture(scope="module")
def browser():
    path = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def room(tmp_path_factory, browser):
    opened = Room(tmp_path_factory.mktemp("room"), DEMO)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def session(browser, room):
    """The cookie of somebody who has logged in."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(room.login)
    state = context.storage_state()
    context.close()
    return state


def test_the_form_logs_in(browser, room):
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{room.address}login?next=/plan")
    page.fill("#token", "not the token")
    page.click("button")
    assert "That is not the token" in page.inner_text("main")
    page.fill("#token", TOKEN)
    page.click("button")
    page.wait_for_url("**/plan")
    assert [cookie["httpOnly"] for cookie in context.cookies()] == [True]
    context.close()


class Visit:
    """A tab, and everything that went wrong in it."""

    def __init__(self, browser, address, session, **options):
        self.troubles = []
        self._context = browser.new_context(storage_state=session, viewport=WIDE, **options)
        self._context.set_default_timeout(15_000)
        self.page, self._address = self._context.new_page(), address
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("requestfailed", self._failed)
        self.page.on("dialog", lambda dialog: dialog.accept())

    def _console(self, message):
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def _failed(self, request):
        if "ERR_ABORTED" not in (request.failure or ""):  # a page that is left ends its streams
            self.troubles.append(f"{request.url}: {request.failure}")

    def go(self, path):
        answer = self.page.goto(self._address + path.lstrip("/"))
        assert answer.status == 200
        return self.page

    def close(self):
        self._context.close()
        assert self.troubles == []


@pytest.fixture
def visit(browser, room, session):
    opened = []

    def visits(address=room.address, **options):
        opened.append(Visit(browser, address, session, **options))
        return opened[-1]

    yield visits
    for one in opened:
        one.close()


def places(room):
    """Every kind of page, by the name of its screenshot."""
    url, site = f"{room.seeds[0]}0/7.html", room.seeds[0].split("/")[2]
    return {
        "overview": "/?span=10+min",
        "search": f"/search?q={word_of(7)}",
        "pages": "/pages?sort=rate&descending=1",
        "page": f"/page?url={quote(url, safe='')}",
        "sites": "/sites",
        "site": f"/site?name={quote(site, safe='')}",
        "plan": "/plan?step=4",
        "robots": "/robots",
    }


def drawn(page):
    """Wait until everything was computed, and every chart drawn."""
    expect(page.locator("main [role=status][hx-get]")).to_have_count(0, timeout=180_000)
    expect(page.locator("[data-plot]:not(:has(canvas))")).to_have_count(0)


def test_somebody_searches_and_reads_a_history(visit):
    page = visit().go("/")
    page.keyboard.press("/")
    expect(page.locator("#find")).to_be_focused()
    page.keyboard.type(word_of(7))
    page.keyboard.press("Enter")
    expect(page.locator(".hits mark").first).to_have_text(re.compile(word_of(7), re.IGNORECASE))
    expect(page.locator(".hits .chance").first).to_contain_text("%")
    original = page.get_by_role("link", name="original").first
    assert "noopener" in original.get_attribute("rel")
    page.get_by_role("link", name="history").first.click()
    expect(page.get_by_role("heading", name="History")).to_be_visible()
    assert page.locator("svg.strip .access, svg.strip .change").count() >= 1
    drawn(page)
    page.get_by_text("Accesses, the latest first").click()
    expect(
        page.get_by_role("cell", name="not modified").or_(page.get_by_role("cell", name="content")).first
    ).to_be_visible()


def test_the_site_filter_and_the_pager(visit, room):
    page = visit().go("/search?q=revision")
    first = page.locator(".hits .where").first.inner_text()
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".hits .where").first).not_to_have_text(first)
    site = room.seeds[1].split("/")[2]
    page.select_option("#site", site)
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".hits .where").first).to_contain_text(site)
    assert all(site in text for text in page.locator(".hits .where").all_inner_texts())


def test_pages_are_filtered_and_sorted(visit):
    page = visit().go("/pages")
    page.fill("#matching", "/0/11.html")
    expect(page.locator("#table tbody tr")).to_have_count(2)
    page.fill("#matching", "")
    expect(page.locator("#table tbody tr").nth(20)).to_be_visible()
    page.locator("thead").get_by_role("link", name="Weight").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Weight")
    weights = [float(text) for text in page.locator("td[data-label=Weight]").all_inner_texts()]
    assert weights == sorted(weights, reverse=True)
    assert len(weights) > 20


def test_the_budget_curve_moves(visit):
    page = visit().go("/plan")
    drawn(page)
    before = _percent(page)
    slider = page.locator("#step")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#answer h2")).to_have_text("At 2 × the present budget")
    assert _percent(page) < before
    assert slider.get_attribute("aria-valuetext") == "2 times"
    box = page.locator("#curve .u-over").bounding_box()
    page.mouse.click(box["x"] + 0.05 * box["width"], box["y"] + 0.5 * box["height"])
    expect(page.locator("#answer h2")).to_contain_text("0.1")
    assert int(slider.input_value()) < -8
    assert _percent(page) > before


def _percent(page):
    text = page.locator("#answer dd").nth(1).inner_text()
    return float(text.replace("%", "").replace(">", "").strip())


def test_the_control_is_switched(visit, room):
    page = visit().go("/robots")
    page.locator("input[value=fixed]").check()
    page.fill("#robots", "5")
    page.get_by_role("button", name="Switch", exact=True).click()
    expect(page.locator(".notice.done")).to_be_visible()
    expect(page.locator("input[value=fixed]")).to_be_checked()
    assert room.engine.status(running=True)["control"]["control"] == "fixed"
    page.locator("input[value=thresholds]").check()
    page.fill("#modes", "6, 2")
    page.fill("#thresholds", "30")
    page.get_by_role("button", name="Switch", exact=True).click()
    expect(page.get_by_role("img", name=re.compile("thresholds at 30"))).to_be_visible()
    page.locator("input[value=guarded]").check()
    page.get_by_role("button", name="Switch", exact=True).click()
    expect(page.locator("input[value=guarded]")).to_be_checked()


def test_a_site_is_paused_and_resumed(visit, room):
    site = room.seeds[1].split("/")[2]
    page = visit().go("/sites")
    page.get_by_role("button", name=f"Pause {site}").click()
    row = page.locator(f"tr[data-site='{site}']")
    expect(row.get_by_text("paused", exact=True)).to_be_visible()
    assert site in room.engine.actions.paused
    row.get_by_role("button").click()
    expect(row.get_by_text("paused", exact=True)).to_have_count(0)
    assert site not in room.engine.actions.paused


def test_a_page_is_weighed_visited_and_removed(visit, room):
    url = f"{room.seeds[0]}0/13.html"
    page = visit().go(f"/page?url={quote(url, safe='')}")
    page.fill("#weight", "7.5")
    page.get_by_role("button", name="Set weight").click()
    expect(page.locator(".notice.done")).to_contain_text("7.5")
    expect(page.locator("#weight")).to_have_value("7.5")
    page.get_by_role("button", name="Visit now").click()
    expect(page.locator(".notice")).to_be_visible()
    page.get_by_role("button", name="Remove").click()
    expect(page.locator(".notice.done, .notice.trouble")).to_be_visible()
    expect(page.get_by_role("heading", name="Pages", exact=True)).to_be_visible()


def test_numbers_and_charts_are_live(visit):
    page = visit().go("/?span=10+min")
    drawn(page)
    accesses = page.locator(".tile", has_text="Accesses").locator(".value").first
    before = accesses.inner_text()
    expect(accesses).not_to_have_text(before, timeout=10_000)
    assert page.evaluate("document.body.dataset.stream") == "open"


def test_terms_are_explained_by_key(visit):
    page = visit().go("/")
    page.get_by_role("button", name="Obsolescence").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#about-obsolescence")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#about-obsolescence")).to_be_hidden()


def test_the_first_key_leads_to_the_content(visit):
    page = visit().go("/sites")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_the_theme_is_chosen_and_kept(visit):
    page = visit(color_scheme="light").go("/")
    light = _ground(page)
    page.get_by_role("button", name="Switch between light and dark").click()
    assert _ground(page) != light
    page.reload()
    assert _ground(page) != light
    page.get_by_role("button", name="Switch between light and dark").click()
    assert _ground(page) == light


def _ground(page):
    return page.evaluate("getComputedStyle(document.documentElement).backgroundColor")


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", PHONE)], ids=["light", "dark-phone"])
def test_every_page_can_be_read_by_everyone(visit, room, scheme, size):
    tab = visit(color_scheme=scheme)
    tab.page.set_viewport_size(size)
    axe = Axe()
    for name, path in places(room).items():
        page = tab.go(path)
        drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        grave = [
            (one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert grave == [], name


def test_every_page_reads_without_a_script(visit, room):
    tab = visit(java_script_enabled=False)
    told = {
        "overview": "Obsolescence",
        "plan": "Policies compared",
        "robots": "Control",
        "page": "Change rate",
    }
    for name, path in places(room).items():
        page = tab.go(path)
        expect(page.locator("main")).to_contain_text(told.get(name, "%"))
    page = tab.go("/plan")
    page.get_by_text("The same as a table").click()
    assert page.locator("details[open] tbody tr").count() > 5


def test_hostile_pages_stay_text(visit, room):
    tab, site = visit(), room.seeds[2].split("/")[2]
    page = tab.go("/search?q=hostilewords")
    expect(page.locator(".hits h2").first).to_have_text(TITLE)
    url = room.seeds[2]
    looked = ["/search?q=hostilewords", f"/pages?site={quote(site)}", f"/page?url={quote(url, safe='')}"]
    looked += [
        f"/site?name={quote(site)}",
        "/search?q=" + quote(TITLE),
        "/pages?matching=" + quote(TITLE),
        "/sites",
    ]
    for path in looked:
        page = tab.go(path)
        drawn(page)
        assert page.evaluate("window.hacked") is None
        assert page.locator("main :is(script, iframe, img, style)").count() == 0
        targets = page.eval_on_selector_all("a[href]", "links => links.map((link) => link.protocol)")
        assert set(targets) <= {"http:", "https:"}
        styled = page.locator("main [style]").evaluate_all(
            "all => all.filter((e) => !e.closest('.uplot')).length"
        )
        assert styled == 0


def _shoot(visit, address, path, file, scheme="light", size=WIDE, whole=True):
    """A small picture of a page."""
    tab = visit(address, color_scheme=scheme)
    tab.page.set_viewport_size(size)
    page = tab.go(path)
    drawn(page)
    page.wait_for_timeout(500)
    picture = Image.open(io.BytesIO(page.screenshot(full_page=whole)))
    picture.convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        file, optimize=True
    )
    page.goto("about:blank")  # its server may end before the tab does
    assert 5_000 < file.stat().st_size < LARGEST


def test_screenshots(visit, room, tmp_path):
    """One of them here; RECRAWL_SCREENSHOTS=docs/screenshots makes all of the documentation's, after some minutes."""
    kept = os.environ.get("RECRAWL_SCREENSHOTS")
    if not kept:
        _shoot(visit, room.address, "/", tmp_path / "overview.png")
        return
    folder, found = Path(kept), places(room)
    queue = Room(tmp_path, SLOW, **QUEUE)  # without a budget: the queue is fitted, thresholds are found
    try:
        time.sleep(float(os.environ.get("RECRAWL_SCREENSHOTS_AFTER", "240")))
        _shoot(
            visit,
            queue.address,
            f"/login?token={TOKEN}&next=%2Frobots%3Fservice_step%3D4",
            folder / "robots.png",
        )
    finally:
        queue.close()
    for name in ("overview", "search", "pages", "page", "sites", "site", "plan"):
        _shoot(
            visit, room.address, found[name], folder / f"{name}.png", whole=name not in ("search", "pages")
        )
    for name in ("overview", "plan"):
        _shoot(visit, room.address, found[name], folder / f"{name}-dark.png", scheme="dark")
    for name in ("overview", "pages"):
        _shoot(visit, room.address, found[name], folder / f"{name}-phone.png", size=PHONE, whole=False)
