package officialschema

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestValidate(t *testing.T) {
	t.Parallel()
	for at, text := range map[string]string{
		"definitions": `{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": `,
		"$defs":       `{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": `,
	} {
		s, err := New([]byte(text + `{
			"Link": {"type": "object", "properties": {"uri": {"type": "string", "format": "uri"}}, "required": ["uri"]},
			"Links": {"type": "array", "items": {"$ref": "#/` + at + `/Link"}}}}`))
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, s.Validate("Links", []byte(`[{"uri":"file:///a","more":1e400}]`)))
		}
		for _, bad := range []string{`[{"uri":"no uri"}]`, `[{}]`, `{}`, `[{"uri":7}]`, `[`} {
			require.Error(t, s.Validate("Links", []byte(bad)), "%s: %s", at, bad)
		}
		require.ErrorContains(t, s.Validate("Nothing", []byte(`{}`)), "Nothing")
	}
	_, err := New([]byte("["))
	require.Error(t, err)
}
