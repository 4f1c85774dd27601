// Command clinic is the MCP server of a clinic's calendar, built with the
// official Go SDK. It speaks stdio, or streamable HTTP with -http ADDR (at
// /mcp). DEFECT=name switches on one mistake.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func defect(name string) bool { return os.Getenv("DEFECT") == name }

type doctor struct {
	Name  string  `json:"name"`
	Field string  `json:"field"`
	Fee   float64 `json:"fee"`
	slots []string
}

type appointment struct {
	ID      string `json:"id"`
	Doctor  string `json:"doctor"`
	Slot    string `json:"slot"`
	Patient string `json:"patient"`
	Notes   *notes `json:"notes,omitempty"`
}

type notes struct {
	Text string `json:"text"`
}

// calendar is everything the clinic knows.
type calendar struct {
	mu           sync.Mutex
	doctors      []*doctor
	appointments map[string]*appointment
	next         int
	server       *mcp.Server
	lastSession  *mcp.ServerSession
}

func newCalendar() *calendar {
	return &calendar{
		doctors: []*doctor{
			{"Dr Amsel", "general", 45, []string{"2026-12-01T09:00", "2026-12-01T09:30", "2026-12-02T14:00"}},
			{"Dr Özil", "heart", 90, []string{"2026-12-01T10:00"}},
			{"Dr Reed", "skin", 70, nil},
		},
		appointments: map[string]*appointment{
			"A1": {"A1", "Dr Amsel", "2026-11-30T09:00", "Jo March", &notes{"Cough since Friday."}},
			"A2": {"A2", "Dr Özil", "2026-11-30T10:00", "Ben Okri", nil},
			"A3": {"A3", "Dr Reed", "2026-11-30T11:00", "Uma Thal", &notes{"Rash, left arm."}},
		},
		next: 4,
	}
}

func (c *calendar) doctor(name string) *doctor {
	for _, d := range c.doctors {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func (c *calendar) find(id string) (appointment, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.appointments[id]; a != nil {
		return *a, true
	}
	return appointment{}, false
}

func (c *calendar) ids() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := []string{}
	for id := range c.appointments {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func appointmentURI(id string) string { return "clinic://appointment/" + id }

func (c *calendar) addResource(id string) {
	c.server.AddResource(&mcp.Resource{URI: appointmentURI(id), Name: "appointment " + id, MIMEType: "application/json"}, c.readAppointment)
}

func say(format string, a ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, a...)}}}
}

func sorry(format string, a ...any) *mcp.CallToolResult {
	r := say(format, a...)
	r.IsError = true
	return r
}

func schema(text string) *jsonschema.Schema {
	s := new(jsonschema.Schema)
	if err := json.Unmarshal([]byte(text), s); err != nil {
		panic(err)
	}
	return s
}

// checked validates the arguments of an untyped tool against its schema.
func checked(t *mcp.Tool, h mcp.ToolHandler) mcp.ToolHandler {
	if defect("unchecked-arguments") {
		return h
	}
	resolved, err := t.InputSchema.(*jsonschema.Schema).Resolve(nil)
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		args := map[string]any{}
		if len(r.Params.Arguments) > 0 {
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return sorry("the arguments are no object: %v", err), nil
			}
		}
		if err := resolved.Validate(args); err != nil {
			return sorry("%v", err), nil
		}
		return h(ctx, r)
	}
}

