"use strict";
// A region, people and an axis are drawn on frames and told as the command that makes a scene of them.

const pictures = [...document.querySelectorAll("#frames img")];
const polygons = data.polygons; // closed, but for the last one while `isOpen`
const people = data.people; // [x, foot y, height]
let axis = data.axis;
let isOpen = false;
let current = 0;
let pressed = null; // where a person's feet or an axis begin, while the button is held

for (const [x, y, height] of data.figures) {
  const place = { x: x - 0.2 * height, y: y - height / 2, width: 0.4 * height, height };
  element("rect", { ...place, class: "figure" });
}
if (data.region) element("path", { d: data.region, class: "known" });
const drawn = element("g", {});

const tool = () => document.querySelector("input[name=tool]:checked").value;
const whole = (values) => values.map(Math.round);
const within = ([x, y]) => whole([Math.min(Math.max(x, 0), data.width - 1), Math.min(Math.max(y, 0), data.height - 1)]);
const isNear = (a, b, pixels = 8) => Math.hypot(a[0] - b[0], a[1] - b[1]) < onScreen(pixels);

function command() {
  const parts = [data.command];
  for (const polygon of polygons.filter((corners) => corners.length > 2)) {
    parts.push(`--roi "${polygon.map((point) => point.join(",")).join(" ")}"`);
  }
  for (const person of people) parts.push(`--person ${person.join(",")}`);
  if (axis) parts.push(`--axis "${axis.map((point) => point.join(",")).join(" ")}"`);
  return [...parts, data.ending].join(" ");
}

function line(from, to, kind) {
  element("line", { x1: from[0], y1: from[1], x2: to[0], y2: to[1], class: kind }, drawn);
}

function show() {
  const { frame, time } = data.frames[current];
  byId("picture").src = pictures[current].src;
  byId("which").textContent = `frame ${frame} (${time}), ${current + 1} of ${data.frames.length}`;
  byId("command").value = command();
  byId("hint").textContent = isOpen
    ? "a click on the first corner, or Enter, closes the polygon"
    : people.length === 1
      ? "one more person: one far away and one near are needed"
      : "";
  drawn.replaceChildren();
  polygons.forEach((polygon, k) => {
    const closed = !(isOpen && k === polygons.length - 1);
    element(closed ? "polygon" : "polyline", { points: polygon.join(" "), class: closed ? "roi" : "roi open" }, drawn);
    for (const [x, y] of polygon) element("circle", { cx: x, cy: y, r: onScreen(4), class: "corner" }, drawn);
  });
  for (const [x, foot, height] of people) {
    line([x, foot], [x, foot - height], "person");
    line([x - 0.15 * height, foot], [x + 0.15 * height, foot], "person");
    line([x - 0.15 * height, foot - height], [x + 0.15 * height, foot - height], "person");
  }
  if (axis) {
    line(...axis, "axis");
    element("circle", { cx: axis[1][0], cy: axis[1][1], r: onScreen(6), class: "tip" }, drawn);
  }
}

function close() {
  if (!isOpen || polygons.at(-1).length < 3) return;
  isOpen = false;
  show();
}

function corner(point) {
  if (!isOpen) polygons.push([]);
  const polygon = polygons.at(-1);
  if (isOpen && polygon.length > 2 && isNear(point, polygon[0])) return close();
  isOpen = true;
  if (!polygon.length || !isNear(point, polygon.at(-1), 2)) polygon.push(point);
  show();
}

// From the feet to the head, or from where to where people walk.
function stroke(from, to) {
  if (tool() === "axis" && !isNear(from, to, 4)) axis = [from, to];
  if (tool() === "person" && Math.abs(from[1] - to[1]) >= onScreen(4)) {
    people.push([from[0], Math.max(from[1], to[1]), Math.abs(from[1] - to[1])]);
  }
  show();
}

function undo() {
  if (tool() === "axis") axis = null;
  else if (tool() === "person") people.pop();
  else if (polygons.length) {
    polygons.at(-1).pop();
    isOpen = polygons.at(-1).length > 0;
    if (!isOpen) polygons.pop();
  }
  show();
}

function turnTo(k) {
  current = Math.min(Math.max(k, 0), data.frames.length - 1);
  show();
}

drawing.style.touchAction = "none"; // fingers draw here, and do not scroll
drawing.addEventListener("pointerdown", (event) => {
  if (event.button) return;
  pressed = within(placeOf(event));
  drawing.setPointerCapture(event.pointerId);
});
drawing.addEventListener("pointermove", (event) => {
  if (!pressed || tool() === "region") return;
  show();
  line(pressed, within(placeOf(event)), tool());
});
drawing.addEventListener("pointercancel", () => {
  pressed = null;
  show();
});
drawing.addEventListener("pointerup", (event) => {
  if (!pressed) return;
  const from = pressed;
  pressed = null;
  if (tool() === "region") corner(within(placeOf(event)));
  else stroke(from, within(placeOf(event)));
});
byId("copy").addEventListener("click", async () => {
  byId("command").select();
  await navigator.clipboard?.writeText(byId("command").value).catch(() => {}); // it is selected at least
});
onCommand(
  { before: () => turnTo(current - 1), after: () => turnTo(current + 1), close, undo },
  { ArrowLeft: "before", ArrowRight: "after", Enter: "close", Backspace: "undo" },
);
byId("picture").addEventListener("load", show, { once: true });
show();
