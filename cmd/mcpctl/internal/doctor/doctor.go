// Package doctor has the steps of a diagnosis, and those that need no client: the way to a server over
// the network, and the processes that a program leaves.
package doctor

// Status is how a step went.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Problem Status = "problem"
)

// Step is one step of a diagnosis.
type Step struct {
	// Step names it in a word.
	Step   string `json:"step"`
	Status Status `json:"status"`
	// Seen is what was found, Why why that matters. Why is "" for a step that is good.
	Seen string `json:"seen"`
	Why  string `json:"why,omitempty"`
	// Next are commands or changes that may help, the best first.
	Next []string `json:"next,omitempty"`
}

// Good returns a step that went well.
func Good(step, seen string) Step { return Step{Step: step, Status: OK, Seen: seen} }
