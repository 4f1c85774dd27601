package talk

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPattern_Absent(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ pattern, message, fault string }{
		{`{"id":"$absent"}`, `{}`, ""},
		{`{"id":"$absent"}`, `{"id":null}`, "(/id: is there)"},
		{`{"id":{"$or":["$absent",null]}}`, `{}`, ""},
		{`{"id":{"$or":["$absent",null]}}`, `{"id":null}`, ""},
		{`{"id":{"$or":["$absent",null]}}`, `{"id":"$absent"}`, "(/id: none of what is allowed)"},
		{`{"id":{"$or":["$absent",null]}}`, `{"id":1}`, "(/id: none of what is allowed)"},
		{`{"id":{"$or":[1,2]}}`, `{}`, "(/id: is missing)"},
		{`{"id":null}`, `{}`, "(/id: is missing)"},
	} {
		p, err := ReadPattern([]byte(tt.pattern))
		require.NoError(t, err)
		require.Equal(t, tt.fault, p.Fault([]byte(tt.message)), "%s %s", tt.pattern, tt.message)
	}
}
