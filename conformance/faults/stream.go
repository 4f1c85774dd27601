package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// Ends are the two directions to one peer.
type Ends struct {
	// From has the lines that the peer writes.
	From io.ReadCloser
	// To has the lines that the peer reads.
	To io.WriteCloser
}

// Stream copies lines between a client and a server and makes the faults of the carrier
// [Stream]. It runs until both directions end, a fault ends them, or ctx ends. The end of
// one direction ends it on the other side, too. Then Stream closes all four streams, waits
// for its goroutines, and returns ctx.Err(), or nil. Close of the streams must end their
// Read and Write, which it does not for a terminal.
//
// Messages without a fault pass unchanged. A batch has the fault of its first request.
func (p *Proxy) Stream(ctx context.Context, client, server Ends) error {
	s := newStream(p, client, server)
	return s.run(ctx)
}

// stream is one run of [Proxy.Stream].
type stream struct {
	proxy          *Proxy
	client, server Ends
	carrier        Carrier
	process        process // what a program does to itself; the zero value is no program

	ctx  context.Context
	end  context.CancelFunc
	jobs sync.WaitGroup

	toClient, toServer sync.Mutex // a line at a time
	down               gate

	mu      sync.Mutex
	calls   map[string]*Call  // passed on, not answered, by id
	pending map[string]*await // whose answer has a fault, by id
}

// await is a request whose answer has a fault.
type await struct {
	x      *exchange
	script script
}

func newStream(p *Proxy, client, server Ends) *stream {
	return &stream{
		proxy: p, client: client, server: server, carrier: Stream,
		calls: map[string]*Call{}, pending: map[string]*await{},
	}
}

func (s *stream) run(ctx context.Context) error {
	s.ctx, s.end = context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, s.close)
	defer stop()
	var pumps sync.WaitGroup
	pumps.Go(s.upward)
	pumps.Go(s.downward)
	over := make(chan struct{})
	go func() {
		defer close(over)
		pumps.Wait()
	}()
	select {
	case <-over:
	case <-s.process.gone: // a read of stdin cannot be ended; the process does
		s.end()
		return ctx.Err()
	}
	s.end() // answers that a fault still holds are lost
	s.close()
	s.jobs.Wait()
	return ctx.Err()
}

// close closes all streams.
func (s *stream) close() {
	for _, c := range []io.Closer{s.client.From, s.client.To, s.server.From, s.server.To} {
		_ = c.Close()
	}
}

// crash ends everything, like a process that crashes.
func (s *stream) crash(form string) {
	if s.process.crash != nil {
		s.process.crash(form)
	}
	s.end()
}

// upward forwards the lines of the client.
func (s *stream) upward() {
	defer func() { _ = s.server.To.Close() }()
	if s.process.stdinEnded != nil {
		defer s.process.stdinEnded()
	}
	if h := s.proxy.match(event{carrier: Stream, point: atStart}); h != nil && !h.hold(s.ctx, h.For.or(time.Minute)) {
		return
	}
	in := &lines{from: s.client.From}
	for {
		line, err := in.next(s.dies)
		if len(line) > 0 && !s.take(line) {
			return
		}
		if errors.Is(err, errDied) {
			s.crash("")
		}
		if err != nil {
			return
		}
	}
}

// dies reports whether a fault ends the stream inside a request (E6).
func (s *stream) dies(begin []byte) (known, dies bool) {
	m := preview(begin)
	if m.Method == "" || m.Method == "tools/call" && m.tool == "" {
		return false, false
	}
	h := s.proxy.match(event{carrier: s.carrier, point: atMessage, method: m.Method, tool: m.tool, request: m.request(), early: true})
	if h != nil {
		s.proxy.arrived(m, "", h)
	}
	return true, h != nil
}

// take handles one line of the client and reports whether to continue.
func (s *stream) take(line []byte) bool {
	m := parse(line)
	if m.Method == "" { // an answer to the server, or no message
		return s.pass(line, nil)
	}
	if m.cancels != nil && s.proxy.cancel(m.cancels) {
		s.proxy.arrived(m, "", nil)
		return true
	}
	h := s.proxy.match(event{carrier: s.carrier, point: atMessage, method: m.Method, tool: m.tool, request: m.request()})
	call := s.proxy.arrived(m, "", h)
	if h == nil {
		s.expect(m, call, nil)
		return s.pass(line, call)
	}
	if sc, ok := scriptOf(h.Fault); ok && m.request() {
		return s.perform(sc, h, m, call)
	}
	s.expect(m, call, nil)
	return s.harm(h, line, call)
}

// expect records that the server must answer.
func (s *stream) expect(m *message, call *Call, a *await) {
	if !m.request() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[string(m.ID)] = call
	if a != nil {
		s.pending[string(m.ID)] = a
	}
}

// pass forwards a line to the server.
func (s *stream) pass(line []byte, call *Call) bool {
	s.toServer.Lock()
	defer s.toServer.Unlock()
	s.proxy.note(call, sent) // before: the server may answer while we write
	_, err := s.server.To.Write(append(line, '\n'))
	return err == nil
}

