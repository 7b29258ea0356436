"use strict";
(() => {
  const form = document.querySelector("form.tools");
  const list = document.querySelector(".rows");
  const rows = [...list.children];
  const buttons = [...form.querySelectorAll("button[name=sort]")];
  const places = new Map(rows.map((row) => [row, row.querySelector("summary").textContent.toLowerCase()]));
  const number = (row, key) => (row.dataset[key] === "" ? null : Number(row.dataset[key]));
  const keys = {
    order: (row) => number(row, "order"), name: (row) => row.dataset.name, verdict: (row) => number(row, "weight"),
    speed: (row) => number(row, "speed"), "first call": (row) => number(row, "first"),
  };
  let by = "order", down = false;

  const compare = (a, b) => {
    const one = keys[by](a), two = keys[by](b);
    if (one === null || two === null) return (one === null) - (two === null); // what has none stays at the end
    const found = typeof one === "string" ? one.localeCompare(two, undefined, { numeric: true }) : one - two;
    return (down ? -found : found) || number(a, "order") - number(b, "order");
  };

  const show = () => {
    const words = form.elements.find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = [...form.querySelectorAll("select")].filter((each) => each.value);
    let left = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => places.get(row).includes(word))
        || !chosen.every((each) => row.dataset[each.name] === each.value);
      left += !row.hidden;
    }
    form.querySelector("output").textContent = `${left} of ${rows.length}`;
  };

  for (const button of buttons) {
    button.addEventListener("click", () => {
      down = by === button.value ? !down : button.value === "speed" || button.value === "first call";
      by = button.value;
      for (const each of buttons) {
        each.setAttribute("aria-pressed", String(each === button));
        each.dataset.down = String(each === button && down);
      }
      list.append(...rows.sort(compare));
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", show);
  form.hidden = false;
  show();
})();
