package mcp

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// everyType is a fresh value of every type of the package that is coded.
func everyType() map[string]func() object {
	out := map[string]func() object{}
	for _, types := range []map[string]func() object{goTypes, extensionTypes} {
		for _, fresh := range types {
			out[reflect.TypeOf(fresh()).Elem().Name()] = fresh
		}
	}
	for _, fresh := range []func() object{
		func() object { return &ResourceNotFoundData{} },
		func() object { return &URLElicitationRequiredData{} },
		func() object { return &MissingCapabilityData{} },
		func() object { return &UnsupportedVersionData{} },
		func() object { return &Completion{} },
		func() object { return &CompletionArgument{} },
		func() object { return &CompletionContext{} },
		func() object { return &ElicitationCapability{} },
		func() object { return &EmptyCapability{} },
		func() object { return &ListChangedCapability{} },
		func() object { return &ResourcesCapability{} },
		func() object { return &SamplingCapability{} },
		func() object { return &TaskElicitationCapability{} },
		func() object { return &TaskRequestsCapability{} },
		func() object { return &TaskSamplingCapability{} },
		func() object { return &TaskToolsCapability{} },
		func() object { return &TasksCapability{} },
	} {
		out[reflect.TypeOf(fresh()).Elem().Name()] = fresh
	}
	return out
}

// TestEveryTypeIsTested finds each coded type of the package in everyType.
func TestEveryTypeIsTested(t *testing.T) {
	t.Parallel()
	known := everyType()
	known["RawContent"] = nil // has no members of its own; see TestContentBlocks
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "fields" || fn.Recv == nil {
				continue
			}
			found++
			typeName := fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name
			require.Contains(t, known, typeName)
		}
	}
	require.Len(t, known, found)
}

// TestUnknownMembers gives every type members without a field. Every encoding must
// write them back.
func TestUnknownMembers(t *testing.T) {
	t.Parallel()
	const extra = `"x-vendor":{"n":9007199254740993.10,"s":"\u0041"},"X":null,"Name":1`
	// These members are enough to read any type.
	const all = `"name":"n","version":"1","uri":"a:b","uriTemplate":"a:{b}","src":"a:b","taskId":"t","status":"working",
		"type":"text","text":"t","data":"aGk=","resource":{"uri":"a:b"},"id":"1","toolUseId":"1","level":"info","role":"user",
		"progressToken":1,"progress":0.5,"action":"accept","protocolVersion":"2025-11-25","supportedVersions":[],"method":"m",
		"completion":{"values":[]},"ref":{"type":"ref/prompt"},"argument":{"name":"n"},"notifications":{},"elicitationId":"e",
		"messages":[],"maxTokens":1,"tools":[],"prompts":[],"resources":[],"resourceTemplates":[],"roots":[],"tasks":[],"contents":[],
		"supported":[],"values":[],"requiredCapabilities":{},"elicitations":[],"task":{"taskId":"t","status":"working"}`
	for name, fresh := range everyType() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var members map[string]json.RawMessage
			require.NoError(t, json.Unmarshal([]byte("{"+all+"}"), &members))
			v := fresh()
			input := readable(t, fresh, members)
			input = strings.TrimSuffix(input, "}") + "," + extra + "}"
			if strings.HasPrefix(input, "{,") {
				input = "{" + input[2:]
			}
			require.NoError(t, Unmarshal([]byte(input), v), input)
			got, ok := reflect.ValueOf(v).Elem().FieldByName("Extra").Interface().(Members).Get("x-vendor")
			require.True(t, ok)
			require.Equal(t, `{"n":9007199254740993.10,"s":"\u0041"}`, string(got))

			ours, err := Marshal(v)
			require.NoError(t, err)
			std, err := json.Marshal(v)
			require.NoError(t, err)
			viaRPC, err := jsonrpc.Marshal(reflect.ValueOf(v).Elem().Interface())
			require.NoError(t, err)
			requireSameJSON(t, ours, std)
			requireSameJSON(t, ours, viaRPC)

			again := fresh()
			require.NoError(t, json.Unmarshal(ours, again))
			out, err := Marshal(again)
			require.NoError(t, err)
			require.Equal(t, string(ours), string(out))
			require.Contains(t, string(out), extra[:len(`"x-vendor":{"n":9007199254740993.10`)])
			require.Contains(t, string(out), `"X":null`)
			require.Contains(t, string(out), `"Name":1`)
		})
	}
}

