package client_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/officialschema"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// wire holds every message that a client sends against the official schema of
// the revision it speaks. The servers of these tests have one each, so
// that all tests run under it. Without the schemas beside the checkout only
// what needs no schema is looked at.
type wire struct {
	mu      sync.Mutex
	version mcp.Version       // that the last message was in
	opening string            // id of initialize
	asked   map[string]string // what the server asked for, id to method
	ids     map[string]bool   // of the client's requests
	seen    map[string]int
	faults  []string
	waived  bool
}

// newWire returns a wire whose faults fail the test at its end.
func newWire(t testing.TB) *wire {
	t.Helper()
	w := &wire{asked: map[string]string{}, ids: map[string]bool{}, seen: map[string]int{}}
	t.Cleanup(func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if !w.waived {
			for _, f := range w.faults {
				t.Error("the client sent what the schema does not allow: " + f)
			}
		}
	})
	return w
}

// waive ignores faults that the test makes the client send on purpose; reason describes
// them.
func (w *wire) waive(t testing.TB, reason string) {
	t.Helper()
	require.NotEmpty(t, reason)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waived = true
}

// forget drops the recorded messages, for tests that measure memory.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.ids, w.faults = map[string]string{}, map[string]bool{}, nil
}

// wired checks a client by what it traces, for servers that others wrote.
func wired(t testing.TB) client.Option {
	w := newWire(t)
	return client.WithTrace(transport.Trace{Sent: w.sent, Received: w.received})
}

