package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doctor"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

func newInspectCmd(a *app) *cobra.Command {
	var l login
	cmd := &cobra.Command{
		Use:   "inspect [SERVER]",
		Short: "Show what a server demands for a login, step by step",
		Long: `Show what a server demands for a login: each document that is fetched, each rule
that is checked with its section, and what a login would ask for. It logs nobody
in. What is wrong says what was found and what to do. The flags are those of
the login.

Exit code: 0 a login would work, or none is demanded; 1 a login would fail; 3
the server or its authorization server does not answer; 4 the server refuses
access for another reason than a missing login; 10 nothing says how to log in.`,
		Example: `  mcpctl auth inspect https://api.example.com/mcp
  mcpctl auth inspect -o json https://api.example.com/mcp
  mcpctl auth inspect --private-network https://mcp.corp.example/mcp`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.remote(cmd, args)
			if err != nil {
				return err
			}
			in, err := l.inspection(cmd.Context(), a, t)
			if err != nil {
				return err
			}
			return a.inspected(*in)
		},
	}
	l.register(cmd.Flags())
	a.completes(cmd)
	return cmd
}

// verdict is what an inspection comes to.
type verdict string

const (
	wouldWork   verdict = "would-work"
	wouldFail   verdict = "would-fail"
	optional    verdict = "optional" // the server answers without a login, too
	notDemanded verdict = "not-demanded"
	guessed     verdict = "guessed" // nothing says how to log in
	noAnswer    verdict = "no-answer"
)

// inspection is what `auth inspect` prints.
type inspection struct {
	Server  string  `json:"server"`
	Verdict verdict `json:"verdict"`
	Problem string  `json:"problem,omitempty"`
	Steps   []step  `json:"steps"`
	Login   *demand `json:"login"`
	Next    string  `json:"next,omitempty"`
}

