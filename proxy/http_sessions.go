package proxy

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// inSession serves a message of the session era.
func (h *Handler) inSession(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
	req, asks := m.(jsonrpc.Request)
	if asks && req.Method == mcp.MethodInitialize && r.Header.Get(headerSession) == "" {
		h.initialize(w, r, req)
		return
	}
	s, done := h.find(w, r, req.ID)
	if s == nil {
		return
	}
	defer done()
	switch m := m.(type) {
	case jsonrpc.Request:
		s.serve(w, r, []jsonrpc.Request{m})
		return
	case jsonrpc.Notification:
		s.host.notification(m)
	case jsonrpc.Response:
		s.answered(m)
	}
	w.WriteHeader(http.StatusAccepted)
}

// initialize opens a session.
func (h *Handler) initialize(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) {
	s := h.newSession(r)
	s.enter()
	if !h.add(s) {
		s.close(0)
		unavailable(w, req.ID, "too many sessions; close some, or try again later")
		return
	}
	defer s.exit()
	t := s.open(1)
	opened := make(chan *jsonrpc.Response, 1)
	if refusal := s.host.request(req, t, func(resp *jsonrpc.Response) { opened <- resp }); refusal != nil {
		opened <- refusal
	}
	var resp *jsonrpc.Response
	select {
	case resp = <-opened:
	case <-r.Context().Done(): // nobody learns the id of the session
	}
	s.leave(t)
	if resp == nil || resp.Error != nil {
		h.remove(s, 0)
	}
	if resp == nil {
		return
	}
	code := http.StatusOK
	if resp.Error == nil {
		w.Header().Set(headerSession, s.id)
	} else if resp.Error.Code == jsonrpc.CodeInvalidParams {
		code = http.StatusBadRequest
	}
	writeJSON(w, code, resp.AppendJSON(nil))
}

// batch serves an array of messages, which only revision 2025-03-26 has.
func (h *Handler) batch(w http.ResponseWriter, r *http.Request, body []byte) {
	if r.Header.Get(headerSession) == "" {
		refuse(w, http.StatusBadRequest, jsonrpc.ID{}, invalidRequest("a batch needs a session of revision "+string(mcp.Version2025_03_26)))
		return
	}
	s, done := h.find(w, r, jsonrpc.ID{})
	if s == nil {
		return
	}
	defer done()
	parts, err := jsonrpc.SplitBatch(body)
	switch {
	case s.version() != mcp.Version2025_03_26:
		err = errors.New("revision " + string(s.version()) + " has no batches")
	case err == nil && len(parts) == 0:
		err = errors.New("the batch is empty")
	case len(parts) > maxOpen:
		err = errors.New("the batch has more than " + strconv.Itoa(maxOpen) + " messages")
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, jsonrpc.ID{}, invalidRequest(err.Error()))
		return
	}
	var requests []jsonrpc.Request
	var faults []jsonrpc.Response
	for _, part := range parts {
		switch m, err := jsonrpc.Decode(part); m := m.(type) {
		case jsonrpc.Request:
			requests = append(requests, m)
		case jsonrpc.Notification:
			s.host.notification(m)
		case jsonrpc.Response:
			s.answered(m)
		default:
			id, fault := faultOf(err)
			faults = append(faults, jsonrpc.Response{ID: id, Error: fault})
		}
	}
	if len(requests)+len(faults) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.serve(w, r, requests, faults...)
}

// get opens the stream for what belongs to no request, or continues a stream.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	if !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, jsonrpc.ID{}, invalidRequest("Accept must have text/event-stream"))
		return
	}
	s, done := h.find(w, r, jsonrpc.ID{})
	if s == nil {
		return
	}
	defer done()
	s.host.wake() // it is back, and may wait for messages of the server
	t, after := s.own, -1
	if last := r.Header.Get(headerEvent); last != "" {
		var ok bool
		if t, after, ok = s.event(last); !ok {
			refuse(w, http.StatusBadRequest, jsonrpc.ID{}, invalidRequest("this Last-Event-ID belongs to no stream that is kept"))
			return
		}
	}
	t.resume(w, r, after, s.version())
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	s, done := h.find(w, r, jsonrpc.ID{})
	if s == nil {
		return
	}
	defer done()
	h.remove(s, 0)
	w.WriteHeader(http.StatusNoContent)
}

// find returns the session of a request and keeps it open until done is called. If there is
// none, find answers the request.
func (h *Handler) find(w http.ResponseWriter, r *http.Request, id jsonrpc.ID) (s *session, done func()) {
	name := r.Header.Get(headerSession)
	if name == "" {
		refuse(w, http.StatusBadRequest, id, jsonrpc.NewError(jsonrpc.CodeInvalidRequest,
			"Invalid Request: the header Mcp-Session-Id is missing; send initialize first", map[string]string{"reason": "not_initialized"}))
		return nil, nil
	}
	h.mu.Lock()
	s = h.sessions[name]
	h.mu.Unlock()
	if s == nil || !s.enter() {
		refuse(w, http.StatusNotFound, jsonrpc.ID{}, invalidRequest("no such session; send initialize again"))
		return nil, nil
	}
	switch v, agreed := mcp.Version(r.Header.Get(headerVersion)), s.version(); {
	case v == "", v == agreed: // it may be missing
		return s, s.exit
	case v.Era() != mcp.EraSession:
		refuse(w, http.StatusBadRequest, id, unsupported(v))
	default:
		refuse(w, http.StatusBadRequest, id, invalidRequest("MCP-Protocol-Version is not the revision of this session, "+string(agreed)))
	}
	s.exit()
	return nil, nil
}

// add makes room for a session, and adds it: the one that was not used for the longest time has
// to go, of those of the same address if that has a quarter of all. add returns false if all are
// used.
func (h *Handler) add(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	all := slices.Collect(maps.Values(h.sessions))
	same := slices.DeleteFunc(slices.Clone(all), func(other *session) bool { return other.address != s.address })
	ip := net.ParseIP(s.address)
	full := len(all) >= h.maxSessions
	if len(same) >= max(1, h.maxSessions/4) && ip != nil && !ip.IsLoopback() {
		all, full = same, true // hosts at other addresses keep theirs
	}
	if full {
		oldest := longestUnused(all)
		if oldest == nil {
			return false
		}
		h.removeLocked(oldest, 0)
	}
	h.sessions[s.id] = s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = time.AfterFunc(min(h.idleStop, h.sessionTimeout), s.expire)
	return true
}

// longestUnused returns the session that was not used for the longest time, nil if all are used.
func longestUnused(all []*session) (oldest *session) {
	var since time.Time
	for _, s := range all {
		if used, idle := s.unused(); idle && (oldest == nil || used.Before(since)) {
			oldest, since = s, used
		}
	}
	return oldest
}

// remove ends a session. Its open requests have d to finish.
func (h *Handler) remove(s *session, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removeLocked(s, d)
}

// removeLocked is [Handler.remove] with h.mu held.
func (h *Handler) removeLocked(s *session, d time.Duration) {
	if h.sessions[s.id] != s {
		return
	}
	delete(h.sessions, s.id)
	h.closing.Go(func() { s.close(d) })
}
