package authorization

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// odd is a path of the metadata that only the challenge names.
const odd = "/metadata/of-this,server"

// challenges judges how the client reads WWW-Authenticate (RFC 9110 section 11.6.1).
func challenges() []login {
	one := func(name string, lines func(at string) []string) login {
		return newLogin("C-CHALLENGE-"+name, func(w *guarded.World, _ *trial.Login) {
			w.MetadataPaths = []string{odd}
			w.Challenge = lines(w.Base + odd)
		}, func(v *view) {
			id := map[string]string{"SEVERAL": "several", "LINES": "lines", "QUOTED": "quoted", "CASE": "case"}[name]
			n := len(v.At(guarded.Resource, odd))
			v.Check("C-AUTH-03/"+id, n > 0, "GET "+odd, "no such request; asked for: "+names(v.Paths(guarded.Resource)))
		})
	}
	return []login{
		one("SEVERAL", func(at string) []string {
			return []string{`Negotiate, Basic realm="files, and more", Bearer error="invalid_token", resource_metadata="` + at + `", Digest realm="x", nonce="y"`}
		}),
		one("LINES", func(at string) []string {
			return []string{`Unknown68 dG9rZW4=`, `Basic realm="x"`, `Bearer resource_metadata="` + at + `"`}
		}),
		one("QUOTED", func(at string) []string {
			return []string{`Bearer realm="say \"resource_metadata=\", resource_metadata=/wrong", resource_metadata="` + at + `"`}
		}),
		one("CASE", func(at string) []string {
			return []string{`bEARER Realm=x, Resource_Metadata="` + at + `"`}
		}),
	}
}

// The paths of documents.
const (
	resourcePath = guarded.MetadataPath + guarded.Endpoint
	openID       = "/.well-known/openid-configuration"
	oauth        = "/.well-known/oauth-authorization-server"
)

// discoveries judges which documents the client requests, and which it accepts.
func discoveries() []login {
	return slices.Concat(resourceDocuments(), serverDocuments(), legacyServers())
}

func resourceDocuments() []login {
	return []login{
		newLogin("C-RESOURCE-PATHS", func(w *guarded.World, _ *trial.Login) {
			w.MetadataPaths, w.Challenge = []string{guarded.MetadataPath}, []string{`Bearer`}
			w.Metadata["resource"] = w.Base // RFC 9728 section 3.3: the URL that the path was inserted into
		}, func(v *view) {
			inOrder(v, "C-AUTH-04/order", guarded.Resource, resourcePath, guarded.MetadataPath)
			v.served("C-AUTH-04/found", 0)
		}),
		newLogin("C-RESOURCE-OTHER", func(w *guarded.World, _ *trial.Login) {
			w.Metadata["resource"] = "https://another.example/mcp"
		}, func(v *view) {
			v.noLogin("C-AUTH-05/login")
			v.toldError("C-AUTH-05/told")
		}),
		newLogin("C-RESOURCE-REDIRECT", func(w *guarded.World, _ *trial.Login) {
			for _, path := range []string{resourcePath, guarded.MetadataPath} {
				w.Handlers[guarded.Resource+path] = guarded.Redirect(w.Base+path, http.StatusFound)
			}
		}, func(v *view) {
			n := len(v.At(guarded.Resource, resourcePath)) + len(v.At(guarded.Resource, guarded.MetadataPath))
			v.Check("C-AUTH-04/redirect", n > 0 && n <= 50, "at most 50 requests for them", fmt.Sprint(n))
		}),
		newLogin("C-RESOURCE-NO-SERVER", func(w *guarded.World, _ *trial.Login) {
			w.Metadata["authorization_servers"] = []string{}
		}, func(v *view) { v.toldError("C-AUTH-06/told") }),
	}
}

