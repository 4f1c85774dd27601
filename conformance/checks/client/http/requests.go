package http

import (
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// requests returns the scenarios that judge the HTTP requests of all others.
func requests() []trial.Scenario {
	return []trial.Scenario{
		trial.Passive("C-HTTP-REQUESTS",
			trial.Rule{ID: "C-HTTP-01/post", Want: "POST with one message", Each: func(_ *trial.Trial, m *peer.Message) (bool, string) {
				if len(m.Data) > 0 && m.Verb != http.MethodPost {
					return true, m.Verb + " with a body"
				}
				return len(m.Data) > 0, ""
			}},
			post("C-HTTP-02/accept", "application/json and text/event-stream", "", accepts),
			post("C-HTTP-02/content-type", peer.JSONBody, "", contentType),
		),
		trial.Passive("C-HTTP-SESSION",
			trial.Rule{ID: "C-HTTP-12/session", Want: "the session id", Look: sessionIDs},
			post("C-HTTP-12/initialize", "no session id", "", func(_ *trial.Trial, m *peer.Message) (bool, string) {
				return m.Method() == mcp.MethodInitialize, present(m, peer.SessionHeader)
			}),
			trial.Rule{ID: "C-HTTP-14/version", Want: "the negotiated version", Look: versionHeaders},
			trial.Rule{ID: "C-HTTP-18/delete", Want: "DELETE with the session id", Look: sessionEnds},
		),
		trial.Passive("C-HTTP-STATELESS",
			trial.Rule{ID: "C-HTTP-28/post-only", Want: "POST without a session id", Each: func(_ *trial.Trial, m *peer.Message) (bool, string) {
				if m.Verb != http.MethodPost {
					return m.Path == peer.Endpoint, m.Verb
				}
				return m.Path == peer.Endpoint, present(m, peer.SessionHeader)
			}},
			post("C-HTTP-29/version", "the version of _meta", "", versionOfMeta),
			post("C-HTTP-30/method", "Mcp-Method equal to method", "", methodHeader),
			post("C-HTTP-31/name", "Mcp-Name of params.name or params.uri", "no tool was called, no resource read and no prompt asked for", nameHeader),
			trial.Rule{ID: "C-HTTP-35/no-resume", Want: "no Last-Event-ID", Each: func(_ *trial.Trial, m *peer.Message) (bool, string) {
				wrong := present(m, "Last-Event-Id")
				return wrong != "" || m.Path == peer.Endpoint, wrong
			}},
		),
	}
}

// post is a rule of the POSTs to the endpoint.
func post(id, want, unused string, each func(t *trial.Trial, m *peer.Message) (bool, string)) trial.Rule {
	return trial.Rule{ID: id, Want: want, Unused: unused, Each: func(t *trial.Trial, m *peer.Message) (bool, string) {
		if m.Verb != http.MethodPost || m.Path != peer.Endpoint {
			return false, ""
		}
		return each(t, m)
	}}
}

// present shows a header that must be absent, "" if it is.
func present(m *peer.Message, name string) string {
	if value := m.Header.Get(name); value != "" {
		return name + ": " + value
	}
	return ""
}

func accepts(_ *trial.Trial, m *peer.Message) (bool, string) {
	got := strings.ToLower(strings.Join(m.Header.Values("Accept"), ","))
	if !strings.Contains(got, peer.JSONBody) || !strings.Contains(got, peer.EventStream) {
		return true, "Accept: " + got
	}
	return true, ""
}

func contentType(_ *trial.Trial, m *peer.Message) (bool, string) {
	kind, _, _ := strings.Cut(m.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), peer.JSONBody) {
		return true, "Content-Type: " + m.Header.Get("Content-Type")
	}
	return true, ""
}

