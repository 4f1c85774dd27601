package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mostParallel bounds --parallel.
const mostParallel = 256

// readRows reads the file of --batch: an object of arguments on each line. Empty lines are nil.
func readRows(files *operand.Files, name string) ([]*doc.Value, error) {
	text, err := files.Read(name)
	if err != nil {
		return nil, unsent("--batch: %s", failure.RootCause(err))
	}
	var rows []*doc.Value
	for number, line := range bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n")) {
		var row *doc.Value
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if row, err = doc.Parse(line); err == nil && row.Kind() != doc.Object {
				err = errors.New("it is no object of arguments")
			}
			if err != nil {
				return nil, unsent("--batch: line %d: %s", number+1, err)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// row is one call of --batch.
type row struct {
	line      int
	arguments *doc.Value
	done      chan ending
}

// ending is the result of a call, or its error.
type ending struct {
	raw json.RawMessage
	err error
}

// each calls the tool once for each row. Nothing is sent unless all rows fit. The results are
// printed in the order of the rows.
func (r *calling) each(ctx context.Context, c *connect.Connection, tool *doc.Value, given []*doc.Value, operands []operand.Operand) error {
	a, name := r.app, tool.Get("name").Str()
	var rows []*row
	for i, arguments := range given {
		if arguments == nil {
			continue
		}
		arguments, err := a.arguments(tool, arguments, operands, r.noValidate)
		var f *failure.Failure
		if errors.As(err, &f) {
			f.Message = fmt.Sprintf("--batch: line %d: %s", i+1, f.Message)
		}
		if err != nil {
			return err
		}
		rows = append(rows, &row{i + 1, arguments, make(chan ending, 1)})
	}
	if err := a.consent(ctx, tool, r.yes); err != nil {
		return err
	}
	var next atomic.Int64
	var callers sync.WaitGroup
	var all tally
	err := a.dial.Record(connect.Sent{Method: mcp.MethodToolsCall, Tool: name, Acts: true}, fmt.Sprintf("calling %s %d times", name, len(rows)), func() error {
		for range min(r.parallel, len(rows)) {
			callers.Go(func() { // ends with the rows; none is left out
				for i := int(next.Add(1)) - 1; i < len(rows); i = int(next.Add(1)) - 1 {
					raw, err := r.callRow(ctx, c, tool, rows[i].arguments)
					rows[i].done <- ending{raw, withTool(err, name)}
				}
			})
		}
		for _, row := range rows {
			if err := all.print(ctx, a, row.line, <-row.done); err != nil {
				next.Store(int64(len(rows))) // no more calls whose results nobody gets
				callers.Wait()
				return err
			}
		}
		return nil
	})
	if err != nil || all.bad == 0 {
		return err
	}
	f := failure.New(all.kind, all.delivery, "%d of %s failed", all.bad, console.Count(len(rows), "call", "calls"))
	f.Tool = name
	f.Note = "each line says how its call ended"
	return f
}

// callRow makes one of many calls at once, which have no status line of their own.
func (r *calling) callRow(ctx context.Context, c *connect.Connection, tool, arguments *doc.Value) (json.RawMessage, error) {
	name := tool.Get("name").Str()
	if !onlyAsTask(c, tool) {
		return c.Call(ctx, mcp.MethodToolsCall, json.RawMessage(callParams(name, arguments).AppendJSON(nil)), append(r.again(tool), r.app.dial.Times())...)
	}
	task, err := startTask(ctx, r.app.dial, c, name, arguments)
	if err != nil {
		return nil, err
	}
	return waitFor(ctx, task)
}

// tally counts the calls that failed.
type tally struct {
	bad      int
	kind     failure.Kind
	delivery mcperrors.Delivery
}

// print prints how a call ended.
func (t *tally) print(ctx context.Context, a *app, line int, o ending) error {
	kind, value, ended := "result", o.raw, failure.KindOK
	delivery := mcperrors.Answered
	if o.err != nil {
		f := a.explain.Failure(ctx, o.err)
		kind, value, ended, delivery = "error", f.Object(), f.Kind, f.Delivery
	} else if result, err := doc.Parse(o.raw); err == nil && result.Get("isError").True() {
		ended = failure.KindNegative
	}
	t.count(ended, delivery)
	var b strings.Builder
	b.WriteString(`{"type":"` + kind + `","line":` + strconv.Itoa(line) + `,"` + kind + `":`)
	b.Write(value)
	return a.console.PrintRaw([]byte(b.String() + "}"))
}

// count keeps what decides the exit code: an unknown outcome before all others, because such a call
// must not be repeated, then the first failure that is not an error of the tool.
func (t *tally) count(ended failure.Kind, delivery mcperrors.Delivery) {
	if ended == failure.KindOK {
		return
	}
	first := t.bad == 0
	t.bad++
	if first || t.kind == failure.KindNegative || ended == failure.KindUnknownOutcome && t.kind != ended {
		t.kind, t.delivery = ended, delivery
	}
}
