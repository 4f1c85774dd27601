// Command stations is a network of weather stations as an MCP server, written
// with the standard library only. It speaks the revision 2025-11-25 with
// sessions and the stateless revision 2026-07-28, on stdio or, with -http
// ADDR, over streamable HTTP at /mcp.
//
// DEFECT=name in the environment switches one mistake on.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

var defect = os.Getenv("DEFECT")

func on(name string) bool { return defect == name }

const (
	stateless = "2026-07-28"
	metaKey   = "io.modelcontextprotocol/"
)

var (
	sessionVersions = []string{"2025-11-25", "2025-06-18", "2025-03-26"}
	levels          = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
)

type station struct {
	Code, Name, Region string
	Celsius            float64
	Wind               *float64
}

type network struct {
	sync.Mutex
	stations []*station
}

func newNetwork() *network {
	w := func(v float64) *float64 { return &v }
	n := &network{stations: []*station{
		{"ALP1", "Gletscherhütte", "alps", -4.5, w(31)},
		{"ALP2", "Col de l'Été", "alps", 0, w(12)},
		{"COA1", "Lighthouse \"North\"", "coast", 11.25, w(44.5)},
		{"COA2", "Harbour", "coast", 12, nil},
		{"PLA1", "Mill", "plain", 17.5, w(0)},
	}}
	for i := 1; i <= 18; i++ {
		n.stations = append(n.stations, &station{fmt.Sprintf("VAL%02d", i), fmt.Sprintf("Valley %d", i), "valley", 5 + float64(i)/2, w(float64(i))})
	}
	return n
}

func (n *network) find(code string) *station {
	for _, s := range n.stations {
		if s.Code == code {
			return s
		}
	}
	return nil
}

func (n *network) list(region string) []*station {
	var out []*station
	for _, s := range n.stations {
		if region == "" || s.Region == region {
			out = append(out, s)
		}
	}
	return out
}

type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func fail(code int, format string, args ...any) error {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

type obj = map[string]any

// encode writes a message as one line.
func encode(m *message) []byte {
	if m.Error != nil && on("error-by-printf") {
		return []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"%s"}}`, cmp.Or(string(m.ID), "null"), m.Error.Code, m.Error.Message))
	}
	data, err := json.Marshal(m)
	if err != nil {
		log.Print(err)
	}
	return data
}

type session struct {
	mu      sync.Mutex
	level   string
	running map[string]chan struct{}
	current *call
}

func newSession() *session {
	return &session{level: "warning", running: map[string]chan struct{}{}}
}

type call struct {
	id    json.RawMessage
	token json.RawMessage
	level string // "" when this call shall not log
	stop  chan struct{}
	send  func(*message)
}

func (c *call) notify(method string, params obj) {
	data, _ := json.Marshal(params)
	c.send(&message{JSONRPC: "2.0", Method: method, Params: data})
}

func (c *call) progress(done, total int, text string) {
	if c.token == nil && !on("progress-unasked") {
		return
	}
	var token any = c.token
	if on("progress-token-as-string") {
		token = strings.Trim(string(c.token), `"`)
	}
	c.notify("notifications/progress", obj{"progressToken": token, "progress": done, "total": total, "message": text})
}

func (c *call) log(level, logger string, data any) {
	if c.level == "" {
		return
	}
	if slices.Index(levels, level) < slices.Index(levels, c.level) && !on("log-level-ignored") {
		return
	}
	c.notify("notifications/message", obj{"level": level, "logger": logger, "data": data})
}

type server struct {
	net      *network
	mu       sync.Mutex
	sessions map[string]*session
}

var errRefused = errors.New("refused")

type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MIMEType string `json:"mimeType,omitempty"`
}

type toolResult struct {
	Content    []content `json:"content"`
	Structured any       `json:"structuredContent,omitempty"`
	IsError    bool      `json:"isError,omitempty"`
}

