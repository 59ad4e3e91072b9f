// The spectrum of one architecture: eigenvalues, bands, the data's share, what was measured; one SVG.
const NS = "http://www.w3.org/2000/svg";
const LEFT = 46, RIGHT = 10, INTERVAL = 2.2; // 95 % of a t distribution with 11 degrees of freedom

function svg(name, attributes, parent) {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.append(node);
  return node;
}

function text(parent, x, y, words, more = {}) {
  svg("text", { x, y, ...more }, parent).textContent = words;
}

// A logarithmic or linear scale from values to pixels.
function scaleFor(low, high, top, bottom, log) {
  const f = log ? Math.log10 : (x) => x;
  const span = f(high) - f(low) || 1;
  return { low, high, top, bottom, to: (v) => bottom - (f(Math.min(Math.max(v, low), high)) - f(low)) / span * (bottom - top) };
}

function decades(low, high, most) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const exponents = [];
  for (let k = first; k <= last; k += step) exponents.push(k);
  return exponents;
}

function power(k) {
  return k >= -2 && k <= 3 ? String(+(10 ** k).toPrecision(3)) : "1e" + k;
}

function logAxis(root, scale, right) {
  for (const k of decades(scale.low, scale.high, Math.max(2, (scale.bottom - scale.top) / 26))) {
    const y = scale.to(10 ** k);
    svg("line", { x1: LEFT, x2: right, y1: y, y2: y, class: "grid" }, root);
    text(root, LEFT - 6, y + 4, power(k), { "text-anchor": "end" });
  }
}

function linearAxis(root, scale, right) {
  for (const v of [scale.low, scale.high]) {
    const y = scale.to(v);
    svg("line", { x1: LEFT, x2: right, y1: y, y2: y, class: "grid" }, root);
    text(root, LEFT - 6, y + 4, number(v, 3), { "text-anchor": "end" });
  }
}

function number(value, digits = 4) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e5 || size < 1e-3 ? value.toExponential(2) : String(+value.toPrecision(digits));
}

function indexAxis(root, x, size, y) {
  const marks = size < 8 ? [0, size - 1] : [0, 0.25, 0.5, 0.75, 1].map((p) => Math.round(p * (size - 1)));
  for (const i of marks) {
    text(root, x(i), y, i.toLocaleString("en"), { "text-anchor": i === 0 ? "start" : i === size - 1 ? "end" : "middle" });
  }
}

// Everything but the cursor. Returns what the cursor needs.
function drawSpectrum(place, one, width) {
  const parts = { spectrum: 200, strip: 14, forecast: one.forecast.length ? 92 : 0, data: one.shares ? 92 : 0, measured: one.measured.length ? 92 : 0 };
  const right = width - RIGHT, size = one.size;
  const x = (i) => LEFT + (size === 1 ? 0.5 : (i + 0.5) / size) * (right - LEFT);
  const height = 26 + parts.spectrum + 8 + parts.strip + parts.forecast + parts.data + parts.measured + 36;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  const scale = drawValues(root, one, x, 26, 26 + parts.spectrum, right);
  let y = 26 + parts.spectrum + 8;
  const panels = [[26, y + parts.strip]];
  drawStrip(root, one, size, right, y, parts.strip);
  y += parts.strip;
  for (const [high, drawPanel] of [[parts.forecast, drawForecast], [parts.data, drawShares], [parts.measured, drawMeasured]]) {
    if (!high) continue;
    drawPanel(root, one, x, y + 28, y + high, right);
    panels.push([y + 28, y + high]);
    y += high;
  }
  indexAxis(root, x, size, y + 16);
  text(root, (LEFT + right) / 2, y + 32, width < 420 ? "← large · index of direction · small →" : "← large eigenvalue · index of the direction · small eigenvalue →", { "text-anchor": "middle" });
  const cursor = svg("path", { class: "cursor" }, root), ring = svg("circle", { r: 5, class: "ring" }, root);
  place.replaceChildren(root);
  const move = (i) => {
    cursor.setAttribute("d", panels.map(([from, to]) => `M${x(i)} ${from}V${to}`).join(""));
    ring.setAttribute("cx", x(i));
    ring.setAttribute("cy", scale.to(one.values[Math.floor(i / one.copies)]));
  };
  const indexAt = (pixel) => Math.min(size - 1, Math.max(0, Math.floor((pixel * width - LEFT) / (right - LEFT) * size)));
  return { move, indexAt };
}

