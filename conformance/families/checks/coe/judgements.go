package coe

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// judgements are what tables ask of whole answers, by their words.
var judgements = map[string]func(doc any, kept map[string]any) bool{
	"plan, verify and ask in the message":   namesCommands,
	"Bad Request in message or data.status": says("Bad Request"),
	"Not Found in message or data.status":   says("Not Found"),
	"Conflict in message or data.status":    says("Conflict"),
	"percentComplete as the counts have it": percentFits,
	"priorities that do not rise":           fallingPriorities,
	"a task no less urgent than with ready and with blocked": func(doc any, kept map[string]any) bool {
		got := priorityRank(table.TextAt(doc, "payload.task.priority"))
		return got <= priorityRank(table.TextAt(kept, "readyPriority")) && got <= priorityRank(table.TextAt(kept, "blockedPriority"))
	},
	"isEmpty as the task is": func(doc any, _ map[string]any) bool {
		task, _ := table.Lookup(doc, "payload.task")
		empty, ok := table.Lookup(doc, "payload.queueStatus.isEmpty")
		return ok && empty == (task == nil)
	},
	"an integer": func(doc any, _ map[string]any) bool {
		n := table.NumberAt(doc, "payload.confidence")
		return n == float64(int(n)) && n > 0
	},
	"the number in dashboardUpdate.blockedCount": func(doc any, _ map[string]any) bool {
		return strings.Contains(table.TextAt(doc, "payload.message"), fmt.Sprintf(" %v blocked,", table.NumberAt(doc, "payload.dashboardUpdate.blockedCount")))
	},
	"two different ids": func(doc any, _ map[string]any) bool {
		return table.TextAt(doc, "payload.observationsProcessed.0.observationId") != table.TextAt(doc, "payload.observationsProcessed.1.observationId")
	},
	"followUpTasksCount is their number": func(doc any, _ map[string]any) bool {
		return table.NumberAt(doc, "payload.dashboardUpdate.followUpTasksCount") == table.NumberAt(doc, "payload.followUpTasksCreated.#") && table.NumberAt(doc, "payload.followUpTasksCreated.#") > 0
	},
}

func percentFits(doc any, _ map[string]any) bool {
	d, _ := table.Lookup(doc, "payload.dashboardUpdate")
	total := table.NumberAt(d, "totalCount")
	return total > 0 && table.NumberAt(d, "percentComplete") == math.Round(1000*table.NumberAt(d, "completedCount")/total)/10
}

func fallingPriorities(doc any, _ map[string]any) bool {
	last := priorityRank(table.TextAt(doc, "payload.task.priority"))
	for _, p := range table.ArrayAt(doc, "payload.nextTasksPreview") {
		rank := priorityRank(table.TextAt(p, "priority"))
		if rank < last {
			return false
		}
		last = rank
	}
	return last < len(Priorities)
}

// Priorities are the priorities of the plan, the most urgent first.
var Priorities = []string{"critical", "high", "medium", "low"}

// priorityRank is len(Priorities) for what is none.
func priorityRank(p string) int {
	if i := slices.Index(Priorities, p); i >= 0 {
		return i
	}
	return len(Priorities)
}

// says reports whether an error has the words of S1's table, in whatever case.
func says(words string) func(doc any, _ map[string]any) bool {
	return func(doc any, _ map[string]any) bool {
		e, _ := table.Lookup(doc, "error")
		return strings.Contains(strings.ToLower(table.TextAt(e, "message")+"\n"+table.TextAt(e, "data.status")), strings.ToLower(words))
	}
}

// namesCommands reports whether an error lists the commands of callCOEAgent.
func namesCommands(doc any, _ map[string]any) bool {
	text := table.TextAt(doc, "error.message")
	if data, there := table.Lookup(doc, "error.data"); there {
		text += string(rawjson.Encode(data))
	}
	for _, command := range []string{"plan", "verify", "ask"} {
		if !regexp.MustCompile(`\b` + command + `\b`).MatchString(text) {
			return false
		}
	}
	return true
}
