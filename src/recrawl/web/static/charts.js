// Charts: data-plot is an element's description as JSON; data-src names the history it follows.
import { RATES, kinds, significant } from "./words.js";

const FONT = "12px system-ui, sans-serif";
const STEPS = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** (power - 6))).flat();
// Times of the axis in 24 hours: step, label, and what is added below where the day or year begins.
const DAY = "\n{YYYY}-{MM}-{DD}";
const TIMES = [
  [86400 * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DAY, null, DAY, null, null, null, 1],
  [1, "{HH}:{mm}:{ss}", DAY, null, DAY, null, null, null, 1],
];

const plots = new Map(); // element -> {plot, spec, src}
const dark = matchMedia("(prefers-color-scheme: dark)");

// Tokens are light-dark() pairs: only the browser can say which colour they are now.
function colour(name) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function faded(text, alpha) {
  const numbers = text.match(/[\d.]+/g);
  return text.startsWith("rgb") && numbers ? `rgba(${numbers.slice(0, 3).join(",")},${alpha})` : text;
}

// A scale that begins at zero where the description says so, and never is empty.
function extent(spec) {
  return (_plot, low, high) => {
    if (low === null || high === null) return [0, 1];
    if (spec.log_y) return [low / 1.3, high * 1.3];
    const floor = spec.from_zero ? 0 : Math.max(0, low - 0.1 * (high - low));
    const roof = high + 0.12 * (high - floor || Math.abs(high) || 1);
    return [floor, spec.y === "percent" ? Math.min(roof, 102) : roof];
  };
}

// Time and plain numbers fill the width from the first to the last; history says itself from when to when.
function ranged(spec) {
  const whole = (low, high) => (low === high ? [low - 1, high + 1] : [low, high]);
  return { range: (_plot, low, high) => spec.x_range || (low === null ? [0, 1] : whole(low, high)) };
}

function seriesOf(one, spec, palette) {
  const tone = palette[one.tone || "accent"];
  const series = {
    label: one.label,
    stroke: tone,
    width: one.kind === "edge" ? 0 : 2,
    spanGaps: false,
    points: { show: one.kind === "points", size: 6, fill: tone },
  };
  if (one.dash) series.dash = [6, 4];
  if (one.kind === "area") series.fill = faded(tone, 0.12);
  if (one.kind === "steps") {
    series.paths = uPlot.paths.stepped({ align: 1 });
    series.fill = faded(tone, 0.25);
    series.width = 1;
  }
  if (one.kind === "step") series.paths = uPlot.paths.stepped({ align: 1 });
  if (one.kind === "bars") {
    series.paths = uPlot.paths.bars({ size: [0.7, 40] });
    series.fill = faded(tone, 0.6);
    series.width = 0;
  }
  return series;
}

// One unit for all numbers of the axis, so that they can be compared, and round steps in that unit.
function unitOf(spec) {
  if (spec.y === "percent") return { factor: 100, name: "\u202f%" };
  if (spec.y !== "rate") return { factor: 1, name: "" };
  const numbers = spec.data[1].filter((v) => v !== null).sort((a, b) => a - b);
  const typical = numbers.length ? numbers[Math.floor(numbers.length / 2)] : 1;
  const [seconds, name] = RATES.find(([each]) => typical * each >= 0.9995) || RATES.at(-1);
  return { factor: seconds, name: `/${name}` };
}

function inUnit(spec, unit) {
  return [spec.data[0], ...spec.data.slice(1).map((column) => column.map((v) => (v === null ? null : v * unit.factor)))];
}

function multiples(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => (first + n) * step);
}

