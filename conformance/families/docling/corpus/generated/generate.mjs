// Makes PDF files with many programs, of the texts in texts.json, and beside each file the
// text that is on it in reading order. A program that is not installed makes none.
//   node generate.mjs FOLDER    the folder also has node_modules, if wanted
import { execFileSync } from "node:child_process";
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const out = path.resolve(process.argv[2]);
const work = path.join(out, "work");
fs.mkdirSync(work, { recursive: true });
const load = createRequire(path.join(out, "node_modules", "x.js"));
const texts = JSON.parse(fs.readFileSync(new URL("texts.json", import.meta.url)));
const scripts = Object.keys(texts);
// Fonts as files, for programs that take no font by name. No such program shapes letters.
const fonts = {
  latin: "NotoSans-Regular", cyrillic: "NotoSans-Regular", greek: "NotoSans-Regular", hebrew: "NotoSansHebrew-Regular",
  arabic: "NotoSansArabic-Regular", devanagari: "NotoSansDevanagari-Regular", thai: "NotoSansThai-Regular",
  chinese: "DroidSansFallbackFull", japanese: "ipag", korean: "NanumGothic",
};
const simple = ["latin", "cyrillic", "greek", "chinese", "japanese", "korean"];
const families = `"Noto Sans","Noto Sans Hebrew","Noto Sans Arabic","Noto Sans Devanagari","Noto Sans Thai","IPAGothic","NanumGothic","Droid Sans Fallback"`;

function fontFile(script) {
  const list = execFileSync("fc-list", ["--format", "%{file}\n"], { encoding: "utf8" }).split("\n");
  const file = list.find((f) => path.basename(f).replace(/\.(ttf|otf)$/, "") === fonts[script]);
  if (!file) throw new Error(`no font ${fonts[script]}`);
  return file;
}

const run = (program, args, options = {}) =>
  execFileSync(program, args, { stdio: ["pipe", "pipe", "pipe"], timeout: 120_000, ...options });
const escape = (s) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
const rowsOf = (t) => t.table.map((row) => row.join(" "));

// The text of a document in reading order.
function sourceOf(t, layout) {
  switch (layout) {
    case "columns": case "three": case "vertical":
      return [t.title, ...t.paragraphs, ...t.paragraphs].join("\n");
    case "lines":
      return [t.title, ...t.paragraphs].join("\n");
    case "pages":
      return t.paragraphs.flatMap((p, i) => [`${t.title} ${i + 1}`, p]).join("\n");
  }
  return [t.title, ...t.paragraphs, ...t.items, ...rowsOf(t)].join("\n");
}

const css = {
  plain: "",
  columns: ".body{column-count:2;-webkit-column-count:2;column-gap:24px}",
  three: ".body{column-count:3;-webkit-column-count:3;column-gap:24px}body{font-size:9pt}",
  turned: "body{width:600px;transform:rotate(90deg);-webkit-transform:rotate(90deg);margin-top:90px}",
  pages: "section{break-after:page}h1{margin:0 0 60px}",
  spaced: "h1{letter-spacing:6px}",
  vertical: "body{writing-mode:vertical-rl;height:680px}",
};

function html(script, layout) {
  const t = texts[script];
  const twice = ["columns", "three", "vertical"].includes(layout);
  const paragraphs = (twice ? [...t.paragraphs, ...t.paragraphs] : t.paragraphs).map((p) => `<p>${escape(p)}</p>`).join("\n");
  const rest = twice ? "" : `<ul>${t.items.map((i) => `<li>${escape(i)}</li>`).join("")}</ul>
<table>${t.table.map((row, y) => `<tr>${row.map((c) => (y ? `<td>${escape(c)}</td>` : `<th>${escape(c)}</th>`)).join("")}</tr>`).join("\n")}</table>`;
  const file = path.join(work, `${script}-${layout}.html`);
  fs.writeFileSync(file, `<!DOCTYPE html><html lang="${t.lang}" dir="${t.direction}"><head><meta charset="utf-8"><title>${escape(t.title)}</title>
<style>@page{size:A4;margin:2cm}body{font:11pt ${families};line-height:1.4;word-break:${script === "korean" ? "keep-all" : "normal"}}h1{font-size:18pt}td,th{padding:2px 12px}${css[layout]}</style></head>
<body>${layout === "pages" ? pagesOf(t) : `<h1>${escape(t.title)}</h1><div class="body">${paragraphs}</div>${rest}`}</body></html>`);
  return file;
}

