// Package plan is the task queue behind the coe tools: one state machine that
// every version of every tool acts on (tools.md §3.2, C-12), read without locks
// and changed in transactions.
package plan

import (
	"encoding/json"
	"time"
)

// A Priority orders the queue; the lower one comes first.
type Priority int

// The priorities.
const (
	Critical Priority = iota
	High
	Medium
	Low
)

var priorities = []string{"critical", "high", "medium", "low"}

// Priorities returns the words for the priorities, the most urgent first.
func Priorities() []string { return priorities }

// ParsePriority returns the priority with a word of [Priorities].
func ParsePriority(word string) (Priority, bool) {
	for i, p := range priorities {
		if p == word {
			return Priority(i), true
		}
	}
	return 0, false
}

func (p Priority) String() string { return priorities[p] }

// MarshalJSON writes the word.
func (p Priority) MarshalJSON() ([]byte, error) { return json.Marshal(p.String()) }

// A State is what has been reported of a task. Whether a queued one is ready or
// blocked follows from its dependencies and is not stored: [View.Status].
type State int

// The states.
const (
	Queued State = iota
	InProgress
	Paused
	Failed
	Done
)

// A Status is a state in the words of getNextTask v1.0, which has no word for
// paused (pending) and none for failed (blocked, as somebody must decide).
type Status string

// The statuses.
const (
	StatusPending    Status = "pending"
	StatusReady      Status = "ready"
	StatusInProgress Status = "in-progress"
	StatusDone       Status = "done"
	StatusBlocked    Status = "blocked"
)

// A Task is one piece of work. A task in a plan is never changed, only replaced.
type Task struct {
	ID          string   `json:"id"`
	TicketID    string   `json:"ticketId"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Priority    Priority `json:"-"`
	State       State    `json:"-"`
	// Hold is why a queued task must not be started, beside its dependencies.
	Hold         string   `json:"-"`
	Dependencies []string `json:"dependencies"`
	Related      []string `json:"relatedTasks"`
	// Prompt is nil for tasks that tools have created.
	Prompt         *Prompt   `json:"superDetailedPrompt"`
	Reference      Reference `json:"planReference"`
	EstimatedHours float64   `json:"estimatedHours"`
	ActualHours    float64   `json:"-"`
	Progress       float64   `json:"-"`
	// Verifies is the task that a verification task is about. Verification
	// tasks are the verifiers' work and do not stand in the queue.
	Verifies string `json:"-"`
	// Urgent puts a task before all others of its priority, and before what was
	// urgent until then.
	Urgent bool `json:"-"`
	// Holder is who works on the task, or has been told to.
	Holder Holder `json:"-"`
	// Seen is when the task last changed while somebody had it.
	Seen time.Time `json:"-"`
	// Numbered says that the id comes from the place in the file, since the file gives
	// none.
	Numbered bool      `json:"-"`
	Created  time.Time `json:"createdAt"`

	// byPlace are the ids in Dependencies and Related that the file names although it
	// gives them to no task: they come from places.
	byPlace []string
	// verification is the task that checks this one, once it has been done.
	verification string
	// order is the age: of two tasks the lower is the older.
	order int
}

// A Holder is an agent. One without a name of its own is known in one process
// only, which Process names; it is empty for agents with a name.
type Holder struct {
	Agent   string `json:"agent"`
	Process string `json:"process,omitempty"`
}

// A Prompt guides the agent that does a task.
type Prompt struct {
	Description        string         `json:"description"`
	Context            string         `json:"context,omitempty"`
	Requirements       []string       `json:"requirements"`
	DesignReferences   map[string]any `json:"designReferences"`
	Files              *Files         `json:"files,omitempty"`
	AcceptanceCriteria []string       `json:"acceptanceCriteria"`
	EstimatedHours     float64        `json:"estimatedHours"`
	ComplexityLevel    string         `json:"complexityLevel"`
	SkillsRequired     []string       `json:"skillsRequired"`
}

// Files are the files a task is about.
type Files struct {
	ReadFrom     []string `json:"readFrom"`
	WriteTo      []string `json:"writeTo"`
	ReferencedIn []string `json:"referencedIn"`
}

// A Reference says where in the plan a task comes from.
type Reference struct {
	PlanID           string   `json:"planId"`
	Version          string   `json:"version"`
	AffectedSections []string `json:"affectedSections"`
}
