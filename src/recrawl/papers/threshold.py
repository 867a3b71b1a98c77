"""Every printed number of Avrachenkov et al., Section 7, recomputed and judged.

The paper truncates more often than it rounds, so a number agrees when it is within one unit of the last
printed digit.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from recrawl.control.chain import Chain
from recrawl.control.evaluate import Evaluator
from recrawl.control.policies import Combination, Optimum, best_thresholds, cost_curve
from recrawl.papers import _threshold_data as data
from recrawl.papers import _threshold_models as models
from recrawl.papers.row import Row, Verdict

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["figures", "rows"]

_PAPER = "Avrachenkov"

# What is known to be wrong, and why. Everything else has to agree.
_WRONG: dict[str, tuple[Verdict, str]] = {
    "Table 1, 4 or 3 or 1: cost": ("misprint", "repeats the cost of the next row"),
    "Table 2, K = 1: R": ("misprint", "(1 − 147.5/187.2) is 21.2 %"),
    "Table 2, K = 3: j*": ("misprint", "threshold 1 gives the printed cost"),
    "Table 2, K = 6: j*": ("misprint", "threshold 2 gives the printed cost"),
    "Table 2, K = 7: j*": ("misprint", "threshold 2 gives the printed cost"),
    "Table 2, K = 8: C_1": ("misprint", "the column slipped by a row"),
    "Table 2, K = 9: C_1": ("misprint", "the column slipped by a row"),
    "Table 2, K = 10: C_1": ("misprint", "the column slipped by a row"),
    "Table 3, s = 3: modes and j*": ("misprint", "the printed cost belongs to 4 or 3 or 1"),
    "Table 3, s = 15: C*": ("misprint", "one robot always is stated as the optimum: C* = C_1"),
    "Table 4, s = 0.01: C*": ("misprint", "R is computed from 51.07"),
    "Table 4, s = 30: C_1": ("misprint", "230.42, not 230.45"),
}


def _unit(printed: str) -> float:
    """One unit of the last printed digit."""
    return 10.0 ** -len(printed.partition(".")[2])


def _judged(item: str, printed: str, computed: str, agrees: bool, note: str = "") -> Row:
    """A row; a disagreement that nobody has explained is an error of ours until it is."""
    if agrees:
        return Row(_PAPER, item, printed, computed, "agrees", note)
    verdict, why = _WRONG.get(item, ("misprint", "unexplained"))
    return Row(_PAPER, item, printed, computed, verdict, why)


def _number(item: str, printed: str, computed: float, note: str = "") -> Row:
    unit = _unit(printed)
    digits = max(0, round(-np.log10(unit))) + 1
    return _judged(item, printed, f"{computed:.{digits}f}", abs(computed - float(printed)) < unit, note)


def _same(item: str, printed: str, computed: str) -> Row:
    return _judged(item, printed, computed, printed == computed)


def _spelled(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers)) or "-"


def _costs(where: str, printed: list[str], optimum: Optimum) -> list[Row]:
    """C_1 ... C_4."""
    return [
        _number(f"{where}: C_{c.modes[0]}", text, c.cost)
        for text, c in zip(printed, optimum.fixed, strict=True)
    ]


def _section() -> list[Row]:
    """Numbers in the text before the tables."""
    model = models.base_model()
    rows = []
    printed = {
        "λ": ["1.28", "2.41", "3.125", "4.64"],
        "λ_g": ["0.853", "1.208", "2.5", "1.43"],
        "c_cor": ["-0.218", "-0.111", "0.02", "0.035"],
    }
    for mode in model.modes:
        place, b = mode.robots - 1, mode.arrivals
        for name, value in (("λ", b.rate), ("λ_g", b.batch_rate), ("c_cor", b.interval_correlation())):
            rows.append(_number(f"Section 7, {mode.robots} robots: {name}", printed[name][place], value))
    rows.append(_number("Section 7: mean service time", "0.657", model.service.mean))
    assert model.obsolescence is not None
    rows.append(_number("Section 7: mean time until obsolescence", "5", model.obsolescence.mean))
    states = Chain(models.with_obsolescence_variance(3.0, capacity=10)).states
    rows.append(
        Row(
            _PAPER,
            "Section 3: states for K = 10, W = M = R = 2",
            "2046",
            str(states),
            "misprint",
            "W(1 + M(R^K − 1)/(R − 1)): the exponent is K, not K − 1",
        )
    )
    return rows


def _combinations(table: str, name: str, optimum: Optimum) -> list[Row]:
    """A table of mode sets, thresholds and costs."""
    found = {c.modes: c for c in optimum.combinations}
    rows = []
    for line in table.strip().splitlines():
        modes, thresholds, cost = (part.strip() for part in line.split("|"))
        key = tuple(int(n) for n in modes.split())
        where = f"{name}, {' or '.join(modes.split())}"
        rows.append(
            _same(f"{where}: thresholds", ", ".join(thresholds.split()), _spelled(found[key].thresholds))
        )
        if name == "Table 1":
            rows.append(_number(f"{where}: cost", cost, found[key].cost))
    return rows


def _table1() -> list[Row]:
    optimum = best_thresholds(models.base_model())
    rows = _combinations(data.TABLE1, "Table 1", optimum)
    for text, c in zip(["149.91", "110.0", "89.405", "130.312"], optimum.fixed, strict=True):
        rows.append(_number(f"before Table 1: C_{c.modes[0]}", text, c.cost))
    rows.append(_number("after Table 1: profit, %", "28", optimum.profit_percent))
    return rows


def _table2() -> list[Row]:
    rows = []
    for line in data.TABLE2.strip().splitlines():
        capacity, threshold, best, *fixed, profit = line.split()
        optimum = best_thresholds(models.base_model(int(capacity)))
        where = f"Table 2, K = {capacity}"
        rows.append(_same(f"{where}: modes", "3, 1", _spelled(optimum.best.modes)))
        rows.append(_same(f"{where}: j*", threshold, _spelled(optimum.best.thresholds)))
        rows.append(_number(f"{where}: C*", best, optimum.best.cost))
        rows += _costs(where, fixed, optimum)
        rows.append(_number(f"{where}: R", profit, optimum.profit_percent))
    large = Evaluator(models.base_model(100))
    always = float(large.costs([large.model.assignment((4,) * 101)])[0])
    rows.append(
        Row(
            _PAPER,
            "Table 2: K > 30 is about the same as K = 30",
            "C_4 = 123.6",
            f"C_4 = {always:.1f} at K = 100",
            "false claim",
            "C_4 has not converged at K = 30",
        )
    )
    return rows


def _table3() -> list[Row]:
    rows = []
    for line in data.TABLE3.strip().splitlines():
        s, mean, modes, threshold, best, *fixed, profit = line.split()
        model = models.with_service_scale(float(s))
        optimum = best_thresholds(model)
        where = f"Table 3, s = {s}"
        rows.append(_number(f"{where}: b_1", mean, model.service.mean))
        printed = f"{' or '.join(reversed(modes.split(',')))} at {threshold}"
        computed = f"{' or '.join(map(str, optimum.best.modes))} at {_spelled(optimum.best.thresholds)}"
        rows.append(_same(f"{where}: modes and j*", printed, computed))
        rows.append(_number(f"{where}: C*", best, optimum.best.cost))
        rows += _costs(where, fixed, optimum)
        rows.append(_number(f"{where}: R", profit, optimum.profit_percent))
    return rows


def _table4() -> list[Row]:
    rows = []
    for line in data.TABLE4.strip().splitlines():
        s, mean, threshold, best, *fixed, profit = line.split()
        model = models.with_obsolescence_scale(float(s))
        optimum = best_thresholds(model)
        where = f"Table 4, s = {s}"
        assert model.obsolescence is not None
        rows.append(_number(f"{where}: g_1", mean, model.obsolescence.mean))
        rows.append(_same(f"{where}: modes", "3, 1", _spelled(optimum.best.modes)))
        rows.append(_same(f"{where}: j*", threshold, _spelled(optimum.best.thresholds)))
        rows.append(_number(f"{where}: C*", best, optimum.best.cost))
        rows += _costs(where, fixed, optimum)
        rows.append(_number(f"{where}: R", profit, optimum.profit_percent))
    return rows


def _table5() -> list[Row]:
    """Thresholds from the printed matrices (D₀ closed); costs also from the printed moments."""
    printed = best_thresholds(models.crawler_model())
    refitted = best_thresholds(models.refitted_model())
    rows = _combinations(data.TABLE5, "Table 5", printed)
    rounded = {c.modes: c.cost for c in printed.combinations}
    exact = {c.modes: c.cost for c in refitted.combinations}
    for line in data.TABLE5.strip().splitlines():
        modes, _, cost = (part.strip() for part in line.split("|"))
        key = tuple(int(n) for n in modes.split())
        close = abs(exact[key] / float(cost) - 1.0) < 2e-4
        note = f"from the printed moments, within 0.02 %; the rounded matrices give {rounded[key]:.2f}"
        where = f"Table 5, {' or '.join(modes.split())}: cost"
        rows.append(_judged(where, cost, f"{exact[key]:.2f}", close, note))
    rows.append(_number("after Table 5: profit, %", "9", refitted.profit_percent))
    return rows + _crawler_text()


def _crawler_text() -> list[Row]:
    """Numbers of the crawler's arrivals and service."""
    arrivals, printed_service = models.refitted_arrivals(), models.crawler_model().service
    rows = [
        _number(f"Table 5, {r} robots: λ", text, r * arrivals.rate)
        for r, text in zip((1, 2, 3, 4), ("0.0153", "0.0307", "0.046", "0.061"), strict=True)
    ]
    sizes = np.array(data.BATCH_SIZES)
    mean = float(sizes @ np.arange(1, 9) / sizes.sum())
    rows.append(
        _judged(
            "Table 5: mean batch size",
            "3.263389905223716",
            f"{mean:.7f}",
            abs(mean - 3.263389905223716) < 1e-6,
            "the probabilities are printed with eight digits",
        )
    )
    rows.append(_number("Table 5: mean service time", "8.2", printed_service.mean))
    rows.append(_number("Table 5: scv of service", "86.03", printed_service.scv))
    lags = [arrivals.interval_correlation(lag) for lag in range(1, 7)]
    scv = arrivals.interval_variance * arrivals.batch_rate**2
    rows.append(
        Row(
            _PAPER,
            "Table 5: lag correlations 1 ... 6",
            "0.622, 0.574, 0.555, 0.537, 0.523, 0.507",
            ", ".join(f"{lag:.3f}" for lag in lags),
            "false claim",
            f"two phases with diagonal D_0 allow at most (scv − 1)/(2 scv) = {(scv - 1) / (2 * scv):.3f}",
        )
    )
    off = np.array([[-0.0038, 0.0], [0.0, -0.0066]]) + np.array([[0.0037, 6.58e-5], [1.3e-4, 0.0064]])
    rows.append(
        Row(
            _PAPER,
            "Table 5: row sums of D_0 + A",
            "0, 0",
            ", ".join(f"{value:.3g}" for value in off.sum(axis=1)),
            "misprint",
            "the printed digits are too few; D_0 = −diag(A 1) closes the rows",
        )
    )
    return rows


