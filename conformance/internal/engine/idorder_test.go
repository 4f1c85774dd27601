package engine

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompareIDs(t *testing.T) {
	t.Parallel()
	ids := []string{"X-2", "S0-VAL-10", "S0-VAL-2/b", "S0-VAL-2/a", "S0-VAL-02", "S0-VAL-2"}
	slices.SortStableFunc(ids, Compare)
	require.Equal(t, []string{"S0-VAL-02", "S0-VAL-2", "S0-VAL-2/a", "S0-VAL-2/b", "S0-VAL-10", "X-2"}, ids)
}
