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
	calls, told := t.wire.count(mcp.MethodToolsCall), t.wire.count(mcp.MethodCancelled)
	slow, leave := context.WithCancel(ctx)
	defer leave()
	done := make(chan error, 1)
	go func() {
		_, err := t.c.CallTool(slow, t.menu.slow.tool, t.menu.slow.arguments(), client.WithProgress(func(mcp.ProgressParams) {}))
		done <- err
	}()
	if err := eventually(ctx, func() (bool, error) { return t.wire.count(mcp.MethodToolsCall) > calls, nil }); err != nil {
		return fmt.Errorf("the call was not sent: %w", err)
	}
	pause(ctx, 50*time.Millisecond) // the server has begun; a call cancelled before is no proof
	left := time.Now()
	leave()
	select {
	case err = <-done:
	case <-ctx.Done():
		return errors.New("the cancelled call did not return")
	}
	if took := time.Since(left); took > atOnce {
		return unexpected("the cancelled call returned after", took, "at once")
	}
	if !errors.Is(err, context.Canceled) {
		return unexpected("the cancelled call's error", err, context.Canceled)
	}
	if _, err := t.say(ctx, t.menu.echo); err != nil {
		return fmt.Errorf("after the cancelled call: %w", err)
	}
	if t.menu.cancelled == "" {
		return t.toldOfCancel(ctx, told)
	}
	if err := eventually(ctx, func() (bool, error) {
		now, err := t.cancelled(ctx)
		return now > before, err
	}); err != nil {
		return fmt.Errorf("the server did not see it: %w", err)
	}
	return nil
}

// cancelled asks the server how many cancelled calls it saw.
func (t *table) cancelled(ctx context.Context) (int, error) {
	if t.menu.cancelled == "" {
		return 0, nil
	}
	text, err := t.say(ctx, order{tool: t.menu.cancelled})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// toldOfCancel is for servers that say nothing: one notification more than
// before. Over HTTP a call of the stateless era ends with its stream instead.
func (t *table) toldOfCancel(ctx context.Context, before int) error {
	if t.column.way == http && t.column.era.Era() == mcp.EraStateless {
		return nil
	}
	err := eventually(ctx, func() (bool, error) { return t.wire.count(mcp.MethodCancelled) > before, nil })
	if err != nil {
		return fmt.Errorf("no %s was sent: %w", mcp.MethodCancelled, err)
	}
	return nil
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
	if t.column.era.Era() == mcp.EraStateless {
		want = 0
	}
	if got := t.wire.count(mcp.MethodInitialize); got != want {
		return unexpected(mcp.MethodInitialize+" on the wire", got, want)
	}
	return nil
}

// auto connects anew without being told an era: it must be the newest that both
// sides speak.
func auto(ctx context.Context, t *table) error {
	other := &table{column: t.column, menu: t.menu, wire: &wire{}, mark: newMark()}
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
