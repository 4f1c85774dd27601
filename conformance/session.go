package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// session is one conversation with the subject, in one goroutine. It gives
// requests ids, finds their answers among whatever else arrives, and answers
// what a server may ask of any client.
type session struct {
	wire  wire
	trace *trace
	seen  *observer
	// wait bounds the wait for one answer.
	wait time.Duration

	// declares is what the suite says it can do, as a client; nil is nothing.
	declares map[string]any
	// answers are how it answers what the server asks of a client, by method.
	// What is not in it is refused as unknown (RPC-13).
	answers map[string]func(inbound) (any, *rpcError)

	next    int
	pending map[string]bool   // ids sent; true once answered
	asked   map[string]string // the methods of the requests sent, by id
	// malformed: an id that is no string, integer or null was sent.
	malformed bool
	// arrays: an array was sent.
	arrays  bool
	stash   []inbound // responses nobody waited for yet
	batched []inbound // what is left of an array that came
	notes   []inbound // notifications and requests of the server, as they came
	opened  *opening  // set once initialized
	// doubt is why it is not known that the server is still there: what was
	// asked of it last has no answer. An answer clears it.
	doubt error
	// answered: a response came.
	answered bool
	// extra is what was added to the environment of the program.
	extra []string
	// start says how the program ended while it started, once that was looked at.
	start *string
	// starts is how much longer the first answer may take, heard that something came:
	// a program has to start.
	starts time.Duration
	heard  bool
	// kept counts the messages that are kept for later and their bytes; flooded: it
	// was too much, and what is missing may be among what was not kept.
	kept, keptBytes int
	flooded         bool
	// ended: the suite has closed the conversation itself.
	ended bool
	// stateless is the revision when it has no sessions: each request carries
	// what initialize says elsewhere.
	stateless mcp.Version
}

// answer is a response.
type answer struct {
	in     inbound
	result json.RawMessage
	err    *rpcError
}

// rpcError is the error member of a response.
type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// errNoAnswer: the deadline of a wait passed.
var errNoAnswer = errors.New("no answer")

// errLate: nothing came in time, which may be the machine's doing. It is an
// [errNoAnswer] that nothing else confirms.
var errLate = fmt.Errorf("%w", errNoAnswer)

func newSession(w wire, tr *trace, seen *observer, wait time.Duration) *session {
	return &session{wire: w, trace: tr, seen: seen, wait: wait, pending: map[string]bool{}, asked: map[string]string{}}
}

// message builds a JSON-RPC message; nil params are left out.
func message(id, method string, params any) []byte {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != "" {
		m["id"] = json.RawMessage(id)
	}
	if params != nil {
		m["params"] = params
	}
	return encode(m)
}

// encode writes a value the suite made itself.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("conformance: a message that cannot be written: %v", err)) //nolint:forbidigo // a bug in a scenario, which its own test meets
	}
	return data
}

// newID returns an id never used in this session.
func (s *session) newID() string {
	s.next++
	return strconv.Quote("c-" + strconv.Itoa(s.next))
}

// send puts bytes on the wire, whatever they are.
func (s *session) send(ctx context.Context, data []byte) (*httpAnswer, error) {
	s.expect(data)
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	answer, err := s.wire.send(ctx, data)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errLate
	}
	s.doubts(err)
	return answer, err
}

// expect remembers what a message asks for.
func (s *session) expect(data []byte) {
	s.arrays = s.arrays || isArray(data)
	if in := received(data, nil); in.members != nil && in.id() != "" {
		s.pending[in.id()] = false
		s.asked[in.id()] = in.method()
		s.malformed = s.malformed || in.id() != "null" && !isID(in.members["id"])
	}
}

// post sends a request and returns its id without waiting.
func (s *session) post(ctx context.Context, method string, params any) (string, error) {
	id := s.newID()
	_, err := s.send(ctx, s.message(id, method, params))
	return id, err
}

// message builds a message as the revision of the session has it.
func (s *session) message(id, method string, params any) []byte {
	if s.stateless != "" && id != "" {
		params = s.withMeta(params)
	}
	return message(id, method, params)
}

// request sends a request and waits for its answer.
func (s *session) request(ctx context.Context, method string, params any) (answer, error) {
	id, err := s.post(ctx, method, params)
	if err != nil {
		return answer{}, err
	}
	return s.await(ctx, id)
}

