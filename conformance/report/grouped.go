package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// finding is one cause with the checks that it fails, in all revisions.
type finding struct {
	cause
	rank    rank
	harm    harm
	results []*conformance.Result // the one that shows the cause best comes first
}

// rank orders findings by what they do to the verdict.
type rank int

const (
	rankFails rank = iota
	rankError
	rankOpen
	rankBlocked
	rankShould
	rankAdvice
	rankKnown
)

// harm orders findings of one rank by what they do to the users of the subject.
type harm int

const (
	harmSecurity harm = iota
	harmData
	harmClients
	harmMust
	harmShould
	harmAdvice
)

// harmWords name the harm in reports.
var harmWords = [...]string{"security", "data", "breaks every client", "MUST", "SHOULD", "advice"}

func (h harm) String() string { return harmWords[h] }

// harms are the harms of the checks that patterns select; the first one counts.
var harms = []struct {
	harm     harm
	patterns string
}{
	{harmMust, "*/own */none *-own"}, // requests that a guard must let through
	{harmSecurity, "AUTH-02* AUTH-18* AUTH-21* X-SEC-* HTTP-05/* */unguessable */traversal */tampered */invented */swapped " +
		"S0-STORE-13/* C-AUTH-* C-MRTR-06/* C-ELIC-05/fetch"},
	{harmData, "X-ISO-* X-WIRE-04/* RPC-06/* UTIL-14/*disjoint UTIL-14/*ends X-WIRE-12/* RPC-01/text-* RPC-15/errors LOG-02/leak DISC-11/* OLD-01/own " +
		"CHG-05/others TASK-03/same store_artifact ids"},
	{harmClients, "LC-01/* LC-03/* DISC-01/* DISC-03/* RPC-01/version RPC-07/exclusive STDIO-01/*"},
}

// Checks that find the same fault in several forms: the title of a plain case names the fault,
// that of an odd one leads to its oddness.
const (
	plainCases = "*/unknown HTTP-15/invalid HTTP-16/ended HTTP-04/accepted HTTP-19/get HTTP-31/*-other HDR-11/*-other"
	oddCases   = "HTTP-02/lines HTTP-03/one HTTP-03/media-type HTTP-15/garbage HTTP-15/other HTTP-15/delete HTTP-15/get CALL-03/after */initialized-again */null-name *base64-* */traversal X-WIRE-04/case */unique"
	// generalChecks hold whole messages to their schema, beside the checks of single members.
	generalChecks = "RPC-01/schema-* RES-07/members"
)

// matches reports whether patterns, which spaces separate, select the check of a result.
func matches(patterns string, res *conformance.Result) bool {
	return slices.ContainsFunc(strings.Fields(patterns), func(pattern string) bool {
		return conformance.Match(pattern, res.ID, res.Scenario, res.Area)
	})
}

// general reports whether only the schemas found the fault.
func (f *finding) general() bool {
	return !slices.ContainsFunc(f.results, func(res *conformance.Result) bool { return !matches(generalChecks, res) })
}

// aside reports whether the finding shows a fault from the side, so that another one of the same
// harm names it better.
func (f *finding) aside() bool { return f.general() || matches(oddCases, f.lead()) }

// harmOf returns the harm of a result by its check, its level and what happened.
func harmOf(res *conformance.Result, kind causeKind) harm {
	must := harmMust
	switch res.Level {
	case conformance.Advice:
		return harmAdvice
	case conformance.Should, conformance.May:
		must = harmShould
	case conformance.Must:
	}
	for _, h := range harms {
		if !matches(h.patterns, res) {
			continue
		}
		// A server that exits gives no wrong answer.
		if h.harm == harmData && (kind == causeExit || kind == causeSilence || kind == causeRefused || kind == causeBody) {
			continue
		}
		if must == harmShould && h.harm > harmData {
			return must
		}
		return h.harm
	}
	if must == harmMust && kind == causeID {
		return harmData
	}
	if must == harmMust && (kind == causeExit || kind == causeSilence || kind == causeNoise || kind == causeBody) {
		return harmClients
	}
	return must
}

