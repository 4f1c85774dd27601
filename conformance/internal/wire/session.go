package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Session is one conversation with the subject, in one goroutine. It gives requests ids,
// finds their answers among all messages, and answers the server's requests.
type Session struct {
	Conn  Conn
	Trace *Trace
	// seen is called with every message from the subject.
	seen func(*Session, Inbound)
	// Timeout bounds the wait for one answer.
	Timeout time.Duration
	// Silences is that of the subject.
	Silences *Silences

	// Turn, if set, waits until the next message may be sent. MaxPages, unless it is 0, bounds the
	// pages of a list that are read.
	Turn     func(ctx context.Context)
	MaxPages int

	// Declares has the client capabilities of the suite; nil is none.
	Declares map[string]any
	// Answers answer the server's requests, by method. Other methods are refused as unknown.
	Answers map[string]func(Inbound) (any, *RPCError)

	// next is the number in the last id.
	next    int
	Pending map[string]bool               // ids sent; true once answered
	Methods map[string]string             // the methods of the requests sent, by id
	sent    map[string]*conformance.Frame // the requests sent, by id
	last    string                        // the id of the last request sent
	// SentBadID: an id that is no string, integer or null was sent.
	SentBadID bool
	// SentArray: an array was sent. SentRoots: news of roots was sent.
	SentArray, SentRoots bool
	Unclaimed            []Inbound // responses that nothing waited for yet
	batched              []Inbound // the rest of an array
	Unsolicited          []Inbound // notifications and requests of the server, in the order of their arrival
	Opened               *Opening  // set once initialized
	// Doubt is why the server may have been lost: the last request has no answer. An answer
	// clears it.
	Doubt error
	// Answered: a response arrived.
	Answered bool
	// Environment was added to that of the program.
	Environment []string
	// StartFailure describes how the program exited while it started; nil until it was
	// examined.
	StartFailure *string
	// StartTimeout is added to the wait for the first answer, because a program has to
	// start. heard: a message arrived.
	StartTimeout time.Duration
	heard        bool
	// kept and keptBytes count the messages that are kept for later. Flooded: some were
	// dropped.
	kept, keptBytes int
	Flooded         bool
	// Closed: the suite has closed the conversation itself.
	Closed bool
	// Used: the program has done more than the check is about, so that a failure on it is no
	// verdict yet. Aged: a missing answer is none.
	Used, Aged bool
	// ready: notifications/initialized was sent.
	ready  bool
	events map[string]string // the data of events, by their ids
	// lastEvent has the id of the last event of each stream, by [Inbound.To]. Nobody reads on in that of
	// a canceled request.
	lastEvent map[string]string
	canceled  map[string]bool // ids
	// Wrong has the ids of requests that ought to be refused: what a server makes of them says little
	// of its content.
	Wrong map[string]bool
	// Stateless is the revision if it has no sessions: each request carries what initialize
	// has otherwise.
	Stateless mcp.Version
}

// mostEvents is how many events a session remembers by their ids.
const mostEvents = 10_000

// Event remembers the data of an event by its id. It returns what the id was for before, and whether it
// was known.
func (s *Session) Event(id, data string) (before string, known bool) {
	before, known = s.events[id]
	if !known && len(s.events) < mostEvents {
		if s.events == nil {
			s.events = map[string]string{}
		}
		s.events[id] = data
	}
	return before, known
}

// ErrNoAnswer reports a wait whose deadline passed.
var ErrNoAnswer = errors.New("no answer")

// ErrLate is an [ErrNoAnswer] that nothing else confirms: the machine may be slow.
var ErrLate = fmt.Errorf("%w", ErrNoAnswer)

// NewSession returns a session on a connection. seen is called with every message; wait
// bounds the wait for one answer.
func NewSession(w Conn, tr *Trace, seen func(*Session, Inbound), wait time.Duration) *Session {
	return &Session{Conn: w, Trace: tr, seen: seen, Timeout: wait, Silences: &Silences{}, Pending: map[string]bool{}, Methods: map[string]string{}, sent: map[string]*conformance.Frame{}, lastEvent: map[string]string{}, canceled: map[string]bool{}, Wrong: map[string]bool{}}
}

// Message builds a JSON-RPC message; nil params are left out.
func Message(id, method string, params any) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != "" {
		m["id"] = json.RawMessage(id)
	}
	if params != nil {
		m["params"] = params
	}
	return rawjson.Encode(m)
}

// NewID returns an id never used in this session.
func (s *Session) NewID() string {
	s.next++
	return strconv.Quote("c-" + strconv.Itoa(s.next))
}

