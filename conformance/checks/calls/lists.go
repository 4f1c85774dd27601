package calls

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// announced are the lists whose changes a server may announce, with the notification.
var announced = []struct {
	kind wire.ListKind
	news string
}{
	{wire.ToolList, mcp.MethodToolsListChanged},
	{wire.PromptList, mcp.MethodPromptsListChanged},
	{wire.ResourceList, mcp.MethodResourcesListChanged},
}

// runLists makes calls of tools that may change something, and lists what the server announces
// changes of: a list that has changed has news.
func runLists(t *engine.Trial) {
	v := verdicts{}
	w := &watched{verdicts: v, t: t, s: t.Fresh()}
	s := w.s
	if t.Rev.Stateless() {
		filter := map[string]any{}
		for _, list := range announced {
			if t.Rev.Capabilities.Has(list.kind.Capability + ".listChanged") {
				filter[list.kind.Capability+"ListChanged"] = true
			}
		}
		if !w.listen(filter) {
			return
		}
		defer func() { _ = w.sub.End(t) }()
	} else {
		listenOnGet(t, s)
	}
	listed := resourcesOf(t, s)
	over, calls := budget(t), mayChange(t)
	for _, list := range announced {
		if !t.Rev.Capabilities.Has(list.kind.Capability + ".listChanged") {
			continue
		}
		before, listed := namesIn(t, s, list.kind)
		had := len(s.Unsolicited) // news may come on the way of a list that does not have it yet
		again, _ := namesIn(t, s, list.kind)
		if !listed || again != before { // another check judges it, or it changes without calls
			continue
		}
		for _, c := range calls {
			if over() {
				break
			}
			t.Step(s)
			_, err := ask(t, s, c, nil)
			if wire.IsLost(err) {
				break // another check judges it
			}
			t.NoError(err)
			now := len(s.Unsolicited)
			after, listed := namesIn(t, s, list.kind)
			if !listed {
				break
			}
			if after == before {
				had = now
				continue
			}
			at, came := newsSince(t, s, had, func(in wire.Inbound) bool { return in.Method() == list.news })
			if again, _ := namesIn(t, s, list.kind); !came && again != after {
				break // it changes without calls
			}
			if w.ended() {
				break
			}
			v.see(t, "CALL-10/"+list.kind.Member, came, fmt.Sprintf("%s within %s", list.news, wire.NewsWait), "%s: it changed the list of %s, and no news came", c, list.kind.Member)
			before, had = after, max(now, at)
		}
	}
	readAdded(t, s, listed)
	for _, list := range announced {
		for _, in := range s.Notifications(list.news) {
			w.tagged("CALL-10/tagged", in)
		}
	}
	v.decide(t, "no call changed a list")
}

// resourcesOf are the URIs of the listed resources.
func resourcesOf(t *engine.Trial, s *wire.Session) []string {
	if !t.Rev.Capabilities.Has("resources") {
		return nil
	}
	list, err := wire.WalkList(t.Ctx, s, wire.ResourceList)
	if err != nil {
		return nil // another check judges it
	}
	return list.Keys(wire.ResourceList)
}

// readAdded reads the resources that calls have added: checks of all messages judge the contents.
func readAdded(t *engine.Trial, s *wire.Session, before []string) {
	added := slices.DeleteFunc(resourcesOf(t, s), func(uri string) bool { return slices.Contains(before, uri) })
	for _, uri := range first(added, mostOffers) {
		t.Step(s)
		_, err := s.Request(t.Ctx, mcp.MethodResourcesRead, map[string]any{"uri": uri})
		t.NoError(err)
	}
}

// namesIn returns the names in a list, sorted, and whether the server gave it.
func namesIn(t *engine.Trial, s *wire.Session, kind wire.ListKind) (names string, listed bool) {
	list, err := wire.WalkList(t.Ctx, s, kind)
	if err != nil {
		return "", false
	}
	keys := list.Keys(kind)
	slices.Sort(keys)
	return strings.Join(keys, "\n"), true
}
