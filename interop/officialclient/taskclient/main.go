// Command taskclient is our client as our own conformance suite for clients wants it
// (docs/conformance-clients.md): it does a task with package client and nothing more, so that
// both what it sends and what it concludes can be judged.
package main

import (
	"context"
	"os"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/conformance/clientdriver"
)

func main() { os.Exit(run(context.Background())) }

func run(ctx context.Context) int {
	p := &program{}
	return clientdriver.Run(ctx, p.connect, clientdriver.FlowSecret, clientdriver.FlowKey, clientdriver.Preregistered, clientdriver.Documents, clientdriver.DPoP)
}

// program is what all connections of one task share.
type program struct {
	login client.Option // nil before the first login
}

// probeTime is more than a server of the suite needs to answer a probe.
const probeTime = 2 * time.Second

// connect connects as the task says: to the revision that it names and no other,
// unless that is to be found out.
func (p *program) connect(ctx context.Context, t *clientdriver.Task) (*clientdriver.Session, error) {
	options := append(answers(t.Answers),
		client.WithRequiredCapabilities(), // some servers of the suite declare nothing
		// The suite sees results and errors, and no events.
		client.WithValidation(client.Validation{Results: client.ValidateStrict}))
	if t.Login != nil {
		if p.login == nil {
			p.login = login(t.Login)
		}
		options = append(options, p.login)
	}
	if t.Tasks {
		options = append(options, client.WithTasks())
	}
	if t.Negotiate {
		options = append(options, client.WithProbe(client.Probe{Timeout: probeTime}))
	} else {
		options = append(options, client.WithProtocolVersion(string(t.Revision)))
	}
	var c *client.Client
	var err error
	if t.Transport == "stdio" {
		c, err = client.Connect(ctx, &transport.Command{Argv: t.Command, StopGrace: time.Second, KillGrace: time.Second}, options...)
	} else {
		c, err = client.Dial(ctx, t.URL, options...)
	}
	if err != nil {
		return nil, err
	}
	return &clientdriver.Session{Calls: calls(c), Close: c.Close, Describe: describe}, nil
}