func texts(lines ...string) *toolResult {
	out := []content{}
	for _, l := range lines {
		out = append(out, content{Type: "text", Text: l})
	}
	return &toolResult{Content: out}
}

func structured(v any) *toolResult {
	data, _ := json.Marshal(v)
	r := texts(string(data))
	r.Structured = v
	return r
}

type reading struct {
	Station string   `json:"station"`
	Value   float64  `json:"value"`
	Unit    string   `json:"unit"`
	Wind    *float64 `json:"wind,omitempty"`
}

// hastyReading is what reading looked like before its zero values mattered.
type hastyReading struct {
	Station string   `json:"station"`
	Value   float64  `json:"value,omitempty"`
	Unit    string   `json:"unit"`
	Wind    *float64 `json:"wind,omitempty"`
}

type arguments struct {
	Region  string   `json:"region"`
	Station string   `json:"station"`
	Unit    string   `json:"unit"`
	Celsius *float64 `json:"celsius"`
	Months  *int     `json:"months"`
}

func (s *server) listStations(_ *call, a arguments) (*toolResult, error) {
	var result toolResult
	if !on("no-stations-null") {
		result.Content = []content{}
	}
	for _, st := range s.net.list(a.Region) {
		result.Content = append(result.Content, content{Type: "text", Text: st.Code + " " + st.Name})
	}
	return &result, nil
}

func (s *server) latestReading(c *call, a arguments) (*toolResult, error) {
	st := s.net.find(a.Station)
	if st == nil {
		return nil, fmt.Errorf("no station %s: %w", a.Station, errRefused)
	}
	r := reading{st.Code, st.Celsius, "C", st.Wind}
	if a.Unit == "F" {
		r.Value, r.Unit = st.Celsius*9/5+32, "F"
		if on("fahrenheit-unit-name") {
			r.Unit = "°F"
		}
	}
	c.log("debug", "readings", "read "+st.Code)
	if on("zero-reading-left-out") {
		return structured(hastyReading(r)), nil
	}
	return structured(r), nil
}

func (s *server) recordReading(c *call, a arguments) (*toolResult, error) {
	st := s.net.find(a.Station)
	if st == nil {
		return nil, fmt.Errorf("no station %s: %w", a.Station, errRefused)
	}
	if *a.Celsius < -90 || *a.Celsius > 60 {
		c.log("warning", "readings", obj{"station": st.Code, "rejected": *a.Celsius})
		return nil, fmt.Errorf("%g degrees are not believable: %w", *a.Celsius, errRefused)
	}
	st.Celsius = *a.Celsius
	c.log("info", "readings", obj{"station": st.Code, "celsius": st.Celsius})
	return texts("recorded"), nil
}

func (s *server) climateSummary(c *call, a arguments) (*toolResult, error) {
	months := 5
	if a.Months != nil {
		months = *a.Months
	}
	for i := 1; i <= months; i++ {
		select {
		case <-c.stop:
			return nil, nil
		case <-time.After(60 * time.Millisecond):
		}
		c.progress(i, months, fmt.Sprintf("month %d", i))
	}
	return texts(fmt.Sprintf("%d months summarised", months)), nil
}

type tool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Input       obj    `json:"inputSchema"`
	Output      obj    `json:"outputSchema,omitempty"`
	run         func(*server, *call, arguments) (*toolResult, error)
}

func schema(required []string, props obj) obj {
	return obj{"type": "object", "properties": props, "required": required}
}

