package conformance

import (
	"context"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// askWith sends bytes that hold a request, with headers in the place of those
// its body asks for, and waits for the answer. Where a transport has no headers
// it sends the bytes alone.
func (s *session) askWith(ctx context.Context, id string, data []byte, with http.Header) (answer, error) {
	w, ok := s.wire.(*httpWire)
	if !ok {
		return s.ask(ctx, id, data)
	}
	s.expect(data)
	ctx, cancel := context.WithTimeout(ctx, s.wait)
	defer cancel()
	if _, err := w.sendWith(ctx, data, with); err != nil {
		s.doubts(err)
		return answer{}, err
	}
	return s.await(ctx, id)
}

// lie sends a request whose params, _meta in particular, are not what the
// session would make of them, with the headers in with.
func (s *session) lie(ctx context.Context, method string, params any, with http.Header) (answer, error) {
	id := s.newID()
	return s.askWith(ctx, id, message(id, method, params), with)
}

// sendWith posts one message with other headers than its body asks for.
func (w *httpWire) sendWith(ctx context.Context, data []byte, with http.Header) (*httpAnswer, error) {
	if !w.begin() {
		return nil, errClosed
	}
	return w.open(ctx, http.MethodPost, data, with, w.token(data))
}

// status is the HTTP status an answer came with, 0 on other transports.
func (a answer) status() int {
	if a.in.http == nil {
		return 0
	}
	return a.in.http.Status
}

// isInputRequired reports whether a result asks for more (MRTR-02).
func (a answer) isInputRequired() bool {
	return resultType(a) == mcp.ResultInputRequired
}

// resultType is the kind of a result as it says itself, "" when it does not.
func resultType(a answer) mcp.ResultType {
	result, _ := object(a.result)
	return mcp.ResultType(text(result["resultType"]))
}

// quoted is a check of a sentence of the specification.
func quoted(level Level, id, title, section, quote string) Check {
	return Check{ID: id, Title: title, Level: level, Spec: Spec{Section: section, Quote: quote}}
}

// speaksSessions reports whether the server was seen to speak a revision with
// sessions, too: what has no revision in it is then of those.
func (l *leg) speaksSessions() bool {
	for _, v := range l.report.Target.Offered {
		if mcp.Version(v).Era() == mcp.EraSession {
			return true
		}
	}
	return false
}

// statelessScenarios are those of the era without sessions alone.
func statelessScenarios() []Scenario {
	return slices.Concat(
		statelessDiscoverScenarios(), statelessHeaderScenarios(), statelessParamScenarios(), statelessHTTPScenarios(),
		statelessSubscriptionScenarios(), statelessStateScenarios(), statelessInputScenarios(), cacheScenarios(), observedStatelessScenarios(),
	)
}
