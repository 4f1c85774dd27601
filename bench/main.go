// Command bench measures Mainstay's client beside the raw floor, the official
// go-sdk and mcp-go in one interleaved run, and prints one table. See README.md.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/mainstay-mcp/mainstay/bench/internal/report"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // a main is where a process begins
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1) //nolint:forbidigo // and where it ends
	}
}

// run is the program. It runs itself again as servers and as cells, so that
// each is a process of its own.
func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if ok, err := workload.Serve(ctx, args); ok {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if len(args) == 2 && args[0] == report.RunCell {
		var c workload.Cell
		if err := json.Unmarshal([]byte(args[1]), &c); err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(workload.Run(ctx, c, self))
	}

	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	only := flags.String("w", "", "workloads to run, like W1,W3; all when empty")
	rounds := flags.Int("rounds", 5, "how often everything is measured")
	quick := flags.Bool("quick", false, "one short round that shows that everything works; its figures mean little")
	filter := flags.String("only", "", "run only the rows whose name contains this, like stdio")
	gate := flags.Bool("gate", false, "fail when an exact goal (A: allocations, bytes) does not hold")
	profiled := flags.String("profile", "", "instead of measuring, write CPU and allocation profiles of Mainstay into this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 1 {
		return errors.New("no arguments but flags are taken, and -rounds must be at least 1; see -help")
	}
	if *quick {
		*rounds = 1
	}
	var names []string
	if *only != "" {
		names = strings.Split(*only, ",")
	}
	groups := report.Filter(report.Plan(names, *quick), *filter)
	if len(groups) == 0 {
		return errors.New("no such workload: -w takes W1 to W9, -only a part of a row's name")
	}
	if *profiled != "" {
		return report.Profile(ctx, self, groups, *profiled, out)
	}
	outcomes, err := report.Run(ctx, self, groups, *rounds, progress)
	if err != nil {
		return err
	}
	if *quick {
		if _, err := fmt.Fprint(out, "A quick run: times and ratios of times mean little.\n\n"); err != nil {
			return err
		}
	}
	missed, err := report.Print(ctx, out, outcomes, report.Command(args))
	if err == nil && *gate && missed > 0 {
		err = fmt.Errorf("%d exact goals (A) do not hold", missed)
	}
	return err
}