var (
	stationArg = obj{"type": "string", "description": "code of a station, like ALP1"}
	regionArg  = obj{"type": "string", "description": "alps, coast, plain or valley; all when left out"}
	tools      = []tool{
		{"list_stations", "Stations of a region", schema([]string{}, obj{"region": regionArg}), nil, (*server).listStations},
		{"latest_reading", "Newest reading of a station", schema([]string{"station"}, obj{"station": stationArg, "unit": obj{"type": "string", "enum": []string{"C", "F"}}}),
			schema([]string{"station", "value", "unit"}, obj{"station": obj{"type": "string"}, "value": obj{"type": "number"}, "unit": obj{"type": "string", "enum": []string{"C", "F"}}, "wind": obj{"type": "number"}}),
			(*server).latestReading},
		{"record_reading", "Record a new reading", schema([]string{"station", "celsius"}, obj{"station": stationArg, "celsius": obj{"type": "number"}}), nil, (*server).recordReading},
		{"climate_summary", "Summarise the last months; takes a while", schema([]string{}, obj{"months": obj{"type": "integer", "minimum": 1, "maximum": 60}}), nil, (*server).climateSummary},
	}
)

// checkArguments tells what is wrong with the arguments of a call.
func checkArguments(t tool, raw json.RawMessage) string {
	given := map[string]any{}
	if raw != nil && json.Unmarshal(raw, &given) != nil {
		return "arguments must be an object"
	}
	for _, name := range t.Input["required"].([]string) {
		if _, ok := given[name]; !ok {
			return name + " is missing"
		}
	}
	for name, value := range given {
		rule, ok := t.Input["properties"].(obj)[name].(obj)
		if !ok {
			continue
		}
		good := false
		switch v := value.(type) {
		case string:
			enum, closed := rule["enum"].([]string)
			good = rule["type"] == "string" && (!closed || slices.Contains(enum, v))
		case float64:
			good = rule["type"] == "number" || rule["type"] == "integer" && v == float64(int(v)) && v >= 1 && v <= 60
		}
		if !good {
			return fmt.Sprintf("%s has a wrong value", name)
		}
	}
	return ""
}

func (s *server) callTool(c *call, params json.RawMessage) (any, error) {
	var p struct {
		Name      string
		Arguments json.RawMessage
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fail(-32602, "invalid params: %v", err)
	}
	i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == p.Name })
	if i < 0 {
		return nil, fail(-32602, "Unknown tool: %s", p.Name)
	}
	if wrong := checkArguments(tools[i], p.Arguments); wrong != "" {
		return &toolResult{Content: texts(wrong).Content, IsError: true}, nil
	}
	var a arguments
	if p.Arguments != nil {
		if err := json.Unmarshal(p.Arguments, &a); err != nil {
			return nil, fail(-32602, "invalid arguments: %v", err)
		}
	}
	if p.Name != "climate_summary" {
		s.net.Lock()
		defer s.net.Unlock()
	}
	result, err := tools[i].run(s, c, a)
	if errors.Is(err, errRefused) {
		return &toolResult{Content: texts(err.Error()).Content, IsError: true}, nil
	}
	return result, err
}

func (s *server) resources() []any {
	out := []any{}
	for _, st := range s.net.stations {
		out = append(out, obj{"uri": "station://" + st.Code + "/readings", "name": st.Name, "mimeType": "text/csv"})
	}
	return out
}

func (s *server) read(modern bool, uri string) (any, error) {
	if rest, ok := strings.CutPrefix(uri, "station://"); ok {
		if code, ok := strings.CutSuffix(rest, "/readings"); ok {
			if st := s.net.find(code); st != nil {
				text := fmt.Sprintf("station,celsius\n%s,%g\n", st.Code, st.Celsius)
				return obj{"contents": []any{obj{"uri": uri, "mimeType": "text/csv", "text": text}}}, nil
			}
		}
	}
	code := -32002
	if modern {
		code = -32602
	}
	return nil, &rpcError{code, "Resource not found: " + uri, obj{"uri": uri}}
}

func template() obj {
	t := "station://{code}/readings"
	if on("template-variable-with-blank") {
		t = "station://{station code}/readings"
	}
	return obj{"uriTemplate": t, "name": "readings", "description": "Readings of one station", "mimeType": "text/csv"}
}