// step is a document that was fetched, or a rule that was checked. Its outcome is ok,
// none (there is no document there), note (a login does not fail for it) or fail.
type step struct {
	What    string `json:"what"`
	URL     string `json:"url,omitempty"`
	Status  int    `json:"status,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Outcome string `json:"outcome"`
	Found   string `json:"found,omitempty"`
	Help    string `json:"help,omitempty"`
}

// demand is what a login would ask for.
type demand struct {
	Resource         string   `json:"resource"`
	Issuer           string   `json:"issuer"`
	Scopes           []string `json:"scopes"`
	AuthorizationURL string   `json:"authorizationUrl"`
	TokenURL         string   `json:"tokenUrl"`
	RegistrationURL  string   `json:"registrationUrl,omitempty"`
	PushURL          string   `json:"pushedRequestUrl,omitempty"`
	PushRequired     bool     `json:"pushedRequestsRequired,omitempty"`
	DeviceURL        string   `json:"deviceUrl,omitempty"`
	ClientMetadata   bool     `json:"clientMetadata"`
	DPoP             bool     `json:"dpop"`
}

// inspection finds out what a server demands for a login. From then on the run uses no stored token.
func (l *login) inspection(ctx context.Context, a *app, t target.Target) (*inspection, error) {
	opts, err := l.demands(a)
	if err != nil {
		return nil, err
	}
	a.flags.Auth = "none" // not the stored tokens
	in := inspection{Server: target.Shown(t.URL), Steps: []step{}}
	var mu sync.Mutex
	opts = append(opts, auth.WithTrace(func(s auth.Step) {
		mu.Lock()
		defer mu.Unlock()
		in.Steps = append(in.Steps, a.shownStep(s))
	}))
	by := &inspector{Authorizer: auth.Login(opts...), url: t.URL, opts: opts}
	defer by.Close() //nolint:errcheck // nothing is in progress
	var found *auth.Inspection
	answered := false
	err = a.dial.With(ctx, t, func(ctx context.Context, _ *connect.Connection) (err error) {
		answered = true
		found, err = auth.Inspect(ctx, t.URL, opts...) // it may want a login for some requests
		return err
	}, client.WithAuthorizer(by))
	if errors.Is(err, errInspected) {
		found = by.found
	}
	mu.Lock() // steps of requests that are still in progress are not shown
	defer mu.Unlock()

	var why *auth.Error
	switch {
	case found != nil:
	case answered && !in.hasResource():
		in.Verdict, in.Steps = notDemanded, []step{}
		return &in, nil
	case errors.As(err, &why) && why.Reason == auth.ReasonOption:
		return nil, failure.Usage("%s", visible.Line(explain.AsFlags(why.Err.Error())))
	case errors.As(err, &why):
	case !answered && refused(err) && target.NeedsTLS(t.URL):
		err = errors.New("the server wants a login, and its URL is not https")
		in.Steps = append(in.Steps, step{
			What: "server", URL: in.Server, Rule: "its URL is https (MCP authorization; RFC 6750 §5.2)", Outcome: "fail",
			Found: "tokens do not travel without TLS", Help: "use the https URL of the server",
		})
	default:
		return nil, err
	}
	switch {
	case found != nil && found.Assumed && found.Problem == nil:
		in.Verdict = guessed
	case found != nil && found.Problem == nil && answered:
		in.Verdict = optional
	case found != nil && found.Problem == nil:
		in.Verdict = wouldWork
	case found == nil && explain.Unanswered(err):
		in.Verdict = noAnswer
	default:
		in.Verdict = wouldFail
	}
	switch {
	case found != nil && found.Fallback && answered:
		in.Verdict, in.Steps = notDemanded, []step{}
		return &in, nil
	case found != nil:
		in.Login = &demand{
			Resource: found.Resource, Issuer: found.Issuer, Scopes: append([]string{}, found.Scopes...),
			AuthorizationURL: found.AuthorizationURL, TokenURL: found.TokenURL, RegistrationURL: found.RegistrationURL,
			PushURL: found.PushURL, PushRequired: found.PushRequired, DeviceURL: found.DeviceURL,
			ClientMetadata: found.ClientMetadata, DPoP: found.DPoP,
		}
		err = found.Problem
	case why != nil:
		err = why.Err
	}
	if err != nil {
		in.Problem = a.dial.Secrets.Hide(err.Error())
	}
	if in.Verdict == wouldWork || in.Verdict == optional || in.Verdict == guessed {
		in.Next = a.explain.AuthCommand(t, append([]string{"login"}, slices.Concat(l.typed()...)...)...)
	}
	return &in, nil
}

// loginOf finds out what a login at a server would do, for doctor.
func loginOf(a *app) func(context.Context, target.Target) (doctor.Login, error) {
	return func(ctx context.Context, t target.Target) (doctor.Login, error) {
		in, err := (&login{}).inspection(ctx, a, t)
		switch {
		case err != nil:
			return doctor.Login{}, err
		case in.Verdict == wouldFail, in.Verdict == noAnswer:
			return doctor.Login{Problem: in.Problem}, nil
		case in.Login == nil, in.Verdict == guessed:
			return doctor.Login{}, nil
		}
		return doctor.Login{Issuer: in.Login.Issuer}, nil
	}
}

// inspector inspects the first challenge of a server and sends no token.
type inspector struct {
	*auth.Authorizer
	url  string
	opts []auth.Option

	mu    sync.Mutex
	found *auth.Inspection
	err   error // of the inspection, errInspected after one that found a login
}

// errInspected ends the connection to a server that demands a login.
var errInspected = errors.New("the server demands a login")

// Challenged implements [transport.Authorizer].
func (i *inspector) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	if c.Background || c.Status != http.StatusUnauthorized && (target.NeedsTLS(i.url) || !wantsScope(c)) {
		return nil, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.err == nil {
		if i.found, i.err = auth.Inspect(ctx, i.url, append(slices.Clone(i.opts), auth.WithChallenge(c.Status, c.Header))...); i.err == nil {
			i.err = errInspected
		}
	}
	return nil, i.err
}

// wantsScope reports whether an answer of status 403 asks for more scopes.
func wantsScope(c transport.Challenge) bool {
	demand, _ := auth.DemandOf(c.Header)
	return demand.Code == "insufficient_scope" || demand.Code == "" && len(demand.Scopes) > 0
}

// hasResource reports whether the server has resource metadata, right or wrong.
func (in *inspection) hasResource() bool {
	for _, s := range in.Steps {
		if strings.Contains(s.What, "resource") && s.Status == http.StatusOK && s.Outcome == "ok" {
			return true
		}
	}
	return false
}

// refused reports whether a server answered with 401 or 403.
func refused(err error) bool { return mcperrors.KindOf(err) == mcperrors.KindAuth }

// shownStep is a step as it is printed.
func (a *app) shownStep(s auth.Step) step {
	one := step{What: s.What, URL: s.URL, Status: s.Status, Rule: s.Rule, Outcome: "ok", Found: s.Found}
	if s.Err == nil {
		return one
	}
	one.Found, one.Help = a.dial.Secrets.Hide(s.Err.Error()), explain.AsFlags(s.Help)
	switch {
	case s.Minor && s.Rule == "":
		one.Outcome = "none"
	case s.Minor:
		one.Outcome = "note"
	default:
		one.Outcome = "fail"
	}
	return one
}

// inspected prints an inspection and ends the command with its exit code.
func (a *app) inspected(in inspection) error {
	var f *failure.Failure
	switch in.Verdict {
	case wouldFail:
		f = failure.New(failure.KindNegative, mcperrors.NotSent, "a login would fail: %s", in.Problem)
	case noAnswer:
		f = failure.New(failure.KindUnreachable, mcperrors.NotSent, "the authorization server does not answer: %s", in.Problem)
	case guessed:
		f = failure.New(failure.KindIncomplete, mcperrors.NotSent, "nothing says how to log in")
	case wouldWork, optional, notDemanded:
	}
	var err error
	if a.console.Format == console.Human {
		err = a.console.Print(in.human(a.console.OutStyle()))
		if f != nil {
			f.Silent = true
		}
	} else {
		err = a.console.PrintJSON(console.Encode(in))
	}
	if err != nil || f == nil {
		return err
	}
	return f
}

// human is the inspection as people read it.
func (in inspection) human(style console.Style) string {
	var b strings.Builder
	what := ""
	for _, s := range in.Steps {
		if s.What != what {
			what = s.What
			if b.Len() > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(style.Bold(visible.Line(strings.ToUpper(what[:1])+what[1:])) + "\n")
		}
		s.write(&b, style)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	switch in.Verdict {
	case notDemanded:
		return visible.Line(in.Server) + " demands no login\n"
	case wouldFail:
		b.WriteString(style.Bad("A login would fail") + ": " + visible.Line(in.Problem) + "\n")
		return b.String()
	case noAnswer:
		b.WriteString(style.Bad("The authorization server does not answer") + ": " + visible.Line(in.Problem) + "\n")
		return b.String()
	case optional:
		b.WriteString("The server answers without a login, and may want one for some requests. It would be:\n")
	case guessed:
		b.WriteString("Nothing says how to log in. The server may want a key that its operator gives out (-H), or this,\nwhich is guessed:\n")
	case wouldWork:
		b.WriteString("A login would work, as far as the documents tell:\n")
	}
	known := "registers itself"
	if in.Login.RegistrationURL == "" {
		known = "is known already"
	}
	for _, line := range [...][2]string{
		{"for", in.Login.Resource},
		{"at", in.Login.Issuer},
		{"scopes", cmp.Or(strings.Join(in.Login.Scopes, " "), "none")},
		{"login page", in.Login.AuthorizationURL},
		{"tokens", in.Login.TokenURL},
		{"mcpctl", known},
		{"pushed at", in.Login.PushURL},
		{"other device", in.Login.DeviceURL},
		{"log in with", in.Next},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "  %-12s  %s\n", line[0], visible.Line(line[1]))
		}
	}
	return b.String()
}

// write writes a step with what to do about it.
func (s step) write(b *strings.Builder, style console.Style) {
	mark := s.Outcome
	if s.Outcome == "fail" {
		mark = style.Bad("FAIL")
	}
	text := s.Rule
	if text == "" {
		text = "GET " + s.URL
		if s.Status != 0 {
			text += fmt.Sprintf(": status %d", s.Status)
		}
	}
	fmt.Fprintf(b, "  %s%s  %s", mark, strings.Repeat(" ", max(0, 4-len(s.Outcome))), visible.Line(text))
	switch {
	case s.Outcome == "ok" && s.Found != "":
		b.WriteString(": " + visible.Line(s.Found))
	case s.Outcome == "none" && s.Status == http.StatusOK:
		b.WriteString(" (" + visible.Line(s.Found) + ")")
	case s.Outcome == "note", s.Outcome == "fail":
		b.WriteString("\n          found  " + visible.Line(s.Found))
		if s.Help != "" {
			b.WriteString("\n          do     " + visible.Line(s.Help))
		}
	}
	b.WriteByte('\n')
}
