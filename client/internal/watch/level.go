package watch

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// LevelSent stores the log level of a session for the next session.
func (w *Watcher) LevelSent(level mcp.LoggingLevel) { w.level.Store(&level) }

// StampLevel sets the log level in every request of the stateless era. If a restarted program is
// in the session era, StampLevel sends it the level.
func (w *Watcher) StampLevel(level mcp.LoggingLevel) error {
	w.level.Store(&level)
	for {
		with := w.Links.Load()
		if with.Agreed.Era != mcp.EraStateless {
			w.Life.Go(func() { w.keepLevel(w.Life.Context(), with) })
			return nil
		}
		agreed := *with.Agreed
		meta, err := w.set.Client.Meta(agreed.Version, w.Level())
		if err != nil {
			return err
		}
		agreed.Meta = meta
		if w.Links.Amend(with, &agreed) {
			return nil
		}
	}
}

// Level returns the log level as JSON, nil if none was set. A nil Watcher has none.
func (w *Watcher) Level() json.RawMessage {
	if w == nil {
		return nil
	}
	level := w.level.Load()
	if level == nil {
		return nil
	}
	return jsonrpc.AppendString(nil, string(*level))
}

// levelRestored sets the log level in a new session. It reports whether nothing more is to be
// done for this session.
func (w *Watcher) levelRestored(ctx context.Context, now *link.Link) bool {
	level := w.level.Load()
	if level == nil || !w.agreed().Capabilities.Has("logging") || w.replaced(now) {
		return true
	}
	err := w.set.Client.Send(ctx, link.Restore, mcp.MethodLoggingSetLevel, "level", string(*level))
	switch {
	case err == nil, w.replaced(now):
		return true
	case mcperrors.KindOf(err) == mcperrors.KindSessionLost:
		w.set.Keeper.NoteLoss(now, err)
		return true
	}
	w.Log.Warn("[MCP] the log level could not be set again", "server", w.Server, "error", err)
	return Final(err)
}

// keepLevel retries setting the level until that works or the session is replaced.
func (w *Watcher) keepLevel(ctx context.Context, now *link.Link) {
	for n := 1; life.Sleep(ctx, Pause(n)) && !w.levelRestored(ctx, now); n++ {
	}
}