// ask sends bytes that hold a request with the given id and waits for its
// answer.
func (s *session) ask(ctx context.Context, id string, data []byte) (answer, error) {
	if _, err := s.send(ctx, data); err != nil {
		return answer{}, err
	}
	return s.await(ctx, id)
}

// initialized tells the server that the handshake is done.
func (s *session) initialized(ctx context.Context) error {
	_, err := s.send(ctx, message("", mcp.MethodInitialized, nil))
	return err
}

// await returns the response with the given id.
func (s *session) await(ctx context.Context, id string) (answer, error) {
	id = spelledID(json.RawMessage(id))
	in, err := s.next1(ctx, func(in inbound) bool {
		return in.isResponse() && in.id() == id || in.to == id && (in.ended || in.isResponse())
	})
	if err != nil {
		return answer{}, err
	}
	if in.ended {
		return answer{in: in}, s.unanswered(in)
	}
	return toAnswer(in), nil
}

// grace is how long an answer may lag behind that to a later request before it
// counts as not given.
const grace = 500 * time.Millisecond

// provoke sends bytes a server need not answer and returns the answer, if any:
// to the request with the given id, or with "" to a message whose id cannot be
// read. A server that answers the ping after it and not the message has passed
// it over, so that silence costs little time.
func (s *session) provoke(ctx context.Context, id string, data []byte) (answer, error) {
	sent, err := s.send(ctx, data)
	if err != nil {
		return answer{}, err
	}
	wait := func() (answer, error) {
		if id == "" {
			return s.awaitError(ctx, sent)
		}
		return s.await(ctx, id)
	}
	if sent != nil { // over HTTP the end of the answer tells
		return wait()
	}
	for range 2 {
		if _, err := s.ping(ctx); err != nil {
			return answer{}, fmt.Errorf("the ping after it: %w", err)
		}
	}
	long := s.wait
	s.wait = min(long, grace)
	a, err := wait()
	s.wait = long
	if errors.Is(err, errNoAnswer) {
		s.doubt = nil
		err = fmt.Errorf("%w, though the ping after it was answered", errNoAnswer)
	}
	return a, err
}

// awaitError returns the next error response for a message whose id cannot be
// read: the id is null or absent. sent is what send returned for the message.
func (s *session) awaitError(ctx context.Context, sent *httpAnswer) (answer, error) {
	in, err := s.next1(ctx, func(in inbound) bool {
		if sent != nil {
			return in.to == sent.token && (in.ended || in.isResponse())
		}
		id := in.id()
		return in.isResponse() && (id == "" || id == "null")
	})
	if err != nil {
		return answer{}, err
	}
	if in.ended {
		return answer{in: in}, s.unanswered(in)
	}
	return toAnswer(in), nil
}

func toAnswer(in inbound) answer {
	a := answer{in: in, result: in.members["result"]}
	if raw, ok := in.members["error"]; ok && string(raw) != "null" {
		a.err = &rpcError{}
		if err := json.Unmarshal(raw, a.err); err != nil {
			a.err.Message = "unreadable error object: " + err.Error()
		}
	}
	return a
}

// next1 returns the first message, kept or new, that want takes. Responses it
// does not take are kept for others.
func (s *session) next1(ctx context.Context, want func(inbound) bool) (inbound, error) {
	for i, in := range s.stash {
		if want(in) {
			s.stash = append(s.stash[:i], s.stash[i+1:]...)
			s.kept--
			s.keptBytes -= len(in.data)
			return in, nil
		}
	}
	wait := s.wait
	if !s.heard {
		wait += s.starts
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		in, err := s.arrival(ctx, timer, wait)
		if err != nil {
			s.doubts(err)
			return inbound{}, err
		}
		s.take(ctx, in)
		s.answered = s.answered || in.isResponse()
		if in.isResponse() && (in.http == nil || in.http.Status < http.StatusInternalServerError) {
			s.doubt = nil
		}
		if want(in) {
			return in, nil
		}
		if (in.isResponse() || in.ended) && s.keep(in) {
			s.stash = append(s.stash, in)
		}
	}
}

// arrival returns the next message, those of a batch one by one after it.
func (s *session) arrival(ctx context.Context, timer *time.Timer, wait time.Duration) (inbound, error) {
	if len(s.batched) > 0 {
		in := s.batched[0]
		s.batched = s.batched[1:]
		return in, nil
	}
	select {
	case in, ok := <-s.wire.inbox().messages:
		if !ok {
			return inbound{}, errClosed
		}
		s.wire.inbox().took(in)
		s.batched = in.parts()
		return in, nil
	case <-timer.C:
		return inbound{}, fmt.Errorf("%w in %s", errLate, wait)
	case <-ctx.Done():
		return inbound{}, ctx.Err()
	}
}

