package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
)

// everyday is a task of interop/tasks/tasks.txt.
type everyday struct {
	title, check string
	lines        []string          // in the order of taskTools
	notes        map[string]string // by tool: why it does not do the task
}

// taskTools are the tools of docs/generated/tasks.md, with the first words of their lines.
var taskTools = []struct{ name, word, program string }{
	{"mcpctl", "mcpctl", "mcpctl"}, {"Inspector", "inspector", "inspector"}, {"mcporter", "mcporter", "mcporter"}, {"mcptools", "mcptools", "mcp"},
}

// TestEverydayTasks: docs/generated/tasks.md has the tasks of interop/tasks/tasks.txt, its
// summary has the figures of its rows and is in docs/mcpctl.md, and mcpctl takes its lines.
func TestEverydayTasks(t *testing.T) {
	t.Parallel()
	input, err := os.ReadFile("../../interop/tasks/tasks.txt")
	require.NoError(t, err)
	text, err := os.ReadFile("../../docs/generated/tasks.md")
	require.NoError(t, err)
	tasks, page := everydayTasks(string(input)), string(text)
	require.Len(t, tasks, 10)
	require.Empty(t, taskFaults(tasks, page), "run make tasks")
	docs, err := os.ReadFile("../../docs/mcpctl.md")
	require.NoError(t, err)
	summary := regexp.MustCompile(`(?m)(^\|.*\n)+`).FindString(page)
	require.Contains(t, string(docs), summary, "copy the summary")
	for _, task := range tasks {
		require.NoError(t, takes(task.lines[0]), task.lines[0])
	}

	for old, changed := range map[string]string{
		"\n## 3. ":                "\n## 4. ",
		"mcpctl ls :3001/mcp\n":   "mcpctl ls :3001/mc\n",
		"\n| mcpctl | 19 | ":      "\n| mcpctl | 18 | ",
		" | 0 | yes |\n":          " | 1 | yes |\n",
		" | 2 | yes |\n":          " | 0 | yes |\n",
		" | 124 | no |\n":         " | 0 | yes |\n",
		"\n- Inspector prints":    "\n- Inspector shows",
		"\n| tasks done | 10 of ": "\n| tasks done | 9 of ",
		"\n| Inspector | ":        "\n| mcporter | ",
	} {
		require.Contains(t, page, old)
		require.NotEmpty(t, taskFaults(tasks, strings.Replace(page, old, changed, 1)), changed)
	}
	require.Error(t, takes("mcpctl look :3001/mcp"))
	require.Error(t, takes("mcpctl ls --no-such-flag :3001/mcp"))
}

// everydayTasks reads tasks.txt.
func everydayTasks(text string) (tasks []everyday) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "", "#":
		case "=":
			tasks = append(tasks, everyday{title: rest, notes: map[string]string{}})
		case "ok", "error":
			tasks[len(tasks)-1].check = line
		case "!":
			tool, why, _ := strings.Cut(rest, " ")
			tasks[len(tasks)-1].notes[tool] = why
		default:
			tasks[len(tasks)-1].lines = append(tasks[len(tasks)-1].lines, line)
		}
	}
	return tasks
}

