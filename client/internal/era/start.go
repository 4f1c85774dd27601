package era

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A program that writes nothing may have stopped reading because of the probe, or may still be
// downloading. A second start with initialize first helps in both cases.

const (
	// defaultStart limits the first start of a program, and defaultSecondStart the second one,
	// unless the options set a limit.
	defaultStart       = time.Minute
	defaultSecondStart = 5 * time.Minute
	// deafProof is how soon the second start must answer to prove that the probe caused the
	// silence of the first. A later answer may come from a program that starts slowly.
	deafProof = 10 * time.Second
	// evidenceDeaf is the evidence for a program that stops reading after a probe.
	evidenceDeaf = "deaf"
)

// deaf reports whether the program wrote nothing within its start time. first is the outcome of
// initialize.
func (n *Finder) deaf(ctx context.Context, first *initialized) bool {
	l := n.Links.Newest()
	heard, counts := l.Conn.(link.Counter)
	return l.Traits.Process && n.known == nil && n.silent && ctx.Err() == nil &&
		mcperrors.KindOf(first.err) == mcperrors.KindTimeout && counts && heard.Received() == 0
}

// startAgain restarts the program and sends initialize first.
func (n *Finder) startAgain(ctx context.Context, first *initialized) error {
	n.note(mcp.MethodInitialize, mcp.LatestSession, initializeText(first.raw, first.err), first.took)
	if err := n.reach(ctx, n.t); err != nil {
		return err
	}
	n.result.Restarted = true
	var cause *mcperrors.Error
	errors.As(first.err, &cause)
	n.Emit(event.Restarted{Cause: cause})
	n.Probing.Store(false)
	n.first = n.initialize(ctx, mcp.LatestSession, n.untilStarted(jsonrpc.Wait{}))
	if n.first.err == nil && n.first.took <= deafProof {
		n.result.Evidence, n.doubtful = evidenceDeaf, false
	}
	return n.session(ctx, mcp.LatestSession)
}

// untilStarted limits a request without another beside it. A program that has written nothing may
// still be downloading: it has the time of the second start at once, since a restart would not
// help. Anything else has the usual limit.
func (n *Finder) untilStarted(usual jsonrpc.Wait) jsonrpc.Wait {
	l := n.Links.Newest()
	heard, counts := l.Conn.(link.Counter)
	if !l.Traits.Process || n.known != nil || !counts || heard.Received() > 0 {
		return usual
	}
	return jsonrpc.Wait{Max: cmp.Or(n.StartTimeout, defaultSecondStart)}
}

// explainStart adds the option that limits the start to the error of a program that did not
// answer.
func (n *Finder) explainStart(ctx context.Context, err error) error {
	var e *mcperrors.Error
	if n.known != nil || n.Links.Newest() == nil || !n.traits().Process || !errors.As(err, &e) || e.Kind != mcperrors.KindTimeout {
		return err
	}
	by := "Restart.StartTimeout limits each start"
	if ctx.Err() != nil {
		by = "the deadline of the context of Connect limits the start"
	}
	e.Message += "; " + by
	return e
}

// unheard reports whether the program exited without reading the probe. Then the probe is not the
// cause, and a second start would end the same way.
func (n *Finder) unheard(r *reply) bool {
	p, ok := n.Links.Newest().Conn.(link.Unread)
	return ok && r.err != nil && r.err.Process != nil && r.err.Process.Exited && p.ReadNothing()
}
