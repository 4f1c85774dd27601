package server

import (
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessionSet holds the sessions of the session era. go-sdk keeps to itself how
// far a handshake has come, which ids it knows, and tells nobody when a session
// ends but those who wait.
type sessionSet struct {
	mu      sync.RWMutex
	all     map[*mcp.ServerSession]*sessionState
	byID    map[string]*sessionState // over HTTP
	waiters sync.WaitGroup
}

type sessionState struct {
	version string
	ready   bool  // notifications/initialized has come
	slot    *slot // over HTTP
}

// add takes in a session that is being initialized. place is its slot over HTTP,
// nil elsewhere.
func (s *sessionSet) add(session *mcp.ServerSession, version string, place *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all, s.byID = make(map[*mcp.ServerSession]*sessionState), make(map[string]*sessionState)
	}
	state := &sessionState{version: version, slot: place}
	s.all[session] = state
	id := session.ID()
	if id != "" {
		s.byID[id] = state
	}
	if place != nil {
		place.bind(func() {
			s.forget(id)
			_ = session.Close() // it has been unused: there is nothing to lose
		})
	}
	s.waiters.Go(func() {
		_ = session.Wait() // only the end counts, whatever its reason
		if place != nil {
			place.release()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, session)
		delete(s.byID, id)
	})
}

// complete notes that the handshake of a session is complete.
func (s *sessionSet) complete(session *mcp.ServerSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.all[session]; state != nil {
		state.ready = true
		if state.slot != nil {
			state.slot.complete()
		}
	}
}

// enter marks the HTTP session with this id as in use until leave is called.
func (s *sessionSet) enter(id string) (leave func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if state := s.byID[id]; state != nil && state.slot != nil {
		return state.slot.enter()
	}
	return func() {}
}

func (s *sessionSet) ready(session *mcp.ServerSession) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.all[session]
	return state != nil && state.ready
}

func (s *sessionSet) find(id string) (version string, ok bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	state := s.byID[id]
	if state == nil {
		return "", false
	}
	return state.version, true
}

// forget makes a session unknown that its client has ended, before the one who
// waits for its end has run.
func (s *sessionSet) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// wait returns once every session has ended.
func (s *sessionSet) wait() { s.waiters.Wait() }
