package reference

import (
	"io"
	"net/netip"
	"time"
)

// Paths of a server over HTTP.
const (
	Path    = "/mcp"
	SSEPath = "/sse"
)

// HTTPFamilies returns the names of all families.
func HTTPFamilies() []string {
	return []string{"artifact", "coe", "docling", "preflights", "assistant", "fixtures", "skills"}
}

// Options are the options of the reference server that tests set. The zero value is a server with
// the families of stdio and a temporary folder.
type Options struct {
	Families            []string  `json:"families,omitempty"`
	ArtifactsDir        string    `json:"artifacts_dir,omitempty"`
	ChecklistDir        string    `json:"checklist_dir,omitempty"`
	Services            Services  `json:"services"`
	AllowFaultInjection bool      `json:"allow_fault_injection,omitempty"`
	SSE                 bool      `json:"sse,omitempty"`
	COE                 COE       `json:"coe"`
	Docling             Docling   `json:"docling"`
	Assistant           Assistant `json:"assistant"`
	// Log receives the lines of the server's log, each in one piece; nil drops them.
	Log io.Writer `json:"-"`
}

// Services are the options of the services that the artifact family uses.
type Services struct {
	TasksURL    string        `json:"tasks_url,omitempty"`
	IDsURL      string        `json:"ids_url,omitempty"`
	APIKey      string        `json:"api_key,omitempty"`
	ProjectID   string        `json:"project_id,omitempty"`
	Reservation time.Duration `json:"reservation,omitempty"`
}

// COE are the options of the coe family.
type COE struct {
	NextTask       string `json:"next_task,omitempty"`
	NoOrchestrator bool   `json:"no_orchestrator,omitempty"`
	Admin          bool   `json:"admin,omitempty"`
}

// Docling are the options of the docling family.
type Docling struct {
	InputRoots    []string       `json:"input_roots,omitempty"`
	AllowNetworks []netip.Prefix `json:"allow_networks,omitempty"`
}

// Assistant are the options of the assistant family.
type Assistant struct {
	SessionToken string `json:"session_token,omitempty"`
}

// Request is the first line of a connection to the host, as JSON.
type Request struct {
	// New requests a server. It runs until the connection's input ends.
	New *Options `json:"new,omitempty"`
	// Log requests its log.
	Log bool `json:"log,omitempty"`
	// Serve is the ID of a server: the rest of the connection is its stdio.
	Serve int `json:"serve,omitempty"`
}

// Reply is a line of the host on a connection that began with New.
type Reply struct {
	// Log is a line of the server's log.
	Log string `json:"log,omitempty"`
	// ID is the ID of a started server, URL its address if it serves HTTP.
	ID  int    `json:"id,omitempty"`
	URL string `json:"url,omitempty"`
	// Closed reports that the server has ended. No line follows.
	Closed bool `json:"closed,omitempty"`
	// Error is why the server did not start, or failed.
	Error string `json:"error,omitempty"`
}