// perform makes a fault of messages.
func (s *stream) perform(sc script, h *hit, m *message, call *Call) bool {
	x := &exchange{hit: h, proxy: s.proxy, ctx: s.ctx, req: m}
	if h.Fault == "D6" || h.Fault == "F15" {
		x.ended = s.proxy.cancelled(h, m.ID)
	}
	if sc.local != nil {
		x.answer = sc.local(x)
	}
	executed := true
	switch {
	case x.answer != nil && h.Executed:
		s.expect(m, call, &await{}) // whose answer nobody gets
		executed = s.pass(m.raw, call)
	case x.answer == nil && h.Unsent:
		x.answer = nothing(m)
	case x.answer == nil:
		line := m.raw
		if sc.ask != nil {
			line = sc.ask(x)
		}
		s.expect(m, call, &await{x: x, script: sc})
		return s.pass(line, call)
	}
	s.jobs.Go(func() { s.tell(sc, x, call) })
	return executed
}

// tell sends the answer of the script to the client.
func (s *stream) tell(sc script, x *exchange, call *Call) {
	for one := range sc.pieces(x) {
		if !pause(s.ctx, one.wait) || !s.put(one, x, call) {
			return
		}
	}
}

func (s *stream) put(one piece, x *exchange, call *Call) bool {
	switch one.kind {
	case silent, lost:
		return false
	case cut:
		s.crash(x.form)
		return false
	case part:
		return s.say(one.data)
	default:
	}
	line := append(bytes.ReplaceAll(one.data, []byte("\n"), []byte(" ")), '\n')
	say := func() bool {
		if one.slow {
			return s.slowly(line, x)
		}
		return s.say(line)
	}
	if !one.right {
		return say()
	}
	return s.proxy.deliver(call, say)
}

// say sends bytes to the client.
func (s *stream) say(data []byte) bool {
	if !s.down.pass(s.ctx) {
		return false
	}
	s.toClient.Lock()
	defer s.toClient.Unlock()
	_, err := s.client.To.Write(data)
	return err == nil
}

// slowly sends one byte at a time, without other messages between them.
func (s *stream) slowly(line []byte, x *exchange) bool {
	s.toClient.Lock()
	defer s.toClient.Unlock()
	for i := range line {
		if _, err := s.client.To.Write(line[i : i+1]); err != nil || !pause(s.ctx, time.Duration(x.Every)) {
			return false
		}
	}
	return true
}

// downward forwards the lines of the server.
func (s *stream) downward() {
	defer func() { _ = s.client.To.Close() }()
	if s.process.drained != nil {
		defer s.process.drained()
	}
	in := &lines{from: s.server.From}
	for {
		line, err := in.next(nil)
		if len(line) > 0 && !s.hear(line) {
			return
		}
		if err != nil {
			// The server has exited: faults may still send its answers.
			return
		}
	}
}

// hear handles one line of the server.
func (s *stream) hear(line []byte) bool {
	call, a := s.answered(line)
	if a == nil {
		return s.proxy.deliver(call, func() bool { return s.say(append(line, '\n')) }) || s.ctx.Err() == nil
	}
	if a.x == nil {
		return true
	}
	a.x.answer = line
	s.jobs.Go(func() { s.tell(a.script, a.x, call) })
	return true
}

// answered finds the call that a line answers.
func (s *stream) answered(line []byte) (*Call, *await) {
	var call *Call
	var a *await
	for _, one := range members(line) {
		m := parse(one)
		if m.Method != "" || m.Result == nil && m.Error == nil {
			continue
		}
		id := string(bytes.TrimSpace(m.ID))
		s.mu.Lock()
		c := s.calls[id]
		if c != nil {
			call, a = c, s.pending[id]
			delete(s.calls, id)
			delete(s.pending, id)
		}
		s.mu.Unlock()
		s.proxy.note(c, answered)
	}
	return call, a
}

// gate blocks while it is shut.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // nil or closed: open
}

func (g *gate) pass(ctx context.Context) bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	if open == nil {
		return ctx.Err() == nil
	}
	select {
	case <-open:
		return true
	case <-ctx.Done():
		return false
	}
}

// shut closes the gate until the function it returns is called.
func (g *gate) shut() (reopen func()) {
	open := make(chan struct{})
	g.mu.Lock()
	g.open = open
	g.mu.Unlock()
	return func() { close(open) }
}

var errDied = errors.New("the line was not read to its end")

// lines reads lines of any length. The first read of a line is short, so that a fault can
// act inside it.
type lines struct {
	from io.Reader
	held []byte
}

// next returns a line without its end. It calls dies with the beginning of an incomplete
// line until dies decides.
func (l *lines) next(dies func([]byte) (known, dies bool)) (json.RawMessage, error) {
	const short, long = 64, 32 << 10
	searched := 0
	for {
		if i := bytes.IndexByte(l.held[searched:], '\n'); i >= 0 {
			line := bytes.Clone(l.held[:searched+i])
			l.held = l.held[:copy(l.held, l.held[searched+i+1:])]
			return line, nil
		}
		searched = len(l.held)
		if dies != nil && searched > 0 {
			known, now := dies(l.held)
			if now {
				return nil, errDied
			}
			if known {
				dies = nil
			}
		}
		size := long
		if dies != nil {
			size = short
		}
		l.held = append(l.held, make([]byte, size)...)
		n, err := l.from.Read(l.held[searched:])
		l.held = l.held[:searched+n]
		if err != nil && n == 0 {
			line := l.held
			l.held = nil
			return line, err
		}
	}
}