func serverDocuments() []login {
	issuer := func(change func(s *guarded.Server) string) func(*guarded.World, *trial.Login) {
		return func(w *guarded.World, _ *trial.Login) { w.First.Metadata["issuer"] = change(w.First) }
	}
	refused := func(id string) func(*view) { return func(v *view) { v.noLogin(id) } }
	return []login{
		newLogin("C-SERVER-PATHS", func(w *guarded.World, _ *trial.Login) {
			w.First.Settle(w.First.Base + "/tenant1")
			w.First.OpenID("/tenant1" + openID)
			w.Metadata["authorization_servers"] = []string{w.First.Issuer}
		}, func(v *view) {
			inOrder(v, "C-AUTH-07/order", guarded.First, oauth+"/tenant1", openID+"/tenant1", "/tenant1"+openID)
			v.served("C-AUTH-07/found", 0)
		}),
		newLogin("C-SERVER-OPENID", func(w *guarded.World, _ *trial.Login) {
			w.First.OpenID(openID)
		}, func(v *view) {
			inOrder(v, "C-AUTH-07/openid", guarded.First, oauth, openID)
			v.served("C-AUTH-07/openid-found", 0)
		}),
		newLogin("C-ISSUER-OTHER", func(w *guarded.World, _ *trial.Login) {
			w.First.Metadata["issuer"] = w.Second.Issuer
		}, func(v *view) {
			v.noLogin("C-AUTH-08/other")
			v.noLogin("C-AUTH-08/differs")
		}),
		newLogin("C-ISSUER-PATH", issuer(func(s *guarded.Server) string { return s.Issuer + "/other" }), refused("C-AUTH-08/path")),
		newLogin("C-ISSUER-SLASH", issuer(func(s *guarded.Server) string { return s.Issuer + "/" }), refused("C-AUTH-08/slash")),
		newLogin("C-PKCE-ABSENT", func(w *guarded.World, _ *trial.Login) {
			delete(w.First.Metadata, "code_challenge_methods_supported")
		}, refused("C-AUTH-09/absent")),
		newLogin("C-PKCE-OPENID", func(w *guarded.World, _ *trial.Login) {
			delete(w.First.Metadata, "code_challenge_methods_supported")
			w.First.OpenID(openID)
		}, refused("C-AUTH-09/openid")),
		newLogin("C-PKCE-PLAIN", func(w *guarded.World, _ *trial.Login) {
			w.First.Metadata["code_challenge_methods_supported"] = []string{"plain"}
		}, refused("C-AUTH-09/plain")),
	}
}

// legacyServers are servers of 2025-03-26, which are their own authorization servers.
func legacyServers() []login {
	legacy := func(w *guarded.World, _ *trial.Login) {
		w.MetadataPaths, w.Challenge = nil, []string{"Bearer"}
		s := w.First
		for _, path := range []string{"/authorize", "/token", "/register"} {
			w.Handlers[guarded.Resource+path] = s.Behind(path)
		}
		s.Metadata["authorization_response_iss_parameter_supported"] = false
	}
	return []login{
		newLogin("C-LEGACY-METADATA", func(w *guarded.World, way *trial.Login) {
			legacy(w, way)
			w.Handlers[guarded.Resource+oauth] = func(out http.ResponseWriter, _ *http.Request) {
				guarded.Document(out, http.StatusOK, w.First.At(w.Base, "/authorize", "/token", "/register"))
			}
		}, func(v *view) { judgeLegacy(v, "C-AUTH-23/metadata", oauth) }),
		newLogin("C-LEGACY-PATHS", legacy, func(v *view) { judgeLegacy(v, "C-AUTH-23/paths", oauth) }),
	}
}

// inOrder decides a check by the first requests for well-known documents.
func inOrder(v *view, id, host string, want ...string) {
	got := v.Paths(host)
	if host == guarded.Resource {
		got = slices.DeleteFunc(got, func(s string) bool { return !slices.Contains(want, s) })
	}
	v.Check(id, len(got) >= len(want) && slices.Equal(got[:len(want)], want), names(want), names(got))
}

func judgeLegacy(v *view, id, metadata string) {
	asked := len(v.At(guarded.Resource, metadata))
	codes := len(v.At(guarded.Resource, "/token"))
	v.Check(id, asked > 0 && codes > 0 && v.outcome(0) != "error", "GET "+metadata+", then a login at the origin of the server",
		fmt.Sprintf("%s for the metadata, %s%s", count(asked, "request"), count(codes, "token request"), v.said(0)))
}
