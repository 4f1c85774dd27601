// Package session keeps the clarifications that are under way: in memory only,
// lost with the process, ended by half an hour without a call (tools.md §5.2).
package session

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// The limits of a store.
const (
	// Idle is how long a session lives without a call.
	Idle = 30 * time.Minute
	// Remembered is how many expired sessions are remembered, so that they can
	// be told from ids there never were.
	Remembered = 1024
	// MaxOpen bounds the sessions at a time; the one idle longest makes room.
	MaxOpen = 4096
)

// Why there is no session of an id.
var (
	ErrNotFound = errors.New("there is no such session")
	ErrExpired  = errors.New("the session has expired")
)

// A Store holds sessions of type T by id. It is safe for concurrent use and
// starts no goroutine: what has expired goes when somebody looks.
type Store[T any] struct {
	mu      sync.Mutex
	open    map[string]*list.Element // of *entry[T]
	byUse   *list.List               // the one idle longest first
	expired *memory
}

type entry[T any] struct {
	id    string
	value T
	used  time.Time
	turn  chan struct{} // holds a token while nobody uses the session
}

// NewStore returns an empty store.
func NewStore[T any]() *Store[T] {
	return &Store[T]{open: make(map[string]*list.Element), byUse: list.New(), expired: newMemory(Remembered)}
}

// Create adds a session, in use by the caller as after [Store.Use].
func (s *Store[T]) Create(id string, value T, now time.Time) *Turn[T] {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	for len(s.open) >= MaxOpen {
		s.expire(s.byUse.Front())
	}
	e := &entry[T]{id: id, value: value, used: now, turn: make(chan struct{}, 1)}
	s.open[id] = s.byUse.PushBack(e)
	return &Turn[T]{Value: value, store: s, entry: e}
}

// Use returns the session id for the use of the caller alone; calls of the
// same session wait for each other. The error is [ErrNotFound], [ErrExpired]
// or that of ctx.
func (s *Store[T]) Use(ctx context.Context, id string, now time.Time) (*Turn[T], error) {
	e, err := s.touch(id, now)
	if err != nil {
		return nil, err
	}
	select {
	case <-e.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	// Its holder may have ended it.
	if _, err := s.touch(id, now); err != nil {
		e.turn <- struct{}{} // the next in line must learn it too
		return nil, err
	}
	return &Turn[T]{Value: e.value, store: s, entry: e}, nil
}

// touch finds a session and makes it the one used last.
func (s *Store[T]) touch(id string, now time.Time) (*entry[T], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sweep(now)
	if el, ok := s.open[id]; ok {
		e := entryOf[T](el)
		e.used = latest(e.used, now)
		s.byUse.MoveToBack(el)
		return e, nil
	}
	if s.expired.has(id) {
		return nil, ErrExpired
	}
	return nil, ErrNotFound
}

// Len returns how many sessions are open.
func (s *Store[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// sweep expires what has been idle for too long. s.mu is held.
func (s *Store[T]) sweep(now time.Time) {
	for el := s.byUse.Front(); el != nil && now.Sub(entryOf[T](el).used) >= Idle; el = s.byUse.Front() {
		s.expire(el)
	}
}

// expire ends a session and remembers its id. s.mu is held.
func (s *Store[T]) expire(el *list.Element) {
	e := entryOf[T](el)
	s.byUse.Remove(el)
	delete(s.open, e.id)
	s.expired.add(e.id)
}

func entryOf[T any](el *list.Element) *entry[T] {
	e, _ := el.Value.(*entry[T]) // nothing else is in the list
	return e
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// A Turn is the use of a session by one call.
type Turn[T any] struct {
	Value T

	store *Store[T]
	entry *entry[T]
}

// ID returns the id of the session.
func (t *Turn[T]) ID() string { return t.entry.id }

// Done ends the turn. The session stays, its idle time starts at now.
func (t *Turn[T]) Done(now time.Time) {
	t.store.mu.Lock()
	if el, ok := t.store.open[t.entry.id]; ok && entryOf[T](el) == t.entry {
		t.entry.used = latest(t.entry.used, now)
		t.store.byUse.MoveToBack(el)
	}
	t.store.mu.Unlock()
	t.entry.turn <- struct{}{}
}

// End closes the session: its id is unknown from now on (S3-CLAR-11). The turn
// still has to be done.
func (t *Turn[T]) End() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if el, ok := t.store.open[t.entry.id]; ok && entryOf[T](el) == t.entry {
		t.store.byUse.Remove(el)
		delete(t.store.open, t.entry.id)
	}
}
