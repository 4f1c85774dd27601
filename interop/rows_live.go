package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// atOnce is how long what happens at once may take on a busy machine.
const atOnce = time.Second

// cancel leaves a slow call. It must return at once, the server must see it
// where it can say so, and the connection must work on.
func cancel(ctx context.Context, t *table) error {
	before, err := t.cancelled(ctx)
	if err != nil {
		return err
	}
	told := t.wire.count(mcp.MethodCancelled)
	if err := t.leave(ctx); err != nil {
		return err
	}
	if _, err := t.say(ctx, t.menu.echo); err != nil {
		return fmt.Errorf("after the cancelled call: %w", err)
	}
	if err := eventually(ctx, func() (bool, error) {
		if !t.saysCancelled() {
			return t.wire.count(mcp.MethodCancelled) > told, nil
		}
		now, err := t.cancelled(ctx)
		return now > before, err
	}); err != nil {
		return fmt.Errorf("the server did not see it: %w", err)
	}
	return nil
}

// leave cancels a slow call when the server has begun with it: one cancelled
// before proves nothing.
func (t *table) leave(ctx context.Context) error {
	calls := t.wire.count(mcp.MethodToolsCall)
	slow, leave := context.WithCancel(ctx)
	defer leave()
	done := make(chan error, 1)
	begun := make(chan struct{}, 1)
	go func() {
		_, err := t.c.CallTool(slow, t.menu.slow.tool, t.menu.slow.arguments(), client.WithProgress(func(mcp.ProgressParams) {
			select {
			case begun <- struct{}{}:
			default:
			}
		}))
		done <- err
	}()
	if err := eventually(ctx, func() (bool, error) { return t.wire.count(mcp.MethodToolsCall) > calls, nil }); err != nil {
		return fmt.Errorf("the call was not sent: %w", err)
	}
	select {
	case <-begun:
	case <-time.After(50 * time.Millisecond):
	}
	left := time.Now()
	leave()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			return unexpected("the cancelled call's error", err, context.Canceled)
		}
	case <-ctx.Done():
		return errors.New("the cancelled call did not return")
	}
	if took := time.Since(left); took > atOnce {
		return unexpected("the cancelled call returned after", took, "at once")
	}
	return nil
}

// saysCancelled reports whether the server says in any way that a call was
// cancelled. For one that does not, what was sent has to do.
func (t *table) saysCancelled() bool { return t.menu.cancelled != "" || t.menu.lament != "" }

// cancelled returns how many cancelled calls the server saw.
func (t *table) cancelled(ctx context.Context) (int, error) {
	if t.menu.cancelled == "" {
		return t.log.count(t.menu.lament), nil
	}
	text, err := t.say(ctx, order{tool: t.menu.cancelled})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// subscribe waits for the news that the resource has changed, and reads it.
func subscribe(ctx context.Context, t *table) error {
	news := make(chan client.Change, 16)
	s, err := t.c.Subscribe(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: []string{t.menu.subscribe}}, func(_ context.Context, ch client.Change) {
		select {
		case news <- ch:
		default:
		}
	})
	if err != nil {
		return err
	}
	if t.menu.touch.tool != "" {
		if _, err := t.say(ctx, t.menu.touch); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	select {
	case ch := <-news:
		if ch.URI != t.menu.subscribe || ch.Method != mcp.MethodResourcesUpdated {
			return errors.Join(unexpected("news", fmt.Sprintf("%s of %q, gap %t", ch.Method, ch.URI, ch.Gap), t.menu.subscribe), s.Close())
		}
	case <-ctx.Done():
		return errors.Join(errors.New("no news came"), s.Close())
	}
	if err := s.Close(); err != nil {
		return err
	}
	_, err = t.c.ReadResource(ctx, t.menu.subscribe)
	return err
}

// era looks at what was spoken until now: the revision that was asked for, with
// one handshake in the session era and none in the stateless one.
func era(_ context.Context, t *table) error {
	if got := t.c.ProtocolVersion(); got != t.column.era {
		return unexpected("revision", got, t.column.era)
	}
	want := 1
	switch {
	case t.column.era.Era() == mcp.EraStateless:
		want = 0
	case t.column.way == sse: // the first one is how the client finds out
		want = 2
	}
	if got := t.wire.count(mcp.MethodInitialize); got != want {
		return unexpected(mcp.MethodInitialize+" on the wire", got, want)
	}
	return nil
}

// auto connects anew without being told an era: it must be the newest that both
// sides speak.
func auto(ctx context.Context, t *table) error {
	other := &table{column: t.column, menu: t.menu, wire: &wire{}, mark: newMark(), log: &tail{}}
	if err := other.open(ctx, client.AutoVersion); err != nil {
		return err
	}
	got := other.c.ProtocolVersion()
	_, err := other.say(ctx, t.menu.echo)
	if err := errors.Join(err, closing(ctx, other)); err != nil {
		return err
	}
	if got != t.column.era {
		return unexpected("chose", got, t.column.era)
	}
	return nil
}

// eventually asks until the answer is yes.
func eventually(ctx context.Context, ask func() (bool, error)) error {
	for {
		yes, err := ask()
		if yes || err != nil {
			return err
		}
		if !pause(ctx, 20*time.Millisecond) {
			return fmt.Errorf("not within %s", patience)
		}
	}
}

// pause reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
