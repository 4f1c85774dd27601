package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failed is a result that tells the model what went wrong.
func failed(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}},
		IsError: true,
	}
}

// answer is a result with structured content and the same as text.
func answer(v any) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: asJSON(v)}}, StructuredContent: v}
}

// add registers a tool with hand-written schemas and checks the arguments.
func add[In any](s *mcp.Server, t *mcp.Tool, in, out string, run func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, error)) {
	t.InputSchema = json.RawMessage(in)
	if out != "" {
		t.OutputSchema = json.RawMessage(out)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(in), &schema); err != nil {
		panic(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		panic(err)
	}
	s.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		raw := req.Params.Arguments
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		var v map[string]any
		if err := json.Unmarshal(raw, &v); err != nil {
			return failed("arguments: %v", err), nil
		}
		if !on("args-unchecked") {
			if err := resolved.Validate(v); err != nil {
				return failed("arguments: %v", err), nil
			}
		}
		var args In
		if err := json.Unmarshal(raw, &args); err != nil {
			return failed("arguments: %v", err), nil
		}
		return run(ctx, req, args)
	})
}

func addTools(s *mcp.Server) {
	add(s, &mcp.Tool{
		Name: "find_sailings", Title: "Find sailings", Description: "Departures of a route on one day",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, `{"type":"object","required":["route","date"],"additionalProperties":false,"properties":{
		"route":{"type":"string","enum":["north","south","night"]},
		"date":{"type":"string","pattern":"^\\d{4}-\\d{2}-\\d{2}$","description":"Day of June 2026, as 2026-06-01"}}}`,
		`{"type":"object","required":["route","date","sailings"],"properties":{
		"route":{"type":"string"},"date":{"type":"string"},
		"sailings":{"type":"array","items":{"type":"object","required":["id","departs","vessel","seatsFree","delayMinutes"],
		"properties":{"id":{"type":"string"},"departs":{"type":"string"},"vessel":{"type":"string"},
		"seatsFree":{"type":"integer","minimum":0},"delayMinutes":{"type":"integer","minimum":0}}}}}}`,
		findSailings)

	add(s, &mcp.Tool{
		Name: "fare_quote", Title: "Fare quote", Description: "Price of a crossing",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, `{"type":"object","required":["route","passengers"],"additionalProperties":false,"properties":{
		"route":{"type":"string","enum":["north","south","night"]},
		"passengers":{"type":"integer","minimum":1,"maximum":20},
		"vehicle":{"type":"string","enum":["none","bicycle","car","lorry"],"default":"none"},
		"currency":{"type":"string","enum":["EUR","NOK"],"default":"EUR"}}}`,
		`{"type":"object","required":["route","currency","total"],"properties":{
		"route":{"type":"string"},"currency":{"type":"string","enum":["EUR","NOK"]},
		"total":{"type":"number","minimum":0}}}`,
		fareQuote)

	add(s, &mcp.Tool{Name: "book_passage", Title: "Book a passage", Description: "Books seats on a departure"},
		`{"type":"object","required":["sailing","name","passengers"],"additionalProperties":false,"properties":{
		"sailing":{"type":"string"},"name":{"type":"string","minLength":1},
		"passengers":{"type":"integer","minimum":1,"maximum":20},
		"vehicle":{"type":"string","enum":["none","bicycle","car","lorry"],"default":"none"}}}`,
		`{"type":"object","required":["reference","sailing","passengers"],"properties":{
		"reference":{"type":"string"},"sailing":{"type":"string"},"passengers":{"type":"integer"},
		"plate":{"type":"string"}}}`,
		bookPassage)

	add(s, &mcp.Tool{
		Name: "tide_chart", Title: "Tide chart", Description: "Picture of the water level at a port",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, `{"type":"object","required":["port"],"additionalProperties":false,"properties":{
		"port":{"type":"string","enum":["Brekka","Holm","Sandvik","Steinnes","Sula"]},
		"hours":{"type":"integer","minimum":6,"maximum":72,"default":24}}}`, "", tideChart)

	add(s, &mcp.Tool{Name: "load_manifest", Title: "Load manifest", Description: "Collects the loading list of a departure, deck by deck"},
		`{"type":"object","required":["sailing"],"additionalProperties":false,"properties":{
		"sailing":{"type":"string"},
		"decks":{"type":"integer","minimum":1,"maximum":30,"default":4}}}`, "", loadManifest)

	add(s, &mcp.Tool{Name: "post_delay", Title: "Post a delay", Description: "Posts a delay of a departure"},
		`{"type":"object","required":["sailing","minutes"],"additionalProperties":false,"properties":{
		"sailing":{"type":"string"},"minutes":{"type":"integer","minimum":0,"maximum":600}}}`,
		`{"type":"object","required":["sailing","delayMinutes"],"properties":{
		"sailing":{"type":"string"},"delayMinutes":{"type":"integer"}}}`,
		func(ctx context.Context, req *mcp.CallToolRequest, a delayArgs) (*mcp.CallToolResult, error) {
			return postDelay(ctx, s, req, a)
		})

	add(s, &mcp.Tool{Name: "sailing_papers", Title: "Papers of a sailing", Description: "Links to what is known about a departure",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		`{"type":"object","required":["sailing"],"additionalProperties":false,"properties":{"sailing":{"type":"string"}}}`, "",
		sailingPapers)
}

type sailingOut struct {
	ID      string `json:"id"`
	Departs string `json:"departs"`
	Vessel  string `json:"vessel"`
	Seats   int    `json:"seatsFree"`
	Delay   int    `json:"delayMinutes"`
}

type findOut struct {
	Route    string       `json:"route"`
	Date     string       `json:"date"`
	Sailings []sailingOut `json:"sailings"`
}

func findSailings(_ context.Context, _ *mcp.CallToolRequest, a struct{ Route, Date string }) (*mcp.CallToolResult, error) {
	out := findOut{Route: a.Route, Date: a.Date}
	for _, s := range find(a.Route, a.Date) {
		out.Sailings = append(out.Sailings, sailingOut{s.ID, s.Departs, s.Vessel, s.Seats, s.Delay})
	}
	if out.Sailings == nil && !on("empty-day-null") {
		out.Sailings = []sailingOut{}
	}
	return answer(out), nil
}

func fareQuote(_ context.Context, _ *mcp.CallToolRequest, a struct {
	Route      string
	Passengers int
	Vehicle    string
	Currency   string
}) (*mcp.CallToolResult, error) {
	total := 12.0 * float64(a.Passengers)
	total += map[string]float64{"bicycle": 4, "car": 31, "lorry": 88}[a.Vehicle]
	if a.Route == "night" {
		total *= 1.25
	}
	if a.Currency == "" {
		a.Currency = "EUR"
	}
	var shown any = total
	if a.Currency == "NOK" {
		total = math.Round(total * 11.6)
		shown = total
		if on("fare-nok-text") {
			shown = fmt.Sprintf("%.2f", total)
		}
	}
	return answer(map[string]any{"route": a.Route, "currency": a.Currency, "total": shown}), nil
}

var errSoldOut = errors.New("no seats left on this sailing")

// reserve takes seats of a departure.
func reserve(id string, n int) error {
	mu.Lock()
	defer mu.Unlock()
	s := sailings[id]
	if s.Seats < n {
		return errSoldOut
	}
	s.Seats -= n
	return nil
}

func bookPassage(_ context.Context, req *mcp.CallToolRequest, a struct {
	Sailing, Name string
	Passengers    int
	Vehicle       string
}) (*mcp.CallToolResult, error) {
	sl, ok := lookup(a.Sailing)
	if !ok {
		return failed("unknown sailing %q", a.Sailing), nil
	}
	if sl.Seats < a.Passengers {
		if on("sold-out-rpc-error") {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errSoldOut.Error()}
		}
		return failed("%v", errSoldOut), nil
	}
	plate := ""
	if a.Vehicle == "car" || a.Vehicle == "lorry" {
		resp, asked := req.Params.InputResponses["plate"].(*mcp.ElicitResult)
		if !asked && req.ProtocolVersion() >= "2025-06-18" && canAsk(req.ClientCapabilities()) {
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"plate": plateForm()}}, nil
		}
		if asked {
			if resp.Action != "accept" {
				return failed("booking given up: the number plate was not told"), nil
			}
			plate, _ = resp.Content["plate"].(string)
		}
	}
	if err := reserve(a.Sailing, a.Passengers); err != nil {
		return failed("%v", err), nil
	}
	out := map[string]any{
		"reference":  fmt.Sprintf("R%x", time.Now().UnixNano()%0xffffff),
		"sailing":    a.Sailing,
		"passengers": a.Passengers,
	}
	if plate != "" {
		out["plate"] = plate
	}
	return answer(out), nil
}

// canAsk reports whether the client shows forms.
func canAsk(c *mcp.ClientCapabilities) bool {
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

func plateForm() *mcp.ElicitParams {
	schema := `{"type":"object","required":["plate"],"properties":{
		"plate":{"type":"string","title":"Number plate","minLength":2,"maxLength":12},
		"height":{"type":"number","title":"Height in metres","minimum":0,"maximum":5}}}`
	if on("plate-form-nested") {
		schema = `{"type":"object","required":["plate"],"properties":{
		"plate":{"type":"string","title":"Number plate"},
		"size":{"type":"object","properties":{"height":{"type":"number"},"length":{"type":"number"}}}}}`
	}
	return &mcp.ElicitParams{Mode: "form", Message: "Which vehicle do you bring?", RequestedSchema: json.RawMessage(schema)}
}

// picture draws a curve and returns it as PNG.
func picture(hours int) []byte {
	img := image.NewGray(image.Rect(0, 0, hours*2, 32))
	for x := 0; x < hours*2; x++ {
		img.SetGray(x, 16+int(14*math.Sin(float64(x)/4)), color.Gray{Y: 255})
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func tideChart(_ context.Context, _ *mcp.CallToolRequest, a struct {
	Port  string
	Hours int
}) (*mcp.CallToolResult, error) {
	if a.Hours == 0 {
		a.Hours = 24
	}
	data := picture(a.Hours)
	if on("chart-double-base64") {
		data = []byte(base64.StdEncoding.EncodeToString(data))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: fmt.Sprintf("Water level at %s, %d hours", a.Port, a.Hours)},
		&mcp.ImageContent{MIMEType: "image/png", Data: data},
	}}, nil
}

// lastToken is the token of the caller, for the report of the deck crew.
var lastToken any

func loadManifest(ctx context.Context, req *mcp.CallToolRequest, a struct {
	Sailing string
	Decks   int
}) (*mcp.CallToolResult, error) {
	sl, ok := lookup(a.Sailing)
	if !ok {
		return failed("unknown sailing %q", a.Sailing), nil
	}
	if a.Decks == 0 {
		a.Decks = 4
	}
	token := req.Params.GetProgressToken()
	mu.Lock()
	lastToken = token
	mu.Unlock()
	report := func(ctx context.Context, deck int) {
		t := token
		if on("manifest-token-shared") {
			mu.Lock()
			t = lastToken
			mu.Unlock()
		}
		if t == nil {
			return
		}
		req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: t, Progress: float64(deck), Total: float64(a.Decks), Message: fmt.Sprintf("deck %d", deck),
		})
	}
	late := on("manifest-progress-late")
	if late {
		// Report from the side so that the deck crew is never held up.
		go func() {
			for d := 1; d <= a.Decks; d++ {
				time.Sleep(130 * time.Millisecond)
				report(context.Background(), d)
			}
		}()
	}
	for d := 1; d <= a.Decks; d++ {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(80 * time.Millisecond):
		}
		if !late {
			report(ctx, d)
		}
		req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "deck", Data: fmt.Sprintf("deck %d of %s counted", d, a.Sailing)})
	}
	return &mcp.CallToolResult{Content: []mcp.Content{
		&mcp.TextContent{Text: fmt.Sprintf("%d decks of %s counted", a.Decks, sl.Vessel)},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: sailingURI(a.Sailing), MIMEType: "application/json", Text: asJSON(sl)}},
	}}, nil
}

