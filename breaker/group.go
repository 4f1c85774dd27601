package breaker

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of [GroupSettings].
const (
	defaultGroupSize  = 1024
	defaultGroupQuiet = 10 * time.Minute
)

// GroupSettings configure a [Group]. The zero value uses the defaults.
type GroupSettings struct {
	// Settings are the settings of every breaker. The name of a breaker is Name, a
	// slash and its key, or the key alone if Name is empty.
	Settings Settings
	// Size is the greatest number of breakers. 0 means 1,024.
	Size int
	// Quiet is how long the group keeps a CLOSED breaker after its last failure or
	// transition. 0 means 10 minutes.
	Quiet time.Duration
}

// Validate returns an error for values that [NewGroup] replaces by a default.
func (s GroupSettings) Validate() error {
	errs := []error{s.Settings.Validate()}
	if s.Size < 0 {
		errs = append(errs, fmt.Errorf("breaker: group size %d: use 1 or more, 0 for %d", s.Size, defaultGroupSize))
	}
	if s.Quiet < 0 {
		errs = append(errs, fmt.Errorf("breaker: group quiet time %s: use a positive duration, 0 for %s", s.Quiet, defaultGroupQuiet))
	}
	return errors.Join(errs...)
}

// Group holds a breaker for each key. Its size is bounded, because keys may
// come from a peer. Use [NewGroup] to make one; it needs no Close. A Group is
// safe for concurrent use.
//
// A group costs least if you call [Group.Find] first, and [Group.Get] only at
// the first failure of a key. Keys that never fail then cost nothing.
type Group struct {
	set GroupSettings
	// all is replaced under mu and never changed, so that a lookup takes no lock.
	all atomic.Pointer[map[string]*Breaker]
	mu  sync.Mutex
}

// NewGroup returns an empty group. It replaces values that
// [GroupSettings.Validate] rejects by the defaults.
func NewGroup(s GroupSettings) *Group {
	if s.Size <= 0 {
		s.Size = defaultGroupSize
	}
	if s.Quiet <= 0 {
		s.Quiet = defaultGroupQuiet
	}
	g := &Group{set: s}
	g.all.Store(new(map[string]*Breaker))
	return g
}

// Find returns the breaker of key, or nil. It takes no lock and allocates
// nothing.
func (g *Group) Find(key string) *Breaker { return (*g.all.Load())[key] }

// Get returns the breaker of key, and makes it if necessary. Then it removes
// breakers that are CLOSED, have no throttle, mode or probation, and had no
// failure or transition for [GroupSettings.Quiet]. If the group is still full,
// it also removes the breaker without a failure for the longest time, CLOSED
// ones first. Callers that hold a removed breaker can still use it, but no
// longer share it with later callers.
func (g *Group) Get(key string) *Breaker {
	if b := g.Find(key); b != nil {
		return b
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	old := *g.all.Load()
	if b := old[key]; b != nil {
		return b
	}
	all := g.remembered(old)
	set := g.set.Settings
	if set.Name != "" {
		set.Name += "/"
	}
	set.Name += key
	b := New(set)
	all[key] = b
	g.all.Store(&all)
	return b
}

// All returns the keys and their breakers at this moment, in no particular
// order. It takes no lock.
func (g *Group) All() iter.Seq2[string, *Breaker] { return maps.All(*g.all.Load()) }

// Snapshots returns the status of all breakers, sorted by name. It changes
// nothing.
func (g *Group) Snapshots() []Snapshot {
	all := *g.all.Load()
	list := make([]Snapshot, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		list = append(list, all[key].Snapshot())
	}
	return list
}

// remembered returns a copy of all with room for one more breaker. It leaves out the
// breakers that [Group.Get] removes.
func (g *Group) remembered(all map[string]*Breaker) map[string]*Breaker {
	kept := make(map[string]*Breaker, len(all)+1)
	quiet := time.Now().Add(-g.set.Quiet)
	var least struct {
		key   string
		value int
		at    time.Time
	}
	for key, b := range all {
		value, at := b.value(), b.lastEvent()
		if value == 0 && !at.After(quiet) {
			continue
		}
		if len(kept) == 0 || value < least.value || value == least.value && at.Before(least.at) {
			least.key, least.value, least.at = key, value, at
		}
		kept[key] = b
	}
	if len(kept) >= g.set.Size {
		delete(kept, least.key)
	}
	return kept
}

// value returns how much is lost if the breaker is removed: for 0 only a run of
// failures that is too short to open it.
func (b *Breaker) value() int {
	ph := b.phase.Load()
	switch {
	case ph.state != Closed:
		return 2
	case Mode(b.mode.Load()) != Auto, ph.probation.Load(), b.holding() != nil:
		return 1
	default:
		return 0
	}
}

// lastEvent is when the breaker last changed its state or counted a failure.
func (b *Breaker) lastEvent() time.Time {
	at := b.phase.Load().since
	if f := b.failed.Load(); f != nil && f.at.After(at) {
		at = f.at
	}
	return at
}