// takes reports why mcpctl does not take the command line, as far as that is known without a server.
func takes(line string) error {
	line, _, _ = strings.Cut(line, " | ")
	_, root := newApp(console.Streams{}, nil)
	cmd, args, err := root.Find(strings.Fields(line)[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

var (
	ranRow   = regexp.MustCompile(`^(\d+) \| (\d+)\.(\d\d) \| (\d+) \| (\d+) \| ([\d, ]+) \| (yes|no|\d of 3)$`)
	unrunRow = regexp.MustCompile(`^(\d+) \| – \| – \| – \| – \| not run$`)
)

// taskRow is what a page has about one tool in one task.
type taskRow struct {
	keys, hundredths, lines, bytes int
	exit, done                     string
}

// taskFaults lists where a page differs from its tasks, and from itself.
func taskFaults(tasks []everyday, page string) (faults []string) {
	sections := strings.Split(page, "\n## ")
	if len(sections) != len(tasks)+2 {
		return []string{fmt.Sprintf("%d sections", len(sections))}
	}
	var rows [][]taskRow
	for i, task := range tasks {
		section, found := sections[i+2], []taskRow(nil)
		head := task.head(i + 1)
		rest, ok := strings.CutPrefix(section, head)
		if !ok {
			return append(faults, fmt.Sprintf("does not begin with %q: %q", head, section))
		}
		notes := ""
		for j, tool := range taskTools {
			line, after, _ := strings.Cut(rest, "\n")
			rest = after
			row, err := readTaskRow(tool.name, line)
			if err != nil {
				return append(faults, fmt.Sprintf("task %d: %s", i+1, err))
			}
			faults = append(faults, task.judge(j, row)...)
			if row.done != "yes" && row.done != "not run" {
				notes += "- " + tool.name + " " + task.notes[tool.word] + ".\n"
			}
			found = append(found, row)
		}
		if strings.TrimSpace(rest) != strings.TrimSpace(notes) {
			faults = append(faults, fmt.Sprintf("task %d: notes %q, not %q", i+1, rest, notes))
		}
		rows = append(rows, found)
	}
	if summary := taskSummary(rows); !strings.HasSuffix(strings.TrimSpace(sections[1]), summary) {
		faults = append(faults, "the rows make another summary:\n"+summary)
	}
	return faults
}

// head is a section of the page up to its first row.
func (e everyday) head(number int) string {
	kind, pattern, _ := strings.Cut(e.check, " ")
	wanted := map[string]string{"ok": "Exit code 0, and standard output has", "error": "An exit code other than 0, and the output has"}[kind]
	const fence = "```"
	return fmt.Sprintf("%d. %s\n\n%s\n\n%stext\n%s\n%s\n\n%stext\n%s\n%s\n\n", number, e.title, wanted, fence, pattern, fence, fence, strings.Join(e.lines, "\n"), fence) +
		"| | keystrokes | seconds | lines | bytes | exit code | done |\n|---|--:|--:|--:|--:|--:|---|\n"
}

// judge lists what is wrong with the row of a tool.
func (e everyday) judge(tool int, row taskRow) (faults []string) {
	line, word := e.lines[tool], taskTools[tool].word
	if !strings.HasPrefix(line, taskTools[tool].program+" ") || len(line) != row.keys {
		faults = append(faults, fmt.Sprintf("%s has %d characters, not %d", line, len(line), row.keys))
	}
	_, explained := e.notes[word]
	if explained == (row.done == "yes") && row.done != "not run" {
		faults = append(faults, fmt.Sprintf("%s in %q: done %s, and the reason why not: %q", word, e.title, row.done, e.notes[word]))
	}
	if row.done == "yes" && (strings.HasPrefix(e.check, "ok ") != (row.exit == "0") || row.exit == "124") { // 124: the time was up
		faults = append(faults, fmt.Sprintf("%s cannot have done %q with exit code %s", word, e.title, row.exit))
	}
	return faults
}

func readTaskRow(name, line string) (row taskRow, err error) {
	cells, ok := strings.CutPrefix(strings.TrimSuffix(line, " |"), "| "+name+" | ")
	ran, unrun := ranRow.FindStringSubmatch(cells), unrunRow.FindStringSubmatch(cells)
	number := func(text string) int {
		n, numErr := strconv.Atoi(text)
		if numErr != nil {
			err = numErr
		}
		return n
	}
	switch {
	case ok && ran != nil:
		row = taskRow{number(ran[1]), number(ran[2] + ran[3]), number(ran[4]), number(ran[5]), ran[6], ran[7]}
	case ok && unrun != nil:
		row = taskRow{keys: number(unrun[1]), done: "not run"}
	default:
		err = fmt.Errorf("no row of %s: %q", name, line)
	}
	return row, err
}

// taskSummary is the table that rows of tasks make.
func taskSummary(rows [][]taskRow) string {
	var common [][]taskRow
	for _, task := range rows {
		if !slices.ContainsFunc(task, func(r taskRow) bool { return r.done != "yes" && r.done != "not run" }) {
			common = append(common, task)
		}
	}
	out := "| |"
	for _, tool := range taskTools {
		out += " " + tool.name + " |"
	}
	out += "\n|---|" + strings.Repeat("--:|", len(taskTools))
	add := func(title string, of [][]taskRow, figure func(taskRow) int, form func(int) string) {
		out += "\n| " + title + " |"
		for tool := range taskTools {
			sum := 0
			for _, task := range of {
				sum += figure(task[tool])
			}
			cell := form(sum)
			if rows[0][tool].done == "not run" {
				cell = "–"
			}
			out += " " + cell + " |"
		}
	}
	done := func(r taskRow) int {
		if r.done == "yes" {
			return 1
		}
		return 0
	}
	keys := func(r taskRow) int { return r.keys }
	that := fmt.Sprintf(", the %d that all do", len(common))
	add("tasks done", rows, done, func(n int) string { return fmt.Sprintf("%d of %d", n, len(rows)) })
	add("keystrokes, all tasks", rows, keys, strconv.Itoa)
	add("keystrokes"+that, common, keys, strconv.Itoa)
	add("seconds"+that, common, func(r taskRow) int { return r.hundredths }, func(n int) string { return fmt.Sprintf("%d.%02d", n/100, n%100) })
	add("lines"+that, common, func(r taskRow) int { return r.lines }, strconv.Itoa)
	add("bytes"+that, common, func(r taskRow) int { return r.bytes }, strconv.Itoa)
	return out
}
