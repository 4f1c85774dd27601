package calls

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnAnotherDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"day":"2026-01-31","n":1}`:               `{"day":"2026-02-02","n":1}`,
		`{"at":["2026-12-31T12:00:00Z","x"]}`:      `{"at":["2027-01-02T12:00:00Z","x"]}`,
		`{"day":"2026-99-99","id":"2026-01-31-x"}`: `{"day":"2026-99-99","id":"2026-01-31-x"}`,
		`{}`: `{}`,
	} {
		require.Equal(t, want, string(onAnotherDay(json.RawMessage(text), 2)))
	}
}