function drawValues(root, one, x, top, bottom, right) {
  const positive = one.values.filter((v) => v > 0);
  const high = Math.max(...positive.slice(0, 1), 1e-300) * 1.6, low = Math.min(positive[positive.length - 1], high / 10) / 1.6;
  const scale = scaleFor(low, high, top, bottom, true);
  text(root, 0, 13, "eigenvalue");
  for (const [first, last, , , certified, isNull] of one.bands) {
    if (!isNull) continue;
    svg("rect", { x: x(first - 0.5), y: top, width: x(last + 0.5) - x(first - 0.5), height: bottom - top, class: "nullspace" }, root);
    text(root, (x(first - 0.5) + x(last + 0.5)) / 2, (top + bottom) / 2, `${certified ? "null space" : "not seen yet"}, ${last - first + 1} directions`, { "text-anchor": "middle" });
  }
  logAxis(root, scale, right);
  const dots = { certified: "", uncertain: "" }, whiskers = { certified: "", uncertain: "" };
  for (const [first, window, , , , , group] of one.levels) {
    const alone = window === 0, kind = alone ? "certified" : "uncertain";
    for (let i = first; i < first + group; i++) {
      const row = Math.floor(i / one.copies), v = one.values[row], e = INTERVAL * one.errors[row];
      if (!(v > 0)) continue;
      const px = x(i).toFixed(1), py = scale.to(v);
      dots[kind] += alone ? `M${px} ${py.toFixed(1)}h.01` : `M${px} ${py.toFixed(1)}m-2.2-2.2l4.4 4.4m0-4.4l-4.4 4.4`;
      if (e > 0) whiskers[kind] += `M${px} ${scale.to(v - e > 0 ? v - e : low).toFixed(1)}V${scale.to(v + e).toFixed(1)}`;
    }
  }
  const thick = Math.max(2.4, Math.min(5, 0.8 * (right - LEFT) / one.size));
  for (const kind of ["certified", "uncertain"]) {
    svg("path", { d: whiskers[kind] || "M0 0", class: "whiskers " + kind }, root);
    svg("path", { d: dots[kind] || "M0 0", class: (kind === "certified" ? "dots " : "crosses ") + kind, ...(kind === "certified" ? { "stroke-width": thick } : {}) }, root);
  }
  return scale;
}

// Bands as a strip: where one ends and the next begins.
function drawStrip(root, one, size, right, y, height) {
  const unit = (right - LEFT) / size;
  text(root, LEFT - 6, y + 10, "bands", { "text-anchor": "end" });
  const paths = { certified: "", uncertain: "", null: "" };
  for (const [first, last, , , certified, isNull] of one.bands) {
    const gap = Math.min(1, unit * (last - first + 1) / 4), wide = unit * (last - first + 1) - gap;
    paths[isNull ? "null" : certified ? "certified" : "uncertain"] += `M${(LEFT + unit * first).toFixed(2)} ${y}h${wide.toFixed(2)}v${height - 2}h-${wide.toFixed(2)}z`;
  }
  for (const [kind, d] of Object.entries(paths)) if (d) svg("path", { d, class: "strip-" + kind }, root);
}

function drawShares(root, one, x, top, bottom, right) {
  const even = 1 / one.size, most = Math.max(even * 2, ...[one.shares.reduce((a, b) => Math.max(a, b), 0)]);
  const least = Math.min(even / 10, Math.max(one.shares.filter((s) => s > 0).reduce((a, b) => Math.min(a, b), even), most / 1e6));
  const scale = scaleFor(least, most, top, bottom, true);
  text(root, 0, top - 8, right < 420 ? `share of ${short(one.data)}; dashed: even` : `share of ${short(one.data)} on each direction; dashed: no preference`);
  logAxis(root, scale, right);
  const wide = Math.max(0.6, (right - LEFT) / one.size * 0.85);
  let d = "";
  for (let i = 0; i < one.size; i++) {
    const y = scale.to(one.shares[Math.floor(i / one.copies)]);
    d += `M${(x(i) - wide / 2).toFixed(2)} ${bottom}V${y.toFixed(1)}h${wide.toFixed(2)}V${bottom}z`;
  }
  svg("path", { d, class: "share" }, root);
  svg("line", { x1: LEFT, x2: right, y1: scale.to(even), y2: scale.to(even), class: "even" }, root);
}

function drawMeasured(root, one, x, top, bottom, right) {
  text(root, 0, top - 8, right < 420 ? "measured MSW2 (bars: standard error)" : "measured MSW2 after training (bars: standard error over seeds)");
  drawBands(root, one.measured, 0, "measured", x, top, bottom, right);
}

function drawForecast(root, one, x, top, bottom, right) {
  text(root, 0, top - 8, right < 420 ? "forecast drift (bars: standard error)" : "forecast drift, large is learned first (bars: standard error)");
  drawBands(root, one.forecast, -Infinity, "forecast", x, top, bottom, right);
}

// A value with its error for some bands.
function drawBands(root, values, least, kind, x, top, bottom, right) {
  const low = Math.min(...values.map((m) => m.mean - (m.error || 0))), high = Math.max(...values.map((m) => m.mean + (m.error || 0)));
  const scale = scaleFor(Math.max(least, low - (high - low) * 0.15), high + (high - low || 1) * 0.15, top, bottom, false);
  linearAxis(root, scale, right);
  for (const m of values) {
    const a = x(m.first), b = x(m.last), y = scale.to(m.mean), middle = (a + b) / 2;
    const e = m.error || 0;
    svg("path", { d: `M${a} ${y}H${b}M${middle} ${scale.to(m.mean - e)}V${scale.to(m.mean + e)}`, class: kind }, root);
    svg("rect", { x: middle - 3, y: y - 3, width: 6, height: 6, class: kind }, root);
  }
}

function short(words) {
  return words.length > 24 ? words.slice(0, 23) + "…" : words;
}
