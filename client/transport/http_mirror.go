package transport

import (
	"maps"
	"net/http"
	"sync"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Headers that repeat the message in the stateless era, in canonical form.
const (
	headerMethod = "Mcp-Method"
	headerName   = "Mcp-Name"
	prefixParam  = "Mcp-Param-"
)

// maxMirrors limits the cached headers, since callers choose the names.
const maxMirrors = 256

// mirrorHeaders caches the headers of stateless requests, which are the same for every call of a
// tool. Cached headers are never changed.
type mirrorHeaders struct {
	mu   sync.Mutex
	kept map[mirrorKey]http.Header
}

type mirrorKey struct{ version, method, name string }

// header returns the headers of a stateless request.
func (k *mirrorHeaders) header(base http.Header, method string, m *Mirror) http.Header {
	key := mirrorKey{m.Version, method, m.Name}
	k.mu.Lock()
	h := k.kept[key]
	k.mu.Unlock()
	if h == nil {
		h = maps.Clone(base)
		h.Set(headerVersion, m.Version)
		h.Set(headerMethod, method)
		if m.Name != "" {
			h.Set(headerName, headerValue(m.Name))
		}
		k.keep(key, h)
	}
	if len(m.Params) > 0 {
		h = maps.Clone(h)
		for _, p := range m.Params {
			h.Set(prefixParam+p.Name, headerValue(p.Value))
		}
	}
	return h
}

// mirrorOf returns the mirror of a message without an answer, nil in the session era. Such a
// message has no revision of its own.
func (c *httpConn) mirrorOf(m jsonrpc.Message) *Mirror {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if _, ok := m.(jsonrpc.Notification); !ok || mcp.Version(c.session.version).Era() != mcp.EraStateless {
		return nil
	}
	return &Mirror{Version: c.session.version}
}

func (k *mirrorHeaders) keep(key mirrorKey, h http.Header) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil || len(k.kept) >= maxMirrors {
		k.kept = make(map[mirrorKey]http.Header)
	}
	k.kept[key] = h
}

func methodOf(m jsonrpc.Message) string {
	switch m := m.(type) {
	case jsonrpc.Request:
		return m.Method
	case jsonrpc.Notification:
		return m.Method
	}
	return ""
}
