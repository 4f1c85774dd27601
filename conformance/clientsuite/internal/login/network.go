package login

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
)

const (
	hugeSize = 64 << 20
	// hugeTaken is more than a client reads of a document plus what the network buffers.
	hugeTaken = 32 << 20
)

// networks look at where the client connects to, and how long it listens.
func networks() []Scenario {
	resourcePath := guarded.Resource + guarded.MetadataPath + guarded.Endpoint
	private := func(name, word string, arrange func(w *guarded.World)) Scenario {
		return scenario("C-PRIVATE-"+name, func(w *guarded.World, _ *Way) {
			if w.Private != "" {
				arrange(w)
			}
		}, func(v *View) {
			id := "C-SEC-02/" + word
			if v.Private == "" {
				v.Skip(id, "this machine has no private or reserved address to listen on")
				return
			}
			v.Check(id, v.Touched() == 0, "no connection", count(v.Touched(), "connection"))
		})
	}
	var taken atomic.Int64 // of one run: a scenario is made anew for each
	return []Scenario{
		scenario("C-RESOURCE-HUGE", func(w *guarded.World, _ *Way) {
			taken.Store(0)
			h := guarded.Huge(hugeSize, func(n int) { taken.Add(int64(n)) })
			w.Handlers[resourcePath], w.Handlers[guarded.Resource+guarded.MetadataPath] = h, h
		}, func(v *View) {
			n := taken.Load()
			v.Check("C-SEC-10/bounded", n > 0 && n < hugeTaken, "at most 32 MiB are read", fmt.Sprintf("%d MiB were", n>>20))
			v.toldError("C-SEC-10/told")
		}),
		scenario("C-RESOURCE-ENDLESS", func(w *guarded.World, _ *Way) {
			w.Handlers[resourcePath] = guarded.Endless
		}, func(v *View) { v.toldError("C-SEC-10/ends") }),
		scenario("C-TOKEN-SILENT", func(w *guarded.World, _ *Way) {
			w.Handlers[guarded.First+"/token"] = guarded.Silent
		}, func(v *View) { v.toldError("C-SEC-10/silent") }),
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