func (c *calendar) addTools() {
	s := c.server
	yes, no := true, false
	mcp.AddTool(s, &mcp.Tool{Name: "list_doctors", Description: "Who works at the clinic.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no}}, c.listDoctors)

	slotsTool := &mcp.Tool{Name: "find_slots", Description: "Free times of a doctor, soonest first.",
		InputSchema: schema(`{"type":"object","properties":{"doctor":{"type":"string"},"day":{"type":"string","pattern":"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
			"currency":{"type":"string","enum":["EUR","CHF"],"description":"also tell the fee, in this currency"}},"required":["doctor"]}`),
		OutputSchema: schema(`{"type":"object","properties":{"doctor":{"type":"string"},"slots":{"type":"array","items":{"type":"string"}},
			"fee":{"type":"object","properties":{"amount":{"type":"number"},"currency":{"type":"string"}},"required":["amount","currency"]}},"required":["doctor","slots"]}`),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	s.AddTool(slotsTool, checked(slotsTool, c.findSlots))

	mcp.AddTool(s, &mcp.Tool{Name: "book_appointment", Description: "Books a free time for a patient.",
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &no}}, c.book)

	cancelTool := &mcp.Tool{Name: "cancel_appointment", Description: "Cancels an appointment; the user is asked for a reason.",
		InputSchema: schema(`{"type":"object","properties":{"id":{"type":"string"},"reason":{"type":"string","description":"asks no question if given"}},"required":["id"]}`),
		Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}}
	s.AddTool(cancelTool, checked(cancelTool, c.cancel))

	cardTool := &mcp.Tool{Name: "appointment_card", Description: "A card for the patient, with a link to the appointment.",
		InputSchema: schema(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)}
	s.AddTool(cardTool, checked(cardTool, c.card))

	exportTool := &mcp.Tool{Name: "export_calendar", Description: "Writes out the calendar, day by day; takes a moment.",
		InputSchema: schema(`{"type":"object","properties":{"days":{"type":"integer","minimum":1,"maximum":60},"pauseMs":{"type":"integer","minimum":0,"maximum":1000}}}`)}
	s.AddTool(exportTool, checked(exportTool, c.export))

	summaryTool := &mcp.Tool{Name: "summarise_notes", Description: "Has the client's model summarise the notes of an appointment.",
		InputSchema: schema(`{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]}`)}
	s.AddTool(summaryTool, checked(summaryTool, c.summarise))
}

type doctorList struct {
	Doctors []doctor `json:"doctors"`
}

func (c *calendar) listDoctors(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, doctorList, error) {
	var l doctorList
	for _, d := range c.doctors {
		l.Doctors = append(l.Doctors, *d)
	}
	return nil, l, nil
}

func (c *calendar) findSlots(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Doctor, Day, Currency string }
	json.Unmarshal(r.Params.Arguments, &in)
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.doctor(in.Doctor)
	if d == nil {
		if defect("business-error-protocol") {
			return nil, fmt.Errorf("there is no doctor %q", in.Doctor)
		}
		if defect("unchecked-arguments") && in.Doctor == "" {
			d = c.doctors[0]
		} else {
			return sorry("There is no doctor %q.", in.Doctor), nil
		}
	}
	found := []string{}
	if defect("no-slots-null") {
		found = nil
	}
	for _, s := range d.slots {
		if in.Day == "" || strings.HasPrefix(s, in.Day) {
			found = append(found, s)
		}
	}
	out := map[string]any{"doctor": d.Name, "slots": found}
	if in.Currency != "" {
		amount := d.Fee
		if in.Currency == "CHF" {
			amount *= 0.95
		}
		out["fee"] = map[string]any{"amount": amount, "currency": in.Currency}
		if defect("fee-in-words") {
			out["fee"] = fmt.Sprintf("%.2f %s", amount, in.Currency)
		}
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(b)}}, StructuredContent: out}, nil
}

type booking struct {
	Doctor  string `json:"doctor"`
	Slot    string `json:"slot" jsonschema:"a time that find_slots gave"`
	Patient string `json:"patient"`
	Notes   string `json:"notes,omitempty"`
}

func (c *calendar) book(_ context.Context, _ *mcp.CallToolRequest, in booking) (*mcp.CallToolResult, appointment, error) {
	c.mu.Lock()
	d := c.doctor(in.Doctor)
	if d == nil {
		c.mu.Unlock()
		return nil, appointment{}, fmt.Errorf("there is no doctor %q", in.Doctor)
	}
	i := slices.Index(d.slots, in.Slot)
	if i < 0 {
		if !defect("keeps-lock") {
			c.mu.Unlock()
		}
		return nil, appointment{}, fmt.Errorf("%s is not free at %s", in.Doctor, in.Slot)
	}
	d.slots = slices.Delete(d.slots, i, i+1)
	a := &appointment{ID: fmt.Sprintf("A%d", c.next), Doctor: d.Name, Slot: in.Slot, Patient: in.Patient}
	if in.Notes != "" {
		a.Notes = &notes{in.Notes}
	}
	c.next++
	c.appointments[a.ID] = a
	copied := *a
	c.mu.Unlock()
	c.addResource(a.ID)
	return nil, copied, nil
}

