package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

	next    int
	pending map[string]bool // ids sent; true once answered
	stash   []inbound       // responses nobody waited for yet
	opened  *opening        // set once initialized
}

// opening is what the server said in answer to initialize.
type opening struct {
	revision     mcp.Version
	result       map[string]json.RawMessage
	capabilities json.RawMessage
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
	Data    json.RawMessage `json:"data"`
}

// errNoAnswer: the deadline of a wait passed.
var errNoAnswer = errors.New("no answer")

func newSession(w wire, tr *trace, seen *observer, wait time.Duration) *session {
	return &session{wire: w, trace: tr, seen: seen, wait: wait, pending: map[string]bool{}}
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
	if in := received(data, nil); in.members != nil && in.id() != "" {
		s.pending[in.id()] = false
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	answer, err := s.wire.send(ctx, data)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	return answer, err
}

// post sends a request and returns its id without waiting.
func (s *session) post(ctx context.Context, method string, params any) (string, error) {
	id := s.newID()
	_, err := s.send(ctx, message(id, method, params))
	return id, err
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
	in, err := s.next1(ctx, func(in inbound) bool {
		return in.isResponse() && in.id() == id || in.to == id && (in.ended || in.isResponse())
	})
	if err != nil {
		return answer{}, err
	}
	if in.ended {
		return answer{in: in}, fmt.Errorf("%w: %s", errNoAnswer, in.err)
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
		return answer{in: in}, fmt.Errorf("%w: %s", errNoAnswer, in.err)
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
			return in, nil
		}
	}
	timer := time.NewTimer(s.wait)
	defer timer.Stop()
	for {
		select {
		case in, ok := <-s.wire.inbox():
			if !ok {
				return inbound{}, errClosed
			}
			s.take(ctx, in)
			if want(in) {
				return in, nil
			}
			if in.isResponse() || in.ended {
				s.stash = append(s.stash, in)
			}
		case <-timer.C:
			return inbound{}, fmt.Errorf("%w in %s", errNoAnswer, s.wait)
		case <-ctx.Done():
			return inbound{}, ctx.Err()
		}
	}
}

// take looks at every message once, and answers requests of the server: a ping
// with a result, the rest as a client without those features does (RPC-13).
func (s *session) take(ctx context.Context, in inbound) {
	if in.ended {
		return
	}
	s.seen.message(s, in)
	if in.members == nil || in.isResponse() || in.id() == "" {
		return
	}
	reply := map[string]any{"jsonrpc": "2.0", "id": in.members["id"]}
	if in.method() == mcp.MethodPing {
		reply["result"] = struct{}{}
	} else {
		reply["error"] = map[string]any{"code": codeMethodNotFound, "message": "Method not found"}
	}
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	_, _ = s.wire.send(ctx, encode(reply)) // the server's loss
}

// settle takes what arrives until a ping is answered twice over, so that
// answers to what was sent before have had their chance, and returns the
// responses that nobody asked for.
func (s *session) settle(ctx context.Context) ([]inbound, error) {
	for range 2 {
		if _, err := s.ping(ctx); err != nil {
			return nil, err
		}
	}
	var stray []inbound
	for _, in := range s.stash {
		if _, asked := s.pending[in.id()]; !asked && in.isResponse() {
			stray = append(stray, in)
		}
	}
	return stray, nil
}

func (s *session) ping(ctx context.Context) (answer, error) {
	return s.request(ctx, mcp.MethodPing, nil)
}

// initialize sends initialize with the given version and keeps a good answer.
func (s *session) initialize(ctx context.Context, version mcp.Version) (answer, error) {
	a, err := s.request(ctx, mcp.MethodInitialize, initializeParams(version))
	if err != nil {
		return a, err
	}
	o := &opening{}
	result, ok := object(a.result)
	if !ok {
		return a, nil // judged by the lifecycle scenarios
	}
	o.result = result
	_ = json.Unmarshal(o.result["protocolVersion"], &o.revision) // judged by the lifecycle scenarios
	o.capabilities = o.result["capabilities"]
	s.opened = o
	if h, ok := s.wire.(*httpWire); ok {
		h.negotiated(string(o.revision))
	}
	return a, nil
}

func initializeParams(version mcp.Version) any {
	return map[string]any{
		"protocolVersion": version,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]any{"name": "mainstay-conformance", "version": "1.0.0"},
	}
}

// handshake opens the session in full.
func (s *session) handshake(ctx context.Context, version mcp.Version) error {
	a, err := s.initialize(ctx, version)
	switch {
	case err != nil:
		return fmt.Errorf("initialize: %w", err)
	case a.err != nil:
		return fmt.Errorf("initialize: %s", a.describe())
	case s.opened == nil:
		return errors.New("initialize: the result is not an object")
	}
	if err := s.initialized(ctx); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}

// close ends the conversation and looks at what was left unread.
func (s *session) close() ending {
	s.drain()
	return s.wire.close()
}

// drain looks at what has arrived and waits for nothing.
func (s *session) drain() {
	for {
		select {
		case in, ok := <-s.wire.inbox():
			if !ok {
				return
			}
			if !in.ended {
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
