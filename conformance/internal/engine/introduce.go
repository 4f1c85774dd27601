package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// revisions starts the subject for the first time, with initialize, which is safe for
// servers of both eras. It learns which revisions the subject supports, and returns those
// to judge, newest first. The error is a [*conformance.UnreachableError] if the subject
// does not answer within the start timeout.
func (r *runner) revisions(ctx context.Context) ([]mcp.Version, error) {
	session, err := r.trySession(ctx)
	if err != nil {
		return nil, err
	}
	newest, target := session.revision, &r.Report.Target
	var stateless []string
	unnamed, answered := false, false
	if target.Transport != conformance.TransportSSE { // which has no stateless era
		r.doing("asking the server which revisions it speaks (server/discover)")
		stateless, unnamed, answered = r.tryStateless(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case session.refused != 0 && len(stateless) == 0:
		return nil, &conformance.UnreachableError{Target: *target, Exit: -1, Status: session.refused, Err: fmt.Errorf("HTTP %d", session.refused)}
	case session.failure != nil && !answered:
		return nil, session.failure
	}
	target.Offered = stateless
	if newest != "" && !slices.Contains(stateless, string(newest)) {
		target.Offered = append(target.Offered, string(newest))
	}
	revisions := slices.Clone(r.Opts.Revisions)
	if len(revisions) == 0 && target.Transport == conformance.TransportSSE {
		revisions = append(revisions, mcp.Version2024_11_05) // the revision of the transport
	}
	if len(revisions) == 0 {
		if v, ok := mcp.Newest(stateless, mcp.EraStateless); ok {
			revisions = append(revisions, v)
		} else if unnamed {
			revisions = append(revisions, mcp.Latest)
		}
		// A server that answers neither is judged as one of the session era.
		if newest.Era() == mcp.EraSession || len(revisions) == 0 {
			revisions = append(revisions, mcp.LatestSession)
		}
	}
	if i := slices.IndexFunc(revisions, func(v mcp.Version) bool { return v.Era() != mcp.EraSession }); i >= 0 && target.Transport == conformance.TransportSSE {
		return nil, fmt.Errorf("revision %s cannot be used over HTTP+SSE", revisions[i])
	}
	slices.SortFunc(revisions, func(a, b mcp.Version) int {
		if a.AtLeast(b) {
			return -1
		}
		return 1
	})
	return slices.Compact(revisions), nil
}

// firstAnswer is the outcome of the first initialize.
type firstAnswer struct {
	// revision is the one of the server's answer, "" for an error.
	revision mcp.Version
	// refused is the HTTP status with which the server refuses all requests, else 0.
	refused int
	// failure: there was an HTTP answer without a response. The server may still be one of
	// the stateless era.
	failure *conformance.UnreachableError
}

// trySession offers the newest session revision.
func (r *runner) trySession(ctx context.Context) (firstAnswer, error) {
	r.doing(r.waiting())
	start, cancel := context.WithTimeout(ctx, r.Opts.StartTimeout)
	defer cancel()
	offer := mcp.LatestSession
	if v, ok := mcp.Newest(texts(r.Opts.Revisions), mcp.EraSession); ok {
		offer = v
	}
	l, begun := newRevisionRun(r, offer), time.Now()
	s, err := l.open(start, nil)
	if err != nil {
		return firstAnswer{}, &conformance.UnreachableError{Target: r.Report.Target, Exit: -1, Status: refusal(wire.Answer{}, err), Err: err}
	}
	kept := false
	defer func() {
		if !kept {
			s.Close()
		}
	}()
	a, err := r.greet(start, s, offer)
	if isProcess(r.Subject) {
		r.starts = 2 * time.Since(begun)
	}
	if u, ok := r.Subject.(*conformance.URLSubject); ok && s.Opened == nil {
		if old := r.older(start, u, a); old != nil {
			r.Subject = old
			r.Report.Target.Transport = conformance.TransportSSE
			return r.trySession(ctx)
		}
	}
	var failure *conformance.UnreachableError
	if err != nil && !errors.Is(err, wire.ErrForeignEndpoint) { // a check judges it
		if failure = r.unreachable(ctx, s, err); ctx.Err() != nil {
			return firstAnswer{}, ctx.Err()
		}
		if s.Conn.Transport() != conformance.TransportHTTP || s.Trace.Silent() {
			return firstAnswer{}, failure
		}
	}
	if s.Opened == nil {
		return firstAnswer{refused: refusal(a, err), failure: failure}, nil
	}
	answer := firstAnswer{revision: s.Opened.Revision}
	err = s.Initialized(ctx)
	if kept = err == nil && isProcess(r.Subject); kept {
		l.shared[sharedKey(nil)], r.first = s, l
	}
	return answer, err
}

// waiting describes the first step of a run.
func (r *runner) waiting() string {
	return fmt.Sprintf("waiting for the answer to initialize, at most %s", r.Opts.StartTimeout)
}

// greet sends initialize and waits for its answer for the start timeout. A malformed answer
// ends the wait, too.
func (r *runner) greet(ctx context.Context, s *wire.Session, offer mcp.Version) (wire.Answer, error) {
	lines, isLines := s.Conn.(*wire.StdioConn)
	if !isLines {
		s.Timeout = r.Opts.StartTimeout
		a, err := s.Initialize(ctx, offer)
		s.Timeout = r.Opts.Answer
		return a, err
	}
	id, err := s.Post(ctx, mcp.MethodInitialize, s.InitializeParams(offer))
	if err != nil && !errors.Is(err, wire.ErrLate) && !errors.Is(err, wire.ErrClosed) {
		return wire.Answer{}, err // a program that reads nothing may have said why
	}
	g := &greeting{id: id}
	for {
		in, err := s.Next(ctx, func(in wire.Inbound) bool {
			if in.Members == nil {
				r.doing(fmt.Sprintf("the server wrote %q, which is no message; %s", rawjson.Clip(string(in.Data), 40), r.waiting()))
			}
			return g.takes(in)
		})
		switch late := errors.Is(err, wire.ErrLate); {
		case err == nil && g.found != nil:
			return wire.Answer{}, g.found
		case err == nil:
			a := wire.ToAnswer(in)
			s.Begun(a)
			return a, nil
		case late && g.other != nil:
			return wire.Answer{}, g.other
		case late:
			if m := g.unterminated(lines.Unterminated()); m != nil {
				return wire.Answer{}, m
			}
		case errors.Is(err, context.DeadlineExceeded):
			silence := g.silence(r.Opts.StartTimeout.String())
			lines.Hurry()
			s.Close()
			return wire.Answer{}, cmp.Or(g.held(s.Trace), silence)
		default:
			return wire.Answer{}, err
		}
	}
}

// unreachable returns the error about a server whose answer to initialize is missing or
// malformed. It ends the conversation.
func (r *runner) unreachable(ctx context.Context, s *wire.Session, err error) *conformance.UnreachableError {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w in %s", wire.ErrNoAnswer, r.Opts.StartTimeout)
	}
	if w, ok := s.Conn.(*wire.StdioConn); ok && !errors.Is(err, wire.ErrClosed) {
		w.Hurry() // its end is not judged
	}
	end := s.Close()
	u := &conformance.UnreachableError{Target: r.Report.Target, Stderr: wire.LastLines(s.Conn.Stderr()), Exit: -1, Err: err, Rule: r.ruleOf(checkAnswered)}
	data, status := s.Trace.Said()
	u.Received = data
	var wrong *protocolViolation
	switch {
	case errors.As(err, &wrong):
		u.Rule = r.ruleOf(wrong.rule)
	case errors.Is(err, wire.ErrClosed) && end.Prompt:
		u.Exit = end.Exit
		if u.Exit < 0 && end.Err != nil {
			u.Err = fmt.Errorf("%w: %w", wire.ErrClosed, end.Err)
		}
	case status != "":
		wrong = noResponse(s, status)
		u.Err, u.Rule = wrong, r.ruleOf(wrong.rule)
	}
	return u
}

