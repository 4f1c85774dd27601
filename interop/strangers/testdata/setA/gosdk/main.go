// Command warehouse is the stock of a small warehouse as an MCP server on the
// official Go SDK: on stdio, or with -http ADDR over streamable HTTP at /mcp.
//
// DEFECT=name in the environment switches one mistake on.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var defect = os.Getenv("DEFECT")

func on(name string) bool { return defect == name }

type item struct {
	SKU, Name, Category, Supplier string
	Stock                         int
}

type warehouse struct {
	sync.Mutex
	items []*item
	// auditing shows the tool audit_log.
	auditing bool
	audit    []string
	// token of the client that wants progress, for progress-token-kept.
	token any
}

func newWarehouse() *warehouse {
	w := &warehouse{items: []*item{
		{"BX-001", "Cardboard box", "packing", "Kartonwerk", 120},
		{"BX-002", "Bubble wrap", "packing", "", 14},
		{"TL-001", "Schraubenschlüssel", "tools", "Eisen & Söhne", 7},
		{"TL-002", "Hammer", "tools", "Eisen & Söhne", 0},
	}}
	for i := 1; i <= 140; i++ {
		w.items = append(w.items, &item{fmt.Sprintf("SC-%03d", i), fmt.Sprintf("Screw M%d", i), "screws", "Eisen & Söhne", i * 3})
	}
	return w
}

func (w *warehouse) find(sku string) *item {
	w.Lock()
	defer w.Unlock()
	for _, it := range w.items {
		if it.SKU == sku {
			return it
		}
	}
	return nil
}

func text(format string, args ...any) []mcp.Content {
	return []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}
}

func refused(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: text(format, args...)}
}

type findArgs struct {
	Query    string `json:"query" jsonschema:"part of the name; empty finds all"`
	Category string `json:"category,omitempty" jsonschema:"packing, tools or screws"`
}

type skuArgs struct {
	SKU string `json:"sku" jsonschema:"stock keeping unit, like BX-001"`
}

type adjustArgs struct {
	SKU   string `json:"sku" jsonschema:"stock keeping unit, like BX-001"`
	Delta int    `json:"delta" jsonschema:"how many came in, or left when negative"`
}

type stockAnswer struct {
	SKU   string `json:"sku"`
	Name  string `json:"name"`
	Stock int    `json:"stock"`
}

type recountArgs struct {
	Shelves int `json:"shelves,omitempty" jsonschema:"number of shelves, 4 when left out"`
}

func (w *warehouse) findItems(_ context.Context, _ *mcp.CallToolRequest, in findArgs) (*mcp.CallToolResult, any, error) {
	query := strings.ToLower(in.Query)
	if on("empty-query-panic") {
		query = strings.ToLower(in.Query[:1]) + query[1:]
	}
	var lines []string
	for _, it := range w.items {
		if strings.Contains(strings.ToLower(it.Name), query) && (in.Category == "" || in.Category == it.Category) {
			lines = append(lines, it.SKU+" "+it.Name)
		}
	}
	return &mcp.CallToolResult{Content: text("%d items\n%s", len(lines), strings.Join(lines, "\n"))}, nil, nil
}

func (w *warehouse) itemStock(_ context.Context, _ *mcp.CallToolRequest, in skuArgs) (*mcp.CallToolResult, stockAnswer, error) {
	it := w.find(in.SKU)
	if it == nil {
		return nil, stockAnswer{}, fmt.Errorf("no item %s", in.SKU)
	}
	return nil, stockAnswer{it.SKU, it.Name, it.Stock}, nil
}

func (w *warehouse) adjustStock(server *mcp.Server) mcp.ToolHandlerFor[adjustArgs, any] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in adjustArgs) (*mcp.CallToolResult, any, error) {
		it := w.find(in.SKU)
		if it == nil {
			return nil, nil, fmt.Errorf("no item %s", in.SKU)
		}
		if it.Stock+in.Delta < 0 {
			return nil, nil, fmt.Errorf("only %d left", it.Stock)
		}
		w.Lock()
		it.Stock += in.Delta
		w.audit = append(w.audit, fmt.Sprintf("%s %+d", it.SKU, in.Delta))
		w.Unlock()
		_ = req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Logger: "stock", Data: it.SKU})
		if !on("update-not-sent") {
			_ = server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: "inventory://items/" + it.SKU})
		}
		return &mcp.CallToolResult{Content: text("%s: now %d", it.SKU, it.Stock)}, nil, nil
	}
}