// outgoing is as much of a message as tells its schema.
type outgoing struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Version mcp.Version `json:"protocolVersion"`
		Meta    struct {
			Version mcp.Version `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

// sent takes what the client has sent.
func (w *wire) sent(frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.check(frame); err != nil && len(w.faults) < 5 {
		w.faults = append(w.faults, fmt.Sprintf("%v in %.2000s", err, frame))
	}
}

// received records a message to the client: it has the revision, and tells what the
// client's answers are about.
func (w *wire) received(frame []byte) {
	frame = bytes.TrimSpace(frame)
	if !bytes.Contains(frame, []byte(`"method"`)) && !bytes.Contains(frame, []byte(`"protocolVersion"`)) {
		return
	}
	var all []json.RawMessage
	if json.Unmarshal(frame, &all) != nil {
		all = []json.RawMessage{frame}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range all {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ ProtocolVersion mcp.Version }
		}
		if json.Unmarshal(one, &m) != nil {
			continue
		}
		switch {
		case m.Method != "" && m.ID != nil:
			w.asked[string(m.ID)] = m.Method
		case m.Method == "" && string(m.ID) == w.opening && m.Result.ProtocolVersion.Known():
			w.version = m.Result.ProtocolVersion
		}
	}
}

// answers are the definitions of what a client answers.
var answers = map[string]string{
	"sampling/createMessage": "CreateMessageResult", "elicitation/create": "ElicitResult",
	"roots/list": "ListRootsResult", "ping": "EmptyResult",
}

// check judges one message. Of many alike only some are looked at.
func (w *wire) check(frame []byte) error {
	if bytes.ContainsAny(frame, "\n\r") {
		return fmt.Errorf("a break in a line (STDIO-01)")
	}
	var m outgoing
	if err := json.Unmarshal(frame, &m); err != nil {
		return err
	}
	switch {
	case m.Method == "initialize":
		w.version, w.opening, w.ids = m.Params.Version, string(m.ID), map[string]bool{}
	case m.Params.Meta.Version != "":
		w.version = m.Params.Meta.Version
	}
	isRequest := m.Method != "" && m.ID != nil
	if isRequest {
		if w.ids[string(m.ID)] {
			return fmt.Errorf("the id %s was used before (RPC-03)", m.ID)
		}
		w.ids[string(m.ID)] = true
	}
	if m.Method == "" && w.version.Era() == mcp.EraStateless {
		if w.asked[string(m.ID)] == mcp.MethodPing && string(m.Result) == "{}" {
			return nil // the schema of this era has no ping
		}
		return fmt.Errorf("an answer in the stateless era to anything but a ping (RPC-14)")
	}
	about := m.Method
	if about == "" {
		about = "answer to " + w.asked[string(m.ID)]
		if w.asked[string(m.ID)] == "" && m.Result != nil {
			return fmt.Errorf("a result that nobody asked for")
		}
	}
	w.seen[about]++
	if n := w.seen[about]; n > 20 && n%100 != 0 {
		return nil
	}
	schemas, err := officialSchemas()
	if err != nil || schemas == nil {
		return err
	}
	version := w.version
	if version == "" && m.Method == "" {
		version = mcp.LatestSession // a ping may be faster than our first message, and is answered
	}
	s := schemas[string(version)]
	if s == nil {
		return fmt.Errorf("a message before there is a revision, or in an unknown one, %q", w.version)
	}
	switch {
	case m.Method == "" && m.Result == nil:
		return s.Validate(s.errorName(), frame)
	case m.Method == "":
		if err := s.Validate("JSONRPCResponse", frame); err != nil {
			return err
		}
		return s.Validate(answers[w.asked[string(m.ID)]], m.Result)
	case isRequest:
		return schemas.validateCall(w.version, "ClientRequest", "JSONRPCRequest", m.Method, frame)
	default:
		return schemas.validateCall(w.version, "ClientNotification", "JSONRPCNotification", m.Method, frame)
	}
}

// validateCall holds a message against the envelope and against the member of
// the union that has its method. What no revision knows is the application's.
func (all schemaSet) validateCall(version mcp.Version, union, envelope, method string, frame []byte) error {
	s := all[string(version)]
	if err := s.Validate(envelope, frame); err != nil {
		return err
	}
	if def := s.methods[union][method]; def != "" {
		return s.Validate(def, frame)
	}
	if version.Era() == mcp.EraStateless && strings.HasPrefix(method, "tasks/") {
		extension := all[extensionFolder]
		if def := extension.methods[union][method]; def != "" {
			return extension.Validate(def, frame)
		}
	}
	for _, other := range all {
		if other.methods[union][method] != "" {
			return fmt.Errorf("%s is not of revision %s", method, version)
		}
	}
	return nil
}

const extensionFolder = "ext-tasks-draft"

// officialSchema is the schema of one revision.
type officialSchema struct {
	*officialschema.Schema
	name    string
	methods map[string]map[string]string // union and method to definition
}

type schemaSet map[string]*officialSchema

// officialSchemas is nil where they are not beside the checkout.
var officialSchemas = sync.OnceValues(func() (schemaSet, error) {
	folder, there := officialschema.Folder(1)
	if !there {
		return nil, nil // it is no fault to have none
	}
	all := schemaSet{}
	for _, v := range mcp.Versions() {
		s, err := loadOfficial(folder, string(v))
		if err != nil {
			return nil, err
		}
		all[string(v)] = s
	}
	s, err := loadOfficial(folder, extensionFolder)
	all[extensionFolder] = s
	return all, err
})

func loadOfficial(folder, name string) (*officialSchema, error) {
	raw, err := os.ReadFile(filepath.Join(folder, name, "schema.json"))
	if err != nil {
		return nil, err
	}
	// The fields of a form may be numbers (NumberSchema), of which the schema of
	// the answer says integer: a slip of the generator that made it.
	if before, after, found := bytes.Cut(raw, []byte(`"ElicitResult": {`)); found {
		after = bytes.Replace(after, []byte(`"integer"`), []byte(`"number"`), 1)
		raw = slices.Concat(before, []byte(`"ElicitResult": {`), after)
	}
	type properties struct{ Method struct{ Const string } }
	type definition struct {
		AnyOf []struct {
			Ref string `json:"$ref"`
		}
		AllOf      []struct{ Properties properties }
		Properties properties
	}
	var doc struct {
		Defs        map[string]definition `json:"$defs"`
		Definitions map[string]definition
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	schema, err := officialschema.New(raw)
	if err != nil {
		return nil, err
	}
	s := &officialSchema{Schema: schema, name: name, methods: map[string]map[string]string{"ClientRequest": {}, "ClientNotification": {}}}
	if doc.Defs == nil {
		doc.Defs = doc.Definitions
	}
	for union, members := range s.methods {
		add := func(def string) {
			d := doc.Defs[def]
			if len(d.AllOf) > 0 {
				d.Properties = d.AllOf[len(d.AllOf)-1].Properties
			}
			if d.Properties.Method.Const != "" {
				members[d.Properties.Method.Const] = def
			}
		}
		add(union) // a union of one
		for _, one := range doc.Defs[union].AnyOf {
			add(one.Ref[strings.LastIndex(one.Ref, "/")+1:])
		}
		for def := range doc.Defs { // the extension has no unions
			if name == extensionFolder && strings.HasSuffix(def, "TaskRequest") && union == "ClientRequest" {
				add(def)
			}
		}
	}
	return s, nil
}

// errorName is what the definition of an answer that is an error is called.
func (s *officialSchema) errorName() string {
	if mcp.Version(s.name).AtLeast(mcp.Version2025_11_25) {
		return "JSONRPCErrorResponse"
	}
	return "JSONRPCError"
}

// onWire checks the clients of an HTTP server.
func onWire(t testing.TB, h http.Handler) http.Handler {
	t.Helper()
	w := newWire(t)
	return w.handler(h)
}

func (w *wire) handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client has gone
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if v := mcp.Version(r.Header.Get("MCP-Protocol-Version")); v.Known() {
				w.mu.Lock()
				w.version = v
				w.mu.Unlock()
			}
			w.sent(body)
		}
		h.ServeHTTP(&tapped{ResponseWriter: rw, w: w}, r)
	})
}

// tapped shows the lines of a reply to a wire, before the client can see them.
type tapped struct {
	http.ResponseWriter
	w    *wire
	rest []byte
}

func (t *tapped) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		line, rest, whole := bytes.Cut(t.rest, []byte("\n"))
		if !whole && !bytes.HasSuffix(line, []byte("}")) && len(line) < 64<<10 {
			break
		}
		t.w.received(bytes.TrimPrefix(line, []byte("data:")))
		t.rest = rest
		if !whole {
			break
		}
	}
	return t.ResponseWriter.Write(p)
}

func (t *tapped) Flush() { _ = http.NewResponseController(t.ResponseWriter).Flush() }

// Unwrap is for [http.ResponseController].
func (t *tapped) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// A wire finds what is wrong: without this, silence would prove nothing.
func TestWireFindsFaults(t *testing.T) {
	t.Parallel()
	if schemas, err := officialSchemas(); err == nil && schemas == nil {
		t.Skip("the official schemas are not here")
	}
	const (
		stamp = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		open  = `{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`
	)
	for name, tt := range map[string]struct {
		frame string
		want  string // "" for none
	}{
		"a good call":                {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x"}}`, ""},
		"a method of no revision":    {`{"jsonrpc":"2.0","id":2,"method":"x/y"}`, ""},
		"a good stateless call":      {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x",` + stamp + `}}`, ""},
		"no name of the tool":        {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}`, `missing properties: ["name"]`},
		"no version":                 {`{"id":2,"method":"tools/call","params":{"name":"x"}}`, `missing properties: ["jsonrpc"]`},
		"an id again":                {`{"jsonrpc":"2.0","id":"1","method":"tools/list"}`, "was used before"},
		"an id that is null":         {`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, "want"},
		"of the other era":           {`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`, "is not of revision 2025-11-25"},
		"of the era before":          {`{"jsonrpc":"2.0","id":2,"method":"ping","params":{` + stamp + `}}`, "is not of revision 2026-07-28"},
		"a stamp without its halves": {`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, "clientCapabilities"},
		"arguments that are a list":  {`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","arguments":[]}}`, `want "object"`},
		"the extension":              {`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{` + stamp + `}}`, `missing properties: ["taskId"]`},
		"a notification":             {`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}`, `missing properties: ["progressToken"]`},
		"an answer":                  {`{"jsonrpc":"2.0","id":"s1","result":{"roots":[{}]}}`, `missing properties: ["uri"]`},
		"an answer to nobody":        {`{"jsonrpc":"2.0","id":"s2","result":{}}`, "nobody asked"},
		"an error":                   {`{"jsonrpc":"2.0","id":"s1","error":{"code":"x"}}`, "Error/properties/code"},
		"two lines":                  {"{\"jsonrpc\":\"2.0\",\n\"id\":2,\"method\":\"tools/list\"}", "break in a line"},
		"a batch":                    {`[{"jsonrpc":"2.0","id":2,"method":"tools/list"}]`, "cannot unmarshal array"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(t)
			w.sent([]byte(open))
			w.received([]byte(`{"jsonrpc":"2.0","id":"1","result":{"protocolVersion":"2025-11-25"}}`))
			w.received([]byte(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`))
			require.Empty(t, w.faults)
			w.sent([]byte(tt.frame))
			if tt.want == "" {
				require.Empty(t, w.faults)
				return
			}
			require.Len(t, w.faults, 1)
			require.Contains(t, w.faults[0], tt.want)
			w.waive(t, "the fault was planted")
		})
	}
}
