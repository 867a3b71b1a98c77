"""What others say of pages."""

import math

import pytest
from tests.engine.fakes import SITE, FreeSites, page

from recrawl.engine.announcements import Announcements
from recrawl.engine.pace import Pace
from recrawl.engine.records import NewPage
from recrawl.engine.scheduler import Observation, Scheduler, SchedulerSettings, Ticket


class Clock:
    def __init__(self, now=1e9):
        self.now = now

    def time(self):
        return self.now

    def monotonic(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def subject(clock):
    """Twenty pages that change once a day, all accessed an hour ago."""
    scheduler = Scheduler(
        clock,
        FreeSites(clock),
        Pace(math.inf, clock.now),
        SchedulerSettings(policy="poisson", weights="equal"),
    )
    scheduler.add([seen(f"u{i}", clock.now - 3600.0 + i) for i in range(20)])
    return scheduler


def seen(url, last):
    return page(url, last_access=last, digest=b"x" * 16, accesses=1)


def listed(url, date):
    return NewPage(url, SITE, 1, 0.0, None, date)


def take(scheduler):
    ticket = scheduler.try_next()
    assert isinstance(ticket, Ticket)
    return ticket.url


def accessed(scheduler, clock, url, changed, last):
    scheduler.learn([Observation(seen(url, last), clock.now, changed)])
    scheduler.settle([seen(url, clock.now)])


async def test_a_page_that_a_sitemap_says_changed_is_due_at_once(subject, clock):
    await subject.replan(20 / 86400.0)
    assert subject.announce([listed("u17", clock.now - 60.0), listed("u3", clock.now - 7200.0)]) == 1
    assert take(subject) == "u17"  # u3 was accessed since its date


async def test_it_stays_so_through_a_plan(subject, clock):
    await subject.replan(20 / 86400.0)
    subject.announce([listed("u17", clock.now - 60.0)])
    await subject.replan(20 / 86400.0)
    assert take(subject) == "u17"


async def test_a_pushed_page_is_due_at_once_and_only_once(subject, clock):
    await subject.replan(20 / 86400.0)
    assert subject.signal("u12", clock.now - 5.0)
    assert not subject.signal("u12", clock.now - 1.0)
    assert not subject.signal("unknown")
    assert not subject.signal("u11", clock.now - 7200.0)  # older than its last access
    assert take(subject) == "u12"


def evidence(scheduler, url):
    return scheduler.table.belief.evidence([scheduler.table.slot[url]])[0]


def test_a_confirmed_announcement_is_learnt_once(subject, clock):
    last = clock.now - 3600.0 + 5
    subject.announce([listed("u5", clock.now - 100.0)])
    before = evidence(subject, "u5").copy()
    assert (before == 0).all()  # nothing is learnt before it is confirmed
    clock.now += 50.0
    accessed(subject, clock, "u5", True, last)
    # As an access at the reading of the list would have found it: the last change 100 s before.
    subject.table.belief.update([subject.table.slot["u6"]], [3595.0], [True], [100.0])
    assert evidence(subject, "u5") == pytest.approx(evidence(subject, "u6"), abs=1e-4)
    once = evidence(subject, "u5").copy()
    subject.announce([listed("u5", clock.now - 150.0)])  # the same list again, read later
    assert (evidence(subject, "u5") == once).all()
    assert len(subject.announcements) == 0


def test_a_push_tells_how_long_the_page_was_quiet(subject, clock):
    last = clock.now - 3600.0 + 5
    subject.signal("u5", clock.now - 10.0)
    clock.now += 1.0
    accessed(subject, clock, "u5", True, last)
    subject.table.belief.update([subject.table.slot["u6"]], [3600.0], [True], [3585.0])
    assert evidence(subject, "u5") == pytest.approx(evidence(subject, "u6"), abs=1e-4)


def test_a_refuted_announcement_is_an_access_like_any_other(subject, clock):
    last = clock.now - 3600.0 + 5
    subject.announce([listed("u5", clock.now - 100.0)])
    accessed(subject, clock, "u5", False, last)
    subject.table.belief.update([subject.table.slot["u6"]], [clock.now - last], [False])
    assert evidence(subject, "u5") == pytest.approx(evidence(subject, "u6"), abs=1e-4)


def test_learning_from_pushes_is_not_biased():
    """Accesses that come right after changes must not make pages look fast: the rate is one over the quiet time."""
    import numpy as np

    from recrawl.estimate import Belief, RateGrid

    rng = np.random.default_rng(1)
    belief = Belief(RateGrid(0.001, 1000.0, 40))
    (slot,) = belief.add(1)
    quiet = rng.exponential(1.0, 400)
    belief.update([slot] * 400, quiet + 0.01, [True] * 400, quiet)
    assert belief.mean_rate([slot])[0] == pytest.approx(1.0, rel=0.15)


def test_a_sitemap_that_stamps_everything_is_soon_ignored(subject, clock):
    """It costs ten accesses, then one for each reading."""
    for reading in range(5):
        clock.now += 86400.0
        moved = subject.announce([listed(f"u{i}", clock.now - 1.0) for i in range(20)])
        assert moved == (10 if reading == 0 else 1)
        for slot in subject.announcements.slots():
            url = subject.table.url[slot]
            accessed(subject, clock, url, False, clock.now - 3600.0)


def test_a_sitemap_that_is_right_is_followed(subject, clock):
    for reading in range(3):
        clock.now += 86400.0
        moved = subject.announce([listed(f"u{i}", clock.now - 1.0) for i in range(20)])
        assert moved == (10 if reading == 0 else 20)
        for slot in subject.announcements.slots():
            accessed(subject, clock, subject.table.url[slot], True, clock.now - 3600.0)


def test_dates_in_the_future_say_nothing(subject, clock):
    assert subject.announce([listed("u1", clock.now + 86400.0)]) == 0


def test_what_was_learnt_of_sites_is_kept():
    first = Announcements()
    for slot in range(10):
        first.dated(slot, 0, 0.0, 5.0, 10.0)
        first.settle(slot, False)
    again = Announcements()
    again.restore(first.kept(["a.example"]), {"b.example": 0, "a.example": 3})
    assert [again.dated(slot, 3, 0.0, 5.0, 10.0) for slot in range(3)] == [True, False, False]
    assert [again.dated(slot, 0, 0.0, 5.0, 10.0) for slot in range(5, 8)] == [True] * 3


def test_pages_that_leave_are_forgotten(subject, clock):
    subject.announce([listed("u1", clock.now - 1.0)])
    subject.remove("u1")
    assert len(subject.announcements) == 0
