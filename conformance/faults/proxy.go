package faults

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Proxy makes the faults of a [Plan] and records what it did. Create it with [New], inside
// the synctest bubble if it is used in one. Its methods are safe for concurrent use.
type Proxy struct {
	began time.Time

	mu      sync.Mutex
	now     *period
	made    map[string]int
	history history
	journal *journal          // nil: nothing is written to a file
	resume  map[string][]byte // answers that wait for a Last-Event-ID (C2)
}

// New returns a proxy that follows the plan. It needs no Close.
func New(plan Plan) (*Proxy, error) {
	if err := plan.check(); err != nil {
		return nil, err
	}
	return &Proxy{began: time.Now(), now: newPeriod(plan), made: map[string]int{}, resume: map[string][]byte{}}, nil
}

// Set replaces the plan. Answers that the old plan holds are delivered, and a frozen stream
// continues. Broken connections stay broken.
func (p *Proxy) Set(plan Plan) error {
	if err := plan.check(); err != nil {
		return err
	}
	p.replace(newPeriod(plan))
	return nil
}

// Heal is Set with an empty plan.
func (p *Proxy) Heal() { p.replace(newPeriod(Plan{})) }

func (p *Proxy) replace(next *period) {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.now.over)
	p.now = next
}

// Stats returns how often each fault was made since New, by id. The caller owns the map.
func (p *Proxy) Stats() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.made)
}

// period is the time of one plan, and the state of its faults.
type period struct {
	plan  Plan
	rules []*armed
	since time.Time
	over  chan struct{} // closed when the next plan begins

	dead    map[string]bool   // sessions that are gone (B17)
	waiting map[string]waiter // answers that wait for their cancellation (D6, F15)
	crowd   *crowd            // answers that wait for each other (D5)
	memory  map[string]int    // what faults with phases remember (F3, F10, F12)
}

func newPeriod(plan Plan) *period {
	now := &period{
		plan: plan, since: time.Now(), over: make(chan struct{}),
		dead: map[string]bool{}, waiting: map[string]waiter{}, memory: map[string]int{},
	}
	for i := range plan.Rules {
		f, _ := Find(plan.Rules[i].Fault)
		rule := plan.Rules[i]
		now.rules = append(now.rules, &armed{Rule: rule, index: i, fault: f, form: rule.variant()})
	}
	return now
}

// armed is a rule with its counters.
type armed struct {
	Rule
	index int
	fault Fault
	form  string
	seen  int
	fired int
}

// hit is a fault about to be made.
type hit struct {
	Rule
	form   string
	period *period
	random *rand.Rand // of this hit alone, so that concurrent hits do not depend on each other
}

// event is a message or a connection that a rule may match.
type event struct {
	carrier Carrier
	point   point
	method  string // of messages
	tool    string
	request bool // a message with an id and a method
	early   bool // the message has not been read whole
}

// match returns the fault of the event, or nil, and counts it.
func (p *Proxy) match(e event) *hit {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.now.rules {
		if r.early() != e.early || !r.about(e) || !r.due(time.Since(p.now.since)) {
			continue
		}
		r.seen++
		// Each message of a rule has its own source, so that the decision depends on the
		// seed only and not on concurrent messages.
		random := rand.New(rand.NewPCG(p.now.plan.Seed, uint64(r.index)<<32|uint64(r.seen)&0xffffffff))
		if !r.chosen(random) {
			p.journal.rule(r)
			continue
		}
		r.fired++
		p.journal.rule(r)
		p.made[r.fault.ID]++
		return &hit{Rule: r.Rule, form: r.form, period: p.now, random: random}
	}
	return nil
}

// early reports whether the fault comes before the message is read.
func (r *armed) early() bool { return r.fault.ID == "B29" || r.fault.ID == "E6" && r.form == "request" }

// about reports whether the rule applies to the event.
func (r *armed) about(e event) bool {
	made := r.fault.Made(e.carrier) || e.carrier == Process && e.point == atMessage && r.fault.Made(Stream)
	if !made || pointOf(r.fault.ID) != e.point {
		return false
	}
	if e.point != atMessage && e.point != atFrames {
		return true
	}
	methods := r.When.Methods
	if len(methods) == 0 {
		methods = r.fault.Methods
	}
	if len(methods) == 0 && !e.request || len(methods) > 0 && !slices.Contains(methods, e.method) {
		return false
	}
	switch {
	case r.fault.ID == "F10":
		return true // its tools are which tool changes; lists have no name
	case r.form == "sigstop" && e.carrier != Process:
		return false
	}
	return len(r.When.Tools) == 0 || slices.Contains(r.When.Tools, e.tool)
}

func (r *armed) due(since time.Duration) bool {
	if r.fault.ID == "A9" && since/r.Every.or(time.Second)%2 == 1 {
		return false // up
	}
	return since >= time.Duration(r.When.After) && (r.When.Until == 0 || since < time.Duration(r.When.Until))
}

// chosen reports whether the counters, with this event, select it.
func (r *armed) chosen(random *rand.Rand) bool {
	w := r.When
	behind := r.seen - w.Skip
	return behind > 0 &&
		(w.Nth <= 1 || behind%w.Nth == 0) &&
		(w.Count == 0 || r.fired < w.Count) &&
		(w.Probability == 0 || random.Float64() < w.Probability)
}

// active returns the active rule for a fault, or nil.
func (p *Proxy) active(id string) *armed {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.now.rules {
		if r.fault.ID == id && r.due(time.Since(p.now.since)) {
			return r
		}
	}
	return nil
}

// count returns how often a fault with phases reached this point, with this time.
func (p *Proxy) count(h *hit, what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	h.period.memory[what]++
	return h.period.memory[what]
}

// pause waits for d. It returns false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold waits until the plan is replaced, or for d if it is not 0. It returns false if the
// context ended first.
func (h *hit) hold(ctx context.Context, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-h.period.over:
		return true
	case <-after:
		return true
	case <-ctx.Done():
		return false
	}
}

// point is where in the traffic a fault is made.
type point int

const (
	atMessage point = iota // a request or a notification
	atConn                 // a dialed or accepted connection
	atFrames               // an HTTP/2 stream
	atStart                // of a program or a stream
)

// ofMessages reports whether the point has a message to select by.
func (p point) ofMessages() bool { return p == atMessage || p == atFrames }

func pointOf(id string) point {
	switch id {
	case "A1", "A2", "A3", "A4", "A5", "A6", "A8", "A9", "B27":
		return atConn
	case "B25", "B26":
		return atFrames
	case "E2", "E11", "E14":
		return atStart
	default:
		return atMessage
	}
}