var prompts = []any{obj{"name": "forecast_text", "description": "Write a forecast", "arguments": []obj{
	{"name": "station", "description": "code of the station", "required": true},
	{"name": "tone", "description": "serious or merry"}}}}

func (s *server) getPrompt(name string, args map[string]string) (any, error) {
	if name != "forecast_text" {
		return nil, fail(-32602, "unknown prompt %s", name)
	}
	code, ok := args["station"]
	if !ok {
		return nil, fail(-32602, "argument station is missing")
	}
	text := "Write a " + cmp.Or(args["tone"], "serious") + " forecast for the station " + code
	return obj{"messages": []any{obj{"role": "user", "content": obj{"type": "text", "text": text + "."}}}}, nil
}

func (s *server) complete(params json.RawMessage) (any, error) {
	var p struct {
		Ref      struct{ Type, Name, URI string }
		Argument struct{ Name, Value string }
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, fail(-32602, "invalid params")
	}
	if !(p.Ref.Type == "ref/prompt" && p.Ref.Name == "forecast_text") && !(p.Ref.Type == "ref/resource" && p.Ref.URI == template()["uriTemplate"]) {
		return nil, fail(-32602, "unknown reference")
	}
	values := []string{}
	if p.Argument.Name == "station" || p.Argument.Name == "code" {
		for _, st := range s.net.stations {
			if strings.HasPrefix(st.Code, p.Argument.Value) {
				values = append(values, st.Code)
			}
		}
	}
	sort.Strings(values)
	return obj{"completion": obj{"values": values, "total": len(values), "hasMore": false}}, nil
}

func paginate(key string, items []any, params json.RawMessage) (any, error) {
	const size = 6
	var p struct{ Cursor *string }
	if params != nil {
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, fail(-32602, "invalid params")
		}
	}
	start := 0
	if p.Cursor != nil && !(on("empty-cursor-at-end") && *p.Cursor == "") {
		raw, err := base64.RawURLEncoding.DecodeString(*p.Cursor)
		n, err2 := strconv.Atoi(string(raw))
		if err != nil || err2 != nil || n <= 0 || n >= len(items) {
			return nil, fail(-32602, "invalid cursor")
		}
		start = n
	}
	end := min(start+size, len(items))
	out := obj{key: items[start:end]}
	if end < len(items) {
		out["nextCursor"] = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(end)))
	} else if on("empty-cursor-at-end") {
		out["nextCursor"] = ""
	}
	return out, nil
}

func (s *server) capabilities(modern bool) obj {
	c := obj{"tools": obj{}, "resources": obj{}, "prompts": obj{}, "completions": obj{}, "logging": obj{}}
	if on("logging-undeclared") {
		delete(c, "logging")
	}
	return c
}

var serverInfo = obj{"name": "stations", "version": "0.9.2"}

// answer computes the result of one request.
func (s *server) answer(ses *session, modern bool, m *message, c *call) (any, error) {
	var p struct {
		ProtocolVersion, URI, Name, Level string
		Arguments                         json.RawMessage
	}
	if m.Params != nil {
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return nil, fail(-32602, "invalid params: %v", err)
		}
	}
	switch m.Method {
	case "tools/list":
		out := []any{}
		for _, t := range tools {
			out = append(out, t)
		}
		return paginate("tools", out, m.Params)
	case "tools/call":
		return s.callTool(c, m.Params)
	case "resources/list":
		return paginate("resources", s.resources(), m.Params)
	case "resources/templates/list":
		return paginate("resourceTemplates", []any{template()}, m.Params)
	case "resources/read":
		s.net.Lock()
		defer s.net.Unlock()
		return s.read(modern, p.URI)
	case "prompts/list":
		return paginate("prompts", prompts, m.Params)
	case "prompts/get":
		args := map[string]string{}
		if p.Arguments != nil && json.Unmarshal(p.Arguments, &args) != nil {
			return nil, fail(-32602, "arguments must be strings")
		}
		return s.getPrompt(p.Name, args)
	case "completion/complete":
		return s.complete(m.Params)
	}
	switch {
	case modern && m.Method == "server/discover" && !on("discover-unknown"):
		return obj{"supportedVersions": append([]string{stateless}, sessionVersions...), "capabilities": s.capabilities(true)}, nil
	case !modern && m.Method == "initialize":
		v := p.ProtocolVersion
		if !slices.Contains(sessionVersions, v) && !on("any-version-accepted") {
			v = sessionVersions[0]
		}
		return obj{"protocolVersion": v, "capabilities": s.capabilities(false), "serverInfo": serverInfo}, nil
	case !modern && m.Method == "ping":
		return obj{}, nil
	case !modern && m.Method == "logging/setLevel":
		if !slices.Contains(levels, p.Level) {
			return nil, fail(-32602, "invalid level %s", p.Level)
		}
		ses.mu.Lock()
		ses.level = p.Level
		ses.mu.Unlock()
		return obj{}, nil
	}
	return nil, fail(-32601, "Method not found: %s", m.Method)
}

