package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
)

// host is an MCP client of the session era, written from the specification. It repeats
// nothing: an error counts as an error.
type host interface {
	// call sends a request and waits for its answer. An error of the protocol is an
	// [rpcError]; other errors mean that there is no answer.
	call(ctx context.Context, method string, params any) (json.RawMessage, error)
	notify(ctx context.Context, method string, params any) error
	close()
}

// errToolFailed is a tool result with isError.
var errToolFailed = errors.New("the tool failed")

func open(ctx context.Context, h host) error {
	_, err := h.call(ctx, "initialize", map[string]any{
		"protocolVersion": newest, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "driver", "version": "1"},
	})
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return h.notify(ctx, "notifications/initialized", nil)
}

// tool calls a tool and returns the text of its result.
func tool(ctx context.Context, h host, name string, arguments map[string]any) (string, error) {
	raw, err := h.call(ctx, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if err != nil {
		return "", err
	}
	var result struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		IsError bool `json:"isError"`
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return "", err
	}
	var text string
	if len(result.Content) > 0 {
		text = result.Content[0].Text
	}
	if result.IsError {
		return text, fmt.Errorf("%w: %s", errToolFailed, text)
	}
	return text, nil
}

func echo(ctx context.Context, h host) error {
	_, err := tool(ctx, h, "echo", map[string]any{"text": echoed})
	return err
}

const echoed = "A text of ninety-six bytes, as long as those of the benchmark, so that the rows compare well...."

func pay(ctx context.Context, h host, id string) error {
	_, err := tool(ctx, h, "pay", map[string]any{"id": id})
	return err
}

// pipeHost speaks JSON lines to a program that it started.
type pipeHost struct {
	process *process
	out     io.WriteCloser
	next    atomic.Int64
	writing sync.Mutex

	mu      sync.Mutex
	waiting map[string]chan message
	gone    chan struct{} // closed at the end of stdout
}

var errProgramGone = errors.New("the program closed its stdout")

func startPipeHost(ctx context.Context, c command) (*pipeHost, error) {
	p, in, out, err := c.startPiped(ctx)
	if err != nil {
		return nil, err
	}
	h := &pipeHost{process: p, out: in, waiting: map[string]chan message{}, gone: make(chan struct{})}
	go h.read(out)
	return h, nil
}

func (h *pipeHost) read(from io.Reader) {
	defer close(h.gone)
	r := bufio.NewReaderSize(from, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		switch {
		case m.ID == nil:
		case m.Method == "ping":
			_ = h.write(outgoing{JSONRPC: "2.0", ID: m.ID, Result: map[string]any{}})
		case m.Method != "":
			_ = h.write(outgoing{JSONRPC: "2.0", ID: m.ID, Error: &rpcError{-32601, "the driver has no such method"}})
		default:
			h.mu.Lock()
			to := h.waiting[string(m.ID)]
			delete(h.waiting, string(m.ID))
			h.mu.Unlock()
			if to != nil {
				to <- m
			}
		}
	}
}

func (h *pipeHost) write(m outgoing) error {
	h.writing.Lock()
	defer h.writing.Unlock()
	_, err := h.out.Write(append(encode(m), '\n'))
	return err
}

func (h *pipeHost) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id := strconv.FormatInt(h.next.Add(1), 10)
	answer := make(chan message, 1)
	h.mu.Lock()
	h.waiting[id] = answer
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.waiting, id)
	}()
	if err := h.write(outgoing{JSONRPC: "2.0", ID: json.RawMessage(id), Method: method, Params: params}); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-h.gone:
		return nil, errProgramGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *pipeHost) notify(_ context.Context, method string, params any) error {
	return h.write(outgoing{JSONRPC: "2.0", Method: method, Params: params})
}

// close ends the program as hosts do: it closes stdin, and kills what is left.
func (h *pipeHost) close() {
	_ = h.out.Close()
	h.process.end(endTime)
}
