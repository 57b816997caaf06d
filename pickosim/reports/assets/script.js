// Draws the charts to the width of the page and in its colours, sorts tables, offers tables as CSV.

const { specs, themes, tables } = JSON.parse(document.getElementById("report").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const views = new Map();

// ---------------------------------------------------------------------------------------- charts

// How many small charts there is room for side by side, each as wide as its title needs.
function columnsIn(spec, room, most) {
  const { panels = 0, panel } = spec.usermeta ?? {};
  return panels ? Math.max(1, Math.min(panels, most, Math.floor(room / panel))) : 1;
}

// A spec as wide as asked for; its labels, and the gaps between small charts, take `less`.
function fitted(spec, width, less, columns) {
  const copy = structuredClone(spec);
  const { panels = 0 } = copy.usermeta ?? {};
  if (panels) copy.columns = columns;
  (panels ? copy.spec : copy).width = Math.max(40, Math.floor((width - less) / columns));
  return copy;
}

// A theme whose legends break into lines where they would be too wide.
function themed(spec, width, scheme) {
  const letters = spec.usermeta?.legend;
  const columns = letters ? Math.max(1, Math.floor(width / (8 * letters + 40))) : 0;
  return { ...themes[scheme], legend: { ...themes[scheme].legend, columns } };
}

// Labels take room that only drawing tells: so it is drawn, measured, and drawn again.
async function draw(holder, scheme) {
  const spec = specs[holder.dataset.chart];
  const width = holder.clientWidth;
  if (!width) return;
  const options = { mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTip };
  const config = themed(spec, width, scheme);
  let less = 60;
  let columns = 4;
  for (let tries = 0; tries < 5; tries += 1) {
    columns = columnsIn(spec, width - less, columns);
    views.get(holder)?.finalize();
    views.set(holder, await vegaEmbed(holder, fitted(spec, width, less, columns), { ...options, config }));
    const over = holder.querySelector("svg").width.baseVal.value - width;
    if (over <= 0 && over > -6) break;
    less += Math.ceil(over) + 2;
  }
}

const holders = [...document.querySelectorAll("[data-chart]")];
const drawn = new Map();

// One drawing at a time; whatever is asked for meanwhile is drawn after it.
let turn = Promise.resolve();

function drawAll() {
  turn = turn.then(async () => {
    for (const holder of holders) {
      drawn.set(holder, holder.clientWidth);
      holder.dataset.scheme = dark.matches ? "dark" : "light";
      await draw(holder, holder.dataset.scheme);
    }
  });
  return turn;
}

const tip = document.getElementById("tip");

function showTip(_, event, item, value) {
  tip.hidden = value == null || value === "";
  if (tip.hidden) return;
  tip.textContent = String(value);
  const { clientX: x, clientY: y } = event.touches?.[0] ?? event;
  const right = Math.max(8, Math.min(x + 12, innerWidth - tip.offsetWidth - 8));
  const below = y + 16 + tip.offsetHeight < innerHeight ? y + 16 : y - 12 - tip.offsetHeight;
  tip.style.left = `${right}px`;
  tip.style.top = `${below}px`;
}

let waiting;
new ResizeObserver(() => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (holders.some((holder) => holder.clientWidth !== drawn.get(holder))) drawAll();
  }, 120);
}).observe(document.body);

dark.addEventListener("change", () => drawAll());
const ready = drawAll();

// ---------------------------------------------------------------------------------------- tables

function valueOf(row, column) {
  const cell = row.cells[column];
  const value = cell.dataset.value ?? cell.textContent;
  return cell.classList.contains("text") ? value : value === "" ? null : Number(value);
}

// What has no value stands last, whichever way the rest is sorted.
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  return sign * (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
}

function sort(heading) {
  const table = heading.closest("table");
  const body = table.tBodies[0];
  const column = heading.cellIndex;
  const isText = heading.classList.contains("text");
  const now = heading.ariaSort;
  const way = now ? (now === "ascending" ? "descending" : "ascending") : isText ? "ascending" : "descending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", way);
  const sign = way === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
  rows.sort(([a], [b]) => compare(a, b, sign));
  body.append(...rows.map(([, row]) => row));
}

for (const heading of document.querySelectorAll("table.sortable thead th")) {
  heading.querySelector("button").addEventListener("click", () => sort(heading));
}

for (const button of document.querySelectorAll("button.csv")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([tables[button.dataset.table]], { type: "text/csv" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `${button.dataset.table}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });
}

// Tables that are wider than the page say so; one that is folded is measured when it is opened.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) target.classList.toggle("wide", target.scrollWidth > target.clientWidth + 1);
});
for (const box of document.querySelectorAll(".scroll")) widths.observe(box);

await ready;
document.documentElement.dataset.ready = "true";
