// Reads documents with programs of others. Each line on stdin is a job as JSON:
// {"program": …, "format": …, "in": path, "out": path}. The text goes to out; when the
// program refuses the file, what it says goes to out.refused.
import { readFileSync, writeFileSync, renameSync } from "node:fs";
import { createInterface } from "node:readline";
import { Worker, isMainThread, parentPort } from "node:worker_threads";

// pandoc's text: the words of its syntax tree. Comments count, deleted text does not.
async function pandoc(format, data) {
  const { convert } = await import("pandoc-wasm");
  const file = `document.${format}`;
  const options = { from: format, to: "json", "input-files": [file] };
  if (format === "docx") options["track-changes"] = "all";
  const result = await convert(options, null, { [file]: new Blob([data]) });
  if (!result.stdout) throw new Error(result.stderr || "no output");
  const { blocks, meta } = JSON.parse(result.stdout);
  const out = [];
  tree(meta, out);
  tree(blocks, out);
  return out.join("");
}

const deleted = (node) => node.t === "Span" && (node.c[0][1].includes("deletion") || node.c[0][1].includes("paragraph-deletion"));

function tree(node, out) {
  if (Array.isArray(node)) {
    for (const child of node) tree(child, out);
    return;
  }
  if (node === null || typeof node !== "object") return;
  if (node.t === undefined) { // meta data: values by name
    tree(Object.values(node), out);
    return;
  }
  switch (node.t) {
    case "Str": out.push(node.c); return;
    case "MetaString": out.push("\n", node.c, "\n"); return;
    case "Space": out.push(" "); return;
    case "SoftBreak": case "LineBreak": out.push("\n"); return;
    case "Code": case "Math": case "CodeBlock": out.push(node.c[1]); break;
    case "RawInline": case "RawBlock": return;
    case "Span": if (!deleted(node)) comment(node, out); break;
    case "Link": case "Image": tree(node.c[1], out); break;
    case "Quoted": case "Cite": case "Div": tree(node.c[1], out); break;
    case "Header": if (!invented(node)) tree(node.c[2], out); break;
    case "Note": out.push("\n"); tree(node.c, out); break;
    case "OrderedList": tree(node.c[1], out); break;
    case "Table": rows(node.c, out); break;
    case "Figure": tree(node.c[1], out); tree(node.c[2], out); break;
    default: tree(node.c, out);
  }
  if (!/^(Str|Code|Math|Span|Link|Image|Quoted|Cite|Emph|Strong|Underline|Strikeout|Superscript|Subscript|SmallCaps|MetaInlines)$/.test(node.t)) out.push("\n");
}

// A slide without a title gets one from pandoc.
const invented = (header) => /^slide-\d+$/.test(header.c[1][0]) && header.c[2].map((n) => n.c ?? " ").join("").match(/^Slide \d+$/);

// The text of a comment stands in the middle of the line it is about.
function comment(span, out) {
  const aside = span.c[0][1].includes("comment-start");
  if (aside) out.push("\n");
  tree(span.c[1], out);
  if (aside) out.push("\n");
}

function rows([, caption, , head, bodies, foot], out) {
  tree(caption[1], out);
  const cells = (list) => {
    for (const [, row] of list) {
      for (const cell of row) {
        tree(cell[4], out);
        out.push("\n");
      }
    }
  };
  cells(head[1]);
  for (const body of bodies) {
    cells(body[2]);
    cells(body[3]);
  }
  cells(foot[1]);
}

// SheetJS: each cell as it is shown, and its comments.
async function sheetjs(_, data) {
  const { default: xlsx } = await import("xlsx");
  const book = xlsx.read(data);
  const out = [];
  for (const name of book.SheetNames) {
    const sheet = book.Sheets[name];
    for (const [at, cell] of Object.entries(sheet)) {
      if (at.startsWith("!")) continue;
      out.push(xlsx.utils.format_cell(cell));
      for (const c of cell.c ?? []) out.push(c.t);
    }
  }
  return out.join("\n");
}

// officeparser: slides in order, each with its notes and comments.
async function officeparser(_, data) {
  const { default: office } = await import("officeparser");
  const { content } = await office.parseOffice(Buffer.from(data), {});
  const out = [];
  const walk = (node) => {
    const parts = ["children", "notes", "comments"].flatMap((key) => (Array.isArray(node[key]) ? node[key] : []));
    if (parts.length === 0 && node.text) out.push(node.text);
    parts.forEach(walk);
    if (node.type !== "text") out.push("\n");
  };
  content.forEach(walk);
  return out.join("");
}

