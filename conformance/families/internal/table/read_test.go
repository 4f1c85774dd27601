package table

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

const sampleTable = `arguments done: {"id":"$task","status":"done"}

scenario T-1: a table
  needs writing tool
  suits anything

prepare
  direct method
  keep queue result.length

T-1/first, SHOULD, house MUST: the first check
  before look
  call tool done {"id":7,"status":"$absent"}
  meta {"version":"1.0"}
  succeeds
  a.b is one of x y
  a.c is not "z"
  a.n is $queue - 2

T-2/second, MUST: the second check
  fails 404
  that all is well
`

func sampleWords() Words {
	return Words{
		Area:   "area",
		Needs:  func(words []string) engine.Needs { return engine.Needs{Tools: words} },
		Suits:  map[string]func(*Run) (string, error){"anything": func(*Run) (string, error) { return "", nil }},
		Before: func(string) (func(*Run) error, error) { return func(*Run) error { return nil }, nil },
		That:   map[string]func(any, map[string]any) bool{"all is well": func(any, map[string]any) bool { return true }},
		Phrases: map[string]func(string) ([]Expectation, error){"fails": func(code string) ([]Expectation, error) {
			n, err := strconv.Atoi(code)
			return RPCCode(n, Has("error.message")), err
		}},
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	tables, err := Read(sampleTable, sampleWords())
	require.NoError(t, err)
	require.Len(t, tables, 1)
	tb := &tables[0]
	require.Equal(t, []string{"T-1", "area", "a table"}, []string{tb.ID, tb.Area, tb.Title})
	require.Equal(t, []string{"writing", "tool"}, tb.Needs.Tools)
	require.NotNil(t, tb.Suits)
	require.Len(t, tb.Steps, 3)
	require.Equal(t, Step{Tool: "method", Direct: true, Keep: map[string]string{"queue": "result.length"}}, tb.Steps[0])
	first := &tb.Steps[1]
	require.Equal(t, "T-1/first", tb.CheckID(first))
	require.Equal(t, Members{"id": 7.0}, first.Args)
	require.Equal(t, Members{"version": "1.0"}, first.Meta)
	require.True(t, first.House)
	require.NotNil(t, first.Before)
	var wants []string
	for _, e := range first.Want {
		wants = append(wants, e.Path+": "+e.Want)
	}
	require.Equal(t, []string{"isError: false", "a.b: one of x, y", `a.c: another value than "z"`, "a.n: -2 more than before"}, wants)
	require.Equal(t, "T-2/second", tb.CheckID(&tb.Steps[2]))
	require.Len(t, tb.Steps[2].Want, 3)
}

// A slip in a text is an error with its line, and no check that expects nothing.
func TestRead_Wrong(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{
		"T-9/x, MUST: a check before any scenario", "scenario T-1: x\nT-1, MUST: no word", "scenario T-1: x\nT-1/x, MAY: level", "scenario T-1: x\n  suits nobody",
		"scenario T-1: x\nprepare\n  call tool nothing", "scenario T-1: x\nprepare\n  call tool {", "scenario T-1: x\nprepare\n  a.b are 7",
		"scenario T-1: x\nprepare\n  a.b is seven", "scenario T-1: x\nprepare\n  a.b is from 1", "scenario T-1: x\nprepare\n  a.b is $kept 1", "scenario T-1: x\nprepare\n  a.b matches (",
		"scenario T-1: x\nprepare\n  that nobody says", "scenario T-1: x\nprepare\n  fails x", "arguments a: 7",
	} {
		_, err := Read(wrong, sampleWords())
		require.ErrorContains(t, err, "line ", wrong)
	}
	_, err := Read("", sampleWords())
	require.ErrorContains(t, err, "all is well", "a judgement that no text asks for")
	require.Panics(t, func() { MustRead("nonsense", sampleWords()) })
}
