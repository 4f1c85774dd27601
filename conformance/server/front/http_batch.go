package front

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// batch serves an array on a session of the one revision that has them. What
// go-sdk can serve it serves, each answer an event of one stream; what the
// front answers itself goes before that, as one event with an array.
func (h *HTTP) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	id := r.Header.Get(sessionHeader)
	if id != "" && !h.known(w, id) {
		return
	}
	defer h.Backend.Enter(id)()
	if version, _ := h.Backend.Session(id); version != revisionWithBatches {
		writeFault(w, http.StatusBadRequest, invalidRequest(nil, "batch", "a batch is served in a session of revision %s only", revisionWithBatches))
		return
	}
	parts, f := split(body)
	if f != nil {
		writeFault(w, http.StatusBadRequest, f)
		return
	}
	var own [][]byte
	var rest []json.RawMessage
	calls, ids := false, map[string]bool{}
	for _, part := range parts {
		m, f := parse(part)
		if f == nil {
			f = h.inBatch(m, ids)
		}
		switch {
		case f != nil && f.err != nil:
			own = append(own, f.encode())
		case f != nil:
		case m.kind == kindRequest && h.Backend.IsDirect(m.method):
			own = append(own, h.directly(w, r, m))
		default:
			rest = append(rest, part)
			calls = calls || m.kind == kindRequest
			if c := newCall(m, false); c != nil {
				h.admit(w, r, c, id)
				rest[len(rest)-1] = numbered(part, len(r.Header[ticketHeader]))
				r.Header.Add(ticketHeader, c.ticket())
			}
		}
	}
	if len(rest) == 0 && len(own) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	raw, err := json.Marshal(rest)
	if err != nil { // it came from JSON
		raw = nil
	}
	r.Header.Set(versionHeader, revisionWithBatches) // go-sdk takes it from there
	switch {
	case len(own) == 0:
		pass(h.Session, w, r, raw)
	case calls:
		pass(h.Session, &prefixed{ResponseWriter: w, event: join(own)}, r, raw)
	default:
		if len(rest) > 0 {
			pass(h.Session, discard{}, r, raw)
		}
		writeJSON(w, http.StatusOK, join(own))
	}
}

// numbered returns the call with the number of its ticket in its `_meta`.
func numbered(call json.RawMessage, n int) json.RawMessage {
	var env, params, meta map[string]json.RawMessage
	_ = json.Unmarshal(call, &env) // parse has seen all of it
	_ = json.Unmarshal(env["params"], &params)
	if json.Unmarshal(params["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	if params == nil {
		return call
	}
	meta[ticketKey], _ = json.Marshal(n)
	params["_meta"], _ = json.Marshal(meta)
	env["params"], _ = json.Marshal(params)
	out, err := json.Marshal(env)
	if err != nil {
		return call
	}
	return out
}

// inBatch refuses what cannot be part of a batch, and the ids that were in it
// already. A fault without an error is a notification that is dropped.
func (h *HTTP) inBatch(m *message, ids map[string]bool) *fault {
	if m.kind == kindRequest {
		id := string(canonicalID(m.id))
		if ids[id] {
			return duplicateID(m.id)
		}
		ids[id] = true
	}
	switch {
	case m.kind == kindResponse:
		return nil
	case m.kind == kindNotification && !heard(h.Backend, EraSession, m):
		return &fault{}
	case m.kind == kindRequest && h.Backend.IsDirect(m.method):
		return nil
	case m.method == "initialize":
		return invalidRequest(m.id, "batch", "initialize must not be part of a batch")
	case m.kind == kindRequest && !h.Backend.Serves(EraSession, m.method):
		return methodFault(m)
	case m.kind == kindRequest && m.id[0] != '"' && !exactFloat(m.id):
		return inexactID(m.id)
	}
	return m.check()
}

// directly runs a tool that is called as a method of its own.
func (h *HTTP) directly(w http.ResponseWriter, r *http.Request, m *message) []byte {
	c := newCall(m, true)
	h.admit(w, r, c, r.Header.Get(sessionHeader))
	result, err := h.Backend.Direct(r.Context(), c)
	resp := &jsonrpc.Response{Result: result}
	if err != nil {
		resp.Error = err
	}
	return encodeResponse(m.id, resp)
}

// prefixed writes one event before the first of a stream.
type prefixed struct {
	http.ResponseWriter
	event []byte
}

func (p *prefixed) Write(b []byte) (int, error) {
	if p.event != nil && strings.HasPrefix(p.Header().Get("Content-Type"), "text/event-stream") {
		event := append(append([]byte("event: message\ndata: "), p.event...), "\n\n"...)
		p.event = nil
		if _, err := p.ResponseWriter.Write(event); err != nil {
			return 0, err
		}
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] flush.
func (p *prefixed) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Flush is how go-sdk sends an event at once.
func (p *prefixed) Flush() { _ = http.NewResponseController(p.ResponseWriter).Flush() }

// discard is where the answer to notifications goes: there is none.
type discard struct{}

// Header returns one that nobody reads.
func (discard) Header() http.Header { return http.Header{} }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader does nothing.
func (discard) WriteHeader(int) {}
