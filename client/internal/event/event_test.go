package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// eventTypes has one value of each type of event.
var eventTypes = []Event{
	CallbackFailed{},
	Connected{},
	Disconnected{},
	ElicitationComplete{},
	Negotiated{},
	LivenessFailed{},
	ListFailed{},
	LoginChanged{},
	OutputMismatch{},
	Reinitialized{},
	RequestDropped{},
	Restarted{},
	StateChanged{},
	SubscriptionEnded{},
	SubscriptionGap{},
	ToolDrift{},
}

// eventData are the fields that are kept unchanged: an application compares or uses them, or they
// are the client's own text.
var eventData = map[string]bool{
	"CallbackFailed.Callback": true, "ListFailed.Method": true, "Negotiated.Evidence": true,
	"LoginChanged.Principal": true, "ProbeStep.Method": true, "ElicitationComplete.ID": true,
	"OutputMismatch.Tool": true, "ToolDrift.Tool": true, "ToolDrift.Old": true, "ToolDrift.New": true,
	"ToolDrift.Changed": true, "ToolDrift.Before": true, "ToolDrift.After": true,
}

// TestEventsHideSecrets puts a secret into each field of each event that can hold text, and looks
// for it in the event that the application gets.
func TestEventsHideSecrets(t *testing.T) {
	t.Parallel()
	const secret = "words that open a door"
	now := mcperrors.NewSecrets(secret)
	for _, e := range eventTypes {
		typ := reflect.TypeOf(e)
		t.Run(typ.Name(), func(t *testing.T) {
			t.Parallel()
			event := reflect.New(typ).Elem()
			plant(event, secret)
			before := text(event)
			hidden := event.Interface().(Event).hidden(source{}, now)
			require.IsType(t, e, hidden)
			require.NotContains(t, text(reflect.ValueOf(hidden)), secret)
			require.Equal(t, strings.Contains(before, secret), strings.Contains(text(reflect.ValueOf(hidden)), "[redacted]"))
			require.Equal(t, before, text(event), "what others hold of the event is not changed")
			require.Equal(t, event.Interface(), event.Interface().(Event).hidden(source{}, mcperrors.Secrets{}), "nothing is hidden without secrets")
		})
	}
}

// The value of a panic keeps its type if its text has no secret.
func TestEventsHidePanics(t *testing.T) {
	t.Parallel()
	const secret = "words that open a door"
	now := mcperrors.NewSecrets(secret)
	cause := errors.New("cause")
	type pair struct{ a, b string }
	for name, tt := range map[string]struct{ value, want any }{
		"nothing":           {nil, nil},
		"a number":          {7, 7},
		"a text":            {"with " + secret, "with [redacted]"},
		"a struct":          {pair{"x", secret}, "{x [redacted]}"},
		"a harmless struct": {pair{"x", "y"}, pair{"x", "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, CallbackFailed{Value: tt.value}.hidden(source{}, now).(CallbackFailed).Value)
		})
	}
	err := CallbackFailed{Value: fmt.Errorf("%s: %w", secret, cause)}.hidden(source{}, now).(CallbackFailed).Value.(error)
	require.Equal(t, "[redacted]: cause", err.Error())
	require.ErrorIs(t, err, cause)
}

// plant puts the secret into each string in v.
func plant(v reflect.Value, secret string) {
	words := "with " + secret + " in it"
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() { // revisions are fixed values
			v.SetString(words)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(errors.New(words)))
	case reflect.Slice:
		switch v.Type() {
		case reflect.TypeFor[[]byte]():
			v.SetBytes([]byte(words))
		case reflect.TypeFor[json.RawMessage]():
			v.SetBytes([]byte(`"` + words + `"`))
		default:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			plant(v.Index(0), secret)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if field.IsExported() && !eventData[v.Type().Name()+"."+field.Name] {
				plant(v.Field(i), secret)
			}
		}
	default: // numbers
	}
}

// text returns the text of v, with bytes as text.
func text(v reflect.Value) string {
	var b strings.Builder
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				b.WriteString(text(v.Field(i)) + "\n")
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return string(v.Bytes())
		}
		for i := range v.Len() {
			b.WriteString(text(v.Index(i)) + "\n")
		}
	default:
		return fmt.Sprintf("%+v", v)
	}
	return b.String()
}

// If a server repeats a secret in its name, the rest of the name is kept. Its icons and unknown
// members are dropped.
func TestEventsHideServers(t *testing.T) {
	t.Parallel()
	const secret = "words that open a door"
	now := mcperrors.NewSecrets(secret)
	clean := mcp.Implementation{Name: "shop", Version: "1", Icons: []mcp.Icon{{Src: "data:,"}}}
	require.Equal(t, Connected{Server: clean}, Connected{Server: clean}.hidden(source{}, now))
	gossip := clean
	gossip.Title = "for " + secret
	want := mcp.Implementation{Name: "shop", Version: "1", Title: "for [redacted]"}
	require.Equal(t, Connected{Server: want}, Connected{Server: gossip}.hidden(source{}, now))
}

// The table above has every event: all types with the method.
func TestEventTypesAreAll(t *testing.T) {
	t.Parallel()
	var known, found []string
	for _, e := range eventTypes {
		known = append(known, reflect.TypeOf(e).Name())
	}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), ".go") || strings.HasSuffix(file.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file.Name(), nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Name.Name == "hidden" && f.Recv != nil {
				found = append(found, f.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	require.ElementsMatch(t, known, found)
}