// A page for each paragraph, under a line that all pages have but for its number.
const pagesOf = (t) => t.paragraphs.map((p, i) => `<section><h1>${escape(t.title)} ${i + 1}</h1><p>${escape(p)}</p></section>`).join("");

// An OpenDocument text with columns.
function fodt(script, count) {
  const t = texts[script];
  const p = (style, s) => `<text:p text:style-name="${style}">${escape(s)}</text:p>`;
  const direction = t.direction === "rtl" ? "rl-tb" : "lr-tb";
  const file = path.join(work, `${script}-${count}.fodt`);
  fs.writeFileSync(file, `<?xml version="1.0" encoding="UTF-8"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0" xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0"
 office:version="1.2" office:mimetype="application/vnd.oasis.opendocument.text">
<office:automatic-styles>
<style:style style:name="T" style:family="paragraph"><style:paragraph-properties style:writing-mode="${direction}"/><style:text-properties fo:font-size="18pt" style:font-size-complex="18pt" style:font-size-asian="18pt"/></style:style>
<style:style style:name="B" style:family="paragraph"><style:paragraph-properties style:writing-mode="${direction}" fo:margin-bottom="0.2cm"/><style:text-properties fo:font-size="10pt" style:font-size-complex="10pt" style:font-size-asian="10pt"/></style:style>
<style:style style:name="S" style:family="section"><style:section-properties style:writing-mode="${direction}"><style:columns fo:column-count="${count}" fo:column-gap="0.8cm"/></style:section-properties></style:style>
</office:automatic-styles>
<office:body><office:text>${p("T", t.title)}<text:section text:style-name="S" text:name="S">${[...t.paragraphs, ...t.paragraphs].map((s) => p("B", s)).join("")}</text:section></office:text></office:body></office:document>`);
  return file;
}

// Lines for programs that do not break lines: of 70 characters, or half as many wide ones.
function wrapped(text) {
  const width = /[\u3000-\u9fff]/.test(text) ? 36 : 70;
  const lines = [];
  for (const paragraph of text.split("\n")) {
    let line = "";
    for (const word of paragraph.includes(" ") ? paragraph.split(" ") : paragraph.match(/.{1,12}/gu)) {
      if (line && line.length + word.length >= width) {
        lines.push(line);
        line = "";
      }
      line += (line && paragraph.includes(" ") ? " " : "") + word;
    }
    lines.push(line);
  }
  return lines;
}

function office(source, pdf) {
  run("soffice", [`-env:UserInstallation=file://${work}/profile`, "--headless", "--convert-to", "pdf:writer_pdf_Export",
    ...(source.endsWith(".html") ? ["--infilter=HTML (StarWriter)"] : []), "--outdir", work, source]);
  fs.renameSync(path.join(work, path.basename(source).replace(/\.\w+$/, ".pdf")), pdf);
}

const browser = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
  "--disable-sync", "--no-first-run", "--no-pdf-header-footer"];

