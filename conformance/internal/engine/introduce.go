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

// meet starts the subject for the first time, with initialize, which servers of
// both eras survive, learns which revisions it speaks, and
// returns those to judge, newest first. A server that cannot be met is an
// [*UnreachableError] within the start timeout.
func (r *runner) meet(ctx context.Context) ([]mcp.Version, error) {
	session, err := r.meetSession(ctx)
	if err != nil {
		return nil, err
	}
	legacy, target := session.revision, &r.Report.Target
	var modern []string
	garbled, answered := false, false
	if target.Transport != conformance.TransportSSE { // which has no stateless era (OLD-04)
		r.doing("asking the server which revisions it speaks (server/discover)")
		modern, garbled, answered = r.meetStateless(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case session.refused != 0 && len(modern) == 0:
		return nil, &conformance.UnreachableError{Target: *target, Exit: -1, Status: session.refused, Err: fmt.Errorf("HTTP %d", session.refused)}
	case session.unmet != nil && !answered:
		return nil, session.unmet
	}
	target.Offered = modern
	if legacy != "" && !slices.Contains(modern, string(legacy)) {
		target.Offered = append(target.Offered, string(legacy))
	}
	revisions := slices.Clone(r.Opts.Revisions)
	if len(revisions) == 0 && target.Transport == conformance.TransportSSE {
		revisions = append(revisions, mcp.Version2024_11_05) // whose transport it is
	}
	if len(revisions) == 0 {
		if v, ok := mcp.Newest(modern, mcp.EraStateless); ok {
			revisions = append(revisions, v)
		} else if garbled {
			revisions = append(revisions, mcp.Latest)
		}
		// A server that answers neither is judged as one of the session era.
		if legacy.Era() == mcp.EraSession || len(revisions) == 0 {
			revisions = append(revisions, mcp.LatestSession)
		}
	}
	if i := slices.IndexFunc(revisions, func(v mcp.Version) bool { return v.Era() != mcp.EraSession }); i >= 0 && target.Transport == conformance.TransportSSE {
		return nil, fmt.Errorf("revision %s is not spoken over HTTP+SSE", revisions[i])
	}
	slices.SortFunc(revisions, func(a, b mcp.Version) int {
		if a.AtLeast(b) {
			return -1
		}
		return 1
	})
	return slices.Compact(revisions), nil
}

// met is what came of a first initialize.
type met struct {
	// revision is what the server answers with, "" for an error.
	revision mcp.Version
	// refused is the HTTP status that keeps everybody out, else 0.
	refused int
	// unmet: an HTTP answer came and no response was in it. The server may still
	// be one of the stateless era.
	unmet *conformance.UnreachableError
}

// meetSession offers the newest session revision.
func (r *runner) meetSession(ctx context.Context) (met, error) {
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
		return met{}, &conformance.UnreachableError{Target: r.Report.Target, Exit: -1, Status: keptOut(wire.Answer{}, err), Err: err}
	}
	defer s.Close()
	a, err := r.greet(start, s, offer)
	if isProcess(r.Subject) {
		r.starts = 2 * time.Since(begun)
	}
	if u, ok := r.Subject.(*conformance.URLSubject); ok && s.Opened == nil {
		if old := older(start, u, a); old != nil {
			r.Subject = old
			r.Report.Target.Transport = conformance.TransportSSE
			return r.meetSession(ctx)
		}
	}
	var unmet *conformance.UnreachableError
	if err != nil && !errors.Is(err, wire.ErrForeignEndpoint) { // which OLD-02 judges
		if unmet = r.unmet(ctx, s, err); ctx.Err() != nil {
			return met{}, ctx.Err()
		}
		if s.Conn.Transport() != conformance.TransportHTTP || s.Trace.Silent() {
			return met{}, unmet
		}
	}
	if s.Opened == nil {
		return met{refused: keptOut(a, err), unmet: unmet}, nil
	}
	return met{revision: s.Opened.Revision}, s.Initialized(ctx)
}

// waiting says what the first start waits for.
func (r *runner) waiting() string {
	return fmt.Sprintf("waiting for the answer to initialize, at most %s", r.Opts.StartTimeout)
}

// greet sends initialize and waits for its answer as long as a start may take. What
// can only be meant as the answer ends the wait.
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

// unmet is the error about a server whose answer to initialize did not come or
// cannot be read. It ends the conversation.
func (r *runner) unmet(ctx context.Context, s *wire.Session, err error) *conformance.UnreachableError {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%w in %s", wire.ErrNoAnswer, r.Opts.StartTimeout)
	}
	if w, ok := s.Conn.(*wire.StdioConn); ok && !errors.Is(err, wire.ErrClosed) {
		w.Hurry() // nobody judges how it ends
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

// keptOut is the HTTP status of an answer behind which there is no server to
// judge: one that wants credentials, or one that no MCP server gave. Else 0.
func keptOut(a wire.Answer, err error) int {
	status := wire.StatusOf(err)
	if a.In.HTTP != nil && a.Err != nil {
		status = a.In.HTTP.Status
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return status
	case a.Err != nil: // an MCP server says so
		return 0
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= http.StatusInternalServerError:
		return status
	}
	return 0
}

// meetStateless asks with server/discover which revisions the server speaks.
// An answer counts when it says so in its supportedVersions; garbled is one that
// has the member and no list in it. All else is a server that has no stateless
// revision. answered: some response came.
func (r *runner) meetStateless(ctx context.Context) (versions []string, garbled, answered bool) {
	l := newRevisionRun(r, mcp.Latest)
	s, err := l.open(ctx, nil)
	if err != nil {
		return nil, false, false
	}
	defer s.Close()
	a, err := s.Request(ctx, mcp.MethodDiscover, nil)
	if err != nil || a.Err != nil {
		return nil, false, err == nil
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
