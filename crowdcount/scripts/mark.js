"use strict";
// Heads are marked by dots, frame by frame, and saved as the file that `crowdcount train --counts` reads.

const dots = data.frames.map(() => []);
const complete = data.frames.map(() => false);
const pictures = [...document.querySelectorAll("#frames img")];
const region = data.region && element("path", { d: data.region, visibility: "hidden" });
let current = 0;
let isKept = true;

if (region) {
  const frame = `M-0.5,-0.5 h${data.width} v${data.height} h${-data.width} z `;
  element("path", { d: frame + data.region, class: "beyond", "fill-rule": "evenodd" });
  element("path", { d: data.region, class: "region" });
}
const marks = element("g", {});

const isInside = ([x, y]) => !region || region.isPointInFill(new DOMPoint(x, y));

// What was marked stays with the browser until the next time, where it may.
function keep() {
  try {
    localStorage.setItem(data.key, JSON.stringify({ dots, complete }));
    isKept = true;
  } catch {
    isKept = false;
  }
}

function restore() {
  try {
    const known = JSON.parse(localStorage.getItem(data.key));
    if (!known) return;
    dots.splice(0, dots.length, ...known.dots);
    complete.splice(0, complete.length, ...known.complete);
    current = Math.max(0, complete.indexOf(false));
  } catch {
    isKept = false;
  }
}

function show() {
  const { frame, time } = data.frames[current];
  const people = dots[current].filter(isInside).length;
  byId("picture").src = pictures[current].src;
  byId("which").textContent = `frame ${frame} (${time}), ${current + 1} of ${data.frames.length}`;
  byId("people").textContent = people === 1 ? "1 person" : `${people} people`;
  byId("complete").checked = complete[current];
  byId("next").textContent = dots[current].length ? "Complete, next ⏎" : "Nobody here, next ⏎";
  byId("done").textContent = `${complete.filter(Boolean).length} of ${data.frames.length} complete`;
  byId("save").disabled = !complete.some(Boolean);
  [...byId("strip").children].forEach((button, k) => {
    button.textContent = complete[k] ? dots[k].filter(isInside).length : "–";
    button.className = k === current ? "current" : "";
  });
  marks.replaceChildren();
  dots[current].forEach((dot, k) => {
    const [x, y] = dot;
    const kind = isInside(dot) ? "dot" : "dot outside";
    element("circle", { cx: x, cy: y, r: onScreen(5), class: kind, "data-dot": k }, marks);
  });
}

function change(action) {
  action();
  keep();
  show();
}

function turnTo(k) {
  current = Math.min(Math.max(k, 0), data.frames.length - 1);
  show();
}

function csv() {
  const lines = ["frame,x,y"];
  data.frames.forEach(({ frame }, k) => {
    if (!complete[k]) return;
    if (!dots[k].length) lines.push(`${frame},,`);
    for (const [x, y] of dots[k]) lines.push(`${frame},${x.toFixed(1)},${y.toFixed(1)}`);
  });
  return lines.join("\n") + "\n";
}

function save() {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
  link.download = data.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// Go on with a file that was saved before.
function open(text) {
  const [header, ...lines] = text.split(/\r?\n/).filter((line) => line.trim());
  const rows = lines.map((line) => line.split(","));
  const numbers = data.frames.map(({ frame }) => String(frame));
  if (header !== "frame,x,y" || !rows.every((row) => row.length === 3 && numbers.includes(row[0]))) {
    alert("This is no file of dots of these frames: a file that this page saved is expected.");
    return;
  }
  change(() => {
    const found = new Map();
    for (const [frame, x, y] of rows) {
      const k = numbers.indexOf(frame);
      if (!found.has(k)) found.set(k, []);
      if (x) found.get(k).push([Number(x), Number(y)]);
    }
    for (const [k, points] of found) [dots[k], complete[k]] = [points, true];
  });
}

data.frames.forEach(({ frame, time }, k) => {
  const button = document.createElement("button");
  button.title = `frame ${frame} (${time})`;
  button.addEventListener("click", () => turnTo(k));
  byId("strip").append(button);
});

drawing.addEventListener("click", (event) => {
  const hit = event.target.dataset.dot;
  change(() => (hit === undefined ? dots[current].push(placeOf(event)) : dots[current].splice(hit, 1)));
});
byId("complete").addEventListener("change", (event) => change(() => (complete[current] = event.target.checked)));
byId("open").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  if (file) open(await file.text());
  event.target.value = "";
});
onCommand(
  {
    before: () => turnTo(current - 1),
    after: () => turnTo(current + 1),
    next: () => {
      change(() => (complete[current] = true));
      turnTo(current + 1);
    },
    undo: () => change(() => dots[current].pop()),
    save,
  },
  { ArrowLeft: "before", ArrowRight: "after", Enter: "next", Backspace: "undo" },
);
window.addEventListener("beforeunload", (event) => isKept || event.preventDefault());

restore();
byId("picture").addEventListener("load", show, { once: true });
show();