// Send writes bytes to the wire, unchecked.
func (s *Session) Send(ctx context.Context, data []byte) (*HTTPAnswer, error) {
	s.Expect(data)
	s.AwaitTurn(ctx)
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	answer, err := s.Conn.Send(ctx, data)
	if errors.Is(err, context.DeadlineExceeded) {
		err = ErrLate
	}
	s.Doubts(err)
	return answer, err
}

// AwaitTurn waits until the next message may be sent, before the wait for its answer begins.
func (s *Session) AwaitTurn(ctx context.Context) {
	if s.Turn != nil {
		s.Turn(ctx)
	}
}

// Expect remembers the request in a message.
func (s *Session) Expect(data []byte) {
	s.SentArray = s.SentArray || rawjson.IsArray(data)
	in := Received(data, nil)
	s.SentRoots = s.SentRoots || in.Method() == mcp.MethodRootsListChanged
	if in.Method() == mcp.MethodCancelled {
		s.canceled[SpelledID(Param(in, "requestId"))] = true
	}
	if in.Members != nil && in.ID() != "" {
		s.Pending[in.ID()] = false
		s.Methods[in.ID()] = in.Method()
		s.sent[in.ID()] = s.frameOf(data)
		s.last = in.ID()
		s.SentBadID = s.SentBadID || in.ID() != "null" && !rawjson.IsID(in.Members["id"])
	}
}

// frameOf returns a message as it goes to the server.
func (s *Session) frameOf(data []byte) *conformance.Frame {
	f := &conformance.Frame{Dir: conformance.ToServer, Data: bytes.Clone(data[:min(len(data), KeptBytes)]), Size: len(data)}
	if s.Conn.Transport() != conformance.TransportStdio {
		f.HTTP = &conformance.HTTPInfo{Method: http.MethodPost}
	}
	return f
}

// Sent returns the request with an id, nil if none was sent.
func (s *Session) Sent(id string) *conformance.Frame { return s.sent[id] }

// occasion returns the request of [Inbound.Occasion].
func (s *Session) occasion(in Inbound) *conformance.Frame {
	if f := s.sent[in.ID()]; f != nil && in.IsResponse() {
		return f
	}
	if f := s.sent[in.To]; f != nil {
		return f
	}
	return s.sent[s.last]
}

// During says, for a message that answers nothing, which request the server had last: " during
// tools/list", " after the answer to tools/list", or "".
func (s *Session) During() string {
	method := rawjson.Clip(s.Methods[s.last], 60)
	switch {
	case method == "":
		return ""
	case s.Pending[s.last]:
		return " after the answer to " + method
	}
	return " during " + method
}

// Post sends a request and returns its id without waiting.
func (s *Session) Post(ctx context.Context, method string, params any) (string, error) {
	id := s.NewID()
	_, err := s.Send(ctx, s.Message(id, method, params))
	return id, err
}

// Message builds a message in the form of the session's revision.
func (s *Session) Message(id, method string, params any) []byte {
	if s.Stateless != "" && id != "" {
		params = s.WithMeta(params)
	}
	return Message(id, method, params)
}

// Request sends a request and waits for its answer.
func (s *Session) Request(ctx context.Context, method string, params any) (Answer, error) {
	id, err := s.Post(ctx, method, params)
	if err != nil {
		return Answer{}, err
	}
	return s.Await(ctx, id)
}

// RequestWrong is Request for a request that ought to be refused.
func (s *Session) RequestWrong(ctx context.Context, method string, params any) (Answer, error) {
	id := s.NewID()
	s.Wrong[id] = true
	return s.Ask(ctx, id, s.Message(id, method, params))
}

// Ask sends bytes that hold a request with the given id and waits for its
// answer.
func (s *Session) Ask(ctx context.Context, id string, data []byte) (Answer, error) {
	if _, err := s.Send(ctx, data); err != nil {
		return Answer{}, err
	}
	return s.Await(ctx, id)
}

// Initialized tells the server that the handshake is done.
func (s *Session) Initialized(ctx context.Context) error {
	s.ready = true
	_, err := s.Send(ctx, Message("", mcp.MethodInitialized, nil))
	return err
}

// Await returns the response with the given id.
func (s *Session) Await(ctx context.Context, id string) (Answer, error) {
	id = SpelledID(json.RawMessage(id))
	return s.awaitOf(ctx, id, id)
}

