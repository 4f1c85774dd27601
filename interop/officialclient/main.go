// Command officialclient is our client as the official conformance suite
// wants it: the suite starts it once a scenario, names the scenario in the
// environment, gives the URL of its own server as the last argument, and judges
// what arrives there. The program does what an application would do and nothing
// more, so a scenario that fails is the client's fault.
//
// Exit 0: the scenario went as it should from here; 1: it did not; 2: the
// program cannot run it (an unknown scenario, a missing URL). An unknown
// scenario must not look like a passed one: that is how new ones show up.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// What the suite puts into the environment.
const (
	envScenario = "MCP_CONFORMANCE_SCENARIO"
	envVersion  = "MCP_CONFORMANCE_PROTOCOL_VERSION"
	envContext  = "MCP_CONFORMANCE_CONTEXT"
)

// limit ends a run before the suite's own time-out of 30 s does, so that what
// was waited for is said.
const limit = 25 * time.Second

const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stderr)
	stop()
	os.Exit(code)
}

// run plays the scenario that the environment names and returns the exit code.
func run(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) int {
	name := getenv(envScenario)
	sc, err := lookup(name)
	if err != nil {
		fmt.Fprintln(stderr, err)
		return exitUsage
	}
	if len(args) == 0 {
		fmt.Fprintln(stderr, "the server's URL is missing: it is the last argument")
		return exitUsage
	}
	url := args[len(args)-1]
	told := json.RawMessage(getenv(envContext))
	if strings.HasPrefix(name, "auth/") {
		option, err := authorization(name, told)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return exitUsage
		}
		sc.options = append(sc.options, option)
	}
	if err := play(ctx, sc, url, getenv(envVersion), told); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return exitFailed
	}
	return 0
}

// play connects a client that is pinned to the revision that is tested, and
// closes it when the scenario has been played. Suites before 0.2 do not name a
// revision and mean the newest with a handshake.
func play(ctx context.Context, sc scenario, url, version string, told json.RawMessage) error {
	if version == "" {
		version = string(mcp.LatestSession)
	}
	c, err := client.Dial(ctx, url, append([]client.Option{
		client.WithProtocolVersion(version),
		client.WithRequiredCapabilities(), // some of the suite's servers declare nothing
	}, sc.options...)...)
	if err != nil {
		return err
	}
	return errors.Join(sc.play(ctx, c, told), c.Close())
}

// lookup finds a scenario; the error says why there is none.
func lookup(name string) (scenario, error) {
	var none scenario
	if name == "" {
		return none, errors.New(envScenario + " is not set: the official suite sets it")
	}
	if sc, ok := scenarios[name]; ok {
		return sc, nil
	}
	if strings.HasPrefix(name, "auth/") {
		return scenario{play: useTool}, nil
	}
	return none, fmt.Errorf("unknown scenario %q", name)
}
