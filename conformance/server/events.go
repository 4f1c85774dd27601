package server

import (
	"container/list"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxEventBytes bounds what is kept of the streams of a server.
const maxEventBytes = 64 << 20

// eventOverhead is counted for each event besides its data.
const eventOverhead = 256

// eventStore keeps the events of streams for those who come back for them with
// Last-Event-ID. Over its limit it drops the oldest events of all, and streams
// with them: go-sdk's own store keeps every stream of a session until its end,
// and searches them all once it is full.
type eventStore struct {
	mu       sync.Mutex
	most     int
	bytes    int
	age      *list.List // of *event, the oldest first
	sessions map[string]map[string]*eventStream
}

type eventStream struct {
	session, id string
	first       int // index of events[0]
	events      []*list.Element
}

type event struct {
	stream *eventStream
	data   []byte
}

func newEventStore(most int) *eventStore {
	return &eventStore{most: most, age: list.New(), sessions: make(map[string]map[string]*eventStream)}
}

// Open implements [mcp.EventStore].
func (s *eventStore) Open(_ context.Context, session, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	streams := s.sessions[session]
	if streams == nil {
		streams = make(map[string]*eventStream)
		s.sessions[session] = streams
	}
	if streams[id] == nil {
		streams[id] = &eventStream{session: session, id: id}
	}
	return nil
}

// Append implements [mcp.EventStore]. What belongs to a stream that has been
// dropped is not kept: nobody could come back for it.
func (s *eventStore) Append(_ context.Context, session, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := s.sessions[session][id]
	if stream == nil {
		return nil
	}
	stream.events = append(stream.events, s.age.PushBack(&event{stream, data}))
	s.bytes += len(data) + eventOverhead
	for s.bytes > s.most && s.age.Len() > 1 {
		s.dropOldest()
	}
	return nil
}

// dropOldest drops one event, and its stream when that was all of it. The
// stream of a session that is no call's is kept: it lives as long.
func (s *eventStore) dropOldest() {
	e, ok := s.age.Remove(s.age.Front()).(*event)
	if !ok {
		return
	}
	s.bytes -= len(e.data) + eventOverhead
	stream := e.stream
	stream.events[0] = nil
	stream.events = stream.events[1:]
	stream.first++
	if len(stream.events) == 0 && stream.id != "" {
		delete(s.sessions[stream.session], stream.id)
	}
}

// After implements [mcp.EventStore].
func (s *eventStore) After(_ context.Context, session, id string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		events, err := s.after(session, id, index)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, data := range events {
			if !yield(data, nil) {
				return
			}
		}
	}
}

func (s *eventStore) after(session, id string, index int) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stream := s.sessions[session][id]
	if stream == nil {
		return nil, fmt.Errorf("unknown stream: %w", mcp.ErrEventsPurged)
	}
	start := index + 1 - stream.first
	if start < 0 {
		return nil, mcp.ErrEventsPurged
	}
	var out [][]byte
	for _, el := range stream.events[min(start, len(stream.events)):] {
		if e, ok := el.Value.(*event); ok {
			out = append(out, e.data)
		}
	}
	return slices.Clip(out), nil
}

// SessionClosed implements [mcp.EventStore].
func (s *eventStore) SessionClosed(_ context.Context, session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stream := range s.sessions[session] {
		for _, el := range stream.events {
			if e, ok := s.age.Remove(el).(*event); ok {
				s.bytes -= len(e.data) + eventOverhead
			}
		}
	}
	delete(s.sessions, session)
	return nil
}
