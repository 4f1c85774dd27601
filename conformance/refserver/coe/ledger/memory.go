package ledger

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// keep bounds what a ledger in memory remembers; the oldest goes first.
const keep = 10_000

// memory is a ledger without a file.
type memory struct {
	mu          sync.Mutex
	first       int
	nextTicket  int
	allTickets  []Ticket
	allRecords  []Record
	held, apart bool
}

func newMemory(first int) *memory { return &memory{first: first, nextTicket: first} }

func (m *memory) write(_ context.Context, do func(Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.held:
		return ErrLocked
	case m.apart:
		return ErrUnavailable
	}
	// The transaction works on copies of what it may change in place; to records
	// it only adds, where nobody looks if it fails.
	tx := &memoryTx{first: m.first, nextTicket: m.nextTicket, tickets: slices.Clone(m.allTickets), records: m.allRecords}
	if err := do(tx); err != nil {
		return err
	}
	m.nextTicket = tx.nextTicket
	m.allTickets = latest(tx.tickets)
	m.allRecords = latest(tx.records)
	return nil
}

func latest[T any](s []T) []T {
	if len(s) > keep {
		return slices.Clone(s[len(s)-keep:])
	}
	return s
}

func (m *memory) tickets(context.Context) ([]Ticket, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.allTickets), nil
}

func (m *memory) records(_ context.Context, k Kind) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []Record
	for _, r := range m.allRecords {
		if r.Kind == k {
			out = append(out, r)
		}
	}
	return out, nil
}

func (m *memory) lastID(context.Context, Kind) (int, error) { return 0, nil }

func (m *memory) hold(context.Context) (func() error, error) {
	m.set(&m.held, true)
	return func() error {
		m.set(&m.held, false)
		return nil
	}, nil
}

func (m *memory) unreachable(yes bool) { m.set(&m.apart, yes) }

func (m *memory) set(flag *bool, yes bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*flag = yes
}

func (m *memory) close() error { return nil }

type memoryTx struct {
	first, nextTicket int
	tickets           []Ticket
	records           []Record
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

// AddRecords implements [Tx].
func (tx *memoryTx) AddRecords(_ context.Context, rs ...Record) error {
	tx.records = append(tx.records, rs...)
	return nil
}

// Clear implements [Tx].
func (tx *memoryTx) Clear(context.Context) error {
	tx.nextTicket, tx.tickets, tx.records = tx.first, nil, nil
	return nil
}

// idNumber returns the number at the end of an id such as OBS-001.
func idNumber(id string) int {
	n, _ := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:]) // ids are made by this server
	return n
}
