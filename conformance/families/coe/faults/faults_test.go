package faults

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var tools = []string{"askQuestion", "createTicket"}

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := Parse("tool=createTicket,kind=db_locked,times=3")
	require.NoError(t, err)
	require.Equal(t, Fault{Tool: "createTicket", Kind: Locked, Times: 3}, f)
	require.NoError(t, f.Check(tools))
	f, err = Parse("delay=35s,tool=askQuestion,kind=delay")
	require.NoError(t, err)
	require.Equal(t, Fault{Tool: "askQuestion", Kind: Delay, Times: 1, Delay: 35 * time.Second}, f, "once, unless told otherwise")
	for _, bad := range []string{"", "tool", "tool=x,times=many", "kind=delay,delay=soon", "what=else"} {
		_, err := Parse(bad)
		require.ErrorContains(t, err, "fault ", bad)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, f := range map[string]Fault{
		"needs a tool":    {Kind: Panic},
		"unknown tool":    {Tool: "x", Kind: Panic},
		"unknown kind":    {Tool: Any, Kind: "x"},
		"times":           {Tool: Any, Kind: Panic, Times: -1},
		"delay of a":      {Tool: Any, Kind: Delay, Delay: time.Hour},
		"needs a delay":   {Tool: Any, Kind: Delay},
		"from 0 to 10m0s": {Tool: Any, Kind: Delay, Delay: -1},
	} {
		require.ErrorContains(t, f.Check(tools), text)
	}
	for _, k := range Kinds() {
		require.NoError(t, Fault{Tool: Any, Kind: k, Delay: 1}.Check(tools))
	}
}

func TestStrike(t *testing.T) {
	t.Parallel()
	var none *Set
	_, ok := none.Strike("x", Panic)
	require.False(t, ok)

	s := &Set{}
	s.Add(Fault{Tool: "a", Kind: Panic, Times: 2})
	s.Add(Fault{Tool: Any, Kind: Panic, Times: 1})
	s.Add(Fault{Tool: "b", Kind: Down})
	hits := func(tool string, k Kind) int {
		n := 0
		for range 5 {
			if _, ok := s.Strike(tool, k); ok {
				n++
			}
		}
		return n
	}
	require.Equal(t, 0, hits("a", Down))
	require.Equal(t, 1, hits("b", Panic), "the one for any tool")
	require.Equal(t, 2, hits("a", Panic))
	require.Equal(t, 5, hits("b", Down), "until it is cleared")
	require.True(t, s.Armed(Down))
	require.Equal(t, []Fault{{Tool: "b", Kind: Down}}, s.List())
	s.Clear()
	require.False(t, s.Armed(Down))
	require.Equal(t, 0, hits("b", Down))
}

func TestStrike_Parallel(t *testing.T) {
	t.Parallel()
	s := &Set{}
	s.Add(Fault{Tool: Any, Kind: Panic, Times: 100})
	var n atomic.Int32
	var wg sync.WaitGroup
	for range 300 {
		wg.Go(func() {
			if _, ok := s.Strike("a", Panic); ok {
				n.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 100, n.Load())
}

func FuzzParse(f *testing.F) {
	f.Add("tool=createTicket,kind=db_locked,times=3,delay=1s")
	f.Add("a=b=c,,")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err == nil && got.Check(tools) == nil {
			require.GreaterOrEqual(t, got.Times, 0)
			require.LessOrEqual(t, got.Delay, MaxDelay)
		}
	})
}
