package corpus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each document of the manifest has a floor, and no other has one.
func TestFloors(t *testing.T) {
	t.Parallel()
	docs, err := Manifest()
	require.NoError(t, err)
	floors, err := Floors()
	require.NoError(t, err)
	for _, d := range docs {
		require.Contains(t, floors, d.SHA256, d.Name())
	}
	require.Len(t, floors, len(docs))
}

// What falls by more than a hundredth is named, and so is a document without a floor.
func TestFallen(t *testing.T) {
	t.Parallel()
	d := &Document{Format: "pdf", Package: "p", Path: "a b.pdf", SHA256: strings.Repeat("0", 64)}
	before := Result{Document: d, Score: Score{Recall: .985, Precision: 1}, Order: .5}
	line := strings.Split(FormatFloors([]Result{before}), "\n")[1]
	require.Equal(t, d.SHA256+" 0.97 0.99 0.49 p:a_b.pdf", line)
	floors := map[string]Floor{d.SHA256: {.97, .99, .49}}
	require.Empty(t, Fallen([]Result{before}, floors))
	for _, worse := range []Result{
		{Document: d, Score: Score{Recall: .96, Precision: 1}, Order: .5},
		{Document: d, Score: Score{Recall: .98, Precision: .98}, Order: .5},
		{Document: d, Score: Score{Recall: .98, Precision: 1}, Order: .4},
	} {
		require.Len(t, Fallen([]Result{worse}, floors), 1)
	}
	require.Len(t, Fallen([]Result{before}, nil), 1)
}
