// Filters, links and a copy of the data: comforts. The page is whole without.
"use strict";
(() => {
  const checks = [...document.querySelectorAll("details.check")];
  const chips = [...document.querySelectorAll("button[data-status]")];
  const search = document.getElementById("search");
  const shown = document.getElementById("shown");

  function apply() {
    const on = chips.filter((c) => c.getAttribute("aria-pressed") === "true").map((c) => c.dataset.status);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const check of checks) {
      const text = check.textContent.toLowerCase();
      const fits = (on.length === 0 || on.includes(check.dataset.status)) && words.every((w) => text.includes(w));
      check.hidden = !fits;
      n += fits;
      for (const row of check.querySelectorAll(":scope > ul > li")) {
        row.hidden = !words.every((w) => row.textContent.toLowerCase().includes(w)) && !check.id;
      }
    }
    for (const group of document.querySelectorAll("section.group")) {
      group.hidden = !group.querySelector("details.check:not([hidden])");
    }
    shown.textContent = n === checks.length ? "" : n + " of " + checks.length + " shown";
  }

  for (const chip of chips) {
    chip.addEventListener("click", () => {
      chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
      apply();
    });
  }
  search.addEventListener("input", apply);

  const copy = document.getElementById("copy");
  copy.addEventListener("click", async () => {
    try {
      const base64 = document.getElementById("report").textContent.replaceAll("-", "+").replaceAll("_", "/");
      const packed = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
      const plain = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
      const report = JSON.parse(await new Response(plain).text());
      for (const r of report.reports ?? [report]) {
        r.checks.sort((a, b) => a.at - b.at);
      }
      const text = JSON.stringify(report, null, 2);
      await navigator.clipboard.writeText(text);
      copy.textContent = "copied";
    } catch {
      copy.textContent = "not allowed here";
    }
  });

  function reveal() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) {
      if (at.tagName === "DETAILS") {
        at.hidden = false;
        at.open = true;
      }
    }
    if (target) {
      target.scrollIntoView();
    }
  }
  addEventListener("hashchange", reveal);
  reveal();

  document.getElementById("filter").hidden = false;
})();