function axes(spec, palette, unit) {
  const common = {
    stroke: palette.soft, font: FONT, grid: { stroke: palette.line, width: 1 }, ticks: { stroke: palette.line, width: 1, size: 4 },
  };
  const few = { filter: thinned, grid: { ...common.grid, filter: thinned }, ticks: { ...common.ticks, filter: thinned } };
  const across = { ...common, label: spec.x_label, labelSize: 16, labelGap: 0, labelFont: FONT, size: spec.x === "time" ? 42 : 30 };
  if (spec.x === "time") {
    across.values = TIMES;
    across.space = 64;
  } else {
    across.values = (_plot, places) => places.map((v) => (v === null ? "" : kinds[spec.x](v)));
    across.space = 44;
    if (spec.x === "number") across.incrs = STEPS.filter((step) => step >= 1);
  }
  const up = { ...common, size: 56, space: 34, incrs: STEPS };
  up.values = (_plot, places) => places.map((v) => (v === null ? "" : significant(v) + unit.name));
  if (!spec.log_y) up.splits = (_plot, _axis, low, high, step) => multiples(low, high, step);
  return [spec.log_x ? { ...across, ...few } : across, spec.log_y ? { ...up, ...few } : up];
}

// On a logarithmic axis only 1, 2 and 5 have room for a number; over many decades only 1 has.
function thinned(plot, places) {
  const wide = places.length && Math.log10(places.at(-1) / places[0]) > 3;
  const kept = wide ? [1] : [1, 2, 5];
  return places.map((v) => (kept.includes(Math.round(v / 10 ** Math.floor(Math.log10(v) + 1e-9))) ? v : null));
}

function tip(spec) {
  let box;
  return {
    hooks: {
      init: (plot) => {
        box = document.createElement("div");
        box.className = "u-tip";
        box.hidden = true;
        plot.over.append(box);
      },
      setCursor: (plot) => {
        const { idx, left } = plot.cursor;
        const shown = idx !== null && idx !== undefined && left >= 0;
        box.hidden = !shown;
        if (!shown) return;
        const head = document.createElement("b");
        head.textContent = kinds[spec.x](plot.data[0][idx]) + (spec.x_label ? ` ${spec.x_label}` : "");
        const rows = spec.series.map((one, place) => {
          const row = document.createElement("div");
          row.textContent = `${one.label}: ${kinds[spec.y](spec.data[place + 1][idx])}`;
          return row;
        });
        box.replaceChildren(head, ...rows);
        const right = left > plot.over.clientWidth / 2;
        box.style.left = right ? "" : `${left + 12}px`;
        box.style.right = right ? `${plot.over.clientWidth - left + 12}px` : "";
        box.style.top = "4px";
      },
    },
  };
}

// The point that is spoken of: a ring on the curve, and level lines.
function marks(spec, palette, unit) {
  return {
    hooks: {
      draw: (plot) => {
        const pen = plot.ctx;
        const ratio = devicePixelRatio;
        const { left, top, width, height } = plot.bbox;
        pen.save();
        pen.beginPath();
        pen.rect(left, top, width, height);
        pen.clip();
        for (const level of spec.levels || []) {
          const y = plot.valToPos(level.y * unit.factor, "y", true);
          pen.strokeStyle = palette[level.tone || "second"];
          pen.lineWidth = 1.5 * ratio;
          pen.setLineDash([5 * ratio, 4 * ratio]);
          pen.beginPath();
          pen.moveTo(left, y);
          pen.lineTo(left + width, y);
          pen.stroke();
        }
        pen.setLineDash([]);
        for (const time of spec.moments || []) {
          const x = plot.valToPos(time, "x", true);
          pen.strokeStyle = palette.second;
          pen.lineWidth = ratio;
          pen.beginPath();
          pen.moveTo(x, top);
          pen.lineTo(x, top + height);
          pen.stroke();
        }
        if (spec.here) {
          pen.strokeStyle = palette.bad;
          pen.fillStyle = palette.panel;
          pen.lineWidth = 2.5 * ratio;
          pen.beginPath();
          pen.arc(plot.valToPos(spec.here[0], "x", true), plot.valToPos(spec.here[1] * unit.factor, "y", true), 5.5 * ratio, 0, 7);
          pen.fill();
          pen.stroke();
        }
        pen.restore();
      },
    },
  };
}

