package explain

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// otherLogins returns how to use a login that is stored for this server and that the
// command did not look for: with another profile, or by the other name of this machine.
func (x *Explainer) otherLogins(ctx context.Context, t target.Target) []string {
	store, err := x.Store(ctx)
	if err != nil {
		return nil // as the error says already
	}
	keys, _ := store.List(ctx) // those that cannot be read are no help
	var others []string
	kind, profile, _ := strings.Cut(x.Flags.Auth, ":")
	if kind != "profile" {
		profile = ""
	}
	for _, key := range keys {
		server := cmp.Or(key.Server, key.Resource)
		same, twin := target.SameServer(server, t.URL), target.OtherName(server, t.URL)
		if !same && !twin || same == (key.Principal == profile) {
			continue
		}
		if r, err := store.Load(ctx, key); err != nil || !usable(r, time.Now()) {
			continue
		}
		if twin {
			others = append(others, "or use "+target.Shown(server)+": you are logged in there")
		} else {
			others = append(others, x.withProfile(key.Principal))
		}
	}
	return others
}

// usable reports whether a call can be made with a record, as far as it says.
func usable(r auth.Record, now time.Time) bool {
	return !r.Token.Access.Empty() && (!r.Token.Refresh.Empty() || r.Token.Expiry.IsZero() || now.Before(r.Token.Expiry))
}

// withProfile is how to use the login with a profile.
func (x *Explainer) withProfile(profile string) string {
	name := cmp.Or(x.ProfileFlag, "--auth")
	if profile == "" {
		return "or leave out " + name + ": you are logged in without it"
	}
	words := []string{name, profile}
	if x.ProfileFlag == "" {
		words[1] = "profile:" + profile
	}
	return "or add " + example.Quote(words) + ": you are logged in with it"
}