func can(r *mcp.CallToolRequest) *mcp.ClientCapabilities {
	if p := r.Session.InitializeParams(); p != nil && p.Capabilities != nil {
		return p.Capabilities
	}
	return &mcp.ClientCapabilities{}
}

func (c *calendar) cancel(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ ID, Reason string }
	json.Unmarshal(r.Params.Arguments, &in)
	a, ok := c.find(in.ID)
	if !ok {
		return sorry("There is no appointment %q.", in.ID), nil
	}
	if in.Reason == "" {
		answer, ok := r.Params.InputResponses["reason"].(*mcp.ElicitResult)
		if !ok {
			if can(r).Elicitation == nil {
				return sorry("Call again with a reason."), nil
			}
			reason := map[string]any{"type": "string", "title": "Reason", "enum": []string{"ill", "no time", "other"}}
			if defect("elicits-list") {
				reason = map[string]any{"type": "array", "title": "Reasons", "items": map[string]any{"type": "object", "properties": map[string]any{"reason": map[string]any{"type": "string"}}}}
			}
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"reason": &mcp.ElicitParams{Mode: "form",
				Message:         fmt.Sprintf("Why is %s's appointment on %s cancelled?", a.Patient, a.Slot),
				RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"reason": reason}, "required": []string{"reason"}}}}}, nil
		}
		if answer.Action != "accept" {
			return say("%s stays: the user said %s.", a.ID, answer.Action), nil
		}
		in.Reason, _ = answer.Content["reason"].(string)
	}
	c.mu.Lock()
	if held := c.appointments[a.ID]; held != nil {
		held.Slot, held.Notes = "cancelled", &notes{"Cancelled: " + in.Reason}
	}
	c.mu.Unlock()
	if !defect("silent-cancel") {
		c.server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: appointmentURI(a.ID)})
	}
	return say("%s is cancelled (%s).", a.ID, in.Reason), nil
}

func (c *calendar) card(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ ID string }
	json.Unmarshal(r.Params.Arguments, &in)
	a, ok := c.find(in.ID)
	if !ok {
		return sorry("There is no appointment %q.", in.ID), nil
	}
	priority := 0.5
	if defect("priority-of-ten") {
		priority = 5
	}
	text := fmt.Sprintf("%s: %s with %s", a.Slot, a.Patient, a.Doctor)
	if a.Notes != nil || defect("notes-expected") {
		text += "\n" + a.Notes.Text
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: text, Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: priority}},
		&mcp.ResourceLink{URI: appointmentURI(a.ID), Name: a.ID, MIMEType: "application/json"},
	}}, nil
}

func (c *calendar) export(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := struct{ Days, PauseMs int }{Days: 4, PauseMs: 40}
	json.Unmarshal(r.Params.Arguments, &in)
	session := r.Session
	if defect("last-session") {
		c.mu.Lock()
		session = c.lastSession
		c.mu.Unlock()
	}
	if defect("cancel-unheard") {
		ctx = context.WithoutCancel(ctx)
	}
	token := r.Params.GetProgressToken()
	report := func(done, total int, what string) {
		if token == nil && !defect("tokenless-progress") {
			return
		}
		session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(done), Total: float64(total), Message: what})
	}
	level := mcp.LoggingLevel("warning")
	if defect("level-warn") {
		level = "warn"
	}
	days := 0
	for day := 1; day <= in.Days; day++ {
		select {
		case <-time.After(time.Duration(in.PauseMs) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		days++
		report(day, in.Days*2, fmt.Sprintf("day %d read", day))
	}
	session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "export", Data: map[string]any{"days": days, "unsigned": 1}})
	late := func() {
		for day := 1; day <= in.Days; day++ {
			done := in.Days + day
			if defect("progress-restarts") {
				done = day
			}
			report(done, in.Days*2, fmt.Sprintf("day %d written", day))
		}
	}
	if defect("late-progress") {
		ctx = context.WithoutCancel(ctx)
		go func() { time.Sleep(150 * time.Millisecond); late() }()
	} else {
		late()
	}
	return say("%d days exported.", days), nil
}