// Each program: its layouts, its scripts, and how it makes a file.
const programs = {
  chromium: { layouts: ["plain", "columns", "three", "turned", "pages", "spaced", "vertical"], make: (s, l, pdf) => run("chromium", [...browser, `--user-data-dir=${work}/chromium`, `--print-to-pdf=${pdf}`, html(s, l)]) },
  weasyprint: { layouts: ["plain", "columns", "three", "turned", "pages"], make: (s, l, pdf) => run("weasyprint", [html(s, l), pdf]) },
  wkhtmltopdf: { layouts: ["plain", "turned"], make: (s, l, pdf) => run("wkhtmltopdf", ["-q", "--disable-javascript", html(s, l), pdf], { env: { ...process.env, QT_QPA_PLATFORM: "offscreen" } }) },
  libreoffice: { layouts: ["plain", "columns", "three"], make: (s, l, pdf) => office(l === "plain" ? html(s, l) : fodt(s, l === "columns" ? 2 : 3), pdf) },
  ghostscript: { layouts: ["plain", "columns"], make: (s, l, pdf) => run("gs", ["-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=pdfwrite", `-sOutputFile=${pdf}`, made("libreoffice", s, l)]) },
  pdftocairo: { layouts: ["plain", "columns"], make: (s, l, pdf) => run("pdftocairo", ["-pdf", made("chromium", s, l), pdf]) },
  pango: { layouts: ["lines"], make: (s, l, pdf) => run("pango-view", ["-q", "--font=Noto Sans 11", "--width=500", ...(texts[s].direction === "rtl" ? ["--rtl"] : []), `--output=${pdf}`, textFile(s, l)]) },
  rsvg: {
    layouts: ["lines"], make: (s, l, pdf) => {
      const t = texts[s], rtl = t.direction === "rtl";
      const svg = path.join(work, `${s}.svg`);
      const lines = wrapped(sourceOf(t, l));
      fs.writeFileSync(svg, `<svg xmlns="http://www.w3.org/2000/svg" width="600" height="840"><g font-family='${families.replaceAll('"', "")}' font-size="12" direction="${t.direction}">
${lines.map((line, i) => `<text x="${rtl ? 560 : 40}" y="${60 + 18 * i}" xml:lang="${t.lang}">${escape(line)}</text>`).join("\n")}</g></svg>`);
      run("rsvg-convert", ["-f", "pdf", "-o", pdf, svg]);
    },
  },
  fop: {
    layouts: ["plain"], scripts: ["latin", "cyrillic", "greek", "hebrew", "arabic", "devanagari", "thai"], make: (s, l, pdf) => {
      const t = texts[s];
      const block = (x, more = "") => `<fo:block space-after="6pt" ${more}>${escape(x)}</fo:block>`;
      const cell = (x) => `<fo:table-cell padding="2pt"><fo:block>${escape(x)}</fo:block></fo:table-cell>`;
      const item = (x) => `<fo:list-item><fo:list-item-label end-indent="label-end()"><fo:block>•</fo:block></fo:list-item-label><fo:list-item-body start-indent="body-start()"><fo:block>${escape(x)}</fo:block></fo:list-item-body></fo:list-item>`;
      const fo = path.join(work, `${s}.fo`), conf = path.join(work, `${s}.xconf`);
      fs.writeFileSync(conf, `<fop version="1.0"><renderers><renderer mime="application/pdf"><fonts><font embed-url="file://${fontFile(s)}"><font-triplet name="F" style="normal" weight="normal"/></font></fonts></renderer></renderers></fop>`);
      fs.writeFileSync(fo, `<fo:root xmlns:fo="http://www.w3.org/1999/XSL/Format" font-family="F" font-size="11pt" writing-mode="${t.direction === "rtl" ? "rl-tb" : "lr-tb"}" xml:lang="${t.lang}">
<fo:layout-master-set><fo:simple-page-master master-name="A" page-width="210mm" page-height="297mm" margin="20mm"><fo:region-body/></fo:simple-page-master></fo:layout-master-set>
<fo:page-sequence master-reference="A"><fo:flow flow-name="xsl-region-body">${block(t.title, 'font-size="18pt"')}${t.paragraphs.map((x) => block(x)).join("")}
<fo:list-block>${t.items.map(item).join("")}</fo:list-block>
<fo:table table-layout="fixed" width="100%"><fo:table-body>${t.table.map((row) => `<fo:table-row>${row.map(cell).join("")}</fo:table-row>`).join("")}</fo:table-body></fo:table></fo:flow></fo:page-sequence></fo:root>`);
      run("fop", ["-c", conf, fo, pdf]);
    },
  },
  groff: {
    layouts: ["lines", "columns"], scripts: ["latin"], make: (s, l, pdf) => {
      const t = texts[s];
      const body = l === "columns" ? [...t.paragraphs, ...t.paragraphs] : t.paragraphs;
      fs.writeFileSync(pdf, run("groff", ["-k", "-ms", "-Tpdf"], { input: `.TL\n${t.title}\n${l === "columns" ? ".2C\n" : ""}${body.map((p) => `.PP\n${p}\n`).join("")}` }));
    },
  },
  enscript: {
    layouts: ["lines", "turned"], scripts: ["latin"], make: (s, l, pdf) => {
      const ps = run("enscript", ["-q", "-B", "-p", "-", ...(l === "turned" ? ["-r"] : [])], { input: wrapped(sourceOf(texts[s], l)).join("\n") });
      run("ps2pdf", ["-dAutoRotatePages=/None", "-", pdf], { input: ps });
    },
  },
  pdfkit: {
    layouts: ["lines", "columns"], scripts: scripts.filter((s) => texts[s].direction === "ltr"), make: (s, l, pdf) => {
      const PDFDocument = load("pdfkit");
      const doc = new PDFDocument({ size: "A4", margin: 60 }), chunks = [];
      doc.on("data", (c) => chunks.push(c));
      const t = texts[s];
      doc.font(fontFile(s)).fontSize(18).text(t.title).moveDown().fontSize(10);
      const body = l === "columns" ? [...t.paragraphs, ...t.paragraphs] : t.paragraphs;
      doc.text(body.join("\n"), l === "columns" ? { columns: 2, columnGap: 20, height: doc.heightOfString(body.join("\n"), { width: 227 }) / 2 + 20 } : {});
      return new Promise((done) => { doc.on("end", () => { fs.writeFileSync(pdf, Buffer.concat(chunks)); done(); }); doc.end(); });
    },
  },
  "pdf-lib": {
    layouts: ["lines"], scripts: simple, make: async (s, l, pdf) => {
      const { PDFDocument } = load("pdf-lib");
      const doc = await PDFDocument.create();
      doc.registerFontkit(load("@pdf-lib/fontkit"));
      const font = await doc.embedFont(fs.readFileSync(fontFile(s)), { subset: false });
      const page = doc.addPage([595, 842]);
      wrapped(sourceOf(texts[s], l)).forEach((line, i) => page.drawText(line, { x: 50, y: 780 - 16 * i, size: 10, font }));
      fs.writeFileSync(pdf, await doc.save());
    },
  },
  jspdf: {
    layouts: ["lines"], scripts: simple, make: (s, l, pdf) => {
      const { jsPDF } = load("jspdf");
      const doc = new jsPDF({ unit: "pt" });
      doc.addFileToVFS("F.ttf", fs.readFileSync(fontFile(s)).toString("base64"));
      doc.addFont("F.ttf", "F", "normal");
      doc.setFont("F").setFontSize(10);
      doc.text(wrapped(sourceOf(texts[s], l)), 50, 60);
      fs.writeFileSync(pdf, Buffer.from(doc.output("arraybuffer")));
    },
  },
  reportlab: {
    layouts: ["lines", "columns"], scripts: simple, make: (s, l, pdf) => run("/usr/bin/python3", ["-c", `
import json, sys
from reportlab.pdfbase import pdfmetrics, ttfonts
from reportlab.platypus import BaseDocTemplate, Frame, PageTemplate, Paragraph
from reportlab.lib.styles import ParagraphStyle
a = json.load(sys.stdin)
pdfmetrics.registerFont(ttfonts.TTFont("F", a["font"]))
wrap = "CJK" if a["cjk"] else None
body = ParagraphStyle("b", fontName="F", fontSize=10, leading=14, spaceAfter=6, wordWrap=wrap)
head = ParagraphStyle("h", parent=body, fontSize=18, leading=24)
doc = BaseDocTemplate(a["pdf"], pagesize=(595, 842))
n = a["columns"]
w = 480 / n
frames = [Frame(55 + i * (w + 10), 842 - 60 - 240 if n > 1 else 60, w - 10, 240 if n > 1 else 700, id=str(i)) for i in range(n)]
doc.addPageTemplates([PageTemplate(frames=frames)])
doc.build([Paragraph(a["title"], head)] + [Paragraph(p, body) for p in a["paragraphs"]])
`], { input: JSON.stringify({ font: fontFile(s), pdf, cjk: ["chinese", "japanese"].includes(s), columns: l === "columns" ? 2 : 1, title: texts[s].title,
      paragraphs: l === "columns" ? [...texts[s].paragraphs, ...texts[s].paragraphs] : texts[s].paragraphs }) }),
  },
  prawn: {
    layouts: ["lines", "columns"], scripts: simple, make: (s, l, pdf) => run("ruby", ["-rprawn", "-rjson", "-e", `
a = JSON.parse(STDIN.read)
Prawn::Document.generate(a["pdf"], page_size: "A4") do
  font a["font"]
  text a["title"], size: 18
  body = proc { a["paragraphs"].each { |p| text p, size: 10; move_down 6 } }
  a["columns"] > 1 ? column_box([0, cursor], columns: 2, width: bounds.width, height: 260) { body.call } : body.call
end
`], { input: JSON.stringify({ font: fontFile(s), pdf, columns: l === "columns" ? 2 : 1, title: texts[s].title,
      paragraphs: l === "columns" ? [...texts[s].paragraphs, ...texts[s].paragraphs] : texts[s].paragraphs }) }),
  },
  "pdf-api2": {
    layouts: ["lines"], scripts: simple, make: (s, l, pdf) => run("perl", ["-MPDF::API2", "-CSDA", "-e", `
my ($font, $out) = splice @ARGV, 0, 2;
my $doc = PDF::API2->new; my $page = $doc->page; $page->mediabox(595, 842);
my $text = $page->text; $text->font($doc->ttfont($font), 10);
my $y = 780;
while (my $line = <STDIN>) { chomp $line; $text->translate(50, $y); $text->text($line); $y -= 16 }
$doc->saveas($out);
`, fontFile(s), pdf], { input: wrapped(sourceOf(texts[s], l)).join("\n") + "\n" }),
  },
};

