// Runs a program, and is the person who logs in at each page that the program prints.
//   node person.mjs HOW COMMAND…
// HOW: walk       follow redirects and post the forms, to the end at the program's callback
//      refuse     the same, but deny access
//      paste      never reach the callback: type the last address into the program
//      elsewhere  the same, but write the last address to the file ADDRESS: the program has
//                 ended by then
//      browser    do it all in Chromium (CHROMIUM names it)
// The program's output is passed on, and its exit code. "person: …" on stderr says what
// each page asked for.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [how, command, ...args] = process.argv.slice(2);
const page = /https?:\/\/[\w.:]+\/auth(?:orize)?\?[\w%&=.~+-]+/g;
const say = (text) => process.stderr.write(`person: ${text}\n`);

const text = (html) => html.replace(/&amp;/g, '&').replace(/&#x27;|&#39;/g, "'").replace(/&quot;/g, '"');

// form returns what a form of a page posts: its hidden fields, and what the person enters.
function form(html, at) {
  const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1];
  if (!action) throw new Error(`no form on the page ${at}: ${html.slice(0, 500)}`);
  const fields = new URLSearchParams();
  for (const [input] of html.matchAll(/<input[^>]*>/g)) {
    const name = / name="([^"]*)"/.exec(input)?.[1];
    if (name) fields.set(name, text(/ value="([^"]*)"/.exec(input)?.[1] ?? 'ada'));
  }
  return { action: new URL(text(action), at), fields };
}

// walk goes through the pages from url on. It returns the address at the program.
async function walk(url, refuse) {
  const cookies = new Map();
  const origin = new URL(url).origin;
  let at = new URL(url);
  let request = {};
  for (let hop = 0; hop < 20; hop += 1) {
    if (at.origin !== origin) return at;
    const answer = await fetch(at, {
      redirect: 'manual', ...request, headers: { cookie: [...cookies].map(([k, v]) => `${k}=${v}`).join('; ') },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line);
      cookies.set(name, value);
    }
    const to = answer.headers.get('location');
    request = {};
    if (to) {
      at = new URL(to, at);
      continue;
    }
    const html = await answer.text();
    if (!answer.ok) throw new Error(`${at.pathname} answers ${answer.status}: ${html.match(/<pre>.*<\/pre>/)?.[0]}`);
    const consent = html.includes('value="consent"');
    if (consent) say(`consent to ${[...html.matchAll(/<li>\s*([^<]*?)\s*<\/li>/g)].map((m) => m[1]).join(', ')}`);
    if (consent && refuse) {
      at = new URL(text(/href="([^"]*\/abort)"/.exec(html)[1]), at);
      continue;
    }
    const { action, fields } = form(html, at);
    at = action;
    request = { method: 'POST', body: fields };
  }
  throw new Error('the login leads nowhere');
}

async function visit(at) {
  const answer = await fetch(at);
  say(`the last page answers ${answer.status}`);
}

async function browse(url) {
  const { chromium } = await import('playwright-core');
  const folder = mkdtempSync(join(tmpdir(), 'chromium-'));
  const flags = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
  const context = await chromium.launchPersistentContext(folder, { executablePath: process.env.CHROMIUM, headless: true, args: flags });
  try {
    const tab = await context.newPage();
    await tab.route((to) => to.hostname !== '127.0.0.1', (route) => route.abort()); // fonts of the pages
    await tab.goto(url);
    await tab.fill('input[name=login]', 'ada');
    await tab.fill('input[name=password]', 'secret');
    await tab.click('button[type=submit]');
    await tab.waitForSelector('input[name=prompt][value=consent]', { state: 'attached' });
    say(`consent to ${(await tab.locator('li').allInnerTexts()).join(', ').replace(/\s+/g, ' ')}`);
    await tab.click('button[type=submit]');
    await tab.waitForURL((to) => to.origin !== new URL(url).origin);
    say(`the browser shows: ${(await tab.innerText('body')).replace(/\s+/g, ' ')}`);
  } finally {
    await context.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function logIn(url) {
  say(`opens ${new URL(url).pathname} for the scopes ${new URL(url).searchParams.get('scope')}`);
  if (how === 'browser') return browse(url);
  const end = await walk(url, how === 'refuse');
  if (how === 'paste') return program.stdin.write(`${end}\n`);
  if (how === 'elsewhere') return writeFileSync(process.env.ADDRESS, `${end}\n`);
  return visit(end);
}

const program = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
program.stdin.on('error', () => {}); // it may have ended
const seen = new Set();
const logins = [];

// watch passes on what the program prints, and logs in at the pages in it.
function watch(from, to) {
  let line = '';
  from.on('data', (data) => {
    to.write(data);
    const lines = `${line}${data}`.split('\n');
    line = lines.pop();
    for (const [url] of lines.join('\n').matchAll(page)) {
      if (seen.has(url)) continue;
      seen.add(url);
      logins.push(logIn(url).catch((err) => {
        say(err.stack);
        program.kill();
        process.exitCode = 70;
      }));
    }
  });
}
watch(program.stdout, process.stdout);
watch(program.stderr, process.stderr);
program.on('close', async (code) => {
  await Promise.all(logins);
  process.exitCode ??= code ?? 71;
});
