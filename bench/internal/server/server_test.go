package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name, message, id, method, tool, args string
	}{
		{"go-sdk", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}`, "7", "tools/call", "echo", `{"n":1}`},
		{"meta first, name last", `{"id":"a-b","method":"tools/call","params":{"_meta":{"x":{"name":"no"}},"arguments":{"name":"no"},"name":"yes"}}`, `"a-b"`, "tools/call", "yes", `{"name":"no"}`},
		{"spaces", "{ \"id\" : 1 ,\n\t\"method\" : \"ping\" }", "1", "ping", "", ""},
		{"notification", `{"method":"notifications/initialized"}`, "", "notifications/initialized", "", ""},
		{"quotes and braces in strings", `{"x":"\\\"}{][","id":3,"y":[{"z":"]"}],"method":"m"}`, "3", "m", "", ""},
		{"params no object", `{"id":1,"params":[1,2],"method":"m"}`, "1", "m", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := parse([]byte(test.message))
			require.NoError(t, err)
			require.Equal(t, []string{test.id, test.method, test.tool, test.args},
				[]string{string(r.id), string(r.method), string(r.tool), string(r.args)})
		})
	}
	for _, bad := range []string{"", "[]", "{", `{"a"`, `{"a":`, `{"a":"b`, `{"a":[`, `{a:1}`, `{"a" 1}`, "noise"} {
		_, err := parse([]byte(bad))
		require.Error(t, err, bad)
	}
}

// Whatever is valid JSON is read the way encoding/json reads it.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1}}}`))
	f.Add([]byte(`{"id":"\\","x":[{"a":"}"}]}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		r, err := parse(message)
		var members map[string]json.RawMessage
		if json.Unmarshal(message, &members) != nil || members == nil {
			return
		}
		require.NoError(t, err)
		if bytes.ContainsRune(message, '\\') || strings.Count(string(message), `"id"`) > 1 {
			return // a name may be written with escapes, or twice
		}
		require.Equal(t, string(members["id"]), string(r.id))
	})
}

func TestNumber(t *testing.T) {
	for args, want := range map[string]int{`{"n":64}`: 64, `{"m":1}`: 0, `{"n":"x"}`: 0, `{"n":-1}`: 0, ``: 0} {
		require.Equal(t, want, request{args: []byte(args)}.number("n"), args)
	}
}

func TestAnswersAreJSON(t *testing.T) {
	require.Len(t, SmallText, 96)
	for _, modern := range []bool{false, true} {
		a := newAnswers(modern, 1000, "")
		for _, result := range [][]byte{a.initialize, a.discover, a.tools, a.small, a.ofSize(1000), a.count(3)} {
			require.True(t, json.Valid(result), "%.200s", result)
		}
		var list struct{ Tools []struct{ Name string } }
		require.NoError(t, json.Unmarshal(a.tools, &list))
		require.Len(t, list.Tools, 1000)
		require.Equal(t, FilledTool(999), list.Tools[999].Name)
		require.InDelta(t, 1_340_000, len(a.tools), 200_000, "the size the workload is known for")
		var call struct{ Content []struct{ Text string } }
		require.NoError(t, json.Unmarshal(a.ofSize(1000), &call))
		require.Equal(t, Text(1000), call.Content[0].Text)
		require.Len(t, call.Content[0].Text, 1000)
	}
}

func TestArgs(t *testing.T) {
	want := Options{Modern: true, Tools: 9, Prepare: 5, SSE: true, Stream: true, Heir: true, Pid: "/x y"}
	got, err := ParseArgs(want.Args())
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = ParseArgs([]string{"-none"})
	require.Error(t, err)
}

func call(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", id, tool, args)
}

func TestStdio(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}` + "\n" + call(1, "hold", `{"n":2}`) + call(2, "silent", `{}`) +
		call(3, "count", `{}`) + call(4, "hold", `{"n":2}`) + call(5, "large", `{"size":100000}`) +
		call(6, "sink", `{"payload":"`+strings.Repeat("p", 200_000)+`"}`) + `{"jsonrpc":"2.0","id":7,"method":"server/discover"}` + "\n"
	var out bytes.Buffer
	require.NoError(t, Stdio(Options{Tools: OwnTools}, strings.NewReader(in), &out))
	var ids []int
	texts := map[int]string{}
	lines := bufio.NewReader(&out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		var answer struct {
			ID     int
			Result struct{ Content []struct{ Text string } }
			Error  *struct{ Code int }
		}
		require.NoError(t, json.Unmarshal(line, &answer))
		ids = append(ids, answer.ID)
		if len(answer.Result.Content) > 0 {
			texts[answer.ID] = answer.Result.Content[0].Text
		}
		require.Equal(t, answer.ID == 7, answer.Error != nil, "only the other era's request is refused")
	}
	require.Equal(t, []int{0, 3, 1, 4, 5, 6, 7}, ids)
	require.Equal(t, map[int]string{1: SmallText, 3: "n", 4: SmallText, 5: Text(100_000), 6: SmallText}, texts)
}

func TestHTTP(t *testing.T) {
	for _, sse := range []bool{false, true} {
		stop, in := io.Pipe()
		out, address := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- HTTP(t.Context(), Options{Tools: OwnTools, SSE: sse}, stop, address) }()
		url, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		url = strings.TrimSpace(url)

		post := func(body string) (*http.Response, string) {
			resp, err := http.Post(url, "application/json", strings.NewReader(body))
			require.NoError(t, err)
			text, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			return resp, string(text)
		}
		resp, _ := post(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
		require.Equal(t, "session-1", resp.Header.Get("Mcp-Session-Id"))
		resp, _ = post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		require.Equal(t, http.StatusAccepted, resp.StatusCode)
		resp, _ = post(`noise`)
		require.Equal(t, http.StatusBadRequest, resp.StatusCode)
		for _, size := range []int{10, 100_000} {
			_, text := post(call(2, "large", fmt.Sprintf(`{"size":%d}`, size)))
			if sse {
				require.True(t, strings.HasPrefix(text, "event: message\ndata: ") && strings.HasSuffix(text, "\n\n"), "%.50q", text)
				text = strings.TrimPrefix(text, "event: message\ndata: ")
			}
			require.True(t, json.Valid([]byte(text)), "%.50q", text)
		}
		resp, err = http.Get(url)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusMethodNotAllowed, resp.StatusCode)

		require.NoError(t, in.Close())
		require.NoError(t, <-ended)
		http.DefaultClient.CloseIdleConnections()
	}
}