// metadata reads _meta of a request; modern tells whether it is stateless.
func metadata(m *message) (meta map[string]json.RawMessage, version string, modern bool) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	raw, modern := p.Meta[metaKey+"protocolVersion"]
	_ = json.Unmarshal(raw, &version)
	return p.Meta, version, modern || m.Method == "server/discover"
}

// handle answers a request; nil means that it was cancelled.
func (s *server) handle(ses *session, m *message, send func(*message)) *message {
	meta, version, modern := metadata(m)
	c := &call{id: m.ID, token: meta["progressToken"], stop: make(chan struct{}), send: send}
	reply := &message{JSONRPC: "2.0", ID: m.ID}
	key := string(m.ID)
	ses.mu.Lock()
	ses.current, ses.running[key] = c, c.stop
	c.level = ses.level
	ses.mu.Unlock()
	defer func() {
		ses.mu.Lock()
		delete(ses.running, key)
		ses.mu.Unlock()
	}()
	if modern {
		c.level = ""
		_ = json.Unmarshal(meta[metaKey+"logLevel"], &c.level)
		supported := append([]string{stateless}, sessionVersions...)
		_, named := meta[metaKey+"protocolVersion"]
		_, able := meta[metaKey+"clientCapabilities"]
		switch {
		case named && version != stateless && on("version-error-as-invalid-params"):
			reply.Error = &rpcError{Code: -32602, Message: "unsupported version"}
		case named && version != stateless:
			reply.Error = &rpcError{-32022, "Unsupported protocol version", obj{"supported": supported, "requested": version}}
		case !named || !able:
			reply.Error = &rpcError{Code: -32602, Message: "required _meta fields are missing"}
		}
		if reply.Error != nil {
			return reply
		}
	}
	result, err := s.answer(ses, modern, m, c)
	select {
	case <-c.stop:
		return nil
	default:
	}
	if on("parallel-ids-mixed") {
		ses.mu.Lock()
		reply.ID = ses.current.id
		ses.mu.Unlock()
	}
	var re *rpcError
	switch {
	case errors.As(err, &re):
		reply.Error = re
	case err != nil:
		reply.Error = &rpcError{Code: -32603, Message: err.Error()}
	case modern:
		reply.Result = s.modernise(m.Method, result)
	default:
		reply.Result = result
	}
	return reply
}

// modernise adds what results of the stateless revision carry.
func (s *server) modernise(method string, result any) any {
	if method == "resources/read" && on("read-without-result-type") {
		return result
	}
	data, _ := json.Marshal(result)
	out := obj{}
	_ = json.Unmarshal(data, &out)
	out["resultType"] = "complete"
	out["_meta"] = obj{metaKey + "serverInfo": serverInfo}
	if strings.HasSuffix(method, "/list") || method == "resources/read" || method == "server/discover" {
		out["ttlMs"], out["cacheScope"] = 1000, "public"
	}
	return out
}

