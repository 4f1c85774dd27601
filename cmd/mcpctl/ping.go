package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newPingCmd(a *app) *cobra.Command {
	var times int
	cmd := &cobra.Command{
		Use:   "ping [SERVER]",
		Short: "Check that a server answers, and how fast",
		Long: `Check that a server answers, and how fast. Servers of the session era get a ping.
The stateless era has no ping, so they get server/discover instead.`,
		Example: `  mcpctl ping :3000/mcp
  mcpctl ping -n 20 -- ./server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("ping takes only a server: unexpected operand %s", rest[0])
			}
			if times < 1 {
				return failure.Usage("-n must be at least 1, not %d", times)
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				return a.ping(ctx, c, times)
			})
		},
	}
	cmd.Flags().IntVarP(&times, "count", "n", 1, "number of round trips")
	return cmd
}

func (a *app) ping(ctx context.Context, c *connect.Connection, times int) error {
	trips := make([]time.Duration, 0, times)
	method, what := mcp.MethodPing, ""
	if c.ProtocolVersion().Era() == mcp.EraStateless {
		// There is no ping in this era.
		method, what = mcp.MethodDiscover, mcp.MethodDiscover+" "
	}
	for range times {
		began := time.Now()
		if _, err := a.dial.Request(ctx, c, connect.Sent{Method: method}, nil); err != nil {
			return err
		}
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	least, middle, most := trips[0], trips[len(trips)/2], trips[len(trips)-1]
	if a.console.Format == console.Human {
		text := fmt.Sprintf("%s answered %sin %s (connected in %s)\n", visible.Line(c.ServerName()), what, console.Precise(middle), console.Rounded(c.Took))
		if times > 1 {
			text = fmt.Sprintf("%s answered %s%d times: min %s, median %s, max %s (connected in %s)\n",
				visible.Line(c.ServerName()), what, times, console.Precise(least), console.Precise(middle), console.Precise(most), console.Rounded(c.Took))
		}
		return a.console.Print(text)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	raw := console.Encode(struct {
		Method    string  `json:"method"`
		Count     int     `json:"count"`
		MinMs     float64 `json:"minMs"`
		MedianMs  float64 `json:"medianMs"`
		MaxMs     float64 `json:"maxMs"`
		ConnectMs float64 `json:"connectMs"`
	}{method, times, ms(least), ms(middle), ms(most), ms(c.Took)})
	if a.console.Format == console.JSON {
		return a.console.PrintJSON(raw)
	}
	return a.console.PrintRaw(raw)
}