func (w *warehouse) recount(ctx context.Context, req *mcp.CallToolRequest, in recountArgs) (*mcp.CallToolResult, any, error) {
	shelves := in.Shelves
	if shelves <= 0 {
		shelves = 4
	}
	token := req.Params.GetProgressToken()
	if on("progress-token-kept") {
		w.Lock()
		if w.token == nil {
			w.token = token
		}
		token = w.token
		w.Unlock()
	}
	for i := 1; i <= shelves; i++ {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
		if token == nil {
			continue
		}
		total := float64(shelves)
		progress := float64(i)
		if on("progress-percent-clipped") {
			progress, total = min(100, float64(i*50)), 100
		}
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: total, Message: fmt.Sprintf("shelf %d", i)})
	}
	return &mcp.CallToolResult{Content: text("%d shelves counted", shelves)}, nil, nil
}

// shelfLabel draws the label of an item.
func (w *warehouse) shelfLabel(_ context.Context, _ *mcp.CallToolRequest, in skuArgs) (*mcp.CallToolResult, any, error) {
	it := w.find(in.SKU)
	if it == nil {
		return nil, nil, fmt.Errorf("no item %s", in.SKU)
	}
	data := label(it)
	if on("label-encoded-twice") {
		data = []byte(base64.StdEncoding.EncodeToString(data))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: data, MIMEType: "image/png"}}}, nil, nil
}

func label(it *item) []byte {
	img := image.NewGray(image.Rect(0, 0, 32, 8))
	for i, b := range []byte(it.SKU) {
		img.SetGray(i*4, int(b)%8, color.Gray{Y: 255})
	}
	var buf bytes.Buffer
	_ = png.Encode(&buf, img)
	return buf.Bytes()
}

// supplierCard is registered with a schema of its own, without the checks of
// the typed tools.
func (w *warehouse) supplierCard(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in skuArgs
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil || in.SKU == "" {
		return refused("sku is missing"), nil
	}
	it := w.find(in.SKU)
	if it == nil {
		if on("unknown-item-protocol-error") {
			return nil, fmt.Errorf("no item %s", in.SKU)
		}
		return refused("no item %s", in.SKU), nil
	}
	card := map[string]any{"sku": it.SKU, "supplier": it.Supplier, "category": it.Category}
	if it.Supplier == "" && on("supplier-null") {
		card["supplier"] = nil
	}
	data, _ := json.Marshal(card)
	result := &mcp.CallToolResult{Content: text("%s", data)}
	if !on("structured-forgotten") {
		result.StructuredContent = card
	}
	return result, nil
}

// switchAudit shows or hides the tool audit_log.
func (w *warehouse) switchAudit(server *mcp.Server) mcp.ToolHandlerFor[struct {
	On bool `json:"on"`
}, any] {
	type none struct{}
	tool := &mcp.Tool{Name: "audit_log", Description: "The changes of stock since the start"}
	handler := func(context.Context, *mcp.CallToolRequest, none) (*mcp.CallToolResult, any, error) {
		w.Lock()
		defer w.Unlock()
		return &mcp.CallToolResult{Content: text("%s", strings.Join(w.audit, "\n"))}, nil, nil
	}
	if on("tool-shown-unannounced") {
		mcp.AddTool(server, tool, handler)
		server.AddReceivingMiddleware(w.hideAudit)
	}
	return func(_ context.Context, _ *mcp.CallToolRequest, in struct {
		On bool `json:"on"`
	}) (*mcp.CallToolResult, any, error) {
		w.Lock()
		w.auditing = in.On
		w.Unlock()
		switch {
		case on("tool-shown-unannounced"):
		case in.On:
			mcp.AddTool(server, tool, handler)
		default:
			server.RemoveTools(tool.Name)
		}
		return &mcp.CallToolResult{Content: text("audit: %v", in.On)}, nil, nil
	}
}

// hideAudit takes audit_log out of the list while it is switched off.
func (w *warehouse) hideAudit(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*mcp.ListToolsResult); ok {
			w.Lock()
			defer w.Unlock()
			list.Tools = slices.DeleteFunc(slices.Clone(list.Tools), func(t *mcp.Tool) bool { return t.Name == "audit_log" && !w.auditing })
		}
		return result, err
	}
}