// readable returns an object with the required members of a type, which it finds by
// trying.
func readable(t *testing.T, fresh func() object, members map[string]json.RawMessage) string {
	t.Helper()
	object := map[string]json.RawMessage{}
	for {
		raw, err := json.Marshal(object)
		require.NoError(t, err)
		err = Unmarshal(raw, fresh())
		if err == nil {
			return string(raw)
		}
		var de *DecodeError
		require.ErrorAs(t, err, &de)
		require.Contains(t, de.Reason, "missing")
		value, known := members[de.Path]
		if _, tried := object[de.Path]; tried || !known {
			require.Equal(t, "content", de.Path, "no value to try")
			value = json.RawMessage(`[]`)
			if _, single := fresh().(*PromptMessage); single {
				value = json.RawMessage(`{"type":"text","text":"t"}`)
			}
		}
		object[de.Path] = value
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in, want string
		into           object
	}{
		{"not an object", `[]`, "want an object, got a list", &Tool{}},
		{"null", `null`, "want an object, got null", &Tool{}},
		{"empty", ``, "", &Tool{}},
		{"half", `{"name":"a"`, "", &Tool{}},
		{"trailing", `{"name":"a"} 1`, "more bytes", &Tool{}},
		{"trailing brace", `{"name":"a"}}`, "", &Tool{}},
		{"duplicate", `{"name":"a","name":"b"}`, "duplicate", &Tool{}},
		{"duplicate by escape", `{"name":"a","n\u0061me":"b"}`, "duplicate", &Tool{}},
		{"duplicate in a raw value", `{"name":"a","inputSchema":{"a":1,"a":2}}`, "inputSchema: duplicate", &Tool{}},
		{"duplicate in an unknown member", `{"name":"a","x":{"a":1,"a":2}}`, "x: duplicate", &Tool{}},
		{"string wanted", `{"name":1}`, "name: want a string, got a number", &Tool{}},
		{"required is null", `{"name":null}`, "name: missing", &Tool{}},
		{"missing", `{}`, "name: missing", &Tool{}},
		{"other case is missing", `{"Name":"a"}`, "name: missing", &Tool{}},
		{"deep", `{"tools":[{"name":"a"},{"name":"b","annotations":{"readOnlyHint":"yes"}}]}`, "tools[1].annotations.readOnlyHint: want a boolean, got a string", &ListToolsResult{}},
		{"list wanted", `{"tools":{}}`, "tools: want a list, got an object", &ListToolsResult{}},
		{"list missing", `{"Tools":[]}`, "tools: missing", &ListToolsResult{}},
		{"element", `{"tools":[null]}`, "tools[0]: want an object, got null", &ListToolsResult{}},
		{"cursor", `{"tools":[],"nextCursor":7}`, "nextCursor: want a string, got a number", &ListToolsResult{}},
		{"strings", `{"supportedVersions":["a",1]}`, "supportedVersions[1]: want a string", &DiscoverResult{}},
		{"map value", `{"name":"p","arguments":{"a":1}}`, "arguments.a: want a string", &GetPromptParams{}},
		{"map", `{"name":"p","arguments":[]}`, "arguments: want an object", &GetPromptParams{}},
		{"token", `{"progressToken":1.5,"progress":1}`, "progressToken: want a string or an integer", &ProgressParams{}},
		{"token type", `{"progressToken":{},"progress":1}`, "progressToken: want a string or an integer, got an object", &ProgressParams{}},
		{"progress", `{"progressToken":1,"progress":"1"}`, "progress: want a number", &ProgressParams{}},
		{"progress too big", `{"progressToken":1,"progress":1e999}`, "progress: number out of range", &ProgressParams{}},
		{"error object", `{"taskId":"t","status":"failed","error":[]}`, "error: ", &DetailedTask{}},
		{"input request", `{"inputRequests":{"k":{"params":{}}}}`, "inputRequests.k.method: missing", &InputRequiredResult{}},
		{"capability", `{"tools":[]}`, "tools: want an object, got a list", &ServerCapabilities{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := Unmarshal([]byte(tt.in), tt.into)
			var de *DecodeError
			require.ErrorAs(t, err, &de)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestUnmarshalNilPointer(t *testing.T) {
	t.Parallel()
	require.Error(t, Unmarshal([]byte(`{"name":"a"}`), (*Tool)(nil)))
	got, err := Marshal((*Tool)(nil))
	require.NoError(t, err)
	require.Equal(t, "null", string(got))
}

func TestOtherTypes(t *testing.T) {
	t.Parallel()
	var m map[string]any
	require.NoError(t, Unmarshal([]byte(`{"a":9007199254740993}`), &m))
	require.Equal(t, json.Number("9007199254740993"), m["a"])
	got, err := Marshal(map[string]any{"t": Tool{Name: "a<b"}})
	require.NoError(t, err)
	require.Equal(t, `{"t":{"name":"a<b"}}`, string(got))
	require.Error(t, Unmarshal([]byte(`{"a":1,"a":2}`), &m))
}

// TestPresence: absent and empty members differ, and are written back as received.
func TestPresence(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   string
		into object
		out  string // in when empty
	}{
		{"false spelled out", `{"content":[],"isError":false}`, &CallToolResult{}, ""},
		{"false absent", `{"content":[]}`, &CallToolResult{}, ""},
		{"empty text spelled out", `{"name":"a","description":"","icons":[]}`, &Tool{}, ""},
		{"structured null", `{"content":[],"structuredContent":null}`, &CallToolResult{}, ""},
		{"no content", `{"structuredContent":{}}`, &CallToolResult{}, `{"content":[],"structuredContent":{}}`},
		{"null list", `{"content":null}`, &CallToolResult{}, `{"content":[]}`},
		{"null tools", `{"tools":null,"nextCursor":null}`, &ListToolsResult{}, `{"tools":[]}`},
		{"empty cursor", `{"tools":[],"nextCursor":""}`, &ListToolsResult{}, ""},
		{"zero ttl", `{"tools":[],"ttlMs":0,"cacheScope":"private"}`, &ListToolsResult{}, ""},
		{"null optional", `{"name":"a","title":null,"annotations":null,"outputSchema":null}`, &Tool{}, `{"name":"a"}`},
		{"empty capabilities", `{"experimental":{},"prompts":{"listChanged":false},"tools":{}}`, &ServerCapabilities{}, ""},
		{"one block as a list", `{"role":"user","content":[{"type":"text","text":"a"}]}`, &SamplingMessage{}, ""},
		{"one block alone", `{"role":"user","content":{"type":"text","text":"a"}}`, &SamplingMessage{}, ""},
		{"no blocks", `{"role":"user","content":[]}`, &SamplingMessage{}, ""},
		{"null ttl of a task", `{"taskId":"t","status":"working","createdAt":"c","lastUpdatedAt":"l","ttl":null}`, &Task{}, ""},
		{"empty state", `{"name":"a","arguments":{},"inputResponses":{},"requestState":""}`, &CallToolParams{}, ""},
		{"log data null", `{"level":"info","data":null}`, &LoggingMessageParams{}, ""},
		{"whole number with a fraction", `{"tools":[],"ttlMs":5.0}`, &ListToolsResult{}, `{"tools":[],"ttlMs":5}`},
		{"ttl that is no whole number", `{"tools":[],"ttlMs":1.5}`, &ListToolsResult{}, `{"tools":[],"ttlMs":1}`},
		{"ttl below zero", `{"tools":[],"ttlMs":-1.5}`, &ListToolsResult{}, `{"tools":[],"ttlMs":0}`},
		{"ttl too big", `{"tools":[],"ttlMs":9223372036854775808}`, &ListToolsResult{}, `{"tools":[],"ttlMs":9007199254740992}`},
		{"ttl beyond all", `{"tools":[],"ttlMs":1e999}`, &ListToolsResult{}, `{"tools":[],"ttlMs":9007199254740992}`},
		{"ttl that is no number", `{"supportedVersions":[],"capabilities":{},"ttlMs":"5"}`, &DiscoverResult{}, `{"supportedVersions":[],"capabilities":{},"ttlMs":0}`},
		{"ttl that is a list", `{"prompts":[],"ttlMs":[{"a":1}]}`, &ListPromptsResult{}, `{"prompts":[],"ttlMs":0}`},
		{"scope that is no text", `{"contents":[],"cacheScope":7}`, &ReadResourceResult{}, `{"contents":[]}`},
		{"scope that is an object", `{"resources":[],"cacheScope":{"a":[1]},"x":1}`, &ListResourcesResult{}, `{"resources":[],"x":1}`},
		{"scope that is null", `{"resourceTemplates":[],"cacheScope":null}`, &ListResourceTemplatesResult{}, `{"resourceTemplates":[]}`},
		{"scope that is empty", `{"tools":[],"cacheScope":""}`, &ListToolsResult{}, ""},
		{"exact integer", `{"uri":"a:b","name":"n","size":9007199254740993}`, &Resource{}, ""},
		{"white space", "{ \"name\" : \"a\" ,\n \"inputSchema\" : { \"a\" : [ 1.0 ] } }", &Tool{}, `{"name":"a","inputSchema":{"a":[1.0]}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.out
			if want == "" {
				want = tt.in
			}
			require.NoError(t, Unmarshal([]byte(tt.in), tt.into))
			got, err := Marshal(tt.into)
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		})
	}
}

// TestReuse reads into a value twice. Unknown members and presence of the first reading
// must not remain.
func TestReuse(t *testing.T) {
	t.Parallel()
	var v CallToolResult
	require.NoError(t, Unmarshal([]byte(`{"content":[],"isError":false,"x":1}`), &v))
	require.NoError(t, Unmarshal([]byte(`{"content":[]}`), &v))
	got, err := Marshal(&v)
	require.NoError(t, err)
	require.Equal(t, `{"content":[]}`, string(got))
}

// TestExtraNeverRepeats lets a field win over an Extra member of its name.
func TestExtraNeverRepeats(t *testing.T) {
	t.Parallel()
	v := Tool{Name: "a", Extra: Members{{"name", json.RawMessage(`"b"`)}, {"x", json.RawMessage(`1`)}, {"x", json.RawMessage(`2`)}}}
	got, err := Marshal(&v)
	require.NoError(t, err)
	require.Equal(t, `{"name":"a","x":1}`, string(got))
	_, ok := v.Extra.Get("y")
	require.False(t, ok)
}

func TestInvalidText(t *testing.T) {
	t.Parallel()
	var v CallToolResult
	in := "{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\\ud83d b\"}],\"_meta\":{\"k\":\"\xc3(\"}}"
	require.NoError(t, Unmarshal([]byte(in), &v))
	require.Equal(t, "a\uFFFD\uFFFD b", v.Text())
	require.Equal(t, "{\"k\":\"\uFFFD(\"}", string(v.Meta))
	got, err := Marshal(&TextContent{Text: "a\xff"})
	require.NoError(t, err)
	require.Equal(t, "{\"type\":\"text\",\"text\":\"a\uFFFD\"}", string(got))
}

func TestMarshalRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		in   object
		want string
	}{
		{"bad raw", &CallToolParams{Name: "a", Arguments: json.RawMessage(`{"a":}`)}, "arguments"},
		{"two raw values", &CallToolParams{Name: "a", Arguments: json.RawMessage(`{} {}`)}, "arguments"},
		{"repeated name", &CallToolParams{Name: "a", Arguments: json.RawMessage(`{"a":1,"a":2}`)}, "duplicate"},
		{"empty raw", &CallToolParams{Name: "a", Arguments: json.RawMessage{}}, "arguments"},
		{"bad response", &CallToolParams{Name: "a", InputResponses: InputResponses{"k": json.RawMessage(`x`)}}, "k"},
		{"bad extra", &Tool{Name: "a", Extra: Members{{"x", nil}}}, "x"},
		{"not a number", &ProgressParams{Progress: math.NaN()}, "number"},
		{"infinite", &ProgressParams{Total: ref(math.Inf(1))}, "number"},
		{"nil block", &CallToolResult{Content: []Content{nil}}, "content"},
		{"typed nil block", &CallToolResult{Content: []Content{(*TextContent)(nil)}}, "content"},
		{"bad raw block", &CallToolResult{Content: []Content{&RawContent{Type: "x"}}}, "content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Marshal(tt.in)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	data := []byte(`{"name":"abc","inputSchema":{}}`)
	var shared, copied Tool
	require.NoError(t, Unmarshal(data, &shared))
	require.NoError(t, copied.UnmarshalJSON(data))
	// An append to a raw member does not overwrite the next one.
	_ = append(shared.InputSchema, "xxxxxxxx"...)
	require.Equal(t, `{"name":"abc","inputSchema":{}}`, string(data))
	data[9] = 'X'
	require.Equal(t, "abc", copied.Name, "UnmarshalJSON must copy")
	require.Equal(t, "Xbc", shared.Name, "Unmarshal shares its input")
}

func TestDecodeErrorIsSafeToShow(t *testing.T) {
	t.Parallel()
	var v ServerCapabilities
	err := Unmarshal([]byte(`{"experimental":{"\u001b[2J":{"a":1,"a":2}}}`), &v)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\x1b")
	require.ErrorContains(t, &DecodeError{Reason: "r"}, "r")
}

// Consume reads the same values as Unmarshal, in the memory of the data.
func TestConsume(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`plain`, ``, `\n`, `a\nb`, `\u00e9\ud83d\ude00\ud800 end`, `\"\\\/\b\f\t`, `é\n世界\u4e16`, strings.Repeat(`line\n`, 1000),
	} {
		data := `{"content":[{"type":"text","text":"` + text + `"},{"type":"text","text":"\u0061fter"}],"structuredContent":{"a":"\u0041"}}`
		var want, got CallToolResult
		require.NoError(t, Unmarshal([]byte(data), &want))
		require.NoError(t, Consume([]byte(data), &got))
		require.Equal(t, want, got)
	}
	var got CallToolResult
	require.Error(t, Consume([]byte(`{"content":7}`), &got))
	var other map[string]int
	require.NoError(t, Consume([]byte(`{"a":1}`), &other))
	require.Equal(t, map[string]int{"a": 1}, other)
}