// notification takes a message without an id.
func (s *server) notification(ses *session, m *message) {
	var p struct{ RequestID json.RawMessage }
	if m.Method == "notifications/cancelled" && json.Unmarshal(m.Params, &p) == nil {
		ses.mu.Lock()
		if stop, ok := ses.running[string(p.RequestID)]; ok {
			close(stop)
			delete(ses.running, string(p.RequestID))
		}
		ses.mu.Unlock()
	}
}

// parse reads one message; the second result is the error that it earns.
func parse(raw []byte) (*message, *message) {
	var m message
	var in struct {
		message
		Result json.RawMessage `json:"result"`
	}
	if !json.Valid(raw) {
		return nil, &message{JSONRPC: "2.0", Error: &rpcError{Code: -32700, Message: "Parse error"}}
	}
	err := json.Unmarshal(raw, &in)
	m = in.message
	id := strings.TrimSpace(string(m.ID))
	if err != nil || m.JSONRPC != "2.0" || id == "null" || strings.HasPrefix(id, "{") || strings.HasPrefix(id, "[") || (m.Method == "" && in.Result == nil && m.Error == nil) {
		return nil, &message{JSONRPC: "2.0", Error: &rpcError{Code: -32600, Message: "Invalid Request"}}
	}
	return &m, nil
}

func (s *server) serveStdio(in io.Reader, out io.Writer) {
	var writing sync.Mutex
	send := func(m *message) {
		writing.Lock()
		defer writing.Unlock()
		_, _ = out.Write(append(encode(m), '\n'))
	}
	ses := newSession()
	var wg sync.WaitGroup
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		m, wrong := parse(lines.Bytes())
		switch {
		case wrong != nil:
			send(wrong)
		case m.ID == nil:
			s.notification(ses, m)
		case m.Method == "tools/call":
			wg.Add(1)
			m.ID, m.Params = bytes.Clone(m.ID), bytes.Clone(m.Params)
			go func() {
				defer wg.Done()
				if r := s.handle(ses, m, send); r != nil {
					send(r)
				}
			}()
		case m.Method != "":
			send(s.handle(ses, m, send))
		}
	}
	wg.Wait()
}

func writeJSON(w http.ResponseWriter, status int, m *message) {
	if !on("json-without-content-type") {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = w.Write(encode(m))
}

func refuse(w http.ResponseWriter, status, code int, text string, id json.RawMessage) {
	writeJSON(w, status, &message{JSONRPC: "2.0", ID: id, Error: &rpcError{Code: code, Message: text}})
}

func decodeHeader(v string) string {
	if inner, ok := strings.CutPrefix(v, "=?base64?"); ok {
		if b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?=")); err == nil {
			return string(b)
		}
	}
	return v
}

