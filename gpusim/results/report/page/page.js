"use strict";
// Sorting by the heads of tables, tabs by mouse and arrow keys, and the search over metrics. Without it all is readable.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      const told = cell.dataset.v ?? cell.textContent;
      const number = Number(told.replace(/,/g, "").replace(/ .*/, ""));
      return told.trim() === "" || Number.isNaN(number) ? told : number;
    };
    const order = (a, b) => typeof a === typeof b
      ? (typeof a === "number" ? a - b : a.localeCompare(b)) : (typeof a === "number" ? -1 : 1);
    const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
    rows.sort((a, b) => (down ? -1 : 1) * order(a[0], b[0]));
    table.tBodies[0].append(...rows.map((pair) => pair[1]));
  }));
}
for (const list of document.querySelectorAll("[role=tablist]")) {
  const tabs = [...list.querySelectorAll("[role=tab]")];
  const choose = (chosen) => tabs.forEach((tab) => {
    const on = tab === chosen;
    tab.setAttribute("aria-selected", String(on));
    tab.tabIndex = on ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
  });
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      const target = event.key === "Home" ? 0 : event.key === "End" ? tabs.length - 1
        : step === undefined ? null : (number + step + tabs.length) % tabs.length;
      if (target === null) return;
      event.preventDefault();
      choose(tabs[target]);
      tabs[target].focus();
    });
  });
  list.hidden = false;
  choose(tabs[0]);
}
for (const search of document.querySelectorAll("input[type=search]")) {
  search.closest(".find").hidden = false;
  const panel = search.closest("article");
  const tables = [...panel.querySelectorAll("details.metrics")];
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    for (const details of tables) {
      let found = 0;
      for (const row of details.querySelectorAll("tbody tr")) {
        row.hidden = wanted !== "" && !row.textContent.toLowerCase().includes(wanted);
        found += row.hidden ? 0 : 1;
      }
      details.open = wanted !== "" && found > 0;
    }
  });
}
