package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Record describes one request of a host that has its answer.
type Record struct {
	// Time is when the request came, Duration how long its answer took.
	Time     time.Time
	Duration time.Duration
	// Host is the name in the host's clientInfo, Version the revision of the request. Both are
	// empty if the host did not say.
	Host    string
	Version mcp.Version
	Method  string
	// Tool is the name of the tool of a tools/call, else empty.
	Tool string
	// Params are those of the request, maybe without members of _meta that belong to its
	// connection. Do not change them.
	Params json.RawMessage
	// ResultBytes is the size of the result, 0 for an error.
	ResultBytes int
	Outcome     Outcome
	// Code is that of the JSON-RPC error, 0 for a result.
	Code int64
	// Failure says why the server did not answer, nil if it did.
	Failure *Failure
}

// Outcome is how a request of a host ended.
type Outcome string

// The outcomes.
const (
	OutcomeOK        Outcome = "ok"
	OutcomeToolError Outcome = "tool-error" // a result of the server with isError
	OutcomeError     Outcome = "error"      // a JSON-RPC error of the server, or of the proxy for a request that it refuses
	OutcomeFailed    Outcome = "failed"     // the server did not answer: see Record.Failure
	OutcomeCanceled  Outcome = "canceled"   // by the host
)

// OnRequest sets a function that is called for each request once its answer is on the way to
// the host. It runs on the goroutine of the request, several at once, and must not block: the
// end of the proxy waits for it. A panic in it is logged. If requests are refused faster than the
// function returns, some refusals are left out.
func OnRequest(f func(ctx context.Context, r Record)) Option {
	return func(s *settings) { s.observer = f }
}

// Stats counts what is open in the proxies that have it. The zero Stats is ready for use.
type Stats struct{ requests, sessions atomic.Int64 }

// Requests returns the number of requests that wait for their answers.
func (s *Stats) Requests() int64 { return s.requests.Load() }

// Sessions returns the number of hosts of the session era.
func (s *Stats) Sessions() int64 { return s.sessions.Load() }

// WithStats makes a proxy count in s.
func WithStats(s *Stats) Option { return func(set *settings) { set.stats = s } }

// observation is a request on its way to its record.
type observation struct {
	host   *host
	ctx    context.Context
	record Record
}

// observe begins to observe a request. [observation.report] has to follow.
func (h *host) observe(ctx context.Context, req jsonrpc.Request) observation {
	h.stats.requests.Add(1)
	o := observation{host: h}
	if h.observer != nil {
		o.ctx = context.WithoutCancel(ctx)
		o.record = Record{Time: time.Now(), Method: req.Method, Params: req.Params}
	}
	return o
}

// answered takes the answer of a request. r is nil for one that could not be read.
func (o *observation) answered(r *request, resp *jsonrpc.Response, canceled bool) {
	if o.host.observer == nil {
		return
	}
	rec := &o.record
	rec.Duration, rec.ResultBytes = time.Since(rec.Time), len(resp.Result)
	if r != nil {
		rec.Version, rec.Failure, rec.Host = r.version, r.failed, nameOf(r.info)
		if rec.Method == mcp.MethodToolsCall {
			rec.Tool = r.name
		}
	}
	if rec.Host == "" {
		o.host.mu.Lock()
		rec.Host = o.host.name
		o.host.mu.Unlock()
	}
	if resp.Error != nil {
		rec.Code = resp.Error.Code
	}
	switch {
	case canceled:
		rec.Outcome = OutcomeCanceled
	case rec.Failure != nil:
		rec.Outcome = OutcomeFailed
	case resp.Error != nil:
		rec.Outcome = OutcomeError
	case rec.Method == mcp.MethodToolsCall && failedTool(resp.Result):
		rec.Outcome = OutcomeToolError
	default:
		rec.Outcome = OutcomeOK
	}
}

// report ends an observation.
func (o *observation) report() {
	o.host.stats.requests.Add(-1)
	if o.host.observer == nil {
		return
	}
	callback.Run("OnRequest", func(e *callback.Error) {
		o.host.log.Error("[MCP] a callback failed", "error", e, "stack", string(e.Stack))
	}, func() { o.host.observer(o.ctx, o.record) })
}

// maxUnreported bounds the refusals that wait for the observer.
const maxUnreported = 64

// reportRefusal reports a request that is not served. It returns at once.
func (h *host) reportRefusal(ctx context.Context, req jsonrpc.Request, r *request, resp *jsonrpc.Response) {
	if h.observer == nil {
		return
	}
	if h.unreported.Add(1) > maxUnreported {
		h.unreported.Add(-1)
		return
	}
	o := h.observe(ctx, req)
	o.answered(r, resp, false)
	go func() {
		defer h.unreported.Add(-1)
		o.report()
	}()
}

// nameOf returns the name in a clientInfo, "" if there is none.
func nameOf(info json.RawMessage) string {
	var v struct {
		Name string `json:"name"`
	}
	if info != nil {
		_ = jsonrpc.Unmarshal(info, &v) // what is no text is no name
	}
	return v.Name
}

// failedTool reports whether a result has isError.
func failedTool(result json.RawMessage) (failed bool) {
	if !bytes.Contains(result, []byte(`"isError"`)) {
		return false
	}
	_ = jsonrpc.Members(result, func(name, value []byte) bool { // the client has read it
		if string(name) == "isError" {
			failed = string(value) == "true"
		}
		return true
	})
	return failed
}