// findings groups the results that are no passes by their cause, and orders the groups: what
// fails the run first, by harm, what a check for just this found before what the schemas say,
// then what fails the most checks.
func findings(r *conformance.Report) []finding {
	var all []*finding
	byKey, byID := map[string]*finding{}, map[string]*finding{}
	var unreached []*conformance.Result
	for i := range r.Results {
		res := &r.Results[i]
		blocks := res.Reason == conformance.SkipPrerequisite && res.Level == conformance.Must && !res.Unscored && !res.Excused()
		if !reported(res) && !blocks {
			continue
		}
		if res.Status == conformance.Inconclusive && res.Detail == textNotReached && !res.Excused() {
			unreached = append(unreached, res)
			continue
		}
		rank, c := rankOf(r, res), causeOf(res)
		// What is known, and what is no failure of the subject, stays apart.
		class := "found "
		switch {
		case rank == rankKnown:
			class = "known " + res.ID // each has its own reason
		case rank == rankError:
			class = "error "
		}
		f := byKey[class+c.key]
		if same := byID[class+res.ID]; same != nil && (f == nil || c.kind >= causeAnswer) {
			f = same
		}
		if f == nil {
			f = &finding{cause: c, rank: rank, harm: harmOf(res, c.kind)}
			all = append(all, f)
			byKey[class+c.key] = f
		}
		byID[class+res.ID] = f
		f.results = append(f.results, res)
		f.rank, f.harm = min(f.rank, rank), min(f.harm, harmOf(res, c.kind))
	}
	for _, res := range unreached {
		all = joinScenario(r, all, res)
	}
	all = joinExits(all)
	for _, f := range all {
		f.arrange(r)
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i], all[j]
		switch {
		case a.rank != b.rank:
			return a.rank < b.rank
		case a.harm != b.harm:
			return a.harm < b.harm
		case a.aside() != b.aside():
			return b.aside()
		}
		return len(a.ids()) > len(b.ids())
	})
	out := make([]finding, len(all))
	for i, f := range all {
		out[i] = *f
	}
	return out
}

// joinExits adds checks that a lost connection left open to the failure that explains it:
// that of the same request, or the only one.
func joinExits(all []*finding) []*finding {
	var causes []*finding
	for _, f := range all {
		if f.kind == causeExit && f.rank == rankFails {
			causes = append(causes, f)
		}
	}
	return slices.DeleteFunc(all, func(f *finding) bool {
		if f.kind != causeExit || f.about != "" || f.rank == rankFails || f.rank == rankKnown || slices.ContainsFunc(f.results, func(res *conformance.Result) bool { return res.Status != conformance.Inconclusive }) {
			return false
		}
		for _, c := range causes {
			if c.method == f.method || len(causes) == 1 {
				c.results = append(c.results, f.results...)
				return true
			}
		}
		return false
	})
}

// joinScenario adds a check that its scenario did not reach to the finding that ended the
// scenario.
func joinScenario(r *conformance.Report, all []*finding, res *conformance.Result) []*finding {
	for _, f := range all {
		for _, other := range f.results {
			if f.kind < causeAnswer && f.rank < rankBlocked && other.Scenario == res.Scenario && other.Revision == res.Revision {
				f.results = append(f.results, res)
				return all
			}
		}
	}
	c := cause{kind: causeOpen, key: textNotReached + res.Scenario}
	for _, f := range all {
		if f.key == c.key {
			f.results = append(f.results, res)
			return all
		}
	}
	return append(all, &finding{cause: c, rank: rankOf(r, res), harm: harmOf(res, c.kind), results: []*conformance.Result{res}})
}

func rankOf(r *conformance.Report, res *conformance.Result) rank {
	switch {
	case res.Excused(), res.Unscored:
		return rankKnown
	case r.Fails(res):
		return rankFails
	case res.Status == conformance.Error:
		return rankError
	case res.Status == conformance.Skip:
		return rankBlocked
	case res.Status == conformance.Inconclusive && res.Level == conformance.Must:
		return rankOpen
	case res.Level == conformance.Advice:
		return rankAdvice
	}
	return rankShould
}