// The parts of a package that the programs above do not open: text boxes of sheets,
// diagrams, charts, comments and notes. Only the elements that hold text count.
async function parts(format, data) {
  const { default: xlsx } = await import("xlsx");
  const zip = xlsx.CFB.read(Buffer.from(data), { type: "buffer" });
  const out = [];
  zip.FullPaths.forEach((path, i) => {
    const name = path.replace(/^[^/]*\//, "");
    const chart = /^(?:word|xl|ppt)\/charts\/chart[^/]*\.xml$/.test(name);
    if (!chart && !unopened[format].test(name)) return;
    const xml = Buffer.from(zip.FileIndex[i].content).toString("utf8");
    if (chart) {
      out.push(chartWords(xml, xlsx.SSF));
      return;
    }
    for (const [, paragraph] of xml.matchAll(/<(?:\w+:)?(?:p|comment|pt)(?:\s[^>]*)?>(.*?)<\/(?:\w+:)?(?:p|comment|pt)>/gs)) {
      for (const [, text] of paragraph.matchAll(/<(?:\w+:)?t(?:\s[^>]*)?>([^<]*)</g)) out.push(unescape(text));
      out.push("\n");
    }
  });
  return out.join("");
}

// The words of a chart: texts as they are, numbers in the format that the chart has for them.
function chartWords(xml, SSF) {
  const out = [];
  const texts = xml.replace(/<(\w+:)?numCache>(.*?)<\/(?:\w+:)?numCache>/gs, (_, prefix, cache) => {
    const code = unescape(/<(?:\w+:)?formatCode>([^<]*)</.exec(cache)?.[1] ?? "General");
    for (const [, value] of cache.matchAll(/<(?:\w+:)?v>([^<]+)</g)) out.push(SSF.format(code, Number(value)));
    return "";
  });
  for (const [, text] of texts.matchAll(/<(?:\w+:)?(?:t|v|pt)(?:\s[^>]*)?>([^<]+)</g)) out.push(unescape(text));
  return out.join("\n") + "\n";
}

const unopened = {
  docx: /^word\/diagrams\/data[^/]*\.xml$/,
  xlsx: /^xl\/(drawings\/drawing|comments|comments\/|threadedComments\/|diagrams\/data)[^/]*\.xml$/,
  pptx: /^ppt\/(notesSlides\/|diagrams\/data|comments\/)[^/]*\.xml$/,
};

const unescape = (text) => text
  .replace(/&#x([0-9a-f]+);/gi, (_, hex) => String.fromCodePoint(parseInt(hex, 16)))
  .replace(/&#(\d+);/g, (_, n) => String.fromCodePoint(Number(n)))
  .replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&quot;/g, '"').replace(/&apos;/g, "'").replace(/&amp;/g, "&");

const programs = { pandoc, sheetjs, officeparser, parts };

// One thread reads, because a program that hangs can only be ended with its thread.
if (!isMainThread) {
  parentPort.on("message", async (job) => {
    try {
      parentPort.postMessage({ text: await programs[job.program](job.format, readFileSync(job.in)) });
    } catch (err) {
      parentPort.postMessage({ refused: String(err?.message ?? err) });
    }
  });
} else {
  const limit = 300_000; // ms a document
  let worker;
  let answered; // takes the answer of the job that runs
  const start = () => {
    const thread = new Worker(new URL(import.meta.url));
    thread.on("message", (answer) => answered(answer));
    thread.on("error", (err) => {
      worker = undefined;
      answered({ refused: String(err) });
    });
    return thread;
  };
  const read = (job) => new Promise((resolve) => {
    worker ??= start();
    const timer = setTimeout(() => {
      worker.terminate();
      worker = undefined;
      resolve({ refused: `no answer within ${limit / 1000} s` });
    }, limit);
    answered = (answer) => {
      clearTimeout(timer);
      resolve(answer);
    };
    worker.postMessage(job);
  });
  for await (const line of createInterface({ input: process.stdin })) {
    const job = JSON.parse(line);
    const { text, refused } = await read(job);
    writeFileSync(`${job.out}.new`, text ?? refused);
    renameSync(`${job.out}.new`, text === undefined ? `${job.out}.refused` : job.out);
  }
  process.exit(0); // whatever the packages have left running
}
