package main

import (
	"sync"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// wire remembers what went over a connection: methods that were sent, in order,
// and the ids that were answered.
type wire struct {
	mu   sync.Mutex
	sent []string
}

func (w *wire) trace() transport.Trace {
	return transport.Trace{Sent: w.see}
}

func (w *wire) see(frame []byte) {
	var message struct {
		Method string `json:"method"`
	}
	if jsonrpc.Unmarshal(frame, &message) != nil || message.Method == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, message.Method)
}

// count returns how often a method was sent.
func (w *wire) count(method string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, m := range w.sent {
		if m == method {
			n++
		}
	}
	return n
}