// arrange puts the result first that shows the cause best: one that fails the run, by harm,
// of the most frequent request, with the fewest messages. Advice comes last.
func (f *finding) arrange(r *conformance.Report) {
	const mostBefore = 3 // messages before an exit, of which one sees the cause
	method := most(f.results, func(res *conformance.Result) string { return requestOf(res).Method })
	wanted := most(f.results, func(res *conformance.Result) string { return expectation(res.Expected) })
	weight := func(res *conformance.Result) int {
		const step = 100
		w := int(rankOf(r, res))*step + int(harmOf(res, f.kind))
		w *= step
		if f.kind == causeExit && unanswered(res) > mostBefore { // any of the messages may have ended it
			w += step * step * step
		}
		if f.kind == causeRefused && expectation(res.Expected) != wanted || f.kind != causeRefused && requestOf(res).Method != method {
			w += step / 2
		}
		if len(res.Evidence) == 0 {
			return w + step/2 - 1
		}
		const brief = 500 // bytes that are easy to read
		w += min(len(exhibit(res))+sizeOf(requestOf(res))/brief, step/2-2)
		switch {
		case matches(oddCases, res):
			w += step / 2
		case matches(plainCases, res):
			w -= step / 2
		}
		return w
	}
	best := 0
	for i := range f.results {
		if weight(f.results[i]) < weight(f.results[best]) {
			best = i
		}
	}
	lead := f.results[best]
	copy(f.results[1:best+1], f.results[:best])
	f.results[0] = lead
	rest := f.results[1:]
	sort.SliceStable(rest, func(i, j int) bool { return rankOf(r, rest[i]) < rankOf(r, rest[j]) })
	if c := causeOf(lead); c.kind == f.kind {
		f.cause = c
	}
}

// unanswered counts the requests without an answer.
func unanswered(res *conformance.Result) int {
	open := map[string]bool{}
	for i := range res.Evidence {
		var m struct{ ID, Method json.RawMessage }
		if f := &res.Evidence[i]; json.Unmarshal(f.Data, &m) != nil || m.ID == nil {
			continue
		} else if f.Dir == conformance.ToServer && m.Method != nil {
			open[string(m.ID)] = true
		} else {
			delete(open, string(m.ID))
		}
	}
	return len(open)
}

func sizeOf(req request) int {
	if req.frame == nil {
		return 0
	}
	return req.frame.Size
}

// most returns the most frequent text of the results; of several the first.
func most(results []*conformance.Result, text func(*conformance.Result) string) string {
	counts := map[string]int{}
	for _, res := range results {
		counts[text(res)]++
	}
	best := text(results[0])
	for _, res := range results {
		if t := text(res); counts[t] > counts[best] {
			best = t
		}
	}
	return best
}

// lead is the result that shows the cause best.
func (f *finding) lead() *conformance.Result { return f.results[0] }

// ids are the checks of the finding, the lead first.
func (f *finding) ids() []string {
	var out []string
	for _, res := range f.results {
		if !slices.Contains(out, res.ID) {
			out = append(out, res.ID)
		}
	}
	return out
}

// versions are the revisions of the finding, newest first.
func (f *finding) versions() []mcp.Version {
	var out []mcp.Version
	for _, res := range f.results {
		if res.Revision != "" && !slices.Contains(out, res.Revision) {
			out = append(out, res.Revision)
		}
	}
	return out
}

// sureKind reports whether the cause describes the finding better than the title of a check.
func (f *finding) sureKind() bool {
	return f.kind < causeAnswer && (f.kind != causeStale || len(f.ids()) > 1) || f.kind == causeError && len(f.ids()) > 1
}

// title describes what is wrong, in a clause.
func (f *finding) title() string {
	if f.rank == rankKnown || !f.sureKind() && !f.general() {
		return f.lead().Title
	}
	switch on := f.trigger(); f.kind {
	case causeExit:
		text := "the server exits" + on
		if f.about == "" && f.method == "" {
			return f.lead().Title // the cause is not known
		}
		if f.about == "" {
			text = "the server closes the connection" + on
		}
		return text + follows(f.about)
	case causeID:
		return f.about
	case causeSilence:
		if f.method == "" || strings.HasPrefix(f.method, "notifications/") { // which nobody answers
			return f.lead().Title
		}
		return "the server does not answer" + strings.Replace(on, " on ", " ", 1)
	case causeNoise:
		if strings.HasPrefix(f.about, "{") {
			return "a message on standard output is broken, or goes over several lines" + follows(f.about)
		}
		return "standard output has text that is no message" + follows(f.about)
	case causeRefused:
		if f.lead().Detail == textSessionEnded {
			return textSessionEnded
		}
		if expectation(f.lead().Expected) == unknownMethod {
			return "an unknown method is answered with " + f.about + ", not a JSON-RPC error"
		}
		if f.method == "" || requestOf(f.lead()).frame.Note != "" { // its headers are what is refused
			return f.lead().Title
		}
		return visible(f.method) + " is answered with " + f.about + ", not a JSON-RPC message"
	case causeBody:
		return "an answer of type application/json is not JSON" + follows(f.about)
	case causeEndless:
		return "following the cursors of " + visible(f.method) + " comes to no end"
	case causeError:
		return "different requests are answered with the same error: " + visible(f.about)
	case causeStale:
		return fmt.Sprintf("%d checks pass that are listed as known failures", len(f.ids()))
	case causeAnswer, causeOpen:
		if lead := f.lead(); matches(generalChecks, lead) && lead.Actual != "" {
			return visible(lead.Actual) // the method and the member, which the title does not name
		}
	}
	return f.lead().Title
}

