// The browser's side of scripts/html-check.sh.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const [chromium, pages, shots] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const faults = [];
const expect = (ok, what) => ok || faults.push(what);

const browser = await puppeteer.launch({ executablePath: chromium, headless: true, args: ["--no-sandbox", "--disable-gpu"] });
try {
  for (const file of readdirSync(pages).filter((f) => f.endsWith(".html"))) {
    for (const scheme of ["light", "dark"]) {
      for (const width of [1280, 360]) {
        await look(file, scheme, width);
      }
    }
    await withoutScript(file);
  }
} finally {
  await browser.close();
}
for (const fault of faults) {
  console.log("FAULT: " + fault);
}
console.log(faults.length === 0 ? "html reports: nothing to complain about" : faults.length + " faults");
process.exitCode = faults.length === 0 ? 0 : 1;

async function look(file, scheme, width) {
  const name = `${file} ${scheme} ${width}`;
  const page = await open(file, name);
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setViewport({ width, height: 900 });
  await page.screenshot({ path: join(shots, `${file}-${scheme}-${width}.png`), fullPage: true });
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(over <= 0, `${name}: the page is ${over} px too wide`);

  // All of it is judged: folded parts, too.
  await page.evaluate(() => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
  await page.screenshot({ path: join(shots, `${file}-${scheme}-${width}-open.png`), fullPage: true });
  await page.evaluate(axe); // through the debugger: the page's policy does not let it in
  const result = await page.evaluate(async () => window.axe.run(document, { resultTypes: ["violations"] }));
  for (const v of result.violations) {
    expect(false, `${name}: ${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`);
  }
  if (scheme === "light" && width > 1000) {
    await filters(page, name);
  }
  await page.close();
}

async function filters(page, name) {
  const visible = () => page.$$eval("details.check:not([hidden])", (all) => all.map((d) => d.dataset.status));
  const all = await visible();
  for (const chip of await page.$$("button[data-status]")) {
    const status = await chip.evaluate((c) => c.dataset.status);
    await chip.click();
    const now = await visible();
    expect(now.length > 0 && now.every((s) => s === status), `${name}: the chip ${status} shows ${now}`);
    await chip.click();
  }
  expect((await visible()).length === all.length, `${name}: a filter that is taken away leaves something hidden`);
  await page.type("#search", "no such words");
  expect((await visible()).length === 0, `${name}: the search finds what is not there`);
  expect((await page.$eval("#shown", (s) => s.textContent)) === (all.length ? `0 of ${all.length} shown` : ""), `${name}: the count is wrong`);
  const copied = await page.evaluate(async () => {
    let text = "";
    Object.defineProperty(navigator, "clipboard", { value: { writeText: async (given) => { text = given; } }, configurable: true });
    document.getElementById("copy").click();
    for (let i = 0; i < 100 && text === ""; i++) {
      await new Promise((wait) => setTimeout(wait, 20));
    }
    return text;
  });
  expect(copied.includes('"mcpctl.conform'), `${name}: copy JSON gives no report`);
  const link = await page.$eval("details.check", (d) => d.id).catch(() => "");
  if (link) {
    await page.evaluate((id) => { document.getElementById(id).open = false; location.hash = "#" + encodeURIComponent(id); }, link);
    await page.waitForFunction((id) => document.getElementById(id).open && !document.getElementById(id).hidden, { timeout: 2000 }, link)
      .catch(() => expect(false, `${name}: a link does not open its check`));
  }
}

async function withoutScript(file) {
  const page = await open(file, file + " without script", false);
  const seen = await page.evaluate(() => ({
    filter: getComputedStyle(document.getElementById("filter")).display,
    hidden: [...document.querySelectorAll("details.check")].filter((d) => d.getClientRects().length === 0).length,
    lead: document.querySelector(".lead").textContent.length,
  }));
  expect(seen.filter === "none", `${file}: filters that do nothing are shown without script`);
  expect(seen.hidden === 0, `${file}: ${seen.hidden} checks are not shown without script`);
  expect(seen.lead > 0, `${file}: no sentence without script`);
  await page.close();
}

async function open(file, name, script = true) {
  const page = await browser.newPage();
  const url = pathToFileURL(join(pages, file)).href;
  await page.setJavaScriptEnabled(script);
  page.on("console", (m) => expect(m.type() !== "error", `${name}: ${m.text()}`));
  page.on("pageerror", (e) => expect(false, `${name}: ${e}`));
  page.on("dialog", (d) => { expect(false, `${name}: a dialog`); d.dismiss(); });
  page.on("request", (r) => expect(r.url() === url, `${name}: a request of ${r.url()}`));
  await page.goto(url);
  return page;
}
