package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Plan says what goes wrong. The zero Plan is a proxy that harms nothing.
type Plan struct {
	// Seed is where all chance comes from: the same plan and the same traffic
	// make the same faults.
	Seed uint64 `json:"seed,omitempty"`
	// Rules are tried in order; the first that matches acts, and one message
	// has at most one fault.
	Rules []Rule `json:"rules"`
}

// Rule is one fault and when it happens. What a parameter means for a fault,
// and its default, is in the fault's Note; most faults read few, and those that a
// fault does not read, Unsent and Executed among them, change nothing.
type Rule struct {
	// Fault is an id of the [Catalogue].
	Fault string `json:"fault"`
	// Variant is one of the fault's forms; empty is its first.
	Variant string `json:"variant,omitempty"`
	// When selects; the zero Selector is every message the fault is about.
	When Selector `json:"when,omitzero"`
	// Unsent keeps the request from the server. Else the server executes it
	// and the fault hits its answer, which is the harder case; faults that are
	// a refusal (status codes, errors) never pass the request on, unless
	// Executed is set.
	Unsent bool `json:"unsent,omitempty"`
	// Executed passes the request on although the client gets a refusal,
	// as a gateway does that loses the answer.
	Executed bool `json:"executed,omitempty"`
	// For is how long the fault lasts.
	For Duration `json:"for,omitempty"`
	// Every is the pause between its parts.
	Every Duration `json:"every,omitempty"`
	// Repeat is how many parts.
	Repeat int `json:"repeat,omitempty"`
	// Size is in bytes.
	Size int `json:"size,omitempty"`
	// Status is an HTTP status or an exit status.
	Status int `json:"status,omitempty"`
	// Text is a header, a location, a version: see the fault's Note.
	Text string `json:"text,omitempty"`
}

// Selector says which messages a rule hits. All that is set must hold.
// Each rule counts its own messages, and only those that Methods,
// Tools and After let through and that no rule before it hit.
type Selector struct {
	// Methods are JSON-RPC methods of requests and notifications, or GET,
	// DELETE and CONNECT for the HTTP requests that have none. Empty is what
	// the fault is about, or any request with an id. A fault of a connection or
	// of the start of a program comes before any message, and Methods and Tools
	// with it are an error.
	Methods []string `json:"methods,omitempty"`
	// Tools are names of tools in tools/call.
	Tools []string `json:"tools,omitempty"`
	// Skip lets so many pass first.
	Skip int `json:"skip,omitempty"`
	// Nth hits only every nth of those behind Skip: 1 and 0 each one.
	Nth int `json:"nth,omitempty"`
	// Count is how often the rule acts; 0 is without end.
	Count int `json:"count,omitempty"`
	// Probability is in (0, 1]; 0 is 1.
	Probability float64 `json:"probability,omitempty"`
	// After is from the beginning of the plan.
	After Duration `json:"after,omitempty"`
	// Until is from the beginning of the plan; 0 is without end.
	Until Duration `json:"until,omitempty"`
}

// Duration is a time.Duration that is text in JSON, such as "1.5s".
type Duration time.Duration

// MarshalText writes the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// or returns the duration, or what is meant when it is not set.
func (d Duration) or(byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return time.Duration(d)
}

// maxPart bounds what a plan may ask for in one message: 4 GiB or as many parts.
const maxPart = 1 << 32

// ParsePlan reads a plan from JSON and checks it as [Plan.Check] does. Members
// it does not know are an error: a misspelt selector would hit everything.
func ParsePlan(text []byte) (Plan, error) {
	var p Plan
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan of faults: %w", err)
	}
	if dec.More() {
		return Plan{}, errors.New("plan of faults: text behind the plan")
	}
	if err := p.Check(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// Check says what is wrong with a plan: an unknown fault or variant, a fault
// that is not made here, a number out of range.
func (p Plan) Check() error {
	for i, r := range p.Rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("plan of faults: rule %d: %w", i, err)
		}
	}
	return nil
}

func (r Rule) check() error {
	f, ok := Find(r.Fault)
	switch {
	case !ok:
		return fmt.Errorf("no fault is called %q", r.Fault)
	case len(f.Carriers) == 0:
		return fmt.Errorf("%s is not made here: %s", r.Fault, f.Note)
	case !f.Variant(r.Variant):
		return fmt.Errorf("%s has no variant %q; it has %q", r.Fault, r.Variant, f.Variants)
	case r.Unsent && r.Executed:
		return errors.New("unsent and executed exclude each other")
	case r.For < 0 || r.Every < 0:
		return errors.New("times are not negative")
	case r.Repeat < 0 || r.Size < 0 || int64(r.Repeat) > maxPart || int64(r.Size) > maxPart:
		return fmt.Errorf("repeat and size are between 0 and %d", int64(maxPart))
	case r.Status < 0 || r.Status > 999 || r.Status > 0 && r.Status < 100 && f.Made(HTTP):
		return errors.New("status is a status")
	case len(r.When.Methods)+len(r.When.Tools) > 0 && !pointOf(r.Fault).ofMessages():
		return fmt.Errorf("%s happens where there is no message yet: it has no methods or tools to select by", r.Fault)
	}
	return r.When.check()
}

func (s Selector) check() error {
	switch {
	case s.Skip < 0 || s.Nth < 0 || s.Count < 0:
		return errors.New("skip, nth and count are not negative")
	case !(s.Probability >= 0 && s.Probability <= 1): // NaN too
		return errors.New("probability is between 0 and 1")
	case s.After < 0 || s.Until < 0 || s.Until > 0 && s.Until <= s.After:
		return errors.New("after and until are not negative, and until is later")
	case slices.Contains(s.Methods, "") || slices.Contains(s.Tools, ""):
		return errors.New("methods and tools have names")
	}
	return nil
}

// variant is the form that the rule has.
func (r *Rule) variant() string {
	if r.Variant != "" {
		return r.Variant
	}
	if f, _ := Find(r.Fault); len(f.Variants) > 0 {
		return f.Variants[0]
	}
	return ""
}

func orInt(v, byDefault int) int {
	if v == 0 {
		return byDefault
	}
	return v
}

func orText(v, byDefault string) string {
	if v == "" {
		return byDefault
	}
	return v
}
