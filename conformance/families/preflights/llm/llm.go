// Package llm asks which questions a request raises and what its answers mean
// for the architecture. The default is a deterministic mock that knows thirty
// topics; real language models stand behind the same interface (tools.md §5.4).
package llm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
)

// A Request is what a provider receives.
type Request struct {
	Intention string
	Context   string
	// ADR says that a decision is to be recorded. For Questions it is what a rule
	// about words says, and a provider may judge otherwise.
	ADR bool
	// Decided is what the architecture says: category, field, value.
	Decided map[string]map[string]string
	// Questions and Answers are those of the session so far.
	Questions []question.Question
	Answers   question.Answers
}

// A Clarification is what must be asked.
type Clarification struct {
	Questions []question.Question
	// MissingInfo are the semantic keys that are not known yet. Those whose
	// questions found no room in this session are in Deferred too.
	MissingInfo []string
	Deferred    []string
	// DecisionHint is informative only: no outcome depends on it.
	DecisionHint string
	// NeedsADR is the provider's judgement whether a decision is to be recorded;
	// nil is none.
	NeedsADR *bool
}

// A Decision is what the answers mean.
type Decision struct {
	Title string
	Patch adr.Patch
}

// A Provider asks and understands. Its methods are safe for concurrent use.
type Provider interface {
	Questions(ctx context.Context, req Request) (Clarification, error)
	Extract(ctx context.Context, req Request) (Decision, error)
}

// ErrNothing is the error of Extract when the answers hold no decision.
var ErrNothing = errors.New("nothing usable was extracted")

// Config selects a provider.
type Config struct {
	// Provider is mock, anthropic, openai or openrouter; empty is mock.
	Provider string
	// Model is the model to ask; empty is a small one of the provider.
	Model string
	// APIKey is required by all but mock. It is never logged.
	APIKey string
	// BaseURL replaces the provider's own address.
	BaseURL string
	// Client makes the requests; nil is a client without redirects.
	Client *http.Client
}

// ConfigFromEnv reads the configuration the command line of Preflights uses.
func ConfigFromEnv(getenv func(string) string) Config {
	c := Config{
		Provider: strings.ToLower(strings.TrimSpace(getenv("PREFLIGHTS_LLM_PROVIDER"))),
		Model:    getenv("PREFLIGHTS_LLM_MODEL"),
		BaseURL:  getenv("PREFLIGHTS_LLM_BASE_URL"),
	}
	if v, ok := vendors[c.Provider]; ok {
		c.APIKey = getenv(v.key)
	}
	return c
}

// New returns the provider of c behind its fallback. A provider that does not
// exist, or has no key, is an error: a server that quietly used the mock for
// ever would hide a typing mistake.
func New(c Config) (*Fallback, error) {
	if c.Provider == "" || c.Provider == "mock" {
		return NewFallback(nil), nil
	}
	v, ok := vendors[c.Provider]
	if !ok {
		return nil, fmt.Errorf("unknown language model provider %.40q, known: mock, anthropic, openai, openrouter", c.Provider)
	}
	if c.APIKey == "" {
		return nil, fmt.Errorf("language model provider %s needs a key in %s", c.Provider, v.key)
	}
	return NewFallback(newRemote(v, c)), nil
}
