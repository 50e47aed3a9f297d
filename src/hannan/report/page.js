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
  // Tiles choose rows by their word; the search box chooses rows and cards by what stands in them.
  const filters = [...document.querySelectorAll("[data-filter]")];
  const rows = [...document.querySelectorAll("tr[data-word]")];
  const cards = [...document.querySelectorAll(".card")];
  const read = (item) => (item.matches(".card") ? [...item.querySelectorAll("header, .words")] : [item]).map((part) => part.textContent).join(" ").toLowerCase();
  const texts = new Map([...rows, ...cards].map((item) => [item, read(item)]));
  const find = document.getElementById("find");
  const choose = () => {
    const word = filters.find((button) => button.getAttribute("aria-pressed") === "true")?.dataset.filter;
    const asked = (find?.value ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const told = (item) => asked.every((part) => texts.get(item).includes(part));
    for (const row of rows) row.hidden = (word !== undefined && row.dataset.word !== word) || !told(row);
    if (!find) return;
    for (const card of cards) card.hidden = !told(card);
    for (const section of document.querySelectorAll("section")) {
      const inside = section.querySelectorAll(".card");
      section.hidden = inside.length > 0 && [...inside].every((card) => card.hidden);
    }
    document.getElementById("found").textContent = asked.length ? `${cards.filter((card) => !card.hidden).length} of ${cards.length}` : "";
    window.dispatchEvent(new Event("resize"));
  };
  for (const button of filters) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      filters.forEach((other) => other.setAttribute("aria-pressed", String(other === button && on)));
      choose();
    });
  }
  if (find) {
    find.addEventListener("input", choose);
    document.addEventListener("keydown", (event) => {
      if (event.key === "/" && document.activeElement !== find) { event.preventDefault(); find.focus(); }
    });
    // Where one is, in the contents.
    const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) links.forEach((link, id) => link.classList.toggle("here", id === entry.target.id));
    }, { rootMargin: "0px 0px -80% 0px" });
    for (const section of document.querySelectorAll("section")) seen.observe(section);
  }
})();
