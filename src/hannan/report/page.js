"use strict";
(() => {
  const root = document.documentElement;
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.getElementById("theme").addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; });

  const key = (row, column) => {
    const text = row.cells[column].dataset.sort ?? row.cells[column].textContent;
    const value = Number(text);
    return text !== "" && !Number.isNaN(value) ? value : text === "inf" ? Infinity : text === "-inf" ? -Infinity : text;
  };
  const compare = (a, b) => {
    const numbers = typeof a === "number" && typeof b === "number";
    if (numbers) return a - b;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    return a.localeCompare(b);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((a, b) => compare(key(a, column), key(b, column)) * (down ? -1 : 1));
      body.append(...rows);
    }));
  }
  // What was folded had no width to be drawn in.
  for (const fold of document.querySelectorAll("details.fold")) fold.addEventListener("toggle", () => window.dispatchEvent(new Event("resize")));
  const filters = [...document.querySelectorAll("[data-filter]")];
  for (const button of filters) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      filters.forEach((other) => other.setAttribute("aria-pressed", String(other === button && on)));
      for (const row of document.querySelectorAll("tr[data-word]")) row.hidden = on && row.dataset.word !== button.dataset.filter;
    });
  }
})();
