package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func newPingCmd(a *app) *cobra.Command {
	var times int
	cmd := &cobra.Command{
		Use:   "ping [SERVER]",
		Short: "Is it there, and how far away",
		Long: `Sends a ping, which every server of the legacy era answers. The modern era has
none: there server/discover is the sign of life.`,
		Example: `  mcpctl ping :3000/mcp
  mcpctl ping -n 20 -- ./server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.server(newLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usage("ping takes no operand after the server, got %s", rest[0])
			}
			if times < 1 {
				return usage("-n must be at least 1, is %d", times)
			}
			return a.with(cmd.Context(), t, func(ctx context.Context, c *connection) error {
				return a.ping(ctx, c, times)
			})
		},
	}
	cmd.Flags().IntVarP(&times, "count", "n", 1, "how many round trips")
	return cmd
}

func (a *app) ping(ctx context.Context, c *connection, times int) error {
	trips := make([]time.Duration, 0, times)
	method, what := mcp.MethodPing, ""
	if c.ProtocolVersion().Era() == mcp.EraStateless {
		// There is no ping in this era (DISC-18).
		method, what = mcp.MethodDiscover, mcp.MethodDiscover+" "
	}
	for range times {
		began := time.Now()
		if _, err := a.request(ctx, c, sentRequest{method: method}, nil); err != nil {
			return err
		}
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	least, middle, most := trips[0], trips[len(trips)/2], trips[len(trips)-1]
	if a.flags.output == formatHuman {
		text := fmt.Sprintf("%s answered %sin %s (connected in %s)\n", marked(serverName(c)), what, fine(middle), age(c.took))
		if times > 1 {
			text = fmt.Sprintf("%s answered %s%d times in %s at least, %s in the middle, %s at most (connected in %s)\n",
				marked(serverName(c)), what, times, fine(least), fine(middle), fine(most), age(c.took))
		}
		return a.say(text)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	raw := encoded(struct {
		Method    string  `json:"method"`
		Count     int     `json:"count"`
		MinMs     float64 `json:"minMs"`
		MedianMs  float64 `json:"medianMs"`
		MaxMs     float64 `json:"maxMs"`
		ConnectMs float64 `json:"connectMs"`
	}{method, times, ms(least), ms(middle), ms(most), ms(c.took)})
	if a.flags.output == formatJSON {
		return a.printJSON(raw)
	}
	return a.printRaw(raw)
}

// fine is a duration with three digits that mean something.
func fine(d time.Duration) time.Duration {
	if d < time.Millisecond {
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Microsecond)
}
