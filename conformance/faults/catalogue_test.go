package faults

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// matrix is how many faults each part of the fault matrix has.
var matrix = map[byte]int{'A': 9, 'B': 30, 'C': 13, 'D': 17, 'E': 16, 'F': 19, 'G': 10, 'H': 7}

// elsewhere are the cases with a test of their own.
var elsewhere = map[string][]Carrier{
	"D5":  {HTTP, Stream}, // TestRandomOrder
	"F15": {Stream},       // TestAfterCancel
}

func keys(f Fault) []string {
	if len(f.Variants) == 0 {
		return []string{f.ID}
	}
	var all []string
	for _, v := range f.Variants {
		all = append(all, f.ID+"/"+v)
	}
	return all
}

// observed reports whether a test observes the fault in that form by that
// carrier. The keys of the tables are what the tests run.
func observed(key string, f Fault, c Carrier) bool {
	if _, ok := messageCases[key]; ok && (c == HTTP || c == Stream) {
		return true
	}
	for _, other := range elsewhere[f.ID] {
		if c == other {
			return true
		}
	}
	ok := false
	switch c {
	case HTTP:
		_, ok = httpCases[key]
	case Stream:
		_, ok = streamCases[key]
	case Dial:
		_, ok = dialCases[key]
	case Conn:
		_, ok = connCases[key]
	case Process:
		ok = processObserved(key)
	}
	return ok
}

// TestEveryFaultIsObserved: each fault, in each form, by each carrier that the
// catalogue promises, has a test; and no test is of a fault that is not there.
func TestEveryFaultIsObserved(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	parts := map[byte]int{}
	for _, f := range Catalogue() {
		parts[f.ID[0]]++
		require.NotEmpty(t, f.Title, f.ID)
		require.NotEmpty(t, f.Note, "%s: the note says how it is made, or why not", f.ID)
		for _, key := range keys(f) {
			require.False(t, known[key], "%s is there twice", key)
			known[key] = true
			seen := false
			for _, c := range f.Carriers {
				ok := observed(key, f, c)
				seen = seen || ok
				// Forms of a process and of a stream are different ones.
				if key != "E10/freeze" && key != "E10/sigstop" {
					require.True(t, ok, "no test observes %s by %s", key, c)
				}
			}
			require.Equal(t, len(f.Carriers) > 0, seen, "no test observes %s", key)
		}
	}
	require.Equal(t, matrix, parts)
	for _, table := range []map[string]bool{set(messageCases), set(httpCases), set(streamCases), set(dialCases), set(connCases)} {
		for key := range table {
			require.True(t, known[key], "%s is a test of nothing", key)
		}
	}
}

func set[V any](m map[string]V) map[string]bool {
	all := map[string]bool{}
	for k := range m {
		all[k] = true
	}
	return all
}

// Every fault that a carrier makes has code: a rule for it does something.
func TestEveryFaultIsMade(t *testing.T) {
	t.Parallel()
	for _, f := range Catalogue() {
		if len(f.Carriers) == 0 {
			require.ErrorContains(t, Plan{Rules: []Rule{{Fault: f.ID}}}.check(), f.Note)
			continue
		}
		for _, key := range keys(f) {
			_, form, _ := strings.Cut(key, "/")
			require.NoError(t, Plan{Rules: []Rule{{Fault: f.ID, Variant: form}}}.check())
		}
	}
	_, ok := Find("Z9")
	require.False(t, ok)
	all := Catalogue()
	all[0].Variants[0] = "changed"
	require.Equal(t, "nxdomain", Catalogue()[0].Variants[0], "the caller's copy is the caller's")
}
