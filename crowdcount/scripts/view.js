"use strict";
// A picture with a drawing over it, in the frame's own pixels: the centre of its first pixel is 0,0.

const SVG = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
const sheet = document.getElementById("sheet");
const drawing = document.getElementById("drawing");
const byId = (id) => document.getElementById(id);

drawing.setAttribute("viewBox", `-0.5 -0.5 ${data.width} ${data.height}`);
sheet.style.setProperty("--aspect", data.width / data.height);

// An element of the drawing.
function element(name, attributes, parent = drawing) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  parent.append(made);
  return made;
}

// Where in the frame somebody points, at its border where it is beyond.
function placeOf(event) {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawing.getScreenCTM().inverse());
  const within = (value, size) => Math.min(Math.max(value, -0.5), size - 0.5);
  return [within(point.x, data.width), within(point.y, data.height)];
}

// So many pixels of the screen in the frame's.
const onScreen = (length) => length / drawing.getScreenCTM().a;

let zoom = 1;

// Enlarge the picture; what is in the middle of the view stays there.
function enlarge(factor) {
  const view = stage.getBoundingClientRect();
  const before = sheet.getBoundingClientRect();
  zoom = Math.min(Math.max(zoom * factor, 1), 8);
  sheet.style.setProperty("--zoom", zoom);
  const after = sheet.getBoundingClientRect();
  const shift = (middle, from, to) => to + ((middle - from) * after.width) / before.width - middle;
  stage.scrollLeft += shift(view.left + view.width / 2, before.left, after.left);
  stage.scrollTop += shift(view.top + view.height / 2, before.top, after.top);
  show();
}

// Let buttons and keys do the same. `actions`: by the button's id; `keys`: which id a key stands for.
function onCommand(actions, keys) {
  const all = { larger: () => enlarge(1.5), smaller: () => enlarge(1 / 1.5), ...actions };
  for (const [id, action] of Object.entries(all)) byId(id)?.addEventListener("click", action);
  // A button that is clicked takes no focus, so that Enter is the page's; one that is gone to by Tab does.
  document.addEventListener("mousedown", (event) => event.target.closest("button") && event.preventDefault());
  document.addEventListener("keydown", (event) => {
    const id = { "+": "larger", "=": "larger", "-": "smaller", ...keys }[event.key];
    if (!id || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches("input[type=file], textarea")) return;
    if (event.key === "Enter" && event.target.matches("button")) return;
    event.preventDefault();
    if (!event.repeat || event.key !== "Enter") all[id](); // a key held down completes one frame, not all
  });
  window.addEventListener("resize", show);
}
