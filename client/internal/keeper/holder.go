package keeper

import (
	"context"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Holder has the keeper of a client. A client that restarts its program or HTTP+SSE stream has
// one from the start; others get one when they lose a session for the first time. Its methods may
// be called from many goroutines at once.
type Holder struct {
	core.Lazy[Keeper]
	// Sessions creates the keeper of a client that renews sessions.
	Sessions func() *Keeper
}

// Renew replaces the lost session for a call; see [Keeper.Renew].
func (h *Holder) Renew(ctx context.Context, lost *link.Link, delivery mcperrors.Delivery) *mcperrors.Error {
	return h.Make(h.Sessions).Renew(ctx, lost, delivery)
}

// Persist replaces the lost session for subscriptions; see [Keeper.Persist].
func (h *Holder) Persist(lost *link.Link) { h.Make(h.Sessions).Persist(lost) }

// NoteLoss replaces the lost session if subscriptions need one. err is the error that revealed
// the loss; its request is not repeated.
func (h *Holder) NoteLoss(lost *link.Link, err error) {
	if outcome.FailureOf(err).Reason != transport.ReasonSession {
		return
	}
	if k := h.Make(h.Sessions); !k.Restarting() && k.set.Renewals.Wanted() {
		k.Persist(lost)
	}
}
