package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// meet starts the subject for the first time, with initialize, which servers of
// both eras survive (decisions 31), learns which revisions it speaks, and
// returns those to judge, newest first.
func (r *runner) meet(ctx context.Context) ([]mcp.Version, error) {
	legacy, refused, err := r.meetSession(ctx)
	if err != nil {
		return nil, err
	}
	target := &r.report.Target
	var modern []string
	garbled := false
	if target.Transport != TransportSSE { // which has no stateless era (OLD-04)
		modern, garbled = r.meetStateless(ctx)
	}
	if refused != 0 && len(modern) == 0 {
		return nil, &UnreachableError{Target: *target, Exit: -1, Status: refused, Err: fmt.Errorf("HTTP %d", refused)}
	}
	target.Offered = modern
	if legacy != "" && !slices.Contains(modern, string(legacy)) {
		target.Offered = append(target.Offered, string(legacy))
	}
	revisions := slices.Clone(r.opts.Revisions)
	if len(revisions) == 0 && target.Transport == TransportSSE {
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
	if i := slices.IndexFunc(revisions, func(v mcp.Version) bool { return v.Era() != mcp.EraSession }); i >= 0 && target.Transport == TransportSSE {
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

// meetSession offers the newest session revision and returns what the server
// answers with, "" for an error; or the HTTP status that keeps everybody out.
func (r *runner) meetSession(ctx context.Context) (mcp.Version, int, error) {
	start, cancel := context.WithTimeout(ctx, r.opts.StartTimeout)
	defer cancel()
	offer := mcp.LatestSession
	if v, ok := mcp.Newest(texts(r.opts.Revisions), mcp.EraSession); ok {
		offer = v
	}
	l, begun := newLeg(r, offer), time.Now()
	s, err := l.open(start, nil)
	if err != nil {
		return "", 0, &UnreachableError{Target: r.report.Target, Exit: -1, Status: keptOut(answer{}, err), Err: err}
	}
	defer s.close()
	s.wait = r.opts.StartTimeout
	a, err := s.initialize(start, offer)
	s.wait = r.opts.Answer
	if r.subject.isProcess() {
		r.starts = 2 * time.Since(begun)
	}
	if u, ok := r.subject.(*URLSubject); ok && s.opened == nil {
		if old := u.older(start, a); old != nil {
			r.subject = old
			r.report.Target.Transport = TransportSSE
			return r.meetSession(ctx)
		}
	}
	if err != nil && s.trace.silent() {
		end := s.close()
		if ctx.Err() != nil {
			return "", 0, ctx.Err()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w in %s", errNoAnswer, r.opts.StartTimeout)
		}
		u := &UnreachableError{Target: r.report.Target, Stderr: lastLines(s.wire.stderr()), Exit: -1, Err: err}
		if end.prompt && errors.Is(err, errClosed) {
			u.Exit = end.exit
		}
		return "", 0, u
	}
	if s.opened == nil {
		return "", keptOut(a, err), nil
	}
	return s.opened.revision, 0, s.initialized(ctx)
}

// keptOut is the HTTP status of an answer behind which there is no server to
// judge: one that wants credentials, or one that no MCP server gave. Else 0.
func keptOut(a answer, err error) int {
	status := statusOf(err)
	if a.in.http != nil && a.err != nil {
		status = a.in.http.Status
	}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return status
	case a.err != nil: // an MCP server says so
		return 0
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= http.StatusInternalServerError:
		return status
	}
	return 0
}

// meetStateless asks with server/discover which revisions the server speaks.
// An answer counts when it says so in its supportedVersions; garbled is one that
// has the member and no list in it. All else is a server that has no stateless
// revision.
func (r *runner) meetStateless(ctx context.Context) (versions []string, garbled bool) {
	l := newLeg(r, mcp.Latest)
	s, err := l.open(ctx, nil)
	if err != nil {
		return nil, false
	}
	defer s.close()
	a, err := s.request(ctx, mcp.MethodDiscover, nil)
	if err != nil || a.err != nil {
		return nil, false
	}
	result, _ := object(a.result)
	said, there := result["supportedVersions"]
	if !there || json.Unmarshal(said, &versions) != nil {
		return nil, there
	}
	return versions, false
}

func texts(versions []mcp.Version) []string {
	out := make([]string, len(versions))
	for i, v := range versions {
		out[i] = string(v)
	}
	return out
}
