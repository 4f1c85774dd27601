package peer

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// lineRecorder splits bytes into lines. Not safe for concurrent use.
type lineRecorder struct {
	rest []byte
	add  func(line []byte)
}

func (r *lineRecorder) write(p []byte) {
	r.rest = append(r.rest, p...)
	for {
		i := bytes.IndexByte(r.rest, '\n')
		if i < 0 {
			return
		}
		r.add(bytes.Clone(r.rest[:i]))
		r.rest = r.rest[i+1:]
	}
}

func (r *lineRecorder) flush() {
	if len(r.rest) > 0 {
		r.add(bytes.Clone(r.rest))
		r.rest = nil
	}
}

// spool is a pipe without a limit, so that a server that does not read delays nobody.
// Safe for concurrent use.
type spool struct {
	mu     sync.Mutex
	data   bytes.Buffer
	ended  bool
	closed bool
	more   chan struct{}
}

func newSpool() *spool { return &spool{more: make(chan struct{}, 1)} }

func (s *spool) put(p []byte) {
	s.mu.Lock()
	if !s.closed && s.data.Len() < maxMessage {
		s.data.Write(p)
	}
	s.mu.Unlock()
	s.wake()
}

// end is the end of the data, after what is left to read.
func (s *spool) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wake()
}

// Close implements [io.Closer].
func (s *spool) Close() error {
	s.mu.Lock()
	s.ended, s.closed = true, true
	s.mu.Unlock()
	s.wake()
	return nil
}

func (s *spool) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Read implements [io.Reader], for one reader.
func (s *spool) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return 0, errSpoolClosed
		}
		if s.data.Len() > 0 {
			n, _ := s.data.Read(p) // it is not empty
			s.mu.Unlock()
			return n, nil
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return 0, io.EOF
		}
		<-s.more
	}
}

var errSpoolClosed = errors.New("the client is gone")
