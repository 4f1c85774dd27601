package clientdriver

import (
	"encoding/json"
	"os/exec"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// EnvTask names the environment variable that holds the [Task] as JSON.
//
// # Experimental
const EnvTask = "MAINSTAY_CONFORM_TASK"

// Task is what the client should do in one scenario. docs/conformance-clients.md
// describes its members.
//
// # Experimental
type Task struct {
	// Scenario is for logs.
	Scenario string `json:"scenario"`
	// Revision is the revision to speak. A client that negotiates may ignore it: the
	// server speaks no other.
	Revision mcp.Version `json:"revision"`
	// Transport is "http" or "stdio".
	Transport string `json:"transport"`
	// Negotiate asks the client to find out which era the server speaks. It will find
	// Revision. A client of one era connects as usual, or reports "unsupported".
	Negotiate bool `json:"negotiate,omitempty"`
	// Tasks asks the client to declare the tasks extension, if it has it.
	Tasks bool `json:"tasks,omitempty"`
	// URL is the endpoint over HTTP, Command the program and its arguments over stdio.
	// The other one is empty.
	URL     string   `json:"url,omitempty"`
	Command []string `json:"command,omitempty"`
	// Login says how to log in when the server requires it, nil if it does not.
	Login *Login `json:"login,omitempty"`
	// Answers says how to answer requests of the server. The client should not offer a
	// feature that has no answer here.
	Answers Answers `json:"answers,omitzero"`
	// Steps run one after another. The first connects, the last closes.
	Steps []Step `json:"steps"`
}

// Pinned returns the revision that the client should speak, "" if it should find out what the
// server speaks.
//
// # Experimental
func (t *Task) Pinned() string {
	if t.Negotiate {
		return ""
	}
	return string(t.Revision)
}

// Cmd returns the server of a task over stdio, for a client that takes it like that; over
// HTTP it is of no use.
//
// # Experimental
func (t *Task) Cmd() *exec.Cmd {
	argv := append(slices.Clone(t.Command), "")[:max(1, len(t.Command))]
	return exec.Command(argv[0], argv[1:]...)
}

// Login is how the client should log in. The zero value is a person without a registered
// client: the client opens the login page itself, as [Browse] does.
//
// # Experimental
type Login struct {
	// Flow is empty for a person, else [FlowSecret] or [FlowKey].
	Flow string `json:"flow,omitempty"`
	// ClientID and ClientSecret were registered in advance at Issuer. PrivateKey is the
	// client's, for ES256: PEM, PKCS #8.
	ClientID     string `json:"clientId,omitempty"`
	ClientSecret string `json:"clientSecret,omitempty"`
	PrivateKey   string `json:"privateKey,omitempty"`
	Issuer       string `json:"issuer,omitempty"`
	// ClientMetadata is the URL of the client's metadata document. Nobody fetches it.
	ClientMetadata string `json:"clientMetadata,omitempty"`
	// DPoP asks for tokens that are bound to a key (RFC 9449).
	DPoP bool `json:"dpop,omitempty"`
}

// The flows of a [Login] without a person.
//
// # Experimental
const (
	FlowSecret = "client-credentials"
	FlowKey    = "private-key-jwt"
)

// More logins that a client may have, for [Run].
//
// # Experimental
const (
	Preregistered = "preregistered"
	Documents     = "client-metadata"
	DPoP          = "dpop"
)

// needs returns what a client must have for the login.
func (l *Login) needs() (words []string) {
	switch {
	case l == nil:
		return nil
	case l.Flow != "":
		words = []string{l.Flow}
	case l.ClientID != "":
		words = []string{Preregistered}
	case l.ClientMetadata != "":
		words = []string{Documents}
	}
	if l.DPoP {
		words = append(words, DPoP)
	}
	return words
}

// Answers are the answers of the client features, for clients that have them.
//
// # Experimental
type Answers struct {
	// Elicit is the result of elicitation/create for each form. ElicitURL is the action
	// for each request to send the user to a page.
	Elicit    json.RawMessage `json:"elicit,omitempty"`
	ElicitURL string          `json:"elicitUrl,omitempty"`
	// Sample is the result of sampling/createMessage.
	Sample json.RawMessage `json:"sample,omitempty"`
	// Roots are the URIs of the client's roots.
	Roots []string `json:"roots,omitempty"`
}

// The steps that are no calls.
//
// # Experimental
const (
	StepConnect = "connect"
	StepClose   = "close"
)

// Step is one thing to do.
//
// # Experimental
type Step struct {
	// Call is [StepConnect], [StepClose], or the method to call. A list is walked to its end.
	Call string `json:"call"`
	// URL is the server of a connect step, if it is not [Task.URL].
	URL string `json:"url,omitempty"`
	// Name is that of a tool or a prompt, URI that of a resource.
	Name string `json:"name,omitempty"`
	URI  string `json:"uri,omitempty"`
	// Arguments are those of a tool or a prompt, to be sent unchanged.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Params are the params of a method that has no other fields here:
	// completion/complete, logging/setLevel and subscriptions/listen.
	Params json.RawMessage `json:"params,omitempty"`
	// ForMs is how long a subscription is held before the client ends it.
	ForMs int `json:"forMs,omitempty"`
	// DeadlineMs is the timeout of the step; 0 leaves it to the client.
	DeadlineMs int `json:"deadlineMs,omitempty"`
	// CancelAfterMs is the time after which the caller cancels the step; 0 is never.
	CancelAfterMs int `json:"cancelAfterMs,omitempty"`
	// Progress asks for progress.
	Progress bool `json:"progress,omitempty"`
	// Times makes the call that often at once, each with one more argument, n, that
	// counts from 0. The client prints one line for each. 0 is once, without n.
	Times int `json:"times,omitempty"`

	// token is for progress. level is that of log messages in the stateless era, shared by all
	// steps; it is nil in the other.
	token string
	level *string
}

// Request returns the params of the request that the step asks for.
//
// # Experimental
func (s *Step) Request() json.RawMessage {
	if s.Params != nil {
		return s.Params
	}
	var params struct {
		Name      string            `json:"name,omitempty"`
		URI       string            `json:"uri,omitempty"`
		Arguments json.RawMessage   `json:"arguments,omitempty"`
		Meta      map[string]string `json:"_meta,omitempty"`
	}
	params.Name, params.URI, params.Arguments = s.Name, s.URI, s.Arguments
	meta := map[string]string{}
	if s.Progress {
		meta["progressToken"] = s.token
	}
	if s.level != nil && *s.level != "" {
		meta[mcp.MetaLogLevel] = *s.level
	}
	if len(meta) > 0 {
		params.Meta = meta
	}
	raw, _ := json.Marshal(params) // arguments came as JSON
	return raw
}
