"""The words of the control room, each explained once where it is first used."""

from __future__ import annotations

__all__ = ["CONTROLS", "GLOSSARY"]

GLOSSARY = {
    "obsolescence": "The share of the copy that is expected to be out of date, pages counted by weight. A page is "
    "obsolete from its first change after an access until its next access. 0 % is a perfect copy; freshness is "
    "100 % minus obsolescence.",
    "bound": "The least obsolescence that any schedule can reach at this budget, if pages change as believed. "
    "Close to it there is nothing left to gain but by more budget. It holds in the long run: for a while luck may do "
    "better.",
    "budget": "The most accesses per unit of time, over all sites together. Without one, robots work as fast as "
    "politeness allows, and the rate of accesses that is measured takes its place.",
    "price": "The freshness that one access must be expected to regain, in seconds of an ordinary page being "
    "current. One price for all pages makes their accesses sum to the budget: a dearer access means a tighter "
    "budget.",
    "loss": "Pages that a full buffer refused, as a share of those that robots brought. They are due again.",
    "obsolete in buffer": "Pages that waited too long for the indexer and were dropped, as a share of those that "
    "robots brought. They are due again.",
    "starvation": "The share of time in which the indexer is idle although robots work. Idle because nothing is due "
    "is spare, not starving.",
    "queue cost": "Lost and obsolete pages, an idle indexer and active robots, each at the price that the settings "
    "give it (cost_loss_per_page and so on), per second.",
    "capacity": "The most pages in the buffer and in the indexer together, the one being indexed included.",
    "threshold": "The number of pages in buffer and indexer beyond which fewer robots work.",
    "stationary law": "How the number of pages is distributed in the long run, by the queue that was fitted to the "
    "measured deliveries and service times.",
    "change rate": "How often a page changes, as believed from its accesses: each one only tells whether there was a "
    "change since the one before.",
    "credible interval": "The change rate lies in it with 90 % probability, given what was seen so far. It narrows "
    "with every access.",
    "weight": "How much a page counts: its obsolescence is multiplied by it. 1 is an ordinary page; without a weight "
    "of its own a page is weighed by the links that lead to it.",
    "exclusion": "The site's robots.txt, which says what robots may access. It is read again every day and obeyed.",
}

CONTROLS = (
    ("guarded", "no more robots than there is room for in the buffer"),
    ("fixed", "always the same number of robots"),
    ("thresholds", "fewer robots the more pages wait, by the table you give"),
    ("auto", "thresholds found from what is measured; needs a run without a budget"),
)