// trigger names what most of the results sent.
func (f *finding) trigger() string {
	if f.method == "" {
		return ""
	}
	return " on " + clip(visible(f.method), shapeLimit/2)
}

func follows(text string) string {
	if text == "" {
		return ""
	}
	return ": " + visible(text)
}

// sent returns the message that shows the cause, "" if there is none. What was special about
// its headers comes before the message.
func (f *finding) sent(n int) string {
	at := requestOf(f.lead()).frame
	if at == nil {
		return ""
	}
	plain := *at
	plain.Note = ""
	if at.Note == "" {
		return frameLine(&plain, n)
	}
	return "[" + visible(at.Note) + "]  " + frameLine(&plain, n)
}

// wanted returns what was expected, "" if the title has it.
func (f *finding) wanted() string {
	if lead := f.lead(); !ofAll(lead) {
		return lead.Expected
	}
	return ""
}

// got describes what came.
func (f *finding) got() string {
	res := f.lead()
	switch f.kind {
	case causeExit:
		if f.about != "" {
			return "the server exited: " + visible(f.about)
		}
		return textClosed
	case causeNoise:
		if f.about != "" {
			return visible(f.about)
		}
	case causeRefused:
		for i := len(res.Evidence) - 1; i >= 0; i-- {
			if at := &res.Evidence[i]; at.Dir == conformance.FromServer && at.HTTP != nil {
				return frameLine(at, frameLimit)
			}
		}
	case causeStale:
		return message(res)
	case causeID, causeSilence, causeBody, causeEndless, causeError, causeAnswer, causeOpen:
	}
	if res.Status == conformance.Skip {
		return message(res)
	}
	if res.Actual != "" {
		return visible(res.Actual)
	}
	return visible(res.Detail)
}

// most checks that a command line names: a longer one nobody reads.
const mostOnly = 4

// again returns the command line that repeats the checks of the finding, or the first of
// them.
func (f *finding) again(r *conformance.Report, flags ...string) string {
	versions := f.versions()
	res := *f.lead()
	if len(versions) > 1 {
		res.Revision = ""
	}
	var more []string
	ids := f.ids()
	if passive(&res) { // alone it decides nothing
		for _, other := range f.results {
			if !passive(other) {
				res.Check, res.Scenario = other.Check, other.Scenario
				break
			}
		}
	}
	if len(ids) <= mostOnly {
		for _, other := range f.results {
			if !passive(other) && other.ID != res.ID && !slices.Contains(more, other.ID) {
				more = append(more, "--only", other.ID)
			}
		}
	}
	return shellLine(command(r, &res, append(more, flags...)...))
}

// name is the id of the lead, and the number of the other checks.
func (f *finding) name() string {
	if n := len(f.ids()) - 1; n > 0 {
		return fmt.Sprintf("%s +%d", f.lead().ID, n)
	}
	return f.lead().ID
}

// mostNamed is how many other checks a text names.
const mostNamed = 20

// alsoFails names the other checks of the finding, "" for none.
func (f *finding) alsoFails() string {
	ids := f.ids()[1:]
	switch {
	case len(ids) == 0:
		return ""
	case len(ids) > mostNamed:
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:mostNamed], ", "), len(ids)-mostNamed)
	}
	return strings.Join(ids, ", ")
}
