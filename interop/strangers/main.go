// Command strangers counts how many natural defects of other people's servers our suite finds.
// The servers and their defects are in testdata, written from the specification by people who had
// not read the checks. Each server is judged without a defect, and then with each of them: a
// defect is found if a check has a worse outcome than without it. scripts/strangers.sh installs
// what the servers need.
//
// With -official the official suite judges instead, over HTTP, so that both can be compared.
//
// Exit 0: the table was made; 1: a server could not be judged; 2: wrong usage.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// place is where the programs are.
type place struct {
	mcpctl string
	set    string // the folder of the set
	bin    string // the folder of the built Go servers: one for each
	node   string
	python string
	// official takes the place of mcpctl if its suite is set.
	official official
	// keep is the folder that reports are written to, "" for none.
	keep string
	// healthyRuns is how often a server is judged without a defect.
	healthyRuns int
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("strangers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	var p place
	flags.StringVar(&p.mcpctl, "mcpctl", "mcpctl", "the program that judges")
	flags.StringVar(&p.set, "set", "", "the folder with defects.tsv and a folder for each server")
	flags.StringVar(&p.bin, "bin", "", "the folder of the built Go servers")
	flags.StringVar(&p.node, "node", "node", "Node.js")
	flags.StringVar(&p.python, "python", "python3", "Python")
	flags.StringVar(&p.keep, "keep", "", "a folder to keep the reports of mcpctl in")
	flags.StringVar(&p.official.suite, "official", "", "the entry file of the official suite, which judges instead of mcpctl")
	flags.StringVar(&p.official.node, "official-node", "node", "Node.js for the official suite")
	only := flags.String("only", "", "only servers and defects whose names contain this, such as ts/ or /late")
	jobs := flags.Int("jobs", 2, "how many servers are judged at once")
	flags.IntVar(&p.healthyRuns, "healthy-runs", 3, "how often each server is judged without a defect; what goes wrong in one of these runs finds nothing")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	defects, err := readDefects(filepath.Join(p.set, "defects.tsv"))
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	var picked []defect
	for _, d := range defects {
		if strings.Contains(d.String(), *only) {
			picked = append(picked, d)
		}
	}
	if len(picked) == 0 || *jobs < 1 || p.healthyRuns < 1 {
		fmt.Fprintln(stderr, "nothing to judge")
		return exitUsage
	}
	rows := judgeAll(ctx, &p, picked, *jobs, stderr)
	failed := table(stdout, rows)
	if failed > 0 || ctx.Err() != nil {
		return exitFailed
	}
	return 0
}

// row is what the suite said about a server with one defect.
type row struct {
	defect
	worse []string // checks with a worse outcome than without the defect
	// first is the title of the first finding of the report that the server without the defect
	// does not have.
	first string
	at    int // the place of that finding in the report, from 1
	err   error
}

// judgeAll judges each server without a defect, some times, then with each of the defects.
func judgeAll(ctx context.Context, p *place, defects []defect, jobs int, progress io.Writer) []row {
	healthy := map[string]func() (*outcome, error){}
	for _, d := range defects {
		if healthy[d.key()] == nil {
			healthy[d.key()] = sync.OnceValues(func() (*outcome, error) { return p.judgeHealthy(ctx, d) })
		}
	}
	rows := make([]row, len(defects))
	next := make(chan int)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for i := range next {
				rows[i] = compare(ctx, p, defects[i], healthy[defects[i].key()])
				fmt.Fprintf(progress, "%s: %s\n", defects[i], rows[i].said())
			}
		})
	}
	for i := range defects {
		next <- i
	}
	close(next)
	workers.Wait()
	return rows
}

// compare judges a server with a defect.
func compare(ctx context.Context, p *place, d defect, healthy func() (*outcome, error)) row {
	if p.official.suite != "" && d.stdioOnly {
		return row{defect: d} // it cannot be reached
	}
	before, err := healthy()
	if err != nil {
		return row{defect: d, err: fmt.Errorf("without the defect: %w", err)}
	}
	after, err := p.judge(ctx, d, d.name)
	if err != nil {
		return row{defect: d, err: err}
	}
	r := row{defect: d, worse: before.worse(after)}
	r.first, r.at = before.firstNew(after)
	return r
}
