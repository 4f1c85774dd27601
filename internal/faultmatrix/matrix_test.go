// Package faultmatrix puts the client behind every fault of conformance/faults, in both
// eras and over both kinds of transport, in virtual time. Its tests write the results of
// the calls to the table of docs/generated/faults.md.
package faultmatrix

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) //nolint:forbidigo // net/http logs bytes that nobody asked for, and the lines are noise here
	testmain.Run(m)
}

var update = flag.Bool("update", false, "write the table of docs/generated/faults.md")

// trial is one fault for one kind of call.
type trial struct {
	fault   faults.Fault
	variant string
	carrier faults.Carrier
	version mcp.Version
	unsafe  bool // a tool that writes; otherwise a read
	once    bool // the fault occurs once; otherwise for every request of the call
}

// outcome is the outcome of the call.
type outcome struct {
	text     string // answered, or the error in a few words
	delivery mcperrors.Delivery
	attempts int           // requests of the call that reached the proxy
	sent     int           // how many of them the server received completely
	took     time.Duration // virtual
	verdict  string        // of the server's breaker: S, F, N, and how often
	again    time.Duration // from healing to the first answered call
}

func (tr trial) String() string {
	kind, often := "read", "always"
	if tr.unsafe {
		kind = "write"
	}
	if tr.once {
		often = "once"
	}
	return fmt.Sprintf("%s %s %s %s %s %s", tr.fault.ID, tr.variant, tr.carrier, tr.version.Era(), kind, often)
}

// flood is a rule with the size of a fault that sends much data: that of the catalogue, and less
// under the race detector, but more than all buffers.
func flood(id string) faults.Rule {
	if !testmain.Race {
		return faults.Rule{}
	}
	return map[string]faults.Rule{"C5": {Size: 20 << 20}, "D16": {Repeat: 10_000}, "F7": {Repeat: 2_000}}[id]
}

// run makes the call with the fault, heals the server and calls again.
func (tr trial) run(t *testing.T) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u := &upstream{}
		proxy, err := faults.New(faults.Plan{})
		require.NoError(t, err)
		c, renew := tr.connect(t, u, proxy)
		if tr.fault.ID != "B5" { // the end of a reused connection is another fault
			renew()
		}
		rule := flood(tr.fault.ID)
		rule.Fault, rule.Variant, rule.When = tr.fault.ID, tr.variant, faults.Selector{Methods: []string{tr.method()}}
		// A server that ran a request and claims that it could not read it cannot be detected.
		rule.Unsent = tr.fault.ID == "D8"
		if tr.once {
			rule.When.Count = 1
		}
		require.NoError(t, proxy.Set(faults.Plan{Rules: []faults.Rule{rule}}), "%s", tr)
		before, began := c.Breaker().Snapshot(), time.Now()
		err = tr.call(t.Context(), c)
		o.took = time.Since(began)
		require.NotZero(t, proxy.Stats()[tr.fault.ID], "%s: the fault was not made", tr)
		o.text, o.delivery = describe(err)
		after := c.Breaker().Snapshot()
		o.verdict = verdicts(before, after)
		for _, call := range proxy.History() {
			if call.Method == tr.method() {
				o.attempts++
				if call.Sent {
					o.sent++
				}
			}
		}
		proxy.Heal()
		healed := time.Now()
		for tr.call(t.Context(), c) != nil {
			if o.again = time.Since(healed); o.again > 10*time.Minute {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		u.check(t, tr, o)
	})
	return o
}

// check checks the guarantees that no fault may break.
func (u *upstream) check(t *testing.T, tr trial, o outcome) {
	t.Helper()
	if tr.unsafe {
		// At most one run by the call with the fault, and one by the call after it.
		require.LessOrEqual(t, u.written.Load(), int64(2), "%s: ran twice: %+v", tr, o)
		require.LessOrEqual(t, o.sent, 1, "%s: given to the server twice: %+v", tr, o)
	}
	if o.delivery == mcperrors.NotSent || o.delivery == mcperrors.Rejected {
		require.Zero(t, o.sent, "%s: said not to have run: %+v", tr, o)
	}
	require.LessOrEqual(t, o.took, 10*time.Minute+time.Second, "%s: %+v", tr, o)
	require.Less(t, o.again, 6*time.Minute, "%s: the client does not recover: %+v", tr, o)
}

func (tr trial) method() string {
	if tr.unsafe {
		return mcp.MethodToolsCall
	}
	return mcp.MethodResourcesRead
}

