package authorization

import (
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// scopes judges which scopes the client requests.
func scopes() []login {
	one := func(name, word, challenge string, supported, want []string) login {
		return newLogin("C-SCOPE-"+name, func(w *guarded.World, _ *trial.Login) {
			at := `Bearer resource_metadata="` + w.Base + guarded.MetadataPath + guarded.Endpoint + `"`
			if challenge != "" {
				at += `, scope="` + challenge + `"`
			}
			w.Challenge = []string{at}
			if supported != nil {
				w.Metadata["scopes_supported"] = supported
			}
		}, func(v *view) {
			logins := v.Logins()
			if !v.hasLogin() {
				return
			}
			got := logins[0].Query
			ok := sameScopes(strings.Fields(got.Get("scope")), want)
			if want == nil {
				ok = !got.Has("scope")
			}
			v.Check("C-AUTH-17/"+word, ok, "scope "+strings.Join(want, " "), "scope "+got.Get("scope"))
		})
	}
	needs := func(w *guarded.World, _ *trial.Login) {
		w.Needs = func(r *guarded.Request) []string {
			if r.Tool == "write" {
				return []string{"files:write"}
			}
			return nil
		}
	}
	return []login{
		one("CHALLENGE", "challenge", "files:read", []string{"files:read", "files:write"}, []string{"files:read"}),
		one("METADATA", "metadata", "", []string{"files:read", "files:write"}, []string{"files:read", "files:write"}),
		one("NONE", "none", "", nil, nil),
		newLogin("C-STEP-UP", needs, judgeStepUp).calling("echo", "write"),
		newLogin("C-STEP-UP-ENDLESS", func(w *guarded.World, way *trial.Login) {
			needs(w, way)
			w.First.Grant = func([]string) []string { return []string{"mcp:use"} }
		}, func(v *view) {
			if !v.called("write") {
				return
			}
			judgeBounded(v, "C-AUTH-18/bounded")
		}).calling("echo", "write"),
	}
}

func sameScopes(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), b)
}

func judgeStepUp(v *view) {
	if !v.called("write") {
		return
	}
	v.served("C-AUTH-18/served", 1)
	logins := v.Logins()
	if len(logins) < 2 {
		v.Unknown("no second login began")
		return
	}
	first, second := logins[0].Query, logins[1].Query
	asked := strings.Fields(second.Get("scope"))
	v.Check("C-AUTH-18/challenged", slices.Contains(asked, "files:write"), "files:write", second.Get("scope"))
	missing := slices.DeleteFunc(strings.Fields(first.Get("scope")), func(s string) bool { return slices.Contains(asked, s) })
	v.Check("C-AUTH-18/union", len(missing) == 0, first.Get("scope")+" files:write", second.Get("scope"))
	v.Check("C-AUTH-11/fresh", first.Get("state") != second.Get("state") && first.Get("code_challenge") != second.Get("code_challenge"), "others", "the same")
}
