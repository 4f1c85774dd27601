package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newPingCmd(a *app) *cobra.Command {
	p := &pinging{app: a}
	cmd := &cobra.Command{
		Use:   "ping [SERVER]",
		Short: "Check that a server answers, and how fast",
		Long: `Check that a server answers, and how fast. Servers of the session era get a
ping. The stateless era has no ping, so they get server/discover instead.

-n sends one request after the other, and prints percentiles; from 10 on also
how the times are distributed. Then a request that fails is counted and does not
end the run. Ctrl-C ends it, with what was measured so far. The exit code is 0
if any was answered.`,
		Example: `  mcpctl ping :3000/mcp
  mcpctl ping -n 20 -- ./server
  mcpctl ping -n 100 -o json https://api.example.com/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("ping takes only a server: unexpected operand %s", rest[0])
			}
			if p.times < 1 {
				return failure.Usage("-n must be at least 1, not %d", p.times)
			}
			return a.dial.With(cmd.Context(), t, p.run)
		},
	}
	cmd.Flags().IntVarP(&p.times, "count", "n", 1, "number of round trips")
	return cmd
}

// pinging is one run of the command.
type pinging struct {
	app   *app
	times int

	method string
	trips  []time.Duration // of the answers, sorted at the end
	errors int
}

func (p *pinging) run(ctx context.Context, c *connect.Connection) error {
	p.method = c.PingMethod()
	var last error
	for range p.times {
		began := time.Now()
		_, err := p.app.dial.Request(ctx, c, connect.Sent{Method: p.method}, nil)
		if ctx.Err() != nil || err != nil && p.app.dial.Over() {
			last = cmp.Or(err, ctx.Err())
			break
		}
		if err != nil {
			last = err
			p.errors++
			continue
		}
		p.trips = append(p.trips, time.Since(began))
	}
	if len(p.trips) == 0 {
		return last
	}
	slices.Sort(p.trips)
	if err := p.print(c); err != nil {
		return err
	}
	if ctx.Err() != nil && !p.app.dial.Over() {
		return failure.New(failure.KindInterrupted, mcperrors.Answered, "interrupted")
	}
	return nil
}

// percentile is the least time that is not less than a part of all: the nearest rank.
func (p *pinging) percentile(part float64) time.Duration {
	return p.trips[max(0, int(math.Ceil(part*float64(len(p.trips))))-1)]
}

func (p *pinging) print(c *connect.Connection) error {
	out := p.app.console
	least, most := p.trips[0], p.trips[len(p.trips)-1]
	p50, p90, p99 := p.percentile(0.5), p.percentile(0.9), p.percentile(0.99)
	if out.Format == console.Human {
		what := ""
		if p.method != mcp.MethodPing {
			what = p.method + " "
		}
		if p.times == 1 {
			return out.Print(fmt.Sprintf("%s answered %sin %s (connected in %s)\n", visible.Line(c.ServerName()), what, console.Precise(p50), console.Rounded(c.Took)))
		}
		text := fmt.Sprintf("%s answered %s%s (connected in %s)\n", visible.Line(c.ServerName()), what, console.Count(len(p.trips), "time", "times"), console.Rounded(c.Took))
		text += fmt.Sprintf("  min %s, p50 %s, p90 %s, p99 %s, max %s\n", console.Precise(least), console.Precise(p50), console.Precise(p90), console.Precise(p99), console.Precise(most))
		if p.errors > 0 {
			text += "  " + console.Count(p.errors, "request", "requests") + " failed\n"
		}
		if len(p.trips) >= 10 {
			text += "\n" + histogram(p.trips, out.ASCII())
		}
		return out.Print(text)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	raw := console.Encode(struct {
		Method    string  `json:"method"`
		Count     int     `json:"count"`
		Errors    int     `json:"errors"`
		MinMs     float64 `json:"minMs"`
		MedianMs  float64 `json:"medianMs"`
		P50Ms     float64 `json:"p50Ms"`
		P90Ms     float64 `json:"p90Ms"`
		P99Ms     float64 `json:"p99Ms"`
		MaxMs     float64 `json:"maxMs"`
		ConnectMs float64 `json:"connectMs"`
	}{p.method, len(p.trips) + p.errors, p.errors, ms(least), ms(p50), ms(p50), ms(p90), ms(p99), ms(most), ms(c.Took)})
	if out.Format == console.JSON {
		return out.PrintJSON(raw)
	}
	return out.PrintRaw(raw)
}

// histogram shows how sorted times are distributed, in rows of the same width in time up to the
// 90th percentile; the last row has those above it, too.
func histogram(trips []time.Duration, ascii bool) string {
	const rows, cells = 8, 40
	bar := "█"
	if ascii {
		bar = "#"
	}
	least, most := trips[0], trips[(len(trips)*9-1)/10]
	width := max((most-least)/rows, time.Microsecond)
	var n [rows]int
	for _, trip := range trips {
		n[min(int((trip-least)/width), rows-1)]++
	}
	largest := slices.Max(n[:])
	var b strings.Builder
	for i, count := range n {
		from := least + time.Duration(i)*width
		fmt.Fprintf(&b, "  %10s  %5d  %s\n", console.Precise(from), count, strings.Repeat(bar, (count*cells+largest-1)/largest))
	}
	return strings.ReplaceAll(b.String(), "  \n", "\n")
}
