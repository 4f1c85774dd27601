package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// keep bounds what a ledger in memory remembers; the oldest goes first.
const keep = 10_000

// keepBytes bounds the bodies of the records in memory.
const keepBytes = 64 << 20

// memory is a ledger without a file.
type memory struct {
	mu         sync.Mutex
	first      int
	nextTicket int
	last       map[Kind]int // the number of the latest record
	allTickets []Ticket
	allRecords []Record
	bytes      int // of all records
	held, cut  bool
}

func newMemory(first int) *memory {
	return &memory{first: first, nextTicket: first, last: map[Kind]int{}}
}

func (m *memory) write(_ context.Context, do func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.held:
		return ErrLocked
	case m.cut:
		return ErrUnavailable
	}
	// The transaction works on copies of what it may change in place; to records
	// it only adds, where nobody looks if it fails.
	tx := &memoryTx{
		first: m.first, nextTicket: m.nextTicket, last: m.last, tickets: slices.Clone(m.allTickets), records: m.allRecords, bytes: m.bytes,
	}
	if err := do(tx); err != nil {
		return err
	}
	m.nextTicket, m.last, m.allTickets = tx.nextTicket, tx.last, latest(tx.tickets)
	m.allRecords, m.bytes = tx.records, tx.bytes
	old := 0
	for ; len(m.allRecords)-old > keep || m.bytes > keepBytes; old++ {
		m.bytes -= len(m.allRecords[old].Body)
	}
	if old > 0 {
		m.allRecords = slices.Clone(m.allRecords[old:])
	}
	return nil
}

func latest[T any](s []T) []T {
	if len(s) > keep {
		return slices.Clone(s[len(s)-keep:])
	}
	return s
}

func (m *memory) tickets(_ context.Context, q TicketQuery) (out []Ticket, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.allTickets {
		if (q.TaskID == "" || q.TaskID == t.TaskID) && (q.Number == 0 || q.Number == t.Number) {
			out = append(out, t)
		}
	}
	return out, nil
}

func (m *memory) records(_ context.Context, q RecordQuery) (out []Record, more bool, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	total := 0
	for _, r := range slices.Backward(m.allRecords) {
		if !q.has(r) {
			continue
		}
		if total += len(r.Body); q.Most > 0 && len(out) == q.Most || q.Bytes > 0 && len(out) > 0 && total > q.Bytes {
			more = true
			break
		}
		out = append(out, r)
	}
	slices.Reverse(out)
	return out, more, nil
}

// has says whether the query asks for a record.
func (q RecordQuery) has(r Record) bool {
	return (q.Kind == "" || q.Kind == r.Kind) && (q.ID == "" || q.ID == r.ID) &&
		(len(q.TaskIDs) == 0 || slices.Contains(q.TaskIDs, r.TaskID))
}

func (m *memory) hold(context.Context) (func() error, error) {
	m.set(&m.held, true)
	return func() error {
		m.set(&m.held, false)
		return nil
	}, nil
}

func (m *memory) unreachable(yes bool) { m.set(&m.cut, yes) }

func (m *memory) set(flag *bool, yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*flag = yes
}

func (m *memory) close() error { return nil }

type memoryTx struct {
	first, nextTicket int
	last              map[Kind]int
	tickets           []Ticket
	records           []Record
	bytes             int
}

// AddTicket implements [Tx].
func (tx *memoryTx) AddTicket(_ context.Context, t Ticket) (Ticket, error) {
	t.Number, t.Open = tx.nextTicket, true
	tx.nextTicket++
	tx.tickets = append(tx.tickets, t)
	return t, nil
}

// CloseInvestigations implements [Tx].
func (tx *memoryTx) CloseInvestigations(_ context.Context, taskID string) (int, error) {
	n := 0
	for i := range tx.tickets {
		if t := &tx.tickets[i]; t.Open && t.TaskID == taskID && t.Type == Investigation {
			t.Open = false
			n++
		}
	}
	return n, nil
}

// AddRecord implements [Tx].
func (tx *memoryTx) AddRecord(_ context.Context, r Record) (Record, error) {
	if err := r.check(); err != nil {
		return r, err
	}
	tx.last = maps.Clone(tx.last) // the ledger's own stays until the commit
	tx.last[r.Kind]++
	r.ID = r.Kind.id(tx.last[r.Kind])
	tx.records, tx.bytes = append(tx.records, r), tx.bytes+len(r.Body)
	return r, nil
}

// Clear implements [Tx].
func (tx *memoryTx) Clear(context.Context) error {
	tx.nextTicket, tx.last, tx.tickets, tx.records, tx.bytes = tx.first, map[Kind]int{}, nil, nil, 0
	return nil
}

// id writes the id of a record.
func (k Kind) id(number int) string { return fmt.Sprintf("%s-%03d", prefixes[k], number) }
