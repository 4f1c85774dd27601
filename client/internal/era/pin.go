package era

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A pinned era is never changed, so a server of the other era makes Connect fail. Some answers
// prove that the server is of the other era, and the error states that. Others only suggest it,
// and the error has an "if".

// demand returns the pinned revision and its option, as text.
func (n *Session) demand() string {
	return fmt.Sprintf("%s demands revision %s, of the %s era", n.Pin, n.Version, n.Version.Era())
}

// otherEra returns the era that is not pinned.
func (n *Session) otherEra() mcp.Era {
	if n.Version.Era() == mcp.EraStateless {
		return mcp.EraSession
	}
	return mcp.EraStateless
}

// unmet returns the message for a server whose answer to a method lists revisions without the
// pinned one.
func (n *Session) unmet(method string, named []string) string {
	is, other := "", mcp.Version("")
	if v, ok := mcp.Newest(named, n.Version.Era()); ok {
		other = v
	} else if v, ok := mcp.Newest(named, n.otherEra()); ok {
		is, other = fmt.Sprintf("the server speaks the %s era: ", v.Era()), v
	}
	text := fmt.Sprintf("%s; %sits answer to %s names %s", n.demand(), is, method, shortList(named))
	if other == "" {
		return text
	}
	return fmt.Sprintf(`%s; change %s to %q or "auto"`, text, n.Pin, string(other))
}

// maybeOther adds to the error of the first request that the server may be of the other era.
func (n *Finder) maybeOther(err error) error {
	var e *mcperrors.Error
	if errors.As(err, &e) {
		e.Message += fmt.Sprintf(`; %s: if the server speaks only the %s era, change %s to one of its revisions or to "auto"`,
			n.demand(), n.otherEra(), n.Pin)
	}
	return err
}

// undiscovered returns a note for the errors of a server without server/discover, which every
// server of the stateless era has.
func (n *Finder) undiscovered() string {
	return fmt.Sprintf(`%s, and the server has no %s, as if it spoke only the session era; if so, change %s to one of its revisions or to "auto"`,
		n.demand(), mcp.MethodDiscover, n.Pin)
}

// pinnedSession opens the pinned session. A server without sessions lists its revisions in some
// error of initialize, or rejects initialize as an unknown method.
func (n *Finder) pinnedSession(ctx context.Context) error {
	err := n.session(ctx, n.Version)
	var e *mcperrors.Error
	if !errors.As(err, &e) || !refusesSessions(err) {
		return err
	}
	if rpc := outcome.RPCOf(err); rpc != nil {
		named := slices.Concat(supportedIn(rpc), revisionsIn(rpc))
		named = slices.DeleteFunc(named, func(v string) bool { return v == string(n.Version) }) // the error repeats the rejected revision
		slices.Sort(named)
		named = slices.Compact(named)
		_, sessions := mcp.Newest(named, mcp.EraSession)
		if _, ok := mcp.Newest(named, mcp.EraStateless); ok && !sessions {
			return n.mismatch(mcp.MethodInitialize, n.Version, sessionVersions(), &reply{listed: named, err: e})
		}
	}
	return n.maybeOther(err)
}
