package client

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// formOf returns a form of so many fields, which also requires so many that it
// does not have.
func formOf(fields, strangers int) json.RawMessage {
	var properties, required strings.Builder
	for i := range fields {
		fmt.Fprintf(&properties, `,"p%d":{}`, i)
	}
	for i := range strangers {
		fmt.Fprintf(&required, `"q%d",`, i)
	}
	return json.RawMessage(`{"type":"object","properties":{` + strings.TrimPrefix(properties.String(), ",") +
		`},"required":[` + required.String() + `"p1"]}`)
}

// No form takes long to be read, however large the message it came in (SEC-10).
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		schema json.RawMessage
		fault  string // "" for a form that is read
	}{
		"as many fields as may be": {formOf(maxFormFields, fewer(60_000)), ""},
		"one field more":           {formOf(maxFormFields+1, 0), "it has more than 1000 properties"},
		"many fields":              {formOf(fewer(40_000), fewer(40_000)), "it has more than 1000 properties"},
		"a large text":             {json.RawMessage(`{"title":"` + strings.Repeat("x", maxFormBytes) + `"}`), "it is over 1048576 bytes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form, err := readForm(tt.schema)
			if tt.fault != "" {
				require.EqualError(t, err, tt.fault)
				return
			}
			require.NoError(t, err)
			require.Len(t, form.fields, maxFormFields)
			for _, field := range form.fields {
				require.Equal(t, field.Name == "p1", field.Required, field.Name)
			}
		})
	}
}

// What a server asks is not read for a call that has ended.
func TestQuestionsOfAnEndedCallAreNotRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := new(Client).fulfilAll(ctx, Asker{agreed: link.Nothing}, mcp.InputRequests{"a": {Method: "no such thing"}})
	require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(err), "%v", err)
}
