package docling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// soak is the variable that asks for many mutants: 1000 of each format in CI, 3000 for "all".
const soak = "MAINSTAY_SOAK"

// tally counts what became of mutants.
type tally struct {
	mu      sync.Mutex
	results map[string]int
	slowest time.Duration
	faults  []string
}

func (c *tally) add(what string, took time.Duration, fault string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.results[what]++
	c.slowest = max(c.slowest, took)
	if fault != "" && len(c.faults) < 10 {
		c.faults = append(c.faults, fault)
	}
}

// TestMutants_S2_CONV_09 feeds mutants of the corpus to the converters. Each
// gives a sound document or a failure with a reason, in time; the process may
// die of it, the server's side never does.
func TestMutants_S2_CONV_09(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("what happens here happens in a converter process: nothing to race with, and too slow with the detector")
	}
	mutants, limit := 30, 2*time.Second
	switch os.Getenv(soak) {
	case "":
	case "all":
		mutants, limit = 3000, 5*time.Second
	default:
		mutants, limit = 1000, 5*time.Second
	}
	for _, format := range []string{formatPDF, formatDOCX, formatXLSX, formatPPTX, formatHTML} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			paths := files(t, "."+format)
			if len(paths) == 0 {
				t.Skipf("the corpus has no %s files", format)
			}
			sources := make([][]byte, len(paths))
			for i, path := range paths {
				sources[i] = mustRead(t, path)
			}
			count := &tally{results: map[string]int{}}
			start := time.Now()
			work := make(chan uint64)
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { feed(t, format, sources, work, limit, count) })
			}
			for seed := range uint64(mutants) {
				work <- seed
			}
			close(work)
			wg.Wait()
			require.Empty(t, count.faults)
			t.Logf("%d mutants in %v, the slowest %v: %v", mutants, time.Since(start).Round(time.Millisecond), count.slowest.Round(time.Millisecond), count.results)
		})
	}
}

// feed converts mutants in one process, which is replaced when it dies: starting
// one for each document, as the tools do, would take most of the time.
func feed(t *testing.T, format string, sources [][]byte, work <-chan uint64, limit time.Duration, count *tally) {
	argv, err := worker.Command()
	if err != nil {
		count.add("no command", 0, err.Error())
		return
	}
	var proc *worker.Process
	for seed := range work {
		if proc == nil || proc.Dead() {
			if proc, err = worker.Start(t.Context(), argv, worker.Limits{Memory: 768 << 20}); err != nil {
				count.add("no process", 0, err.Error())
				continue
			}
		}
		m := newMutator(format, seed)
		mutant := m.mutate(sources[seed%uint64(len(sources))])
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		began := time.Now()
		doc, err := proc.Convert(ctx, &worker.Request{Format: format, Filename: "mutant." + format, Document: mutant})
		took := time.Since(began)
		cancel()
		what, fault := judge(doc, err)
		if took > limit+time.Second {
			fault = fmt.Sprintf("took %v", took)
		}
		if fault != "" {
			fault = fmt.Sprintf("%s seed %d: %s", format, seed, fault)
		}
		count.add(what, took, fault)
	}
	if proc != nil {
		proc.Close()
	}
}

// judge names what became of a mutant, and what is wrong with that.
func judge(doc json.RawMessage, err error) (what, fault string) {
	var failure *worker.Failure
	switch {
	case err == nil:
		d, err := document.Decode(doc)
		if err == nil {
			err = document.Check(d)
		}
		if err != nil {
			return "unsound", err.Error()
		}
		return "converted", ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", ""
	case errors.As(err, &failure):
		known := []string{worker.Encrypted, worker.Corrupt, worker.TooLarge, worker.Unsupported, worker.Empty}
		if !slices.Contains(known, failure.Reason) || failure.Message == "" {
			return "odd", fmt.Sprintf("%+v", failure)
		}
		if failure.Err != nil {
			return "died", ""
		}
		return failure.Reason, ""
	}
	return "fault", err.Error()
}