type delayArgs struct {
	Sailing string
	Minutes int
}

func postDelay(ctx context.Context, s *mcp.Server, req *mcp.CallToolRequest, a delayArgs) (*mcp.CallToolResult, error) {
	if _, ok := lookup(a.Sailing); !ok {
		return failed("unknown sailing %q", a.Sailing), nil
	}
	mu.Lock()
	sailings[a.Sailing].Delay = a.Minutes
	mu.Unlock()
	uri := sailingURI(a.Sailing)
	if on("delay-update-lost") {
		uri = "ferry://sailing/" + a.Sailing
	}
	s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: uri})
	s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "ferry://notices"})
	level := mcp.LoggingLevel("warning")
	if on("delay-level-warn") {
		level = "warn"
	}
	if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: level, Logger: "harbour",
		Data: map[string]any{"sailing": a.Sailing, "delayMinutes": a.Minutes}}); err != nil {
		return nil, err
	}
	return answer(map[string]any{"sailing": a.Sailing, "delayMinutes": a.Minutes}), nil
}

func sailingPapers(_ context.Context, req *mcp.CallToolRequest, a struct{ Sailing string }) (*mcp.CallToolResult, error) {
	sl, ok := lookup(a.Sailing)
	if !ok {
		return failed("unknown sailing %q", a.Sailing), nil
	}
	if req.ProtocolVersion() < "2025-06-18" {
		// Links came with 2025-06-18: hand out the paper itself.
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: sailingURI(sl.ID), MIMEType: "application/json", Text: asJSON(sl)}}}}, nil
	}
	mod := time.Date(2026, 5, 30, 9, 15, 0, 0, time.UTC)
	stamp := mod.Format(time.RFC3339)
	if on("papers-go-time") {
		stamp = mod.String()
	}
	var out []mcp.Content
	out = append(out, &mcp.ResourceLink{
		URI: sailingURI(sl.ID), Name: "sailing " + sl.ID, MIMEType: "application/json",
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}, Priority: 0.9, LastModified: stamp},
	})
	for _, p := range routes[sl.Route] {
		out = append(out, &mcp.ResourceLink{URI: "ferry://ports/" + p, Name: "port " + p, MIMEType: "text/plain"})
	}
	return &mcp.CallToolResult{Content: out}, nil
}
