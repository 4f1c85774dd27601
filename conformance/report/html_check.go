package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// group has the checks of one kind of outcome.
type group struct {
	ID, Title string
	Checks    []checkView
	urgent    bool
}

// checkView is one check in a page.
type checkView struct {
	look
	Anchor, ID, Title, Meta string
	Open                    bool
	Source                  *sourceView
	Quote                   string
	Remarks                 []string
	Expected, Actual        string
	Wire                    []frameView
	Again                   string
}

type sourceView struct{ Text, URL string }

// frameView is one frame: a line that unfolds.
type frameView struct{ Line, Headers, Body, Note string }

// groupsOf sorts the checks of a report into groups; empty ones are left out.
func groupsOf(r *conformance.Report, prefix string) []group {
	groups := []group{
		{ID: prefix + "failing", Title: "Fails the run", urgent: true},
		{ID: prefix + "open", Title: "Inconclusive", urgent: true},
		{ID: prefix + "advice", Title: "Recommendations"},
		{ID: prefix + "known", Title: "Known failures"},
		{ID: prefix + "unscored", Title: "Broken, without score"},
		{ID: prefix + "passed", Title: "Passed"},
		{ID: prefix + "inapplicable", Title: "Not applicable"},
	}
	for i := range r.Results {
		res := &r.Results[i]
		if !shown(res) {
			continue
		}
		at := 5
		switch {
		case r.Fails(res):
			at = 0
		case res.Status == conformance.Skip:
			at = 6
		case res.Status == conformance.Pass:
		case res.Excused():
			at = 3
		case res.Unscored:
			at = 4
		case res.Status == conformance.Inconclusive, res.Status == conformance.Error:
			at = 1
		case res.Status == conformance.Warn:
			at = 2
		}
		groups[at].Checks = append(groups[at].Checks, checkViewOf(r, res, prefix))
	}
	return slices.DeleteFunc(groups, func(g group) bool { return len(g.Checks) == 0 })
}

func checkViewOf(r *conformance.Report, res *conformance.Result, prefix string) checkView {
	v := checkView{
		look: lookOf(res.Status), Anchor: anchor(r, res, prefix), ID: res.ID, Title: res.Title,
		Remarks: remarks(res), Expected: visible(res.Expected), Actual: visible(res.Actual),
	}
	if res.Baseline == conformance.BaselineStale { // it passes, and that is what is wrong
		v.look = lookOf(conformance.Fail)
		v.Word = string(res.Baseline)
	}
	meta := []string{string(res.Level)}
	if len(r.Revisions) > 1 {
		meta = append(meta, string(res.Revision))
	}
	if res.Status != conformance.Skip {
		meta = append(meta, lasted(res).Round(100*time.Microsecond).String())
	}
	v.Meta = strings.Join(meta, " · ")
	if text := source(res); text != "" {
		v.Source = &sourceView{text, specURL(res)}
	}
	if res.Detail != "" || res.Status == conformance.Skip {
		v.Remarks = append(v.Remarks, message(&conformance.Result{Status: res.Status, Reason: res.Reason, Detail: res.Detail}))
	}
	if !reported(res) {
		return v
	}
	v.Quote, v.Again = res.Spec.Quote, again(r, res)
	for i := range res.Evidence {
		v.Wire = append(v.Wire, frameViewOf(&res.Evidence[i]))
	}
	return v
}

func frameViewOf(f *conformance.Frame) frameView {
	const line = 160
	v := frameView{Line: arrow(f) + " " + frameLine(f, line), Note: visible(f.Note)}
	if f.HTTP != nil {
		v.Headers = headers(f.HTTP)
	}
	var b bytes.Buffer
	data := kept(f)
	if json.Indent(&b, data, "", "  ") == nil {
		v.Body = lines(b.String())
	} else if len(data) > 0 {
		v.Body = lines(strings.ToValidUTF8(string(data), "\uFFFD"))
	}
	if f.Size > len(data) {
		v.Note = strings.TrimPrefix(fmt.Sprintf("%s; the first %d of %d bytes", v.Note, len(data), f.Size), "; ")
	}
	return v
}

// headers writes the HTTP headers, sorted by name.
func headers(h *conformance.HTTPInfo) string {
	var names []string
	for name := range h.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	if h.Method != "" {
		fmt.Fprintf(&b, "%s\n", visible(h.Method))
	}
	if h.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d\n", h.Status)
	}
	for _, name := range names {
		for _, value := range h.Header[name] {
			fmt.Fprintf(&b, "%s: %s\n", visible(name), visible(value))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// lines makes each line of a text harmless.
func lines(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		all[i] = visible(all[i])
	}
	return strings.Join(all, "\n")
}

// packed encodes a document for a script element: the base64 of URLs, of its gzip, has no
// character that ends the element or that HTML escapes.
func packed(document any) (string, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if err := json.NewEncoder(zip).Encode(document); err != nil {
		return "", err
	}
	if err := zip.Close(); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b.Bytes()), nil
}
