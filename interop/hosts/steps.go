package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// step is one thing that a host does. play returns nil when it works.
type step struct {
	name string
	play func(ctx context.Context, r *row) error
}

// steps in the order they are played. Roots come before progress: server-everything asks for
// them unprompted, and the first call gets the question. The level of logs comes after the
// subscription: a stateless host has it in each later call, and then another session behind
// the proxy.
var steps = []step{
	{"start", begin},
	{"list", list},
	{"call", func(ctx context.Context, r *row) error { return r.call(ctx, r.server.echo) }},
	{"elicit", func(ctx context.Context, r *row) error { return r.call(ctx, r.server.elicit) }},
	{"sample", func(ctx context.Context, r *row) error { return r.call(ctx, r.server.sample) }},
	{"roots", func(ctx context.Context, r *row) error { return r.call(ctx, r.server.root) }},
	{"progress", progress},
	{"cancel", cancel},
	{"error", ownErrors},
	{"subscribe", subscribe},
	{"log", logging},
	{"kill", kill},
	{"end", end},
	{"crash", crash},
}

const (
	// leftTime is how long something may live on after the end of the host: [places.leftTime].
	leftTime = 3 * time.Second
	// newsTime is how long notifications may take: server-everything sends some only every
	// 5 s, if a call overtakes the subscription.
	newsTime = 8 * time.Second
)

