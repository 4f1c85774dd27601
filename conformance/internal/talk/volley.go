package talk

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// InFlight is the number of concurrent calls of a volley.
const InFlight = 200

// onTheWay is how many requests are open at once over HTTP, where each takes a
// connection.
const onTheWay = 64

// Volley sends messages without waiting for an answer to any of them: over HTTP
// side by side, for what sends one waits for its status, which a server that
// answers in a JSON body gives with the answer. Time is over when no status came
// for as long as one answer may take.
func Volley(ctx context.Context, s *wire.Session, messages [][]byte) error {
	for _, data := range messages {
		s.Expect(data)
	}
	if s.Conn.Transport() != conformance.TransportHTTP {
		for _, data := range messages {
			if _, err := s.Send(ctx, data); err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent, free := make(chan error, len(messages)), make(chan struct{}, onTheWay)
	for _, data := range messages {
		go func() {
			free <- struct{}{}
			_, err := s.Conn.Send(ctx, data)
			<-free
			sent <- err
		}()
	}
	var first error
	for range messages {
		select {
		case err := <-sent:
			first = cmp.Or(first, err)
		case <-time.After(s.Timeout):
			s.Doubts(wire.ErrLate)
			return wire.ErrLate
		}
	}
	s.Doubts(first)
	return first
}

// Start sends requests, over HTTP side by side, and returns at once: a server may hold back the
// status of a response until it has the result, and what it sends before must be read. What it
// answers tells whether they arrived. The function that Start returns gives up what is still being
// sent, as the end of the limit does.
func Start(ctx context.Context, s *wire.Session, limit time.Duration, messages ...[]byte) (end func()) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	var senders sync.WaitGroup
	for _, data := range messages {
		s.Expect(data)
	}
	if s.Conn.Transport() == conformance.TransportHTTP {
		for _, data := range messages {
			senders.Go(func() { _, _ = s.Conn.Send(ctx, data) })
		}
	} else {
		senders.Go(func() {
			for _, data := range messages {
				_, _ = s.Conn.Send(ctx, data)
			}
		})
	}
	return func() {
		cancel()
		senders.Wait()
	}
}