function textFile(s, l) {
  const file = path.join(work, `${s}-${l}.txt`);
  fs.writeFileSync(file, sourceOf(texts[s], l) + "\n");
  return file;
}

function made(program, script, layout) {
  const file = path.join(out, `${program}_${script}_${layout}.pdf`);
  if (!fs.existsSync(file)) throw new Error(`${path.basename(file)} is not there`);
  return file;
}

// Scripts with joined letters have no letter-spaced titles.
const only = { vertical: ["chinese", "japanese"], spaced: ["latin", "cyrillic", "greek", "hebrew"] };

let count = 0;
for (const [name, p] of Object.entries(programs)) {
  let mine = 0, why = "";
  for (const layout of p.layouts) {
    for (const script of only[layout] ?? p.scripts ?? scripts) {
      const pdf = path.join(out, `${name}_${script}_${layout}.pdf`);
      try {
        if (!fs.existsSync(pdf)) await p.make(script, layout, pdf);
        fs.writeFileSync(pdf.replace(/pdf$/, "txt"), sourceOf(texts[script], layout) + "\n");
        mine++;
      } catch (e) {
        fs.rmSync(pdf, { force: true });
        why = String(e.stderr || e.message).trim().split("\n")[0];
      }
    }
  }
  count += mine;
  console.log(`${name}: ${mine} files${why ? `; some NOT made: ${why}` : ""}`);
}
console.log(`${count} files`);
