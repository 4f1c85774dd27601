//go:build !race

package mainstay_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// number is a sentence of a document with a number that the code knows. The mark
// NUMBER in it stands for that number, in the form that unit gives it. name is a
// constant of file, or a field that file sets to its default.
type number struct{ doc, sentence, file, name, unit string }

const (
	inSeconds      = "%d s"
	inMilliseconds = "%d ms"
	inMinutes      = "%d min"
	inWords        = "%d minutes"
	inMiB          = "%d MiB"
	plain          = "%d"
)

const (
	resilienceGo = "client/resilience.go"
	httpPoolGo   = "client/transport/http_pool.go"
	breakerGo    = "breaker/settings.go"
	cacheGo      = "client/internal/cache/settings.go"
	silenceGo    = "client/internal/watchdog/watchdog.go"
)

var numbers = []number{
	{"SECURITY.md", "after decompression | NUMBER |", "client/transport/transport.go", "MessageBytes", inMiB},
	{"SECURITY.md", "| nesting | NUMBER levels |", "jsonrpc/decode.go", "DefaultDepth", plain},
	{"SECURITY.md", "(`WithServerLimits`) | NUMBER |", "client/options.go", "defaultMemoryLimit", inMiB},
	{"SECURITY.md", "| calls in flight to one server | NUMBER |", resilienceGo, "defaultMaxInFlight", plain},
	{"SECURITY.md", "| a call | NUMBER without an answer or progress", resilienceGo, "defaultIdleTimeout", inSeconds},
	{"SECURITY.md", "without an answer or progress, NUMBER in all |", resilienceGo, "defaultMaxTime", inMinutes},
	{"SECURITY.md", "| connecting | NUMBER dial,", httpPoolGo, "dialTimeout", inSeconds},
	{"SECURITY.md", "dial, NUMBER TLS,", httpPoolGo, "tlsTimeout", inSeconds},
	{"SECURITY.md", "answers every call within NUMBER;", "client/close.go", "closeTimeout", inSeconds},

	{"docs/resilience.md", "of the caller's context, NUMBER at most", resilienceGo, "defaultMaxTime", inWords},
	{"docs/resilience.md", "retry: NUMBER attempts, paid", "internal/resilience/retry.go", "DefaultAttempts", plain},
	{"docs/resilience.md", "idle timeout: NUMBER, reset by progress", resilienceGo, "defaultIdleTimeout", inSeconds},
	{"docs/resilience.md", "The server's circuit opens after NUMBER failures in a row", breakerGo, "defaultFailureThreshold", plain},
	{"docs/resilience.md", "It stays open for NUMBER.", breakerGo, "defaultCooldown", inSeconds},
	{"docs/resilience.md", "in the stateless era, NUMBER at most", "client/internal/guard/probe.go", "probeTime", inSeconds},
	{"docs/resilience.md", "When the NUMBER are over", breakerGo, "defaultCooldown", inSeconds},
	{"docs/resilience.md", "If nothing comes for NUMBER from a server", resilienceGo, "defaultSilence", inSeconds},
	{"docs/resilience.md", "sends two liveness probes, NUMBER each", silenceGo, "ProbeTime", inSeconds},
	{"docs/resilience.md", "is restarted after at most NUMBER, then", "internal/resilience/backoff.go", "firstRestartPause", inMilliseconds},
	{"docs/resilience.md", "longer pauses up to NUMBER.", "internal/resilience/backoff.go", "maxRestartPause", inSeconds},

	{"CHANGELOG.md", "a circuit breaker (NUMBER failures,", breakerGo, "defaultFailureThreshold", plain},
	{"CHANGELOG.md", "failures, NUMBER, one probe)", breakerGo, "defaultCooldown", inSeconds},
	{"CHANGELOG.md", "a schema cache (NUMBER)", cacheGo, "DefaultTTL", inWords},
}

