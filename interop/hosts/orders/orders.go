// Package orders is how the player of the hosts talks with one of them: an order a line on
// stdin, an answer a line on stdout, one after another, both JSON. A host ends with its
// stdin. The hosts in JavaScript speak the same by orders.mjs.
package orders

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Order is what a host is to do.
type Order struct {
	// Do is connect, list, call, cancel, prompt, level, subscribe, seen or close.
	Do string `json:"do"`
	// Command is the server of a stdio host, URL that of an HTTP one.
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"`
	// Pinned is a revision of the session era that the host keeps to, if it can speak another.
	Pinned string `json:"pinned,omitempty"`
	// Name is a tool or a prompt, a level, or the URI of a resource.
	Name string         `json:"name,omitempty"`
	Args map[string]any `json:"args"`
}

// Answer is the outcome of an order. Absent members have nothing to say.
type Answer struct {
	// None says why the host cannot do this at all.
	None  string `json:"none,omitempty"`
	Error string `json:"error,omitempty"`
	// Server and Revision answer connect.
	Server   string `json:"server,omitempty"`
	Revision string `json:"revision,omitempty"`
	// Names are those of tools, prompts, resources and templates, each with its kind.
	Names []string `json:"names,omitempty"`
	// Text and Progress answer call, Failed is the isError of its result.
	Text     string    `json:"text,omitempty"`
	Failed   bool      `json:"failed,omitempty"`
	Progress []float64 `json:"progress,omitempty"`
	// What the server sent since connect: levels of log messages, URIs of changed
	// resources, methods of its requests.
	Seen
}

// Seen is what a host got from the server without having called for it.
type Seen struct {
	Logs    []string `json:"logs,omitempty"`
	Updates []string `json:"updates,omitempty"`
	Asked   []string `json:"asked,omitempty"`
}

// Record collects what the server sends. It is safe for concurrent use.
type Record struct {
	mu       sync.Mutex
	seen     Seen
	progress []float64
	begun    func() // the first progress of a call that is to be canceled
}

// Log notes a log message of this level.
func (r *Record) Log(level string) { r.note(&r.seen.Logs, level) }

// Update notes that a resource changed.
func (r *Record) Update(uri string) { r.note(&r.seen.Updates, uri) }

// Ask notes a request of the server.
func (r *Record) Ask(method string) { r.note(&r.seen.Asked, method) }

func (r *Record) note(list *[]string, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*list = append(*list, text)
}

// Progress notes progress of the call in flight.
func (r *Record) Progress(value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = append(r.progress, value)
	if r.begun != nil {
		r.begun()
	}
}

// Begin forgets the progress of the last call.
func (r *Record) Begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress, r.begun = nil, nil
}

// Leave returns a context for a call, which is canceled by the first progress of it: a call
// that is canceled before the server has begun proves nothing.
func (r *Record) Leave(ctx context.Context) (context.Context, context.CancelFunc) {
	r.Begin()
	ctx, leave := context.WithCancel(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun = leave
	return ctx, leave
}

// Seen returns a copy of what came until now.
func (r *Record) Seen() (Seen, []float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Seen{append([]string{}, r.seen.Logs...), append([]string{}, r.seen.Updates...), append([]string{}, r.seen.Asked...)},
		append([]float64{}, r.progress...)
}

// Serve takes orders until in ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, do func(ctx context.Context, o Order) (Answer, error)) error {
	lines := bufio.NewScanner(in)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var o Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return fmt.Errorf("order %q: %w", lines.Text(), err)
		}
		answer, err := do(ctx, o)
		if err != nil {
			answer.Error = err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}