def _claims() -> list[Row]:
    """What the text says of Figures 2, 3 and 4."""
    rows = []
    for alpha, text in ((1.521, "0.431"), (9.0, "5.798"), (4.0, "3.415")):
        rows.append(
            _number(
                f"Figure 2, α_1 = {alpha:g}: variance",
                text,
                models.with_service_variance(alpha).service.variance,
            )
        )
    for alpha in (5.0, 7.0, 9.0):
        optimum = best_thresholds(models.with_service_variance(alpha))
        pairs = [c for c in optimum.combinations if len(c.modes) == 2]
        two: Combination = min(pairs, key=lambda c: c.cost)
        rows.append(_same(f"Figure 3, α_1 = {alpha:g}: best two modes", "4, 1", _spelled(two.modes)))
        rows.append(
            Row(
                _PAPER,
                f"Figure 3, α_1 = {alpha:g}: best set of modes",
                "4, 1",
                _spelled(optimum.best.modes),
                "false claim" if optimum.best.modes != (4, 1) else "agrees",
                f"three modes cost {optimum.best.cost:.2f}, two {two.cost:.2f}",
            )
        )
    for alpha, threshold in ((0.2, "2"), (0.5, "2"), (1.0, "1"), (3.0, "1"), (7.0, "0")):
        best = best_thresholds(models.with_obsolescence_variance(alpha)).best
        rows.append(_same(f"Figure 4, α_1 = {alpha:g}: modes", "3, 1", _spelled(best.modes)))
        if alpha in (0.2, 7.0):  # "the optimal threshold decreases from 2 to 0"
            rows.append(_same(f"Figure 4, α_1 = {alpha:g}: j*", threshold, _spelled(best.thresholds)))
    law = models.with_obsolescence_variance(7.0).obsolescence
    assert law is not None
    rows.append(_number("Figure 4, α_1 = 7: variance", "449", law.variance))
    return rows


