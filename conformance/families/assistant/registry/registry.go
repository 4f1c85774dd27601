// Package registry holds the session tokens under which an agent may save
// artifacts: a token is worth something between the beginning and the end of
// one chat request, and stands for the thread the request belongs to
// (tools.md §6.2).
package registry

import (
	"container/list"
	"errors"
	"sync"
	"time"
)

// The limits of a registry.
const (
	// TTL ends a token that nobody unregistered: a backstop, since a request
	// does so when it ends.
	TTL = 10 * time.Minute
	// Max bounds the tokens at a time.
	Max = 4096
)

// Errors of [Registry.Register].
var (
	ErrFull  = errors.New("too many sessions at a time")
	ErrTaken = errors.New("the token is registered already")
	ErrEmpty = errors.New("a session needs a token and a thread")
)

// Saved is what an agent has saved under a token.
type Saved struct {
	ID, ArtifactType, Title string
}

// A Registry maps tokens to threads. It is safe for concurrent use and starts
// no goroutine. No text of it ever holds a token.
type Registry struct {
	mu     sync.Mutex
	tokens map[string]*list.Element // of *entry
	byAge  *list.List               // the oldest first; those forever are not in it
	pinned map[string]*entry
}

type entry struct {
	token, thread string
	since         time.Time
	saved         []Saved
}

// New returns an empty registry.
func New() *Registry {
	return &Registry{tokens: make(map[string]*list.Element), byAge: list.New(), pinned: make(map[string]*entry)}
}

// Register makes token stand for thread from now on.
func (r *Registry) Register(token, thread string, now time.Time) error {
	if token == "" || thread == "" {
		return ErrEmpty
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	switch {
	case r.find(token) != nil:
		return ErrTaken
	case len(r.tokens) >= Max:
		return ErrFull
	}
	r.tokens[token] = r.byAge.PushBack(&entry{token: token, thread: thread, since: now})
	return nil
}

// Pin makes token stand for thread until it is unregistered, whatever the time.
// It is for tests of servers, which have no other way to know a token.
func (r *Registry) Pin(token, thread string) error {
	if token == "" || thread == "" {
		return ErrEmpty
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(token) != nil {
		return ErrTaken
	}
	r.pinned[token] = &entry{token: token, thread: thread}
	return nil
}

// Unregister makes token worthless and returns what was saved under it. A token
// that is not registered is none too many.
func (r *Registry) Unregister(token string) []Saved {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.find(token)
	if e == nil {
		return nil
	}
	if el, ok := r.tokens[token]; ok {
		r.byAge.Remove(el)
	}
	delete(r.tokens, token)
	delete(r.pinned, token)
	return e.saved
}

// Thread returns the thread token stands for.
func (r *Registry) Thread(token string, now time.Time) (thread string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	if e := r.find(token); e != nil {
		return e.thread, true
	}
	return "", false
}

// Note keeps that an artifact was saved under token and returns how many there
// are now. A pinned token keeps no list, which would grow forever.
func (r *Registry) Note(token string, s Saved) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	el, ok := r.tokens[token]
	if !ok {
		return 0
	}
	e := entryOf(el)
	e.saved = append(e.saved, s)
	return len(e.saved)
}

// Saved returns what was saved under token so far.
func (r *Registry) Saved(token string) []Saved {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.find(token); e != nil {
		return append([]Saved(nil), e.saved...)
	}
	return nil
}

// Len returns how many tokens are registered, pinned ones aside.
func (r *Registry) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.tokens)
}

// find returns the entry of token or nil. r.mu is held.
func (r *Registry) find(token string) *entry {
	if e, ok := r.pinned[token]; ok {
		return e
	}
	if el, ok := r.tokens[token]; ok {
		return entryOf(el)
	}
	return nil
}

// sweep removes what is too old. r.mu is held.
func (r *Registry) sweep(now time.Time) {
	for el := r.byAge.Front(); el != nil && now.Sub(entryOf(el).since) >= TTL; el = r.byAge.Front() {
		delete(r.tokens, entryOf(el).token)
		r.byAge.Remove(el)
	}
}

func entryOf(el *list.Element) *entry {
	e, _ := el.Value.(*entry) // nothing else is in the list
	return e
}

// Short returns what a log may show of a token: its first 8 characters, and of
// a short one nothing.
func Short(token string) string {
	if len(token) < 16 {
		return "…"
	}
	return token[:8] + "…"
}