function draw(element) {
  const known = plots.get(element);
  const spec = known ? known.spec : JSON.parse(element.dataset.plot);
  known?.plot.destroy();
  const palette = Object.fromEntries(
    ["accent", "second", "third", "bad", "ink", "soft", "line", "panel"].map((name) => [name, colour(name)]),
  );
  const unit = unitOf(spec);
  const options = {
    width: element.clientWidth,
    height: element.clientHeight,
    tzDate: (stamp) => uPlot.tzDate(new Date(stamp * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, points: { size: 7 }, drag: { setScale: false, x: false } },
    scales: {
      x: { time: spec.x === "time", distr: spec.log_x ? 3 : 1, ...ranged(spec) },
      y: { range: extent(spec), distr: spec.log_y ? 3 : 1 },
    },
    series: [{}, ...spec.series.map((one) => seriesOf(one, spec, palette))],
    axes: axes(spec, palette, unit),
    plugins: [tip(spec), marks(spec, palette, unit)],
    bands: (spec.bands || []).map((pair) => ({ series: pair, fill: faded(palette.accent, 0.18) })),
    padding: [8, 22, 0, 0],
  };
  const plot = new uPlot(options, inUnit(spec, unit), element);
  plot.root.setAttribute("aria-hidden", "true"); // the table below says the same
  plots.set(element, { plot, spec, unit, src: element.dataset.src, next: known?.next || 0 });
  if (element.dataset.slider) followPointer(element, plot, spec);
  return plot;
}

// A click on the curve moves its slider there.
function followPointer(element, plot, spec) {
  const slider = document.getElementById(element.dataset.slider);
  if (!slider) return;
  plot.over.addEventListener("click", () => {
    const x = plot.posToVal(plot.cursor.left, "x");
    const factors = slider.dataset.factors.split(" ").map(Number);
    const distance = factors.map((factor) => Math.abs(Math.log(factor * spec.base) - Math.log(x)));
    slider.value = Number(slider.min) + distance.indexOf(Math.min(...distance));
    slider.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

// The point that an answer speaks of.
export function point(x, y) {
  for (const entry of plots.values()) {
    if (!entry.spec.base) continue;
    entry.spec.here = [x, y];
    entry.plot.redraw(false);
  }
}

async function follow(element) {
  const entry = plots.get(element);
  if (!entry?.src || performance.now() < entry.next || document.hidden) return;
  entry.next = performance.now() + 1500;
  const answer = await fetch(entry.src, { headers: { Accept: "application/json" } });
  if (!answer.ok || plots.get(element) !== entry) return;
  const history = await answer.json();
  entry.next = performance.now() + 1000 * Math.min(60, Math.max(1.5, history.step_seconds));
  entry.spec.data = [history.times, ...entry.spec.series.map((one) => history.series[one.name] || history.times.map(() => null))];
  const first = history.times.length ? history.times[0] : history.begin; // a young engine fills the width too
  entry.spec.x_range = [Math.max(history.begin, Math.min(first, history.end - 30)), history.end];
  if (unitOf(entry.spec).name === entry.unit.name) entry.plot.setData(inUnit(entry.spec, entry.unit));
  else draw(element);
}

export function refresh() {
  return Promise.allSettled([...plots.keys()].map(follow));
}

export function redraw() {
  for (const element of plots.keys()) draw(element);
}

// Draw what is new, forget what has left the page.
export function scan(root = document) {
  for (const element of plots.keys()) {
    if (element.isConnected) continue;
    plots.get(element).plot.destroy();
    plots.delete(element);
    sizes.unobserve(element);
  }
  for (const element of root.querySelectorAll("[data-plot]")) {
    if (plots.has(element)) continue;
    draw(element);
    sizes.observe(element);
  }
}

const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const entry = plots.get(target);
    if (entry && entry.plot.width !== target.clientWidth) {
      entry.plot.setSize({ width: target.clientWidth, height: entry.plot.height });
    }
  }
});

dark.addEventListener("change", redraw);
