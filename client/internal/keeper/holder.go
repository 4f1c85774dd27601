package keeper

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Holder has the keeper of a client. A client whose program or HTTP+SSE stream is
// restarted has one from the start; others get one when a session is lost for the
// first time. Its methods may be called from many goroutines at once.
type Holder struct {
	core.Lazy[Keeper]
	// Sessions makes the keeper of a client that loses sessions.
	Sessions func() *Keeper
}

// Renew replaces the session of lost for a call; see [Keeper.Renew].
func (h *Holder) Renew(ctx context.Context, lost *link.Link, delivery mcperrors.Delivery) *mcperrors.Error {
	return h.Make(h.Sessions).Renew(ctx, lost, delivery)
}

// Persist replaces the session of lost on behalf of those that make no calls; see
// [Keeper.Persist].
func (h *Holder) Persist(lost *link.Link) { h.Make(h.Sessions).Persist(lost) }

// NoteLoss replaces the session of lost for those that make no calls, if there are
// any. err is what has found the session gone, and is not made again.
func (h *Holder) NoteLoss(lost *link.Link, err error) {
	if outcome.FailureOf(err).Reason != transport.ReasonSession {
		return
	}
	if k := h.Make(h.Sessions); !k.Restarting() && k.set.Renewals.Wanted() {
		k.Persist(lost)
	}
}
