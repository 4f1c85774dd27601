//go:build !race

// Under the race detector the same conversations are had by other tests, at a
// tenth of the number.

package mutants

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/reference"
)

// least is the percentage of mutants that have to be noticed by one check each: less
// than in the whole run (docs/generated/conformance-mutants.md), for some checks judge what
// others bring to light.
const least = 85

// sampled picks from the mutants: all in the whole form (MAINSTAY_SOAK=all), an
// eighth in the long form, else a sixteenth.
func sampled() []Mutant {
	every := 16
	switch os.Getenv("MAINSTAY_SOAK") {
	case "":
	case "all":
		every = 1
	default:
		every = 8
	}
	var out []Mutant
	for i, m := range Mutants() {
		if i%every == 0 {
			out = append(out, m)
		}
	}
	return out
}

// inProcess serves the reference server without a program for each conversation.
func inProcess() Rig {
	start := func() (*reference.Server, func(), error) {
		srv, err := reference.New(reference.Options{Families: reference.HTTPFamilies()})
		return srv, func() { _ = srv.Close() }, err
	}
	return Rig{
		Path: reference.Path,
		HTTP: func(context.Context) (http.Handler, func(), error) {
			srv, stop, err := start()
			if err != nil {
				return nil, nil, err
			}
			return srv.Handler(), stop, nil
		},
		Stdio: func(context.Context) (Serve, func(), error) {
			srv, stop, err := start()
			if err != nil {
				return nil, nil, err
			}
			return srv.ServeStdio, stop, nil
		},
	}
}

// TestMutantsAreNoticed is the short form of make mutants: of each mutant that
// was noticed the check that did runs again, and has to notice it again.
func TestMutantsAreNoticed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: hundreds of conversations")
	}
	noticed, err := ReadRecord("testdata/noticed.json")
	require.NoError(t, err)
	d := Detector{Rig: inProcess(), Answer: 2 * time.Second}
	mutants := sampled()
	var checks []string
	for _, m := range mutants {
		checks = append(checks, noticed[m.ID]...)
	}
	clean := map[string]func() (Baseline, error){}
	for _, m := range mutants {
		if setup := setupOf(m); clean[setup] == nil {
			clean[setup] = sync.OnceValues(func() (Baseline, error) { return d.Clean(t.Context(), m, checks...) })
		}
	}
	var mu sync.Mutex
	var survivors []string
	t.Run("each", func(t *testing.T) {
		for _, m := range mutants {
			t.Run(m.ID, func(t *testing.T) {
				t.Parallel()
				holds, err := clean[setupOf(m)]()
				require.NoError(t, err)
				var found *Finding
				if check := noticed[m.ID]; len(check) > 0 {
					found, err = d.Judge(t.Context(), m, holds, check...)
					require.NoError(t, err)
				}
				if found == nil {
					mu.Lock()
					defer mu.Unlock()
					survivors = append(survivors, m.ID)
				}
			})
		}
	})
	n := len(mutants)
	require.GreaterOrEqual(t, Percent(n-len(survivors), n), float64(least), "not noticed: %v", survivors)
}

func setupOf(m Mutant) string { return fmt.Sprint(m.Transport, m.Revisions) }
