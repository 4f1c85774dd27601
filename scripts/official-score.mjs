// Prints the score of one run of the official conformance suite as one line.
//
//   official-score.mjs server REVISION TOTAL LOG RESULTS
//   official-score.mjs server extensions TOTAL LOGS RESULTS [VACANT]
//   official-score.mjs client REVISION TOTAL LOGS RESULTS
//
// LOG is what the suite printed; where each scenario is a run of its own, LOGS is a
// folder with a file a scenario, named after it (% for /).
//
// VACANT is a scenario that checks nothing in the pinned suite. It is counted apart,
// and fails the run as soon as it does check something. Of extensions no check may be
// skipped: a server that does not declare one skips them all.
//
// A scenario has passed when it made at least one check of its own that
// succeeded, and none that failed or warned. A client has besides ended by
// itself, with exit code 0 where the suite expects no error. The suite itself lets warnings pass, and scenarios
// that checked nothing; the check of the wire format, which every scenario makes
// for free, says nothing about the scenario. TOTAL is how many have to pass.
// Exit 0: they did; 1: they did not.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const [side, revision, total, log, results, vacant] = process.argv.slice(2);
const read = (file) => readFileSync(file, 'utf8').replace(/\x1b\[[0-9;]*m/g, '').split('\n');

// Every scenario that was begun, also one that crashed and left no checks; what
// the log says against it; whether the suite came to its end.
const verdicts = new Map();
const against = new Map();
const ended = new Set();
let lines = [];

function readServer() {
  lines = read(log);
  for (const line of lines) {
    const begun = /^=== Running scenario: (\S+) ===/.exec(line);
    if (begun) verdicts.set(begun[1], 'left no checks');
    const summed = /^[✓✗] (\S+): \d+ passed, (\d+) failed/.exec(line);
    if (!summed) continue;
    ended.add(summed[1]);
    if (Number(summed[2]) > 0) against.set(summed[1], 'failed');
  }
}

function readRuns() {
  for (const file of readdirSync(log)) {
    const name = file.replaceAll('%', '/');
    verdicts.set(name, 'left no checks');
    lines = read(join(log, file));
    for (const line of lines) {
      const summed = /^Passed: \d+\/\d+, (\d+) failed/.exec(line);
      if (summed) ended.add(name);
      const exit = /CLIENT EXITED WITH ERROR \(code (-?\d+)\)/.exec(line); // where the suite expects none
      if (/CLIENT TIMED OUT|Client timed out/.test(line)) against.set(name, 'timed out');
      else if (exit && exit[1] !== '0') against.set(name, `ended with exit ${exit[1]}`);
      else if (summed && Number(summed[1]) > 0 && !against.has(name)) against.set(name, 'failed');
    }
  }
}

if (statSync(log).isDirectory()) readRuns();
else readServer();

const complaints = new Map();
for (const file of existsSync(results) ? readdirSync(results, { recursive: true }) : []) {
  if (basename(file) !== 'checks.json') continue;
  const folder = dirname(file);
  const name = folder.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
  const checks = JSON.parse(readFileSync(join(results, file), 'utf8'));
  const bad = checks.filter((c) => c.status === 'FAILURE' || c.status === 'WARNING');
  const good = checks.filter((c) => c.status === 'SUCCESS' && c.id !== 'wire-schema-valid');
  const skipped = checks.filter((c) => c.status === 'SKIPPED');
  complaints.set(name, bad.concat(skipped));
  if (against.has(name)) verdicts.set(name, against.get(name));
  else if (bad.some((c) => c.status === 'FAILURE')) verdicts.set(name, 'failed');
  else if (bad.length > 0) verdicts.set(name, 'warned');
  else if (good.length === 0) verdicts.set(name, 'checked nothing');
  else if (side === 'server' && revision === 'extensions' && skipped.length > 0) verdicts.set(name, `skipped ${skipped.length} checks`);
  else if (!ended.has(name)) verdicts.set(name, 'is not in the summary');
  else verdicts.set(name, 'passed');
}

let apart = '';
if (vacant && verdicts.get(vacant) === 'checked nothing') {
  verdicts.delete(vacant);
  apart = `; ${vacant} checks nothing in this suite`;
} else if (vacant) {
  verdicts.set(vacant, `${verdicts.get(vacant) ?? 'did not run'}, and is no longer vacant: count it`);
}
const passed = [...verdicts.values()].filter((v) => v === 'passed').length;
const others = [...verdicts].filter(([, v]) => v !== 'passed');
const ok = others.length === 0 && passed + (apart ? 1 : 0) === Number(total);
console.log(`${ok ? 'ok   ' : 'FAIL '} official suite, ${side}, ${revision}: ${passed}/${total} passed` +
  apart + (others.length > 0 ? '; ' + others.map(([name, v]) => `${name} ${v}`).join(', ') : ''));
if (verdicts.size === 0) console.log('      ' + lines.filter(Boolean).slice(-3).join('\n      '));
if (process.env.OFFICIAL_VERBOSE === '1') {
  for (const [name] of others) {
    for (const c of complaints.get(name) ?? []) {
      console.log(`      ${name}: ${c.status} ${c.id}: ${(c.errorMessage ?? c.description ?? '').split('\n')[0].slice(0, 200)}`);
    }
  }
}
process.exit(ok ? 0 : 1);
