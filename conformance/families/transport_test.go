package families

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// One line comes back, with nothing of the payload's line ends in it; Scan has
// cut it at the first.
func TestDirectLine_S1_TRANS_01(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	a := w.ask(`{"jsonrpc":"2.0","id":1,"method":"_test/echo","params":{"a":"one\ntwo\r\nthree\u2028"}}`)
	require.JSONEq(t, `{"a":"one\ntwo\r\nthree\u2028"}`, string(a.Result))
	require.Equal(t, "2", string(w.ask(`{"jsonrpc":"2.0","id":2,"method":"_test/echo"}`).ID), "the next line is the next answer")

	c := dial(t, onlyCOE)
	require.NotNil(t, c.ask(`{"jsonrpc":"2.0","id":1,"method":"getNextTask"}`).Result)
}

func TestDirectAndWrappedAreTheSame_S1_TRANS_02(t *testing.T) {
	t.Parallel()
	w := dial(t, onlyCOE)
	direct := w.ask(`{"jsonrpc":"2.0","id":1,"method":"getNextTask","params":{}}`)
	require.Nil(t, direct.Error)
	w.handshake("2025-11-25")
	var wrapped struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	require.NoError(t, json.Unmarshal(w.call("getNextTask", map[string]any{}).Result, &wrapped))
	require.JSONEq(t, string(direct.Result), wrapped.Content[0].Text)
	require.JSONEq(t, string(direct.Result), string(wrapped.StructuredContent))
}

// A line is what ends with a newline, however it is written.
func TestWrites_S1_TRANS_03(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	echo := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"_test/echo","params":{"of":` + id + `}}` + "\n"
	}
	write := func(parts ...string) {
		go func() {
			for _, part := range parts {
				_, _ = io.WriteString(w.in, part)
			}
		}()
	}
	write(echo("1") + echo("2"))
	seen := map[string]string{}
	for range 2 {
		a := w.recv()
		seen[string(a.ID)] = string(a.Result)
	}
	require.Equal(t, map[string]string{"1": `{"of":1}`, "2": `{"of":2}`}, seen)
	three := echo("3")
	write(three[:10], three[10:40], three[40:])
	require.JSONEq(t, `{"of":3}`, string(w.recv().Result))
	four, five := echo("4"), echo("5")
	write(four[:20], four[20:]+five[:7], five[7:]) // the end of one and the beginning of the next
	for range 2 {
		a := w.recv()
		seen[string(a.ID)] = string(a.Result)
	}
	require.Equal(t, `{"of":4}`, seen["4"])
	require.Equal(t, `{"of":5}`, seen["5"])
}

// Text of several bytes a character survives a cut at every one of them.
func TestSplitText_S1_TRANS_04(t *testing.T) {
	t.Parallel()
	w := dial(t, func(o *Options) { o.Extra = []*family.Family{free()} })
	const text = "é€𝄞漢字👩‍👩‍👧 a\u0301"
	line := `{"jsonrpc":"2.0","id":"` + text + `","method":"_test/echo","params":{"text":"` + text + `"}}` + "\n"
	go func() {
		for i := range len(line) {
			_, _ = io.WriteString(w.in, line[i:i+1])
		}
	}()
	a := w.recv()
	var id string
	var got struct{ Text string }
	require.NoError(t, json.Unmarshal(a.ID, &id))
	require.NoError(t, json.Unmarshal(a.Result, &got))
	require.Equal(t, text, id)
	require.Equal(t, text, got.Text)
	require.NotContains(t, strings.ToValidUTF8(string(a.Result), "\ufffd"), "\ufffd")
}