func versionOfMeta(t *trial.Trial, m *peer.Message) (bool, string) {
	if m.Method() == "" || t.IsProbe(m) {
		return false, ""
	}
	want, got := rawjson.Text(m.Param("_meta", mcp.MetaProtocolVersion)), m.Header.Get(peer.VersionHeader)
	if got == "" || m.IsRequest() && want != got {
		return true, peer.VersionHeader + ": " + got + " beside " + want
	}
	return true, ""
}

func methodHeader(t *trial.Trial, m *peer.Message) (bool, string) {
	if !m.IsRequest() || t.IsProbe(m) {
		return false, ""
	}
	if got := m.Header.Get("Mcp-Method"); got != m.Method() {
		return true, "Mcp-Method: " + got + " for " + m.Method()
	}
	return true, ""
}

// nameParam is the param that the header Mcp-Name repeats, by method.
var nameParam = map[string]string{mcp.MethodToolsCall: "name", mcp.MethodPromptsGet: "name", mcp.MethodResourcesRead: "uri"}

func nameHeader(_ *trial.Trial, m *peer.Message) (bool, string) {
	param, about := nameParam[m.Method()]
	if !about {
		return false, ""
	}
	want := rawjson.Text(m.Param(param))
	if got, ok := peer.DecodeHeader(m.Header.Get("Mcp-Name")); !ok || got != want {
		return true, "Mcp-Name: " + m.Header.Get("Mcp-Name") + " for " + want
	}
	return true, ""
}

// crossing is how long a request may be in flight that was written before the client opened
// a new session.
const crossing = time.Second

// eachInSession calls look for each request after initialize, with the session id and the
// revision that the server gave last.
func eachInSession(t *trial.Trial, look func(m *peer.Message, session, version string)) {
	session, version, before := "", "", ""
	from := 0
	var since time.Duration
	for _, m := range t.Tape.Messages() {
		if m.Path != peer.Endpoint {
			continue
		}
		if from != 0 && m.Seq > from && m.Method() != mcp.MethodInitialize && !t.IsProbe(m) {
			if before != "" && m.Header.Get(peer.SessionHeader) == before && m.At-since < crossing {
				look(m, before, version)
			} else {
				look(m, session, version)
			}
		}
		if m.Method() == mcp.MethodInitialize && m.Answered != 0 && m.Reply.Get("Content-Type") != "" {
			before, since = session, m.At
			session, version, from = m.Reply.Get(peer.SessionHeader), m.Agreed, m.Answered
		}
	}
}

// compared shows a header with a wrong value, "" if it is right.
func compared(m *peer.Message, name, want, verb string) string {
	if got := m.Header.Get(name); got != want {
		return m.Verb + " " + m.Method() + " with " + peer.Quote(got) + " where " + peer.Quote(want) + " was " + verb
	}
	return ""
}

func sessionIDs(t *trial.Trial, about func(*peer.Message, string)) {
	eachInSession(t, func(m *peer.Message, session, _ string) { about(m, compared(m, peer.SessionHeader, session, "given")) })
}

func versionHeaders(t *trial.Trial, about func(*peer.Message, string)) {
	eachInSession(t, func(m *peer.Message, _, version string) {
		if v, known := mcp.ParseVersion(version); known && v.Era() == mcp.EraSession {
			about(m, compared(m, peer.VersionHeader, version, "negotiated"))
		}
	})
}

// sessionEnds judges clients that opened a session and exited on their own, behind no
// fault.
func sessionEnds(t *trial.Trial, about func(*peer.Message, string)) {
	var opened, deleted *peer.Message
	for _, m := range t.Tape.Messages() {
		switch {
		case m.Method() == mcp.MethodInitialized:
			opened = m
		case m.Verb == http.MethodDelete:
			deleted = m
		}
	}
	switch {
	case opened == nil || t.Ended == 0 || t.Proxy != nil || opened.Header.Get(peer.SessionHeader) == "":
	case deleted == nil:
		about(opened, "no DELETE")
	default:
		about(deleted, "")
	}
}