func (c *calendar) summarise(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ ID string }
	json.Unmarshal(r.Params.Arguments, &in)
	a, ok := c.find(in.ID)
	if !ok || a.Notes == nil {
		return sorry("There are no notes for %q.", in.ID), nil
	}
	if can(r).Sampling == nil && !defect("samples-unasked") {
		return sorry("The client has no model to offer."), nil
	}
	var content []mcp.Content
	switch answer := r.Params.InputResponses["summary"].(type) {
	case *mcp.CreateMessageResult:
		content = []mcp.Content{answer.Content}
	case *mcp.CreateMessageWithToolsResult:
		content = answer.Content
	default:
		role := mcp.Role("user")
		if defect("sampling-system-role") {
			role = "system"
		}
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"summary": &mcp.CreateMessageParams{MaxTokens: 100,
			Messages: []*mcp.SamplingMessage{{Role: role, Content: &mcp.TextContent{Text: "Summarise: " + a.Notes.Text}}}}}}, nil
	}
	for _, block := range content {
		if t, ok := block.(*mcp.TextContent); ok {
			return say("%s", t.Text), nil
		}
	}
	return sorry("The model did not answer with text."), nil
}

func (c *calendar) readAppointment(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	a, ok := c.find(strings.TrimPrefix(r.Params.URI, "clinic://appointment/"))
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	b, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(b)}}}, nil
}

func (c *calendar) readDoctor(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, "clinic://doctor/"))
	if err != nil {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.doctor(name)
	if d == nil {
		if defect("missing-doctor-empty") {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
		}
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	uri := r.Params.URI
	if defect("bare-doctor-uri") {
		uri = "clinic://doctor/" + d.Name
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain",
		Text: fmt.Sprintf("%s, %s\n%s", d.Name, d.Field, strings.Join(d.slots, "\n"))}}}, nil
}

func (c *calendar) reminder(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	a, ok := c.find(r.Params.Arguments["id"])
	if !ok && !defect("prompt-needs-nothing") {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "id must name an appointment"}
	}
	tone := r.Params.Arguments["tone"]
	if tone == "" {
		tone = "friendly"
	}
	return &mcp.GetPromptResult{Description: "Reminds a patient", Messages: []*mcp.PromptMessage{
		{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf("Write a %s reminder to %s for %s with %s.", tone, a.Patient, a.Slot, a.Doctor)}}}}, nil
}

func (c *calendar) complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	invalid := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "nothing to complete there"}
	if r.Params.Ref == nil {
		return nil, invalid
	}
	var from []string
	switch ref, arg := r.Params.Ref, r.Params.Argument.Name; {
	case ref.Type == "ref/prompt" && ref.Name == "reminder" && arg == "tone":
		from = []string{"brief", "cheerful", "formal", "friendly"}
	case ref.Type == "ref/prompt" && ref.Name == "reminder" && arg == "id":
		from = c.ids()
	case ref.Type == "ref/prompt" && ref.Name == "icd_lookup" && arg == "code":
		for i := range 240 {
			from = append(from, fmt.Sprintf("%c%02d", 'A'+i/100, i%100))
		}
	case ref.Type == "ref/resource" && ref.URI == "clinic://doctor/{name}" && arg == "name":
		for _, d := range c.doctors {
			from = append(from, d.Name)
		}
	default:
		return nil, invalid
	}
	values := []string{}
	if defect("null-completion") {
		values = nil
	}
	for _, v := range from {
		if strings.HasPrefix(strings.ToLower(v), strings.ToLower(r.Params.Argument.Value)) {
			values = append(values, v)
		}
	}
	total := len(values)
	if total > 100 && !defect("all-completions") {
		values = values[:100]
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: total, HasMore: total > len(values)}}, nil
}

