package faults

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// messageCase observes a fault that is made of messages, as a client does that
// reads them raw: over every carrier that makes it.
type messageCase struct {
	rule  Rule     // its parameters
	send  []string // one behind the other's answer; empty: one call of a tool
	hear  []int    // how many messages come for each; empty: one for each
	check func(t *testing.T, heard []string)
	calls int // how many calls of tools the server executes
}

var list = request(1, "tools/list", `{}`)

func listFrom(id int, cursor string) string {
	return request(id, "tools/list", `{"cursor":`+quote(cursor)+`}`)
}

// isGood is the answer that nothing was done to.
func isGood(t *testing.T, message string) {
	t.Helper()
	m := parse([]byte(message))
	require.Equal(t, "1", string(m.ID))
	require.Contains(t, string(m.Result), `"text":"done"`)
}

func contains(all ...string) func(*testing.T, []string) {
	return func(t *testing.T, heard []string) {
		t.Helper()
		for i, part := range all {
			require.Contains(t, heard[i], part)
		}
	}
}

// thenGood checks the first message and that the last is the right answer.
func thenGood(first func(t *testing.T, message string)) func(*testing.T, []string) {
	return func(t *testing.T, heard []string) {
		t.Helper()
		first(t, heard[0])
		isGood(t, heard[len(heard)-1])
	}
}

func has(part string) func(*testing.T, string) {
	return func(t *testing.T, message string) { t.Helper(); require.Contains(t, message, part) }
}

// valid is JSON and UTF-8; broken is one of them not.
func notJSON(t *testing.T, message string) { t.Helper(); require.False(t, json.Valid([]byte(message))) }

func notUTF8(t *testing.T, message string) {
	t.Helper()
	require.False(t, utf8.ValidString(message))
}

func first(check func(*testing.T, string)) func(*testing.T, []string) {
	return func(t *testing.T, heard []string) { t.Helper(); check(t, heard[0]) }
}

func deep3(t *testing.T, message string) {
	t.Helper()
	require.Contains(t, message, strings.Repeat("[", 100_000))
}

