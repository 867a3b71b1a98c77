// Numbers as people read them; the same rules as wording.py.
const THIN = "\u202f";
const SPANS = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"]];
export const RATES = [[1, "s"], [60, "min"], [3600, "h"], [86400, "d"]];

export function significant(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size < -5 || size > 14) return value.toExponential(digits - 2);
  const decimals = Math.max(0, digits - 1 - size);
  return value.toLocaleString("en-US", { maximumFractionDigits: Math.min(decimals, 20) });
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return "–";
  if (share >= 0.9995 && share < 1) return `>99.9${THIN}%`;
  if (share > 0 && share < 1e-4) return `<0.01${THIN}%`;
  return `${significant(100 * share)}${THIN}%`;
}

export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined || !Number.isFinite(perSecond)) return "–";
  if (perSecond === 0) return "0/s";
  for (const [seconds, unit] of RATES) {
    if (perSecond * seconds >= 0.9995) return `${significant(perSecond * seconds)}/${unit}`;
  }
  return `${significant(perSecond * 86400)}/d`;
}

export function span(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  for (const [size, unit] of SPANS) {
    if (Math.abs(seconds) >= size) return `${significant(seconds / size)}${THIN}${unit}`;
  }
  return seconds === 0 ? `0${THIN}s` : `${significant(seconds / 1e-3)}${THIN}ms`;
}

// A time in UTC, as the tables show it.
export function clock(time) {
  return new Date(1000 * time).toISOString().slice(0, 19).replace("T", " ");
}

export const kinds = { percent, rate, span, number: significant, time: clock };