// awaitOf returns the response with the given id, or the one to what has the token.
func (s *Session) awaitOf(ctx context.Context, id, token string) (Answer, error) {
	method, full, began, starts := s.Methods[id], s.Timeout, time.Now(), !s.heard
	if full > Lag { // else the answer is one that may never come
		s.Timeout = s.Silences.Wait(method, full)
	}
	in, err := s.Next(ctx, func(in Inbound) bool {
		return in.IsResponse() && in.ID() == id || in.To == token && (in.Ended || in.IsResponse())
	})
	for ends := began.Add(s.Timeout); err == nil && in.Ended && !s.canceled[id]; {
		next, resumed := s.resume(ctx, in)
		if !resumed {
			break
		}
		s.Timeout = max(time.Until(ends), 0)
		in, err = s.Next(ctx, func(in Inbound) bool {
			return in.IsResponse() && in.ID() == id || in.To == next && in.Ended
		})
	}
	if s.Timeout = full; full > Lag {
		took := time.Since(began)
		if starts && err == nil {
			took = 0 // the program had to start
		}
		s.Silences.NoteWait(method, took, err)
	}
	if err != nil {
		return Answer{}, err
	}
	if in.Ended {
		return Answer{In: in}, s.Unanswered(in)
	}
	return ToAnswer(in), nil
}

// Provoke sends bytes that a server need not answer, and returns the answer, if any: to the
// request with the given id, or with "" to a message without a readable id. A server that
// answers the next ping first has ignored the bytes, so that silence costs little time.
func (s *Session) Provoke(ctx context.Context, id string, data []byte) (Answer, error) {
	sent, err := s.Send(ctx, data)
	if err != nil {
		return Answer{}, err
	}
	wait := func() (Answer, error) {
		switch {
		case id == "":
			return s.AwaitError(ctx, sent)
		case sent != nil: // its token is not the id where the bytes cannot be read
			return s.awaitOf(ctx, SpelledID(json.RawMessage(id)), sent.Token)
		}
		return s.Await(ctx, id)
	}
	if sent != nil { // over HTTP the end of the answer tells
		return wait()
	}
	for range 2 {
		if _, err := s.Ping(ctx); err != nil {
			return Answer{}, fmt.Errorf("the ping after the message: %w", err)
		}
	}
	a, err := s.afterPing(s.Silences.Lag(), wait)
	s.Silences.Note(err)
	return a, err
}

// AwaitAfterPing is Await for an answer that may never come: a server that has answered a later
// ping gets lag more.
func (s *Session) AwaitAfterPing(ctx context.Context, id string, lag time.Duration) (Answer, error) {
	if _, err := s.Ping(ctx); err != nil {
		return s.Await(ctx, id)
	}
	return s.afterPing(lag, func() (Answer, error) { return s.Await(ctx, id) })
}

// afterPing calls wait with less time: a ping that was sent later is answered.
func (s *Session) afterPing(lag time.Duration, wait func() (Answer, error)) (Answer, error) {
	long := s.Timeout
	s.Timeout = min(long, lag)
	a, err := wait()
	s.Timeout = long
	if errors.Is(err, ErrNoAnswer) {
		s.Doubt = nil
		err = fmt.Errorf("%w, though the ping after it was answered", ErrNoAnswer)
	}
	return a, err
}

// AwaitError returns the next error response for a message whose id cannot be
// read: the id is null or absent. sent is what send returned for the message.
func (s *Session) AwaitError(ctx context.Context, sent *HTTPAnswer) (Answer, error) {
	in, err := s.Next(ctx, func(in Inbound) bool {
		if sent != nil {
			return in.To == sent.Token && (in.Ended || in.IsResponse())
		}
		id := in.ID()
		return in.IsResponse() && (id == "" || id == "null")
	})
	if err != nil {
		return Answer{}, err
	}
	if in.Ended {
		return Answer{In: in}, s.Unanswered(in)
	}
	return ToAnswer(in), nil
}

// Next returns the first message, kept or new, that want accepts. Other responses are kept.
func (s *Session) Next(ctx context.Context, want func(Inbound) bool) (Inbound, error) {
	for i, in := range s.Unclaimed {
		if want(in) {
			s.Unclaimed = append(s.Unclaimed[:i], s.Unclaimed[i+1:]...)
			s.kept--
			s.keptBytes -= len(in.Data)
			return in, nil
		}
	}
	wait := s.Timeout
	if !s.heard {
		wait += s.StartTimeout
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		in, err := s.arrival(ctx, timer, wait)
		if err != nil {
			s.Doubts(err)
			return Inbound{}, err
		}
		s.take(ctx, in)
		if s.Turn != nil && in.Method() != "" && in.ID() != "" { // the reply had to wait for its turn
			timer.Reset(wait)
		}
		s.Answered = s.Answered || in.IsResponse()
		if in.IsResponse() && (in.HTTP == nil || in.HTTP.Status < http.StatusInternalServerError) {
			s.Doubt = nil
		}
		if want(in) {
			return in, nil
		}
		if (in.IsResponse() || in.Ended) && s.keep(in) {
			s.Unclaimed = append(s.Unclaimed, in)
		}
	}
}

