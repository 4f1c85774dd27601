package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/mutants"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// officialRevisions are those the official suite is run in.
var officialRevisions = []mcp.Version{mcp.LatestSession, mcp.Latest}

// measureOfficial runs the official suite on the mutants that speak HTTP and
// writes down what it notices.
func measureOfficial(ctx context.Context, o options, chosen []mutants.Mutant, stderr io.Writer) error {
	suite, server := mutants.Official{Node: o.node, Suite: o.suite}, rig(o.server)
	judge := func(m mutants.Mutant, revision mcp.Version) (map[string]bool, error) {
		url, stop, err := server.Listen(ctx, m)
		if err != nil {
			return nil, err
		}
		defer stop()
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		return suite.Scenarios(ctx, url, revision)
	}
	clean := map[mcp.Version]map[string]bool{}
	for _, revision := range officialRevisions {
		passed, err := judge(mutants.Sound(), revision)
		if err != nil {
			return err
		}
		clean[revision] = passed
	}
	record, err := mutants.ReadRecord(o.official)
	if err != nil {
		record = mutants.Record{} // the first
	}
	chosen = slices.DeleteFunc(chosen, func(m mutants.Mutant) bool { return m.Transport != mutants.HTTP })
	var mu sync.Mutex
	each(o.jobs, chosen, func(_ int, m mutants.Mutant) {
		noticed := []string{}
		for _, revision := range officialRevisions {
			passed, err := judge(m, revision)
			if err != nil { // it hangs, or dies: that is noticed, too
				noticed = append(noticed, "no verdict at "+string(revision))
				continue
			}
			noticed = append(noticed, mutants.Noticed(clean[revision], passed)...)
		}
		slices.Sort(noticed)
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() == nil {
			record[m.ID] = slices.Compact(noticed)
			err = record.Write(o.official)
		}
		_, _ = fmt.Fprintf(stderr, "%-32s %s\n", m.ID, strings.Join(noticed, " "))
	})
	return err
}
