package features

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompiles_Types(t *testing.T) {
	t.Parallel()
	for schema, good := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":["string","null"]},"type":{"type":"string"}}}`:                 true,
		`{"type":"object","properties":{"a":{"const":{"type":"strnig"}},"b":true},"additionalProperties":false}`:   true,
		`{"type":"object","default":{"type":"strnig"},"examples":[{"type":"strnig"}]}`:                             true,
		`{"$schema":"https://example.com/dialect","type":"object","properties":{"a":{"type":"decimal"}}}`:          true,
		`{"type":"object","properties":{"a":{"type":"strnig"}}}`:                                                   false,
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"any"}}}`:  false,
		`{"type":"object","properties":{"a":{"type":["string","nul"]}}}`:                                           false,
		`{"type":"object","properties":{"a":{"items":{"anyOf":[true,{"additionalProperties":{"type":"text"}}]}}}}`: false,
		`{"type":"object","$defs":{"a":{"type":"Object"}}}`:                                                        false,
		`{"type":"object","properties":{"a":{"prefixItems":[{"type":"int"}]}}}`:                                    false,
	} {
		err := compiles(json.RawMessage(schema))
		require.Equal(t, good, err == nil, "%s: %v", schema, err)
	}
}
