package footprint_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/footprint"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestOf(t *testing.T) {
	t.Parallel()
	died := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Unknown, "it ended", nil)
	died.Process = &mcperrors.ProcessEvidence{Stderr: []string{"out of", "luck"}}
	tool := mcp.Tool{Name: "echo"}
	alone := footprint.Tool(&tool)
	require.Greater(t, alone, len(tool.Name))
	tests := map[string]struct {
		event any
		want  int
	}{
		"nothing":      {nil, 0},
		"no struct":    {"text", 0},
		"no fields":    {struct{}{}, 0},
		"nil fields":   {struct{ Cause, Tool any }{}, 0},
		"a nil tool":   {struct{ Tool *mcp.Tool }{}, 0},
		"texts":        {struct{ ID, Name string }{"12", "345"}, 5},
		"unexported":   {struct{ id string }{"12"}, 0},
		"other values": {struct{ N int }{7}, 0},
		"an error":     {struct{ Cause error }{fmt.Errorf("wrapped: %w", died)}, len("it ended") + len("out of") + len("luck")},
		"our error":    {struct{ Cause error }{errors.New("not of a server")}, 0},
		"tools":        {struct{ Before, After any }{&tool, tool}, 2 * alone},
	}
	for name, tt := range tests {
		require.Equal(t, tt.want, footprint.Of(tt.event), name)
	}
	require.Positive(t, footprint.Of(struct{ Server mcp.Implementation }{mcp.Implementation{Name: "a"}}))
}

// Every text of a tool counts, in whatever field it is: what is not counted can fill the
// memory without a bound.
func TestToolCountsEveryField(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	fields := reflect.TypeFor[mcp.Tool]()
	for i := range fields.NumField() {
		field := fields.Field(i)
		if !field.IsExported() {
			continue
		}
		var tool mcp.Tool
		bare := footprint.Tool(&tool)
		texts := fill(reflect.ValueOf(&tool).Elem().Field(i), long)
		require.Positive(t, texts, field.Name)
		require.GreaterOrEqual(t, footprint.Tool(&tool), bare+texts*len(long), field.Name)
	}
}

// fill sets every text below v to text, with one element in each slice, and returns how many
// there are.
func fill(v reflect.Value, text string) (texts int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return 1
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), text)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(text))
			return 1
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				texts += fill(v.Field(i), text)
			}
		}
	}
	return texts
}