// refusal returns the HTTP status of a server that wants credentials or is no MCP server,
// else 0.
func refusal(a wire.Answer, err error) int {
	status := wire.StatusOf(err)
	if a.In.HTTP != nil && a.Err != nil {
		status = a.In.HTTP.Status
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return status
	case a.Err != nil: // it is an MCP server
		return 0
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= http.StatusInternalServerError:
		return status
	}
	return 0
}

// tryStateless asks with server/discover which revisions the server supports. The answer
// has them in supportedVersions. unnamed reports that the server speaks a stateless revision
// and does not say which: the member is no list, or the server does not know the method, yet
// refuses an unknown revision as only a stateless one does. Every other answer means that
// it has no stateless revision. answered reports a response.
func (r *runner) tryStateless(ctx context.Context) (versions []string, unnamed, answered bool) {
	l := newRevisionRun(r, mcp.Latest)
	s, err := l.open(ctx, nil)
	if err != nil {
		return nil, false, false
	}
	defer s.Close()
	a, err := s.Request(ctx, mcp.MethodDiscover, nil)
	if err != nil {
		return nil, false, false
	}
	if a.HasCode(nil, wire.CodeMethodNotFound) && !r.Opts.Gentle {
		// A server of the session era serves or refuses this, and not because of the revision.
		a, err = s.Request(ctx, mcp.MethodToolsList, map[string]any{"_meta": map[string]any{mcp.MetaProtocolVersion: "1900-01-01"}})
		return nil, a.HasCode(err, mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch), true
	}
	if a.Err != nil {
		return nil, false, true
	}
	result, _ := rawjson.Object(a.Result)
	said, there := result["supportedVersions"]
	if !there || json.Unmarshal(said, &versions) != nil {
		return nil, there, true
	}
	return versions, false, true
}

func texts(versions []mcp.Version) []string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = string(v)
	}
	return out
}