// long makes requests that are long enough to be cut.
var long = strings.Repeat("a", 100)

func (tr trial) call(ctx context.Context, c *client.Client) error {
	if tr.unsafe {
		_, err := c.CallTool(ctx, "write", map[string]any{"text": long})
		return err
	}
	_, err := c.ReadResource(ctx, "mem://"+long)
	return err
}

// connect connects through the proxy, until the end of the test. After renew the next request has
// a new connection.
func (tr trial) connect(t *testing.T, u *upstream, proxy *faults.Proxy) (c *client.Client, renew func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var way transport.Transport
	renew = func() {}
	var end func()
	if tr.carrier == faults.Stream {
		p := &program{upstream: u, proxy: proxy, life: ctx}
		way, end = p, func() { cancel(); p.running.Wait() }
	} else {
		srv := memhttp.New(proxy.Handler(u))
		rt := srv.Transport()
		renew = rt.CloseIdleConnections
		way, end = &transport.HTTP{URL: memhttp.URL, RoundTripper: rt}, func() { cancel(); srv.Close() }
	}
	c, err := client.Connect(ctx, way, client.WithProtocolVersion(string(tr.version)))
	require.NoError(t, err, "%s", tr)
	t.Cleanup(func() {
		assert.NoError(t, c.Close())
		end()
	})
	return c, renew
}

// describe describes the end of a call in a few words.
func describe(err error) (string, mcperrors.Delivery) {
	if err == nil {
		return "answered", mcperrors.Answered
	}
	e := errormap.From(err, mcperrors.Unknown)
	text := fmt.Sprintf("%s %s, %s", e.Code, e.Kind, e.Delivery)
	if e.Retryable {
		text += ", retryable"
	}
	if e.RetryAfter >= time.Minute { // otherwise jitter decides
		text += fmt.Sprintf(" in %s", e.RetryAfter.Round(time.Minute))
	}
	return text, e.Delivery
}

// verdicts returns the verdicts that the server's breaker received, and its state.
func verdicts(before, after breaker.Snapshot) string {
	var out []string
	for _, v := range []struct {
		name string
		n    uint64
	}{{"S", after.Successes - before.Successes}, {"F", after.Failures - before.Failures}, {"N", after.Neutrals - before.Neutrals}} {
		if v.n > 0 {
			out = append(out, strings.Repeat(v.name, int(v.n)))
		}
	}
	if after.State != breaker.Closed {
		out = append(out, after.State.String())
	}
	return strings.Join(out, "")
}

// trials are all calls with one form of a fault.
func trials(f faults.Fault, variant string, carrier faults.Carrier) (all []trial) {
	for _, once := range []bool{true, false} {
		for _, unsafe := range []bool{false, true} {
			for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
				all = append(all, trial{fault: f, variant: variant, carrier: carrier, version: version, unsafe: unsafe, once: once})
			}
		}
	}
	return all
}

// TestFaultMatrix tests every fault that can affect a request, in every form, with every kind of
// call. check checks the guarantees; the table has the other outcomes.
func TestFaultMatrix(t *testing.T) {
	t.Parallel()
	var rows []row
	for _, f := range faults.Catalogue() {
		if len(f.Methods) > 0 || f.ID == "E14" { // about other requests, or about none
			continue
		}
		for _, carrier := range carriers {
			if !f.Made(carrier) {
				continue
			}
			for _, variant := range append(f.Variants, "")[:max(1, len(f.Variants))] {
				if variant == "sigstop" { // needs a process
					continue
				}
				if testmain.Race && variant != "" && variant != f.Variants[0] {
					continue
				}
				rows = append(rows, row{fault: f, variant: variant, carrier: carrier})
			}
		}
	}
	t.Run("rows", func(t *testing.T) { // ends when all of them have
		for i := range rows {
			r := &rows[i]
			t.Run(strings.Join([]string{r.fault.ID, r.variant, string(r.carrier)}, " "), func(t *testing.T) {
				t.Parallel()
				all := trials(r.fault, r.variant, r.carrier)
				if testmain.Race { // another kind of call for each row: of four rows, each era has two
					all = all[i%len(all):][:1]
				}
				for _, tr := range all {
					r.outcomes = append(r.outcomes, tr.run(t))
				}
			})
		}
	})
	if testmain.Race {
		return
	}
	require.Greater(t, len(rows), 90)
	holdTable(t, "faults", table(rows))
}

var carriers = []faults.Carrier{faults.HTTP, faults.Stream}
