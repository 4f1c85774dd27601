package authorization

import (
	"fmt"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

const (
	hugeSize = 64 << 20
	// hugeTaken is more than the limit of a client plus the buffers of the network.
	hugeTaken = 32 << 20
)

// networks judges where the client connects to, and how long and how much it reads.
func networks() []login {
	return []login{
		newLogin("C-RESOURCE-HUGE", func(w *guarded.World, _ *trial.Login) {
			h := w.Huge(hugeSize)
			w.Handlers[guarded.Resource+resourcePath], w.Handlers[guarded.Resource+guarded.MetadataPath] = h, h
		}, func(v *view) {
			n := v.Taken()
			v.Check("C-SEC-10/bounded", n > 0 && n < hugeTaken, "at most 32 MiB are read", fmt.Sprintf("%d MiB were", n>>20))
			v.toldError("C-SEC-10/told")
		}),
		newLogin("C-RESOURCE-ENDLESS", func(w *guarded.World, _ *trial.Login) {
			w.Handlers[guarded.Resource+resourcePath] = guarded.Endless
		}, func(v *view) { v.toldError("C-SEC-10/ends") }),
		newLogin("C-TOKEN-SILENT", func(w *guarded.World, _ *trial.Login) {
			w.Handlers[guarded.First+"/token"] = guarded.Silent
		}, func(v *view) { v.toldError("C-SEC-10/silent") }),
	}
}

// privateHosts judges whether the client connects to a private or reserved address.
func privateHosts() []login {
	private := func(name, word string, arrange func(w *guarded.World)) login {
		return newLogin("C-PRIVATE-"+name, func(w *guarded.World, _ *trial.Login) {
			if w.Private != "" {
				arrange(w)
			}
		}, func(v *view) {
			id := "C-SEC-02/" + word
			if v.Private == "" {
				v.Skip(id, "this machine has no private or reserved address to listen on")
				return
			}
			v.Check(id, v.Touched() == 0, "no connection", count(v.Touched(), "connection"))
		})
	}
	return []login{
		private("SERVER", "server", func(w *guarded.World) {
			w.Metadata["authorization_servers"] = []string{"http://" + w.Private}
		}),
		private("TLS", "tls", func(w *guarded.World) {
			w.Metadata["authorization_servers"] = []string{"https://" + w.Private}
		}),
		private("METADATA", "metadata", func(w *guarded.World) {
			w.Challenge = []string{`Bearer resource_metadata="https://` + w.Private + `/metadata"`}
		}),
		private("REDIRECT", "redirect", func(w *guarded.World) {
			h := guarded.Redirect("https://"+w.Private+"/metadata", http.StatusFound)
			w.Handlers[guarded.First+"/.well-known/oauth-authorization-server"] = h
			w.Handlers[guarded.First+"/.well-known/openid-configuration"] = h
		}),
		private("TOKEN", "token", func(w *guarded.World) {
			w.First.Metadata["token_endpoint"] = "https://" + w.Private + "/token"
		}),
		private("LOGIN", "login", func(w *guarded.World) {
			w.First.Metadata["authorization_endpoint"] = "http://" + w.Private + "/authorize"
		}),
		private("REGISTRATION", "registration", func(w *guarded.World) {
			w.First.Metadata["registration_endpoint"] = "https://" + w.Private + "/register"
		}),
	}
}
