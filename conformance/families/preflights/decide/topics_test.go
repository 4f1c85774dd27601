package decide

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTopics: the vocabulary knows what a request is about, and which product it
// names. One request in ten may be understood otherwise.
func TestTopics(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/topics.txt")
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // read only
	right, all := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		parts := strings.SplitN(lines.Text(), "|", 3)
		if len(parts) != 3 {
			continue
		}
		want, product, request := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]), strings.TrimSpace(parts[2])
		all++
		if got := Topics(request); isAbout(got, want, product) {
			right++
		} else {
			t.Logf("want %s %s, got %v: %s", want, product, got, request)
		}
	}
	require.Greater(t, all, 40)
	require.GreaterOrEqual(t, right*100, all*90, "%d of %d", right, all)
}

func isAbout(topics []Topic, name, product string) bool {
	if name == "none" {
		return len(topics) == 0
	}
	for _, t := range topics {
		if t.Name == name {
			return product == "" || len(t.Products) > 0 && t.Products[0] == product
		}
	}
	return false
}
