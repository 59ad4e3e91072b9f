// Eigenvectors from one byte a pixel: decoded, coloured, and their DFT energy. Nothing is kept but what is shown.
const BLUE_WHITE_RED = [[5, 48, 97], [67, 147, 195], [247, 247, 247], [214, 96, 77], [103, 0, 31]];
const VIRIDIS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];

function decode(text) {
  const bytes = atob(text);
  return Float32Array.from({ length: bytes.length }, (_, i) => (bytes.charCodeAt(i) - 128) / 127);
}

// A colour for x in [0, 1].
function colour(stops, x) {
  const place = Math.min(Math.max(x, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  return stops[low].map((part, i) => part + (place - low) * (stops[low + 1][i] - part));
}

// The squared magnitude of the DFT of a real (height, width) picture, frequency zero in the centre.
// One axis after the other: (h + w) h w products.
function dftEnergy(values, height, width) {
  let re = Float64Array.from(values), im = new Float64Array(values.length);
  for (const [n, stride, other, step] of [[width, 1, height, width], [height, width, width, 1]]) {
    const cos = Float64Array.from({ length: n }, (_, k) => Math.cos(2 * Math.PI * k / n));
    const sin = Float64Array.from({ length: n }, (_, k) => Math.sin(2 * Math.PI * k / n));
    const outRe = new Float64Array(re.length), outIm = new Float64Array(re.length);
    for (let line = 0; line < other; line++) {
      for (let k = 0; k < n; k++) {
        let a = 0, b = 0;
        for (let j = 0; j < n; j++) {
          const at = line * step + j * stride, phase = (k * j) % n;
          a += re[at] * cos[phase] + im[at] * sin[phase];
          b += im[at] * cos[phase] - re[at] * sin[phase];
        }
        outRe[line * step + ((k + (n >> 1)) % n) * stride] = a;
        outIm[line * step + ((k + (n >> 1)) % n) * stride] = b;
      }
    }
    re = outRe; im = outIm;
  }
  return re.map((a, i) => a * a + im[i] * im[i]);
}

// Mean distance from frequency zero, 1 for the highest along an axis.
function meanFrequency(energy, height, width) {
  let sum = 0, total = 0;
  energy.forEach((e, i) => {
    const y = height > 1 ? 2 * (Math.floor(i / width) - (height >> 1)) / height : 0;
    const x = width > 1 ? 2 * (i % width - (width >> 1)) / width : 0;
    sum += e * Math.hypot(x, y);
    total += e;
  });
  return total > 0 ? sum / total : 0;
}

function paintImage(canvas, values, height, width, stops, signed) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const top = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
  values.forEach((v, i) => {
    const [r, g, b] = colour(stops, signed ? (v / top + 1) / 2 : v / top);
    image.data.set([r, g, b, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

// A signal is a line around or above zero.
function paintSignal(canvas, values, signed) {
  canvas.width = 320;
  canvas.height = 160;
  canvas.style.imageRendering = "auto";
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement); // the canvas may not be on the page yet
  const top = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
  const y = (v) => signed ? 80 - 70 * v / top : 150 - 140 * v / top;
  context.strokeStyle = style.getPropertyValue("--line");
  context.beginPath();
  context.moveTo(0, y(0));
  context.lineTo(320, y(0));
  context.stroke();
  context.strokeStyle = style.getPropertyValue("--certified");
  context.lineWidth = 4;
  context.beginPath();
  values.forEach((v, i) => context.lineTo(320 * (i + 0.5) / values.length, y(v)));
  context.stroke();
}

function paint(canvas, values, shape, stops, signed) {
  if (shape.length === 1) paintSignal(canvas, values, signed);
  else paintImage(canvas, values, shape[0], shape[1], stops, signed);
}