// remember is a middleware that saves listing what was listed already.
func remember(next mcp.MethodHandler) mcp.MethodHandler {
	var mu sync.Mutex
	known := map[string]mcp.Result{}
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if !strings.HasSuffix(method, "/list") {
			return next(ctx, method, r)
		}
		mu.Lock()
		defer mu.Unlock()
		if known[method] != nil {
			return known[method], nil
		}
		result, err := next(ctx, method, r)
		if err == nil {
			known[method] = result
		}
		return result, err
	}
}

// gentle is a middleware that reports every failure of a tool to the model.
func gentle(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		var wire *jsonrpc.Error
		if method == "tools/call" && errors.As(err, &wire) {
			return sorry("%s", wire.Message), nil
		}
		return result, err
	}
}

func newServer() *mcp.Server {
	c := newCalendar()
	options := &mcp.ServerOptions{
		Instructions: "Look for free slots before booking.", PageSize: 3,
		CompletionHandler: c.complete,
		SubscribeHandler: func(_ context.Context, r *mcp.SubscribeRequest) error {
			if _, ok := c.find(strings.TrimPrefix(r.Params.URI, "clinic://appointment/")); !ok {
				return mcp.ResourceNotFoundError(r.Params.URI)
			}
			return nil
		},
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
		InitializedHandler: func(_ context.Context, r *mcp.InitializedRequest) {
			c.mu.Lock()
			c.lastSession = r.Session
			c.mu.Unlock()
		},
	}
	if defect("undeclared-logging") {
		options.Capabilities = &mcp.ServerCapabilities{}
	}
	if defect("log-to-stdout") {
		options.Logger = slog.New(slog.NewTextHandler(os.Stdout, nil))
	}
	if defect("spaced-session-id") {
		n := 0
		options.GetSessionID = func() string { n++; return fmt.Sprintf("clinic session %d-%d", os.Getpid(), n) }
	}
	c.server = mcp.NewServer(&mcp.Implementation{Name: "clinic-calendar", Title: "Clinic calendar", Version: "0.9.2"}, options)
	c.addTools()
	for _, id := range c.ids() {
		c.addResource(id)
	}
	c.server.AddResource(&mcp.Resource{URI: "clinic://doctor/Dr%20Amsel", Name: "Dr Amsel", MIMEType: "text/plain"}, c.readDoctor)
	c.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "clinic://doctor/{name}", Name: "doctor", MIMEType: "text/plain"}, c.readDoctor)
	c.server.AddPrompt(&mcp.Prompt{Name: "reminder", Description: "A reminder for a patient", Arguments: []*mcp.PromptArgument{
		{Name: "id", Description: "appointment", Required: true}, {Name: "tone"}}}, c.reminder)
	c.server.AddPrompt(&mcp.Prompt{Name: "icd_lookup", Description: "Explains a diagnosis code", Arguments: []*mcp.PromptArgument{{Name: "code", Required: true}}},
		func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			code := r.Params.Arguments["code"]
			if code == "" {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "code is missing"}
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "What does " + code + " stand for?"}}}}, nil
		})
	if defect("cache-forgets-cursor") {
		c.server.AddReceivingMiddleware(remember)
	}
	if defect("gentle-errors") {
		c.server.AddReceivingMiddleware(gentle)
	}
	return c.server
}

// localOnly lets in requests of pages that this machine itself serves.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && !defect("any-origin") {
			u, err := url.Parse(o)
			if err != nil || u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" {
				http.Error(w, "origin not allowed", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address, at /mcp")
	flag.Parse()
	server := newServer()
	if *addr == "" {
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Print(err)
		}
		return
	}
	get := func(*http.Request) *mcp.Server { return server }
	sessions := mcp.NewStreamableHTTPHandler(get, nil)
	stateless := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "" { // sent since revision 2026-07-28
			stateless.ServeHTTP(w, r)
		} else {
			sessions.ServeHTTP(w, r)
		}
	})
	if defect("timeout-handler") {
		h = http.TimeoutHandler(h, 3*time.Second, "too slow")
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", localOnly(h))
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal((&http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}).Serve(l))
}
