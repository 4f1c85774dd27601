package connect

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
)

// EraStore is the variable that names the file in which the eras of servers are
// remembered between runs; its value may be off.
const EraStore = "MCPCTL_ERA_STORE"

// eraStore remembers the eras of servers between runs; nil remembers nothing. A
// missing cache folder is no error.
func (d *Dialer) eraStore() client.EraStore {
	file, set := d.Console.Env(EraStore)
	switch {
	case file == "off":
		return nil
	case set && file != "":
		return client.FileEraStore(file)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return client.FileEraStore(filepath.Join(dir, "mainstay", "eras.json"))
}

// EraFound describes in a few words how the era was found.
func EraFound(e client.Negotiated) string {
	switch e.Evidence {
	case "pinned":
		return "chosen on the command line"
	case "remembered":
		return "remembered from an earlier run"
	case "transport":
		return "the only one of its transport"
	}
	text := e.Evidence
	if len(e.Tried) > 0 {
		text = ProbeStep(e.Tried[0])
	}
	if e.Restarted {
		text += "; restarted without the probe"
	}
	if e.Fallback {
		text += "; over HTTP+SSE"
	}
	return text
}

// eraSteps describes each request that led to the era, for -v.
func eraSteps(e client.Negotiated) []string {
	var out []string
	for _, tried := range e.Tried {
		out = append(out, fmt.Sprintf("tried %s (%s)", ProbeStep(tried), console.Precise(tried.Took)))
	}
	return append(out, fmt.Sprintf("era %s, revision %s: %s", e.Era, e.Version, EraFound(e)))
}

// ProbeStep describes one request of the negotiation.
func ProbeStep(a client.ProbeStep) string {
	if a.Version == "" {
		return a.Method + ": " + a.Reply
	}
	return fmt.Sprintf("%s at %s: %s", a.Method, a.Version, a.Reply)
}