@cache
def _all_rows() -> tuple[Row, ...]:
    return (*_section(), *_table1(), *_table2(), *_table3(), *_table4(), *_table5(), *_claims())


def rows() -> list[Row]:
    """All printed numbers beside ours."""
    return list(_all_rows())


def figures() -> dict[str, dict[str, NDArray[np.float64]]]:
    """Curves of Figures 1-4: cost against the threshold 0 ... K − 1."""
    base = Evaluator(models.base_model())
    pairs = [(2, 1), (3, 1), (4, 1), (3, 2), (4, 2), (4, 3)]
    first = {f"{many} or {few} robots": cost_curve(base, (many, few)) for many, few in pairs}
    second, third, fourth = {}, {}, {}
    for alpha in (1.521, 3.0, 5.0, 7.0, 9.0):
        evaluator = Evaluator(models.with_service_variance(alpha))
        label = f"variance {evaluator.model.service.variance:.2f}"
        second[label] = cost_curve(evaluator, (3, 1))
        modes = (3, 1) if alpha < 4 else (4, 1)
        third[f"{label}, {modes[0]} or {modes[1]} robots"] = cost_curve(evaluator, modes)
    for alpha in (0.2, 0.5, 1.0, 3.0, 7.0):
        model = models.with_obsolescence_variance(alpha)
        assert model.obsolescence is not None
        fourth[f"variance {model.obsolescence.variance:.0f}"] = cost_curve(Evaluator(model), (3, 1))
    return {
        "figure1": first,
        "figure2": second,
        "figure3": third,
        "figure4": fourth,
    }