func (w *warehouse) read(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	contents := &mcp.ResourceContents{URI: uri}
	sku, isItem := strings.CutPrefix(uri, "inventory://items/")
	labelSKU, isLabel := strings.CutPrefix(uri, "inventory://labels/")
	switch {
	case uri == "inventory://export.csv":
		contents.MIMEType = "text/csv"
		if on("export-as-json-type") {
			contents.MIMEType = "application/json"
		}
		contents.Text = "sku,stock\n"
		for _, it := range w.items {
			contents.Text += fmt.Sprintf("%s,%d\n", it.SKU, it.Stock)
		}
	case isItem && w.find(sku) != nil:
		it := w.find(sku)
		contents.MIMEType = "application/json"
		data, _ := json.Marshal(stockAnswer{it.SKU, it.Name, it.Stock})
		contents.Text = string(data)
	case isLabel && w.find(labelSKU) != nil:
		contents.MIMEType = "image/png"
		contents.Blob = label(w.find(labelSKU))
	default:
		if on("unknown-resource-empty") {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}, nil
		}
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}

// paginate lists the items in pages of its own size.
func (w *warehouse) paginate(next mcp.MethodHandler) mcp.MethodHandler {
	const size = 25
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		list, ok := req.(*mcp.ListResourcesRequest)
		if !ok {
			return next(ctx, method, req)
		}
		all := []*mcp.Resource{{URI: "inventory://export.csv", Name: "export", MIMEType: "text/csv", Description: "All items with their stock"}}
		for _, it := range w.items {
			all = append(all, &mcp.Resource{URI: "inventory://items/" + it.SKU, Name: it.Name, MIMEType: "application/json"})
		}
		start := 0
		if list.Params != nil && list.Params.Cursor != "" {
			raw, err := base64.StdEncoding.DecodeString(list.Params.Cursor)
			n, err2 := strconv.Atoi(string(raw))
			bad := err != nil || err2 != nil || n <= 0 || n >= len(all)
			if bad && !on("bad-cursor-first-page") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
			}
			if !bad {
				start = n
			}
		}
		end := min(start+size, len(all))
		result := &mcp.ListResourcesResult{Resources: all[start:end]}
		if on("page-loses-item") && end < len(all) {
			end++
		}
		if end < len(all) {
			result.NextCursor = base64.StdEncoding.EncodeToString([]byte(strconv.Itoa(end)))
		}
		return result, nil
	}
}

func (w *warehouse) complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	ref := req.Params.Ref
	if ref.Type == "ref/prompt" && ref.Name != "reorder_note" || ref.Type == "ref/resource" && !slices.Contains([]string{"inventory://items/{sku}", "inventory://labels/{sku}"}, ref.URI) {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "unknown reference"}
	}
	values := []string{}
	if req.Params.Argument.Name == "sku" {
		for _, it := range w.items {
			if strings.HasPrefix(it.SKU, req.Params.Argument.Value) {
				values = append(values, it.SKU)
			}
		}
	}
	total := len(values)
	if total > 100 {
		values = values[:100]
		if on("completion-total-of-rest") {
			total -= len(values)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: total, HasMore: total > len(values)}}, nil
}

func (w *warehouse) reorderNote(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	sku, ok := req.Params.Arguments["sku"]
	if !ok {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "argument sku is missing"}
	}
	words := "Write a note to reorder " + sku
	if urgency := req.Params.Arguments["urgency"]; urgency != "" {
		words += ", urgency: " + urgency
	}
	role := mcp.Role("user")
	if on("prompt-role-system") {
		role = "system"
	}
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: role, Content: &mcp.TextContent{Text: words + "."}}}}, nil
}

