package faults

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Plan is what a proxy does. The zero Plan has no faults.
type Plan struct {
	// Seed decides all random choices: the same plan and the same traffic make the same
	// faults.
	Seed uint64 `json:"seed,omitempty"`
	// Rules are tried in order. The first match applies: a message has at most one fault.
	Rules []Rule `json:"rules"`
}

// Rule is one fault and when it happens. The fault's Note describes the parameters that it
// reads, and their defaults; the others have no effect.
type Rule struct {
	// Fault is an id of the [Catalogue].
	Fault string `json:"fault"`
	// Variant is one of the fault's forms; empty is its first.
	Variant string `json:"variant,omitempty"`
	// When selects messages; the zero Selector matches all that the fault applies to.
	When Selector `json:"when,omitzero"`
	// Unsent does not forward the request to the server. By default the server executes it
	// and the fault affects the answer. Faults that refuse the request (status codes,
	// errors) never forward it unless Executed is set.
	Unsent bool `json:"unsent,omitempty"`
	// Executed forwards the request although the client gets a refusal, like a gateway
	// that loses the answer.
	Executed bool `json:"executed,omitempty"`
	// For is how long the fault lasts.
	For Duration `json:"for,omitempty"`
	// Every is the pause between the parts of an answer.
	Every Duration `json:"every,omitempty"`
	// Repeat is the number of parts.
	Repeat int `json:"repeat,omitempty"`
	// Size is in bytes.
	Size int `json:"size,omitempty"`
	// Status is an HTTP status or an exit status.
	Status int `json:"status,omitempty"`
	// Text is a header, a location, a version: see the fault's Note.
	Text string `json:"text,omitempty"`
}

// Selector selects the messages of a rule. All conditions must hold. Each rule counts only
// the messages that Methods, Tools and After select and that no earlier rule matched.
type Selector struct {
	// Methods are JSON-RPC methods of requests and notifications, or GET, DELETE and
	// CONNECT for HTTP requests without one. Empty means the fault's own methods, or any
	// request with an id. Methods and Tools are an error for a fault of a connection or of
	// the start of a program, which comes before any message.
	Methods []string `json:"methods,omitempty"`
	// Tools are names of tools in tools/call.
	Tools []string `json:"tools,omitempty"`
	// Skip is the number of messages that pass first.
	Skip int `json:"skip,omitempty"`
	// Nth selects every nth message after Skip; 0 and 1 select each.
	Nth int `json:"nth,omitempty"`
	// Count is the largest number of faults; 0 means no limit.
	Count int `json:"count,omitempty"`
	// Probability is in (0, 1]; 0 means 1.
	Probability float64 `json:"probability,omitempty"`
	// After is the time since the plan began.
	After Duration `json:"after,omitempty"`
	// Until is the time since the plan began; 0 means no end.
	Until Duration `json:"until,omitempty"`
}

// Duration is a time.Duration that is written as text in JSON, such as "1.5s".
type Duration time.Duration

// MarshalText returns the form of [time.Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText accepts the forms of [time.ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}

// or returns the duration, or the default if it is not set.
func (d Duration) or(byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return time.Duration(d)
}

// maxPart bounds the size and the number of parts of one message.
const maxPart = 1 << 32

// ParsePlan reads a plan from JSON and checks it. Unknown members are an error, because a
// misspelled selector would match every message.
func ParsePlan(text []byte) (Plan, error) {
	var p Plan
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf("plan of faults: %w", err)
	}
	if dec.More() {
		return Plan{}, errors.New("plan of faults: text after the plan")
	}
	if err := p.check(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// check returns an error for an unknown fault or variant, a fault that is not made here,
// or a number out of range.
func (p Plan) check() error {
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
	case !f.hasVariant(r.Variant):
		return fmt.Errorf("%s has no variant %q; it has %q", r.Fault, r.Variant, f.Variants)
	case r.Unsent && r.Executed:
		return errors.New("unsent and executed exclude each other")
	case r.For < 0 || r.Every < 0:
		return errors.New("times are not negative")
	case r.Repeat < 0 || r.Size < 0 || int64(r.Repeat) > maxPart || int64(r.Size) > maxPart:
		return fmt.Errorf("repeat and size are between 0 and %d", int64(maxPart))
	case r.Status < 0 || r.Status > 999 || r.Status > 0 && r.Status < 100 && f.Made(HTTP):
		return errors.New("status is not an HTTP status or exit status")
	case len(r.When.Methods)+len(r.When.Tools) > 0 && !pointOf(r.Fault).ofMessages():
		return fmt.Errorf("%s happens before there is a message: it cannot be selected by methods or tools", r.Fault)
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