// do gives an order, which must succeed.
func (r *row) do(ctx context.Context, o orders.Order) (orders.Answer, error) {
	a, err := r.driver.order(ctx, o)
	switch {
	case err != nil:
		return a, err
	case a.None != "":
		return a, errNone(a.None)
	case a.Error != "":
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (r *row) call(ctx context.Context, o order) error {
	a, err := r.do(ctx, o.as("call"))
	if err == nil && (a.Failed || !strings.Contains(a.Text, o.want)) {
		err = fmt.Errorf("text %.300q, want %q in it", a.Text, o.want)
	}
	return err
}

func begin(ctx context.Context, r *row) error {
	var a orders.Answer
	var err error
	if r.driver, a, err = r.connect(ctx); err != nil {
		return err
	}
	r.revision = a.Revision
	switch {
	case a.Error != "":
		return errors.New(a.Error)
	case a.Server != r.server.title:
		return fmt.Errorf("server %q, want %q", a.Server, r.server.title)
	}
	return nil
}

// list must be what the server lists, in its order.
func list(ctx context.Context, r *row) error {
	a, err := r.do(ctx, orders.Order{Do: "list"})
	r.names = a.Names
	switch {
	case err != nil:
		return err
	case len(a.Names) == 0:
		return errors.New("nothing is listed")
	case r.control != nil && !slices.Equal(a.Names, r.control.names):
		return fmt.Errorf("lists %q, without the proxy %q", a.Names, r.control.names)
	}
	return nil
}

// progress must have come, growing, by the time the call returns. The last of the three is
// missing where an SDK takes the result, read together with it, first.
func progress(ctx context.Context, r *row) error {
	a, err := r.do(ctx, r.server.progress.as("call"))
	if err == nil && (len(a.Progress) < 2 || !slices.IsSorted(a.Progress)) {
		err = fmt.Errorf("progress %v, want two at least, growing", a.Progress)
	}
	return err
}

// cancelTries is how often a call is left until the server sees it: its tool takes a tenth of a
// second, and on a busy machine it may have ended before the cancellation comes. All tries
// together wait no longer than what has to end soon may take: a host that never does fails
// here, and still plays the steps that follow.
const cancelTries = 5

// cancel leaves a call that has begun. It must end at once, the server must see it where it
// can say so, and the connection must still work.
func cancel(ctx context.Context, r *row) error {
	for n := 1; ; n++ {
		none, err := leave(ctx, r)
		if none || err != nil {
			return err
		}
		if r.server.canceled == "" || r.front == direct {
			break
		}
		if err = eventually(ctx, r.where.leftTime()/cancelTries, r.sawCancellation); err == nil {
			break
		}
		if n == cancelTries {
			return err
		}
	}
	return r.call(ctx, r.server.echo)
}

// leave cancels a call that has begun, unless this host has no command for it.
func leave(ctx context.Context, r *row) (none bool, err error) {
	began := time.Now()
	a, err := r.do(ctx, r.server.slow.as("cancel"))
	switch {
	case a.None != "":
		return true, err
	case err == nil:
		return false, fmt.Errorf("the call was not canceled: %q", a.Text)
	case time.Since(began) > r.where.leftTime():
		return false, fmt.Errorf("the call ended only after %v: %w", time.Since(began), err)
	}
	return false, nil
}

// sawCancellation returns an error if the server's log has no cancellation.
func (r *row) sawCancellation() error {
	said, err := os.ReadFile(r.log())
	if err == nil && !strings.Contains(string(said), r.server.canceled) {
		err = errors.New("the server did not see the cancellation")
	}
	return err
}

// ownErrors must be those of the server: of a tool and of a prompt that do not exist.
func ownErrors(ctx context.Context, r *row) error {
	r.errors = nil
	for _, do := range []string{"call", "prompt"} {
		a, err := r.driver.order(ctx, order{tool: "nope"}.as(do))
		switch {
		case err != nil:
			return err
		case a.None != "":
			return errNone(a.None)
		case a.Error == "" && !a.Failed:
			return fmt.Errorf("%s of what does not exist succeeded", do)
		case !strings.Contains(a.Error+a.Text, "nope"):
			return fmt.Errorf("%s: the error %q does not name it", do, a.Error+a.Text)
		}
		r.errors = append(r.errors, a)
		if r.control == nil {
			continue
		}
		if len(r.control.errors) < len(r.errors) {
			return fmt.Errorf("%s: without the proxy there was no answer to compare with", do)
		}
		if want := r.control.errors[len(r.errors)-1]; a.Error != want.Error || a.Text != want.Text {
			return fmt.Errorf("%s: %q %q, without the proxy %q %q", do, a.Error, a.Text, want.Error, want.Text)
		}
	}
	return nil
}

// subscribe waits for the news that the resource has changed.
func subscribe(ctx context.Context, r *row) error {
	if _, err := r.do(ctx, orders.Order{Do: "subscribe", Name: r.server.resource}); err != nil {
		return err
	}
	if err := r.call(ctx, r.server.touch); err != nil {
		return err
	}
	return r.awaits(ctx, func(s orders.Seen) error {
		if !slices.Contains(s.Updates, r.server.resource) {
			return fmt.Errorf("updates %q, want %q", s.Updates, r.server.resource)
		}
		return nil
	})
}

func logging(ctx context.Context, r *row) error {
	if _, err := r.do(ctx, orders.Order{Do: "level", Name: "debug"}); err != nil {
		return err
	}
	if err := r.call(ctx, r.server.log); err != nil {
		return err
	}
	return r.awaits(ctx, func(s orders.Seen) error {
		if len(s.Logs) == 0 {
			return errors.New("no log message came")
		}
		return nil
	})
}

// awaits asks the host for what came until it is enough.
func (r *row) awaits(ctx context.Context, enough func(orders.Seen) error) error {
	return eventually(ctx, newsTime, func() error {
		a, err := r.do(ctx, orders.Order{Do: "seen"})
		if err != nil {
			return err
		}
		return enough(a.Seen)
	})
}

// kill ends the server as a crash would. The next call must succeed.
func kill(ctx context.Context, r *row) error {
	if r.front == direct {
		return errNone("without the proxy nothing starts the server again")
	}
	if err := r.call(ctx, r.server.echo); err != nil {
		return fmt.Errorf("before the kill: %w", err)
	}
	killed := r.behind()
	for _, p := range killed {
		if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	if len(killed) == 0 {
		return errNone("no server lives between two calls of this host")
	}
	// A call that is written before the proxy sees the end may have run, for all it knows.
	if err := eventually(ctx, r.where.leftTime(), func() error {
		for _, p := range killed {
			if syscall.Kill(p.pid, 0) == nil {
				return fmt.Errorf("the proxy does not see that %s was killed", p.name)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	return r.call(ctx, r.server.echo)
}

// end: the host ends as its SDK ends, also if the SDK calls it an error that the server had
// to be ended by a signal. On stdio nothing may be left soon after, over HTTP nothing of its
// session: the proxy may get other hosts.
func end(ctx context.Context, r *row) error {
	began := time.Now()
	if _, err := r.driver.order(ctx, orders.Order{Do: "close"}); err != nil {
		return err
	}
	r.driver.close()
	switch r.front {
	case direct:
		r.clear()
		return errNone("how a server alone ends with this host is not judged")
	case stdio:
		err := r.isGone(ctx, began)
		r.clear()
		return err
	}
	if mcp.Version(r.revision).Era() == mcp.EraStateless {
		return nil // without a session the server stays for the next host
	}
	return eventually(ctx, r.where.leftTime(), func() error {
		if left := r.behind(); len(left) > 0 {
			return fmt.Errorf("still there after %v: %s", r.where.leftTime(), left[0].name)
		}
		return nil
	})
}

// crash kills the host. Over HTTP another one must then be served, and nothing may be left
// soon after SIGTERM to the proxy.
func crash(ctx context.Context, r *row) error {
	for range 2 {
		d, a, err := r.connect(ctx)
		if d == nil {
			return err
		}
		r.driver = d
		if err == nil && a.Error != "" {
			err = errors.New(a.Error)
		}
		if err == nil {
			err = r.call(ctx, r.server.echo)
		}
		d.kill()
		if err != nil {
			return err
		}
		if r.front != overHTTP {
			break
		}
	}
	r.stopProxy()
	return r.isGone(ctx, time.Now())
}

func (r *row) isGone(ctx context.Context, began time.Time) error {
	err := eventually(ctx, r.where.leftTime(), func() error { return gone(r.mark) })
	took := time.Since(began)
	if err == nil && took > r.where.leftTime() {
		return fmt.Errorf("took %.1f s", took.Seconds())
	}
	return err
}

// behind returns the servers that the proxy has started.
func (r *row) behind() []process {
	processes := marked(r.mark)
	return slices.DeleteFunc(slices.Clone(processes), func(p process) bool {
		return !slices.ContainsFunc(processes, func(parent process) bool { return parent.pid == p.parent && parent.name == "mcpctl" })
	})
}
