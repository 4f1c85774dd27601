package conformance

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Expectation is one line of a baseline file: checks that are expected to fail, and why.
type Expectation struct {
	// Pattern selects checks by id, scenario or area; "*" matches any characters. The id of a
	// check selects only that check, also if its scenario has the same.
	Pattern string
	// Revision, when set, limits the entry to one revision.
	Revision mcp.Version
	// Reason explains the entry in reports.
	Reason string
	// Official, instead of Pattern, names a scenario of the official suite, or one of its
	// checks as scenario:check. It selects every check of the same rules, as a whole.
	//
	// # Experimental
	Official string
	// Role is the side of the entry; empty for both.
	Role Role
	// Place is the file and line, for messages.
	Place string
}

// Expectations are the checks that a run is expected not to pass.
type Expectations struct {
	// Failing are expected to fail. An entry whose check passes is stale and fails the run.
	Failing []Expectation
	// Flaky may pass or fail. One that passed in each of ten attempts or more is stale.
	Flaky []Expectation
}

// ReadExpectations reads a baseline file, one entry a line:
//
//	TALK-PROMPTS/unknown        # the proxy in front answers for us
//	prompts@2025-11-25          # an area, in this revision only
//
// A name that ends in .yml or .yaml is read as the expected failures of the
// official suite: lists of scenarios, or scenario:check, under server and client.
func ReadExpectations(name string, r io.Reader) ([]Expectation, error) {
	parse := parsePattern
	if ext := filepath.Ext(name); ext == ".yml" || ext == ".yaml" {
		parse = officialParser()
	}
	var out []Expectation
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		place := fmt.Sprintf("%s:%d", name, n)
		text, reason := cutComment(lines.Text())
		if text == "" {
			continue
		}
		e, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		if e != nil {
			e.Reason, e.Place = reason, place
			out = append(out, *e)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return out, nil
}

// cutComment splits a line at its comment: a "#" at the start or after a blank.
func cutComment(line string) (text, comment string) {
	for i := range len(line) {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return strings.TrimRight(line[:i], " \t"), strings.TrimSpace(line[i+1:])
		}
	}
	return strings.TrimRight(line, " \t\r"), ""
}

func parsePattern(text string) (*Expectation, error) {
	pattern, revision, narrowed := strings.Cut(strings.TrimSpace(text), "@")
	if strings.ContainsAny(pattern, " \t") {
		return nil, fmt.Errorf("%q: write one pattern per line, and its reason after #", text)
	}
	if pattern == "" || narrowed && !mcp.Version(revision).Known() {
		return nil, fmt.Errorf("%q: write PATTERN or PATTERN@REVISION", text)
	}
	return &Expectation{Pattern: pattern, Revision: mcp.Version(revision)}, nil
}

// officialParser reads the one shape of YAML that the official suite's file
// has: two keys, each with a list of plain words.
func officialParser() func(string) (*Expectation, error) {
	var role Role
	return func(text string) (*Expectation, error) {
		item, isItem := strings.CutPrefix(strings.TrimSpace(text), "-")
		if !isItem {
			key, rest, found := strings.Cut(text, ":")
			rest = strings.TrimSpace(rest)
			if !found || rest != "" && rest != "[]" || key != string(RoleServer) && key != string(RoleClient) {
				return nil, fmt.Errorf("%q: the official form has the keys server and client, each with a list of scenarios", text)
			}
			role = Role(key)
			return nil, nil //nolint:nilnil // a key is no entry and no error
		}
		name := strings.Trim(strings.TrimSpace(item), `"'`)
		if role == "" || name == "" || strings.ContainsAny(name, " \t{}[]&*") {
			return nil, fmt.Errorf("%q: write a scenario in a list under server or client", text)
		}
		return &Expectation{Official: name, Role: role}, nil
	}
}

// WriteExpectations writes the checks of r that fail, warn or are inconclusive as a
// baseline file, which [ReadExpectations] reads.
func WriteExpectations(w io.Writer, r *Report) error {
	b := bufio.NewWriter(w)
	for i := range r.Results {
		res := &r.Results[i]
		if !notHeld(res.Status) || res.Unscored {
			continue
		}
		line := res.ID
		if len(r.Revisions) > 1 {
			line += "@" + string(res.Revision)
		}
		fmt.Fprintf(b, "%s  # %s\n", line, rawjson.Clip(oneLine(cmp.Or(res.BaselineReason, res.Actual, res.Detail, string(res.Status))), 200))
	}
	return b.Flush()
}

// WriteOfficialExpectations writes the scenarios of the official suite that judge the
// broken rules of r, in the form of that suite.
//
// # Experimental
func WriteOfficialExpectations(w io.Writer, r *Report) error {
	var names []string
	for i := range r.Results {
		if notHeld(r.Results[i].Status) {
			for _, name := range r.Results[i].Official {
				if scenario, _, _ := strings.Cut(name, ":"); scenario != "*" {
					names = append(names, scenario)
				}
			}
		}
	}
	slices.Sort(names)
	role := cmp.Or(r.Target.Role, RoleServer)
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s:", role)
	if len(names) == 0 {
		fmt.Fprint(b, " []")
	}
	fmt.Fprintln(b)
	for _, name := range slices.Compact(names) {
		fmt.Fprintf(b, "  - %s\n", name)
	}
	return b.Flush()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
