package suitetest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/report"
)

// requireForm holds the JSON report of a run against its published schema.
func requireForm(t *testing.T, r *conformance.Report) {
	t.Helper()
	schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.Schema))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("urn:conform", schema))
	compiled, err := c.Compile("urn:conform")
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, report.JSON(&b, r))
	document, err := jsonschema.UnmarshalJSON(&b)
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))
}