// arrival returns the next message; those of a batch follow one by one.
func (s *Session) arrival(ctx context.Context, timer *time.Timer, wait time.Duration) (Inbound, error) {
	if len(s.batched) > 0 {
		in := s.batched[0]
		s.batched = s.batched[1:]
		in.Occasion = s.occasion(in)
		return in, nil
	}
	select {
	case in, ok := <-s.Conn.inbox().messages:
		if !ok {
			return Inbound{}, ErrClosed
		}
		s.Conn.inbox().took(in)
		s.batched = in.parts()
		if in.Event != "" {
			s.lastEvent[in.To] = in.Event
		}
		in.Occasion = s.occasion(in)
		return in, nil
	case <-timer.C:
		return Inbound{}, fmt.Errorf("%w in %s", ErrLate, wait)
	case <-ctx.Done():
		return Inbound{}, ctx.Err()
	}
}

// take handles every message once. It answers a ping with a result, and other requests like
// a client without those features.
func (s *Session) take(ctx context.Context, in Inbound) {
	s.heard = true
	if in.Ended || in.Priming {
		return
	}
	s.seen(s, in)
	if in.Members == nil || in.IsResponse() {
		return
	}
	if s.keep(in) {
		s.Unsolicited = append(s.Unsolicited, in)
	}
	// The stateless era forbids it.
	if in.ID() == "" || s.Stateless != "" {
		return
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": in.Members["id"]}
	answer := s.Answers[in.Method()]
	switch {
	case answer != nil:
		if result, err := answer(in); err != nil {
			reply["error"] = err
		} else {
			reply["result"] = result
		}
	case in.Method() == mcp.MethodPing:
		reply["result"] = struct{}{}
	default:
		reply["error"] = &RPCError{Code: CodeMethodNotFound, Message: "Method not found"}
	}
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	_, _ = s.Conn.Send(ctx, rawjson.Encode(reply)) // the server's loss
}

// Settle reads messages until two pings are answered, so that earlier requests had time for
// their answers. It returns the responses without a request. The error without id in the
// body of an HTTP refusal is not among them.
func (s *Session) Settle(ctx context.Context) ([]Inbound, error) {
	for range 2 {
		if _, err := s.Ping(ctx); err != nil {
			return nil, err
		}
	}
	var stray []Inbound
	for _, in := range s.Unclaimed {
		refusal := in.HTTP != nil && in.HTTP.Status >= 400 && (in.ID() == "" || in.ID() == "null")
		if _, asked := s.Pending[in.ID()]; !asked && in.IsResponse() && !refusal {
			stray = append(stray, in)
		}
	}
	return stray, nil
}

// Forget drops the responses that nothing has waited for.
func (s *Session) Forget() {
	for _, in := range s.Unclaimed {
		s.kept--
		s.keptBytes -= len(in.Data)
	}
	s.Unclaimed = nil
}

// Ping is a liveness probe. The stateless era has no ping, but every server answers
// server/discover.
func (s *Session) Ping(ctx context.Context) (Answer, error) {
	return s.Request(ctx, s.LifeSign(), nil)
}

// LifeSign returns the method that every server of the session's era answers.
func (s *Session) LifeSign() string {
	if s.Stateless != "" {
		return mcp.MethodDiscover
	}
	return mcp.MethodPing
}

// keep reports whether there is room for one more unexpected message. Messages of an
// endless stream are dropped.
func (s *Session) keep(in Inbound) bool {
	if s.kept >= keptMessages || s.keptBytes+len(in.Data) > keptInAll {
		s.Flooded = true
		return false
	}
	s.kept++
	s.keptBytes += len(in.Data)
	return true
}

// AwaitUnsolicited returns the first notification or request of the server that want
// accepts, old or new. It stays in Unsolicited.
func (s *Session) AwaitUnsolicited(ctx context.Context, want func(Inbound) bool) (Inbound, error) {
	for _, in := range s.Unsolicited {
		if want(in) {
			return in, nil
		}
	}
	return s.Next(ctx, func(in Inbound) bool { return in.Members != nil && !in.IsResponse() && want(in) })
}

// Notifications returns the notifications and requests of a method so far.
func (s *Session) Notifications(method string) []Inbound {
	var out []Inbound
	for _, in := range s.Unsolicited {
		if in.Method() == method {
			out = append(out, in)
		}
	}
	return out
}

// Close ends the conversation and reads the remaining messages.
func (s *Session) Close() Ending {
	s.drain()
	s.Closed = true
	return s.Conn.Close()
}

// drain reads the messages that have arrived.
func (s *Session) drain() {
	for {
		select {
		case in, ok := <-s.Conn.inbox().messages:
			if !ok {
				return
			}
			s.Conn.inbox().took(in)
			if !in.Ended && !in.Priming {
				in.Occasion = s.occasion(in)
				s.seen(s, in)
			}
		default:
			return
		}
	}
}
