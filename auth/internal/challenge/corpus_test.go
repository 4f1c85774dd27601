package challenge_test

import (
	_ "embed"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
)

//go:embed testdata/headers.txt
var headers string

// sample is a block of testdata/headers.txt.
type sample struct {
	from string
	sent http.Header
	want challenge.Challenge // without a scheme if there is nothing to act on
}

func corpus(t testing.TB) []sample {
	var all []sample
	_, blocks, _ := strings.Cut(headers, "\n\n") // after the head
	for block := range strings.SplitSeq(strings.TrimSpace(blocks), "\n\n") {
		s := sample{sent: http.Header{}}
		for line := range strings.SplitSeq(block, "\n") {
			name, value, ok := strings.Cut(line, ":")
			require.True(t, ok, line)
			value = strings.TrimSpace(value)
			switch {
			case name == "from":
				s.from = value
			case strings.HasSuffix(name, "Authenticate"):
				s.sent.Add(name, value)
			case name == "is" && value == "nothing":
			case name == "is":
				s.want.Scheme = value
			default:
				if s.want.Params == nil {
					s.want.Params = map[string]string{}
				}
				s.want.Params[name] = value
			}
		}
		all = append(all, s)
	}
	return all
}

// TestCorpus reads the header as real servers send it.
func TestCorpus(t *testing.T) {
	all := corpus(t)
	require.GreaterOrEqual(t, len(all), 50)
	for _, s := range all {
		t.Run(s.from, func(t *testing.T) {
			c, ok := challenge.Of(s.sent)
			require.Equal(t, s.want.Scheme != "", ok)
			require.Equal(t, s.want, c)
		})
	}
}