var messageCases = map[string]messageCase{
	"D1/then-good": {hear: []int{2}, calls: 1, check: thenGood(notJSON)},
	"D1/only":      {calls: 1, check: first(notJSON)},
	"D2/then-good": {hear: []int{2}, calls: 1, check: thenGood(has(`"id":"faults-unknown-id"`))},
	"D2/only":      {calls: 1, check: contains(`"id":"faults-unknown-id"`)},
	"D3/then-good": {hear: []int{2}, calls: 1, check: thenGood(has(`"id":"1"`))},
	"D3/only":      {calls: 1, check: contains(`"id":"1"`)},
	"D4":           {hear: []int{2}, calls: 1, check: func(t *testing.T, heard []string) { isGood(t, heard[0]); isGood(t, heard[1]) }},
	"D6/cancel":    {rule: Rule{When: Selector{Until: Duration(time.Second)}}, hear: []int{0}, calls: 1, check: func(*testing.T, []string) {}},
	"D6/delay":     {rule: Rule{For: Duration(time.Minute)}, calls: 1, check: first(isGood)},
	"D7/both":      {calls: 1, check: contains(`"result":{},"error":`)},
	"D7/neither":   {calls: 1, check: func(t *testing.T, heard []string) { require.Equal(t, `{"jsonrpc":"2.0","id":1}`, heard[0]) }},
	"D8/only":      {calls: 1, check: contains(`"id":null,"error":`)},
	"D8/then-good": {hear: []int{2}, calls: 1, check: thenGood(has(`"id":null,"error":`))},
	"D9": {calls: 1, check: func(t *testing.T, heard []string) {
		all := members([]byte(heard[0]))
		require.Len(t, all, 2)
		isGood(t, string(all[1]))
	}},
	"D10/id-first": {calls: 1, check: func(t *testing.T, heard []string) {
		deep3(t, heard[0])
		require.True(t, strings.HasPrefix(heard[0], `{"jsonrpc":"2.0","id":1,`))
	}},
	"D10/id-last": {calls: 1, check: func(t *testing.T, heard []string) {
		deep3(t, heard[0])
		require.True(t, strings.HasSuffix(heard[0], `,"id":1}`))
	}},
	"D11/duplicate":    {calls: 1, check: func(t *testing.T, heard []string) { require.Equal(t, 2, strings.Count(heard[0], `"result"`)) }},
	"D11/number":       {calls: 1, check: first(has("1" + strings.Repeat("0", 400) + "}"))},
	"D11/minus-zero":   {calls: 1, check: contains(":-0}")},
	"D11/surrogate":    {calls: 1, check: contains(`\ud800 `)},
	"D12":              {calls: 1, check: first(notUTF8)},
	"D13":              {calls: 1, check: contains(`"resultType":"faults/unknown"`)},
	"D14/notification": {hear: []int{2}, calls: 1, check: thenGood(has(`"method":"notifications/faults/unknown"`))},
	"D14/request":      {hear: []int{2}, calls: 1, check: thenGood(has(`"id":"faults-request","method"`))},
	"D15/code-string":  {calls: 1, check: contains(`"code":"-32603"`)},
	"D15/code-float":   {calls: 1, check: contains(`"code":-32603.5`)},
	"D15/no-message":   {calls: 1, check: contains(`"error":{"code":-32603}`)},
	"D15/data":         {rule: Rule{Size: 5000}, calls: 1, check: contains(strings.Repeat("x", 5000))},
	"D16":              {rule: Rule{Repeat: 500}, hear: []int{501}, calls: 1, check: thenGood(has(`"data":0`))},
	"D17/id-first": {calls: 1, check: func(t *testing.T, heard []string) {
		require.Greater(t, len(heard[0]), 17<<20)
		require.True(t, strings.HasPrefix(heard[0], `{"jsonrpc":"2.0","id":1,`))
	}},
	"D17/id-last": {rule: Rule{Size: 5000}, calls: 1, check: func(t *testing.T, heard []string) { require.True(t, strings.HasSuffix(heard[0], `,"id":1}`)) }},
	"C12":         {rule: Rule{Repeat: 100}, hear: []int{101}, calls: 1, check: thenGood(has(`"progressToken":"p","progress":1}`))},

	"F1/other":       {send: []string{request(1, "initialize", `{}`), request(2, "server/discover", `{}`)}, check: contains(`"protocolVersion":"1999-01-01"`, `"supportedVersions":["1999-01-01"]`)},
	"F1/unsupported": {send: []string{request(1, "server/discover", `{}`)}, check: contains(`"code":-32022`)},
	"F1/era":         {send: []string{request(1, "server/discover", `{}`)}, check: contains(`"code":-32601`)},
	"F2":             {send: []string{request(1, "initialize", `{}`), list, call(3)}, check: contains(`"capabilities":{}`, `"code":-32601`, `"code":-32601`)},
	"F3/repeat": {send: []string{list, listFrom(2, "faults-cursor-same")}, check: func(t *testing.T, heard []string) {
		for _, page := range heard {
			require.Contains(t, page, `"nextCursor":"faults-cursor-same"`)
			require.Contains(t, page, `"name":"add"`)
		}
	}},
	"F3/endless": {send: []string{list, listFrom(2, "faults-cursor-1")}, check: contains(`"nextCursor":"faults-cursor-1"`, `"nextCursor":"faults-cursor-2"`)},
	"F4": {send: []string{list, listFrom(2, "")}, check: func(t *testing.T, heard []string) {
		require.Contains(t, heard[0], `"nextCursor":""`)
		require.Contains(t, heard[1], `"name":"add"`)
		require.NotContains(t, heard[1], `nextCursor`)
	}},
	"F5":           {send: []string{list, listFrom(2, "faults-cursor-expired")}, check: contains(`"nextCursor":"faults-cursor-expired"`, `"code":-32602`)},
	"F6/duplicate": {send: []string{list}, check: func(t *testing.T, heard []string) { require.Equal(t, 2, strings.Count(heard[0], `"name":"add"`)) }},
	"F6/many":      {send: []string{list}, rule: Rule{Repeat: 1000}, check: contains(`"name":"faults-999"`)},
	"F6/schema":    {send: []string{list}, rule: Rule{Size: 5000}, check: contains(strings.Repeat("x", 5000))},
	"F7":           {rule: Rule{Repeat: 1000}, hear: []int{1001}, calls: 1, check: thenGood(has("notifications/tools/list_changed"))},
	"F8":           {send: []string{list}, hear: []int{2}, check: contains("notifications/tools/list_changed", `"name":"add"`)},
	"F9":           {send: []string{list}, check: contains(`"name":"add"`)},
	"F10/schema":   {send: []string{list, call(2)}, calls: 1, check: contains(`"required":["faultsRequired"]`, `"done"`)},
	"F10/vanished": {send: []string{list, call(2)}, check: func(t *testing.T, heard []string) {
		require.NotContains(t, heard[0], `"name":"add"`)
		require.Contains(t, heard[0], `"name":"sub"`)
		require.Contains(t, heard[1], `"code":-32602`)
	}},
	"F11": {calls: 1, check: contains(`"structuredContent":["not what`)},
	"F12": {send: []string{call(1), call(2)}, check: contains(`"requestState":"faults-1"`, `"requestState":"faults-2"`)},
	"F13": {send: []string{call(1), request(2, "tools/call", `{"name":"add","requestState":"faults-1","inputResponses":{}}`)}, hear: []int{1, 0}, calls: 1, check: contains(`"requestState":"faults-1"`)},
	"F14/decreasing": {hear: []int{3}, calls: 1, check: func(t *testing.T, heard []string) {
		contains(`"progress":5`, `"progress":3`)(t, heard)
		isGood(t, heard[2])
	}},
	"F14/foreign":  {hear: []int{2}, calls: 1, check: thenGood(has(`"progressToken":"faults-unknown-id"`))},
	"F14/after":    {hear: []int{2}, calls: 1, check: func(t *testing.T, heard []string) { isGood(t, heard[0]); require.Contains(t, heard[1], `"progress":1`) }},
	"F16/negative": {send: []string{list}, check: contains(`"ttlMs":-1`)},
	"F16/huge":     {send: []string{list}, check: contains(`"ttlMs":1000000000000000000`)},
	"F16/string":   {send: []string{list}, check: contains(`"ttlMs":"5"`)},
	"F16/absent":   {send: []string{list}, check: func(t *testing.T, heard []string) { require.NotContains(t, heard[0], "ttlMs") }},
	"F17/2":        {check: contains(`"retry_after_seconds":2}`)},
	"F17/negative": {check: contains(`"retry_after_seconds":-1}`)},
	"F17/huge":     {check: contains(`"retry_after_seconds":1000000000}`)},
	"F17/nan":      {check: contains(`"retry_after_seconds":"NaN"}`)},
	"F17/result":   {check: contains(`"isError":true`)},
	"F18": {send: []string{list}, check: func(t *testing.T, heard []string) {
		require.Equal(t, 2, strings.Count(heard[0], `"readOnlyHint":true`))
	}},
	"F19": {send: []string{call(1), request(2, "tasks/get", `{"taskId":"faults-task-1"}`), request(3, "tasks/cancel", `{"taskId":"faults-task-1"}`)}, check: func(t *testing.T, heard []string) {
		for _, state := range heard {
			require.Contains(t, state, `"taskId":"faults-task-1","status":"working"`)
		}
	}},
}