// take looks at every message once, and answers requests of the server: a ping
// with a result, the rest as a client without those features does (RPC-13).
func (s *session) take(ctx context.Context, in inbound) {
	s.heard = true
	if in.ended || in.priming {
		return
	}
	s.seen.message(s, in)
	if in.members == nil || in.isResponse() {
		return
	}
	if s.keep(in) {
		s.notes = append(s.notes, in)
	}
	// MUST NOT in the stateless era: RPC-14.
	if in.id() == "" || s.stateless != "" {
		return
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": in.members["id"]}
	answer := s.answers[in.method()]
	switch {
	case answer != nil:
		if result, err := answer(in); err != nil {
			reply["error"] = err
		} else {
			reply["result"] = result
		}
	case in.method() == mcp.MethodPing:
		reply["result"] = struct{}{}
	default:
		reply["error"] = &rpcError{Code: codeMethodNotFound, Message: "Method not found"}
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	_, _ = s.wire.send(ctx, encode(reply)) // the server's loss
}

// settle takes what arrives until a ping is answered twice over, so that
// answers to what was sent before have had their chance, and returns the
// responses that nobody asked for. An HTTP status that refuses a message may
// have an error without id around it, which is none (HTTP-04).
func (s *session) settle(ctx context.Context) ([]inbound, error) {
	for range 2 {
		if _, err := s.ping(ctx); err != nil {
			return nil, err
		}
	}
	var stray []inbound
	for _, in := range s.stash {
		refusal := in.http != nil && in.http.Status >= 400 && (in.id() == "" || in.id() == "null")
		if _, asked := s.pending[in.id()]; !asked && in.isResponse() && !refusal {
			stray = append(stray, in)
		}
	}
	return stray, nil
}

// ping asks for a sign of life: the stateless era has no ping, every server of
// it answers server/discover.
func (s *session) ping(ctx context.Context) (answer, error) {
	return s.request(ctx, s.lifeSign(), nil)
}

// lifeSign is the method that every server of the session's era answers.
func (s *session) lifeSign() string {
	if s.stateless != "" {
		return mcp.MethodDiscover
	}
	return mcp.MethodPing
}

// keep reports whether there is room for one more message that nobody waits for.
// Of a server that sends without end some is lost.
func (s *session) keep(in inbound) bool {
	if s.kept >= keptMessages || s.keptBytes+len(in.data) > keptInAll {
		s.flooded = true
		return false
	}
	s.kept++
	s.keptBytes += len(in.data)
	return true
}

// note returns the first notification or request of the server that want takes,
// one that has come or the next that comes. It stays in notes.
func (s *session) note(ctx context.Context, want func(inbound) bool) (inbound, error) {
	for _, in := range s.notes {
		if want(in) {
			return in, nil
		}
	}
	return s.next1(ctx, func(in inbound) bool { return in.members != nil && !in.isResponse() && want(in) })
}

// noted returns the notifications and requests of a method that have come.
func (s *session) noted(method string) []inbound {
	var out []inbound
	for _, in := range s.notes {
		if in.method() == method {
			out = append(out, in)
		}
	}
	return out
}

// close ends the conversation and looks at what was left unread.
func (s *session) close() ending {
	s.ended = true
	s.drain()
	return s.wire.close()
}

// drain looks at what has arrived and waits for nothing.
func (s *session) drain() {
	for {
		select {
		case in, ok := <-s.wire.inbox().messages:
			if !ok {
				return
			}
			s.wire.inbox().took(in)
			if !in.ended && !in.priming {
				s.seen.message(s, in)
			}
		default:
			return
		}
	}
}

// describe says in one line what an answer is.
func (a answer) describe() string {
	switch {
	case a.err != nil:
		text := fmt.Sprintf("error %d %q", a.err.Code, clip(a.err.Message, 120))
		if len(a.err.Data) > 0 {
			text += " data " + clip(string(a.err.Data), 120)
		}
		return text
	case a.result != nil:
		return "result " + clip(string(a.result), 160)
	default:
		return "a response with neither result nor error"
	}
}

// clip cuts text to n bytes at a rune.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}
