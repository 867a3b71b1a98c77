// Keys, theme, sliders, and the pages' live parts. Everything here is comfort: the pages read without it.
import { point, redraw, refresh, scan } from "./charts.js";
import { significant } from "./words.js";

const SLOW = 5; // every so many live notes

function theme() {
  const button = document.querySelector("[data-theme-toggle]");
  button.hidden = false;
  button.addEventListener("click", () => {
    const root = document.documentElement;
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("recrawl-theme", root.dataset.theme);
    } catch {
      // Not kept, then.
    }
    redraw();
  });
}

function keys() {
  document.addEventListener("keydown", (event) => {
    const writing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
    const box = document.querySelector("[data-find]");
    if (!box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}

function sliders() {
  document.addEventListener("input", (event) => {
    const slider = event.target;
    if (!slider.dataset?.factors) return;
    const factor = slider.dataset.factors.split(" ")[slider.value - slider.min];
    slider.setAttribute("aria-valuetext", `${significant(Number(factor))} times`);
  });
}

function confirmations() {
  document.addEventListener("submit", (event) => {
    const question = event.target.dataset?.confirm;
    if (question && !window.confirm(question)) event.preventDefault();
  });
}

function swaps() {
  document.body.addEventListener("htmx:afterSettle", () => {
    scan();
    const answer = document.querySelector("[data-here-x]");
    if (answer) point(Number(answer.dataset.hereX), Number(answer.dataset.hereY));
  });
}

// One stream of notes; each makes the live parts ask again, unless someone is reading an explanation.
function live() {
  let notes = 0;
  const stream = new EventSource("/api/events");
  stream.addEventListener("status", () => {
    document.body.dataset.stream = "open";
    if (document.hidden || document.querySelector(":popover-open")) return;
    if (document.activeElement?.closest("[hx-trigger^='live']")) return; // nobody loses the place they are at
    notes += 1;
    document.body.dispatchEvent(new CustomEvent("live"));
    if (notes % SLOW === 0) document.body.dispatchEvent(new CustomEvent("live-slow"));
    refresh();
  });
  stream.addEventListener("error", () => {
    document.body.dataset.stream = "closed";
  });
  addEventListener("pagehide", () => stream.close());
}

theme();
keys();
sliders();
confirmations();
swaps();
scan();
refresh();
live();