func newServer(w *warehouse) *mcp.Server {
	subscribe := func(_ context.Context, req *mcp.SubscribeRequest) error {
		if sku, ok := strings.CutPrefix(req.Params.URI, "inventory://items/"); !ok || w.find(sku) == nil {
			return mcp.ResourceNotFoundError(req.Params.URI)
		}
		return nil
	}
	options := &mcp.ServerOptions{
		// The code of mcp.CodeResourceNotFound, set in main, is that of these revisions.
		SupportedProtocolVersions: []string{"2025-11-25", "2025-06-18", "2025-03-26"},
		Instructions:              "Look an item up with find_items before you change its stock.",
		CompletionHandler:         w.complete,
		SubscribeHandler:          subscribe,
		UnsubscribeHandler:        func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	}
	if on("session-id-with-blanks") {
		options.GetSessionID = func() string { return time.Now().Format(time.RFC1123) + " " + strconv.Itoa(time.Now().Nanosecond()) }
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "warehouse", Title: "Warehouse", Version: "2.1.0"}, options)
	mcp.AddTool(server, &mcp.Tool{Name: "find_items", Description: "Find items by name"}, w.findItems)
	mcp.AddTool(server, &mcp.Tool{Name: "item_stock", Description: "How many of an item are there"}, w.itemStock)
	mcp.AddTool(server, &mcp.Tool{Name: "adjust_stock", Description: "Book items in or out"}, w.adjustStock(server))
	mcp.AddTool(server, &mcp.Tool{Name: "recount_warehouse", Description: "Count everything; takes a while"}, w.recount)
	mcp.AddTool(server, &mcp.Tool{Name: "shelf_label", Description: "The label of an item as a picture"}, w.shelfLabel)
	mcp.AddTool(server, &mcp.Tool{Name: "switch_audit", Description: "Show or hide the tool audit_log"}, w.switchAudit(server))
	server.AddTool(&mcp.Tool{Name: "supplier_card", Description: "Who supplies an item",
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"sku":{"type":"string"}},"required":["sku"]}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"sku":{"type":"string"},"supplier":{"type":"string"},"category":{"type":"string"}},"required":["sku","supplier","category"]}`),
	}, w.supplierCard)
	server.AddResource(&mcp.Resource{URI: "inventory://export.csv", Name: "export", MIMEType: "text/csv"}, w.read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "inventory://items/{sku}", Name: "item", MIMEType: "application/json"}, w.read)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "inventory://labels/{sku}", Name: "label", MIMEType: "image/png"}, w.read)
	server.AddPrompt(&mcp.Prompt{Name: "reorder_note", Description: "Ask for a note to the supplier", Arguments: []*mcp.PromptArgument{
		{Name: "sku", Description: "the item", Required: true}, {Name: "urgency", Description: "how soon it is needed"}}}, w.reorderNote)
	server.AddReceivingMiddleware(w.paginate, checkLevel)
	if on("error-codes-hidden") {
		server.AddReceivingMiddleware(hideFailures)
	}
	return server
}

// checkLevel refuses levels that do not exist.
func checkLevel(next mcp.MethodHandler) mcp.MethodHandler {
	levels := []mcp.LoggingLevel{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if set, ok := req.(*mcp.ServerRequest[*mcp.SetLoggingLevelParams]); ok && !slices.Contains(levels, set.Params.Level) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid level"}
		}
		return next(ctx, method, req)
	}
}

// hideFailures lets no client see an internal error.
func hideFailures(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		if err != nil {
			log.Print(err)
			return result, errors.New("something went wrong")
		}
		return result, nil
	}
}

// jsonWriter sets the type of every answer.
type jsonWriter struct{ http.ResponseWriter }

func (w jsonWriter) WriteHeader(status int) {
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(status)
}

func (w jsonWriter) Write(data []byte) (int, error) {
	w.Header().Set("Content-Type", "application/json")
	return w.ResponseWriter.Write(data)
}

func (w jsonWriter) Flush() {
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.(http.Flusher).Flush()
}

// ownOrigins lets only pages of this machine in.
func ownOrigins(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		host := strings.TrimPrefix(strings.TrimPrefix(origin, "http://"), "https://")
		name, _, _ := strings.Cut(host, ":")
		if origin != "" && name != "localhost" && name != "127.0.0.1" {
			http.Error(w, "origin not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	addr := flag.String("http", "", "serve streamable HTTP on this address instead of stdio")
	flag.Parse()
	mcp.CodeResourceNotFound = -32002
	w := newWarehouse()
	server := newServer(w)
	if *addr == "" {
		if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
			log.Print(err)
		}
		return
	}
	var handler http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	if on("everything-typed-json") {
		inner := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(jsonWriter{w}, r) })
	}
	if on("delete-not-routed") {
		inner := handler
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusOK)
				return
			}
			inner.ServeHTTP(w, r)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", ownOrigins(handler))
	log.Fatal(http.ListenAndServe(*addr, mux))
}
