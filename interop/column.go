package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// column is a server, a way to it and an era: one connection, on which every row
// is played.
type column struct {
	peer   *peer
	way    string
	era    mcp.Version
	newest bool // of the eras that are spoken there: what a client that is not told must choose
	cells  []cell
}

// cell is what became of a row in a column.
type cell struct {
	verdict verdict
	remark  string // why not, or what it does not prove
}

type verdict string

const (
	ok         verdict = "ok"
	failed     verdict = "FAIL"
	notOffered verdict = "none"
	elsewhere  verdict = "·" // another column shows it
)

func (c *column) name() string { return c.peer.name + " " + c.way + " " + string(c.era) }

// patience bounds one cell.
const patience = 10 * time.Second

// table is where a column is served: what the rows work with.
type table struct {
	column *column
	menu   menu
	c      *client.Client
	wire   *wire
	mark   string // in the environment of a child process, and of its children
	log    *tail  // what the server logs
}

// fill plays the rows. A row that fails does not stop the others: what they say
// then is evidence too.
func (c *column) fill(ctx context.Context) {
	t := &table{column: c, menu: c.peer.menu, wire: &wire{}, mark: newMark(), log: &tail{}}
	if c.way != stdio {
		t.log = c.peer.log
	}
	dialed := t.open(ctx, string(c.era))
	for _, r := range rows {
		c.cells = append(c.cells, c.play(ctx, t, r, dialed))
	}
}

func (c *column) play(ctx context.Context, t *table, r row, dialed error) cell {
	if why, found := about(c.peer.cannot, r.name, c.name()); found {
		return cell{notOffered, why}
	}
	if r.name == autoRow && !c.newest {
		return cell{verdict: elsewhere}
	}
	if dialed != nil {
		return cell{failed, "connect: " + dialed.Error()}
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := r.play(ctx, t); err != nil {
		return cell{failed, err.Error()}
	}
	note, _ := about(c.peer.notes, r.name, c.name())
	return cell{ok, note}
}

// open connects: with a revision, which pins the era, or with client.AutoVersion.
func (t *table) open(ctx context.Context, version string) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	opts := append(answers(), client.WithProtocolVersion(version), client.WithTrace(t.wire.trace()), client.WithRequiredCapabilities())
	var err error
	if t.column.way == stdio {
		t.c, err = client.Connect(ctx, &transport.Command{
			Argv: t.column.peer.command, Env: []string{markName + "=" + t.mark}, Stderr: t.log,
			StopGrace: time.Second, // everything does not end with its stdin while it has timers
		}, opts...)
	} else {
		t.c, err = client.Dial(ctx, "http://"+t.column.peer.address+t.column.peer.path[t.column.era], opts...)
	}
	return err
}

// say calls a tool and returns its text. A result that is an error is one here.
func (t *table) say(ctx context.Context, o order, opts ...client.CallOption) (string, error) {
	res, err := t.c.CallTool(ctx, o.tool, o.arguments(), opts...)
	if err != nil {
		return "", err
	}
	if err := t.c.ToolError(o.tool, res); err != nil {
		return "", err
	}
	var text string
	for _, block := range res.Content {
		if b, is := block.(*mcp.TextContent); is {
			text += b.Text
		}
	}
	return text, contains(text, o.want)
}

func (o order) arguments() map[string]any {
	if o.args == nil {
		return map[string]any{} // some servers want an object
	}
	return o.args
}

func unexpected(what string, got, want any) error {
	return fmt.Errorf("%s: %v, want %v", what, got, want)
}