// ruleFor is the case's rule with the fault of its key.
func (c messageCase) ruleFor(key string) Rule {
	r := c.rule
	r.Fault, r.Variant, _ = strings.Cut(key, "/")
	return r
}

func (c messageCase) plan() (send []string, hear []int) {
	send, hear = c.send, c.hear
	if len(send) == 0 {
		send = []string{call(1)}
	}
	if len(hear) == 0 {
		for range send {
			hear = append(hear, 1)
		}
	}
	return send, hear
}

func TestFaultsOfMessagesOverHTTP(t *testing.T) {
	t.Parallel()
	for key, c := range messageCases {
		rule := c.ruleFor(key)
		if f, _ := Find(rule.Fault); !f.Made(HTTP) {
			continue
		}
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				rig := newHTTPRig(t, rule)
				send, hear := c.plan()
				var heard []string
				for i, line := range send {
					g := rig.ask(line)
					now := []string{g.body}
					if g.fail != nil {
						now = nil
					} else if strings.HasPrefix(g.header.Get("Content-Type"), "text/event-stream") {
						now = g.events()
					}
					require.Len(t, now, hear[i])
					heard = append(heard, now...)
				}
				c.check(t, heard)
				require.EqualValues(t, c.calls, rig.server.executed.Load())
				require.Positive(t, rig.proxy.Stats()[rule.Fault])
			})
		})
	}
}

func TestFaultsOfMessagesOverStreams(t *testing.T) {
	t.Parallel()
	for key, c := range messageCases {
		rule := c.ruleFor(key)
		if f, _ := Find(rule.Fault); !f.Made(Stream) {
			continue
		}
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				rig := newStreamRig(t, rule)
				send, hear := c.plan()
				var heard []string
				for i, line := range send {
					rig.say(line)
					now, err := rig.hear(hear[i])
					require.NoError(t, err)
					heard = append(heard, now...)
				}
				c.check(t, heard)
				more, err := rig.hear(1)
				require.ErrorIs(t, err, errSilent)
				require.Empty(t, more)
				require.EqualValues(t, c.calls, rig.server.executed.Load())
				require.Positive(t, rig.proxy.Stats()[rule.Fault])
			})
		})
	}
}
