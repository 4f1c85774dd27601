// Writes docs/generated/tasks.md for scripts/tasks.sh.
//   tasks-page.mjs TASKS RESULTS VERSIONS MACHINE
// TASKS is interop/tasks/tasks.txt. Each line of RESULTS has the task, the tool, milliseconds, lines,
// bytes, the exit code, and 1 if the task was done.
import { readFileSync } from 'node:fs';

const [tasksFile, resultsFile, versions, machine] = process.argv.slice(2);
const tools = { mcpctl: 'mcpctl', inspector: 'Inspector', mcporter: 'mcporter', mcptools: 'mcptools' };
const names = Object.keys(tools);

const runs = {};
for (const line of readFileSync(resultsFile, 'utf8').trim().split('\n')) {
  const [task, tool, ms, lines, bytes, exit, done] = line.split('\t');
  (runs[`${task} ${tool}`] ??= []).push({ ms: +ms, lines: +lines, bytes: +bytes, exit, done: +done });
}

const tasks = [];
for (const line of readFileSync(tasksFile, 'utf8').split('\n')) {
  const space = line.indexOf(' ');
  const [word, rest] = [line.slice(0, space), line.slice(space + 1)];
  const task = tasks.at(-1);
  if (line === '' || word === '#') continue;
  if (word === '=') tasks.push({ title: rest, commands: {}, notes: {} });
  else if (word === 'ok' || word === 'error') task.check = { word, pattern: rest };
  else if (word === '!') task.notes[rest.split(' ', 1)[0]] = rest.slice(rest.indexOf(' ') + 1);
  else task.commands[word === 'mcp' ? 'mcptools' : word] = line;
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
const seconds = (hundredths) => (hundredths / 100).toFixed(2);

// row is what the runs of a line have in common; without runs there is only its length.
function row(task, tool, results) {
  const keys = task.commands[tool].length;
  if (!results) return { keys, done: 'not run' };
  const done = results.filter((r) => r.done).length;
  return {
    keys,
    time: Math.round(median(results.map((r) => r.ms)) / 10),
    lines: median(results.map((r) => r.lines)),
    bytes: median(results.map((r) => r.bytes)),
    exit: [...new Set(results.map((r) => r.exit))].join(', '),
    done: done === results.length ? 'yes' : done === 0 ? 'no' : `${done} of ${results.length}`,
  };
}

for (const [i, task] of tasks.entries()) {
  task.rows = Object.fromEntries(names.map((tool) => [tool, row(task, tool, runs[`${i + 1} ${tool}`])]));
}
const ran = names.filter((tool) => tasks[0].rows[tool].done !== 'not run');
const common = tasks.filter((task) => ran.every((tool) => task.rows[tool].done === 'yes'));
const sum = (of, tool, key) => of.reduce((n, task) => n + task.rows[tool][key], 0);
const line = (title, cell) => `| ${title} | ${names.map((tool) => (ran.includes(tool) ? cell(tool) : '–')).join(' | ')} |`;

console.log(`# Ten everyday tasks

Made by \`make tasks\` on ${new Date().toISOString().slice(0, 10)}. A test holds this page to its
input, \`interop/tasks/tasks.txt\`; CI does not measure again.
${versions}.

**Tasks.** The authors of mcpctl chose them. Seven are what a client of the protocol is for: lists,
calls, resources and prompts, over HTTP and from a program, and a result in a script. Three are
usual mistakes: a wrong value, a server that does not run, a wrong path. Two more were tried and
left out: a misspelt tool, which mcporter corrects and calls, and the others refuse (both can be
wanted); and this server's image to a file, which only mcpctl and mcporter do with a flag.

**Lines.** Each is the shortest that we found for its tool, without any configuration before; a pipe
to \`jq\` is allowed. If none does the task, it is the line to try first. Inspector is \`inspector\`
here, the shorter of its two names, and mcptools is \`mcp\`, as in its README. With \`https\` mcporter
needs no \`--allow-http\`. Keystrokes are the characters of a line.

**Done.** A task is done if the exit code and the output pass its check in each of three runs. The
check is the same for all tools. A run is ended after 30 s, with exit code 124.

**Figures.** Seconds are medians of the three runs, all tools in turns, of whole processes on a
shared machine (${machine}).
Compare the tools, not the figures of other machines. Half of the time of mcporter, and more of that
of Inspector, is the start of Node.js and their own code. mcpctl remembers which revision a server
speaks, so its first run is slower. Lines and bytes are all that is printed, without a terminal.

## Summary

| | ${names.map((tool) => tools[tool]).join(' | ')} |
|---|${'--:|'.repeat(names.length)}`);
console.log(line('tasks done', (tool) => `${tasks.filter((task) => task.rows[tool].done === 'yes').length} of ${tasks.length}`));
console.log(line('keystrokes, all tasks', (tool) => sum(tasks, tool, 'keys')));
const of = `the ${common.length} that all do`;
console.log(line(`keystrokes, ${of}`, (tool) => sum(common, tool, 'keys')));
console.log(line(`seconds, ${of}`, (tool) => seconds(sum(common, tool, 'time'))));
console.log(line(`lines, ${of}`, (tool) => sum(common, tool, 'lines')));
console.log(line(`bytes, ${of}`, (tool) => sum(common, tool, 'bytes')));

for (const [i, task] of tasks.entries()) {
  const { word, pattern } = task.check;
  console.log(`
## ${i + 1}. ${task.title}

${word === 'ok' ? 'Exit code 0, and standard output has' : 'An exit code other than 0, and the output has'}

\`\`\`text
${pattern}
\`\`\`

\`\`\`text
${names.map((tool) => task.commands[tool]).join('\n')}
\`\`\`

| | keystrokes | seconds | lines | bytes | exit code | done |
|---|--:|--:|--:|--:|--:|---|`);
  for (const tool of names) {
    const { keys, time, lines, bytes, exit, done } = task.rows[tool];
    const figures = done === 'not run' ? ['–', '–', '–', '–'] : [seconds(time), lines, bytes, exit];
    console.log(`| ${[tools[tool], keys, ...figures, done].join(' | ')} |`);
  }
  const notes = names.filter((tool) => ran.includes(tool) && task.notes[tool]);
  if (notes.length > 0) console.log(`\n${notes.map((tool) => `- ${tools[tool]} ${task.notes[tool]}.`).join('\n')}`);
}
