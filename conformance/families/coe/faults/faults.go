// Package faults holds what a test has asked to go wrong (tools.md §3.4): which
// tool, in what way, how often. It injects nothing on its own; the tools ask it.
package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Kind is a way to go wrong.
type Kind string

// The kinds.
const (
	// Delay makes the answer team slow for askQuestion and getImmediateAnswer,
	// and the call itself for every other tool.
	Delay Kind = "delay"
	// Internal makes the call fail as if by a bug that was noticed.
	Internal Kind = "internal"
	// Panic makes it fail by one that was not.
	Panic Kind = "panic"
	// Unavailable takes away what the tool stands on, such as the task queue.
	Unavailable Kind = "unavailable"
	// Locked has another connection hold the lock of the database while the
	// tool writes. It strikes once for each attempt to write.
	Locked Kind = "db_locked"
	// Down lets the connection to the database fail.
	Down Kind = "db_down"
	// Unblock fails the second step of a task's end, after its tickets have
	// been closed.
	Unblock Kind = "unblock"
)

// Kinds returns every kind.
func Kinds() []Kind { return []Kind{Delay, Internal, Panic, Unavailable, Locked, Down, Unblock} }

// Any is the tool of a fault that strikes whatever is called.
const Any = "*"

// MaxDelay bounds a delay, so that no test server hangs for good.
const MaxDelay = 10 * time.Minute

// A Fault is one thing that goes wrong.
type Fault struct {
	Tool string
	Kind Kind
	// Times is how often it strikes; 0 is until it is cleared.
	Times int
	// Delay is for the kind of that name.
	Delay time.Duration
}

// Check returns an error that says what is wrong with f; tools are the names a
// fault may have as its tool.
func (f Fault) Check(tools []string) error {
	switch {
	case f.Tool == "":
		return errors.New("a fault needs a tool")
	case f.Tool != Any && !slices.Contains(tools, f.Tool):
		return fmt.Errorf("unknown tool of a fault, known: %s, %s", Any, strings.Join(tools, ", "))
	case !slices.Contains(Kinds(), f.Kind):
		return fmt.Errorf("unknown kind of fault, known: %s", join(Kinds()))
	case f.Times < 0:
		return errors.New("times of a fault is 0 (until cleared) or more")
	case f.Delay < 0 || f.Delay > MaxDelay:
		return fmt.Errorf("delay of a fault is from 0 to %s", MaxDelay)
	case f.Kind == Delay && f.Delay == 0:
		return errors.New("a fault of kind delay needs a delay")
	}
	return nil
}

func join(kinds []Kind) string {
	texts := make([]string, len(kinds))
	for i, k := range kinds {
		texts[i] = string(k)
	}
	return strings.Join(texts, ", ")
}

// Parse reads the form of the flag: tool=createTicket,kind=db_locked,times=3.
// Without times a fault strikes once.
func Parse(text string) (Fault, error) {
	f := Fault{Times: 1}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return Fault{}, fmt.Errorf("fault %q: %q is not key=value", text, part)
		}
		var err error
		switch strings.TrimSpace(key) {
		case "tool":
			f.Tool = value
		case "kind":
			f.Kind = Kind(value)
		case "times":
			f.Times, err = strconv.Atoi(value)
		case "delay":
			f.Delay, err = time.ParseDuration(value)
		default:
			err = errors.New("known are tool, kind, times, delay")
		}
		if err != nil {
			return Fault{}, fmt.Errorf("fault %q: %s: %w", text, key, err)
		}
	}
	return f, nil
}

// Set is the faults that are armed. A nil set has none.
type Set struct {
	mu    sync.Mutex
	armed []*Fault
}

// Add arms a fault that [Fault.Check] has passed.
func (s *Set) Add(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = append(s.armed, &f)
}

// Clear disarms everything.
func (s *Set) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armed = nil
}

// List returns the armed faults with the times they have left.
func (s *Set) List() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Fault, len(s.armed))
	for i, f := range s.armed {
		out[i] = *f
	}
	return out
}

// Strike uses up one time of the first fault of a kind that is armed for tool,
// and says whether there was one.
func (s *Set) Strike(tool string, kind Kind) (Fault, bool) {
	if s == nil {
		return Fault{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.armed {
		if f.Kind != kind || f.Tool != tool && f.Tool != Any {
			continue
		}
		hit := *f
		if f.Times == 1 {
			s.armed = slices.Delete(s.armed, i, i+1)
		} else if f.Times > 1 {
			f.Times--
		}
		return hit, true
	}
	return Fault{}, false
}

// Armed says whether a fault of a kind is armed for any tool, and uses up none.
func (s *Set) Armed(kind Kind) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.armed, func(f *Fault) bool { return f.Kind == kind })
}