// TestNumbersInDocuments: a number that a document and the code both know is the
// same in both.
func TestNumbersInDocuments(t *testing.T) {
	t.Parallel()
	for _, n := range numbers {
		text, err := os.ReadFile(n.doc)
		require.NoError(t, err)
		source, err := os.ReadFile(n.file)
		require.NoError(t, err)
		require.Empty(t, n.fault(string(text), string(source)))
	}
	// Each bound of the table in SECURITY.md is one of them.
	text, err := os.ReadFile("SECURITY.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "## What is bounded")
	table, _, _ = strings.Cut(table, "## ")
	rows, claimed := 0, 0
	for row := range strings.Lines(table) {
		if !strings.HasPrefix(row, "|") || !regexp.MustCompile(`\d`).MatchString(row) {
			continue
		}
		rows++
		for _, n := range numbers {
			if before, after, _ := strings.Cut(n.sentence, "NUMBER"); n.doc == "SECURITY.md" && strings.Contains(row, before) && strings.Contains(row, after) {
				claimed++
				break
			}
		}
	}
	require.Equal(t, rows, claimed, "a row of the table has a number that the test does not know")
}

// fault says what is wrong with a number, "" for nothing.
func (n number) fault(text, source string) string {
	value, err := constantIn(source, n.name)
	if err != nil {
		return fmt.Sprintf("%s: %s: %v", n.file, n.name, err)
	}
	want := strings.Replace(n.sentence, "NUMBER", n.say(value), 1)
	// A sentence may go on in the next line.
	if strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(want), " ")) {
		return ""
	}
	return fmt.Sprintf("%s does not say %q; %s in %s is that", n.doc, want, n.name, n.file)
}

// say is a value in the form of the number's unit.
func (n number) say(value int64) string {
	per := map[string]float64{inSeconds: 1e9, inMilliseconds: 1e6, inMinutes: 60e9, inWords: 60e9, inMiB: 1 << 20, plain: 1}[n.unit]
	said := float64(value) / per
	if said != math.Trunc(said) {
		return fmt.Sprintf("%v of %s", said, n.unit)
	}
	text := fmt.Sprintf(n.unit, int64(said))
	if n.unit == plain && said >= 10_000 {
		text = text[:len(text)-3] + "," + text[len(text)-3:]
	}
	return text
}

// constantIn is the value that Go source gives to a constant, or to a field. A
// duration is in nanoseconds.
func constantIn(source, name string) (int64, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", source, 0)
	if err != nil {
		return 0, err
	}
	var value ast.Expr
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ValueSpec:
			for i, id := range node.Names {
				if id.Name == name && i < len(node.Values) {
					value = node.Values[i]
				}
			}
		case *ast.AssignStmt:
			if field, ok := node.Lhs[0].(*ast.SelectorExpr); ok && field.Sel.Name == name {
				value = node.Rhs[0]
			}
		}
		return value == nil
	})
	if value == nil {
		return 0, fmt.Errorf("is not in it")
	}
	var text bytes.Buffer
	if err := printer.Fprint(&text, fset, value); err != nil {
		return 0, err
	}
	units := strings.NewReplacer("time.Millisecond", "1000000", "time.Second", "1000000000", "time.Minute", "60000000000", "time.Hour", "3600000000000")
	tv, err := types.Eval(fset, nil, token.NoPos, units.Replace(text.String()))
	if err != nil {
		return 0, err
	}
	n, exact := constant.Int64Val(constant.ToInt(tv.Value))
	if !exact {
		return 0, fmt.Errorf("%s is no whole number", text.String())
	}
	return n, nil
}

// The comparison fails when a document and the code differ.
func TestNumbersCheckCanFail(t *testing.T) {
	t.Parallel()
	n := number{"doc", "waits NUMBER at most", "code", "most", inSeconds}
	const code = "package p\nimport \"time\"\nconst most = 2 * 5 * time.Second\n"
	require.Empty(t, n.fault("It waits 10 s\nat most.", code))
	require.Contains(t, n.fault("It waits 15 s at most.", code), `does not say "waits 10 s at most"`)
	require.Contains(t, n.fault("It waits 10 s at most.", strings.Replace(code, "most", "least", 1)), "is not in it")
	n.unit = plain
	require.Equal(t, "10,000", n.say(10_000))
	n.unit = inMiB
	require.Contains(t, n.say(16<<20+1), "of")
}