// mismatch tells which mirrored header does not fit the body.
func mismatch(r *http.Request, m *message, version string) string {
	var p struct{ Name, URI string }
	_ = json.Unmarshal(m.Params, &p)
	if r.Header.Get("MCP-Protocol-Version") != version {
		return "MCP-Protocol-Version does not match the body"
	}
	if r.Header.Get("Mcp-Method") != m.Method {
		return "Mcp-Method does not match the body"
	}
	want := map[string]string{"tools/call": p.Name, "prompts/get": p.Name, "resources/read": p.URI}
	if name, ok := want[m.Method]; ok && decodeHeader(r.Header.Get("Mcp-Name")) != name && !on("name-header-unchecked") {
		return "Mcp-Name does not match the body"
	}
	return ""
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()) {
			refuse(w, http.StatusForbidden, -32600, "origin not allowed", nil)
			return
		}
	}
	id := r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	ses := s.sessions[id]
	s.mu.Unlock()
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, id, ses)
	case http.MethodDelete:
		if ses == nil {
			refuse(w, http.StatusNotFound, -32600, "session not found", nil)
			return
		}
		if !on("delete-keeps-session") {
			s.mu.Lock()
			delete(s.sessions, id)
			s.mu.Unlock()
		}
		w.WriteHeader(http.StatusNoContent)
	default:
		if on("get-says-ok") {
			_, _ = io.WriteString(w, "stations server is up\n")
			return
		}
		w.Header().Set("Allow", "POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *server) post(w http.ResponseWriter, r *http.Request, id string, ses *session) {
	accept := r.Header.Get("Accept")
	if !strings.Contains(accept, "*/*") && !(strings.Contains(accept, "application/json") && strings.Contains(accept, "text/event-stream")) {
		refuse(w, http.StatusNotAcceptable, -32600, "accept application/json and text/event-stream", nil)
		return
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		refuse(w, http.StatusUnsupportedMediaType, -32600, "send application/json", nil)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<24))
	if err != nil {
		refuse(w, http.StatusBadRequest, -32600, err.Error(), nil)
		return
	}
	m, wrong := parse(body)
	if wrong != nil {
		writeJSON(w, http.StatusBadRequest, wrong)
		return
	}
	_, version, modern := metadata(m)
	header := r.Header.Get("MCP-Protocol-Version")
	switch {
	case modern && m.ID != nil:
		if text := mismatch(r, m, version); text != "" && version != "" {
			refuse(w, http.StatusBadRequest, -32020, text, m.ID)
			return
		}
		ses = newSession()
	case m.Method == "initialize":
		ses, id = newSession(), rand.Text()
		s.mu.Lock()
		s.sessions[id] = ses
		s.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
	case header == stateless:
		refuse(w, http.StatusBadRequest, -32602, "required _meta fields are missing", m.ID)
		return
	case id == "":
		refuse(w, http.StatusBadRequest, -32600, "Mcp-Session-Id is missing", m.ID)
		return
	case ses == nil:
		refuse(w, http.StatusNotFound, -32600, "session not found", m.ID)
		return
	case header != "" && !slices.Contains(sessionVersions, header):
		refuse(w, http.StatusBadRequest, -32600, "unsupported MCP-Protocol-Version", m.ID)
		return
	}
	if m.ID == nil || m.Method == "" {
		s.notification(ses, m)
		if on("notification-answered-200") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "null")
			return
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if m.Method != "tools/call" {
		reply := s.handle(ses, m, func(*message) {})
		status := http.StatusOK
		if modern && reply.Error != nil {
			switch reply.Error.Code {
			case -32601:
				status = http.StatusNotFound
			case -32022, -32602:
				status = http.StatusBadRequest
			}
		}
		writeJSON(w, status, reply)
		return
	}
	s.stream(w, r, ses, m)
}

// stream answers a call of a tool as server-sent events.
func (s *server) stream(w http.ResponseWriter, r *http.Request, ses *session, m *message) {
	var writing sync.Mutex
	started := false
	event := func(x *message) {
		writing.Lock()
		defer writing.Unlock()
		if !started {
			started = true
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Cache-Control", "no-cache")
			w.Header().Set("X-Accel-Buffering", "no")
		}
		_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", encode(x))
		w.(http.Flusher).Flush()
	}
	reply := s.handle(ses, m, event)
	switch _, _, modern := metadata(m); {
	case reply == nil:
		if !started {
			w.WriteHeader(http.StatusNoContent)
		}
	case modern && reply.Error != nil && !started && reply.Error.Code != -32603:
		writeJSON(w, http.StatusBadRequest, reply)
	default:
		event(reply)
	}
}

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address instead of stdio")
	flag.Parse()
	s := &server{net: newNetwork(), sessions: map[string]*session{}}
	if *addr == "" {
		s.serveStdio(os.Stdin, os.Stdout)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s)
	log.Fatal(http.ListenAndServe(*addr, mux))
}
