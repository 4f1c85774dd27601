package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/mainstay-mcp/mainstay/client"
)

// eraStore is the variable that says where the eras of servers are remembered
// between runs: a file, or off.
const eraStore = "MCPCTL_ERA_STORE"

// eraStore is where the eras of servers are remembered, nil for nowhere. A
// folder that cannot be had is no reason not to run.
func (a *app) eraStore() client.EraStore {
	file, set := a.env(eraStore)
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

// eraFound says in a few words how the era was found.
func eraFound(e client.Negotiated) string {
	switch e.Evidence {
	case client.EvidencePinned:
		return "as told"
	case client.EvidenceRemembered:
		return "remembered from an earlier run"
	case client.EvidenceTransport:
		return "the transport has no other"
	}
	text := e.Evidence
	if len(e.Tried) > 0 {
		text = attempt(e.Tried[0])
	}
	if e.Restarted {
		text += "; started anew for a session"
	}
	if e.Fallback {
		text += "; over HTTP+SSE"
	}
	return text
}

// eraSteps tells of each request that led to the era, for -v.
func eraSteps(e client.Negotiated) []string {
	var out []string
	for _, tried := range e.Tried {
		out = append(out, fmt.Sprintf("tried %s in %s", attempt(tried), fine(tried.Took)))
	}
	return append(out, fmt.Sprintf("era %s, revision %s: %s", eraWord(e.Era), e.Version, eraFound(e)))
}

func attempt(a client.ProbeStep) string {
	if a.Version == "" {
		return a.Method + ": " + a.Reply
	}
	return fmt.Sprintf("%s at %s: %s", a.Method, a.Version, a.Reply)
}
