package main

// explain says why both suites differ in a row; "" when nobody has found out.
func explain(c comparison, r row) string {
	for _, e := range explanations {
		if (e.server == "" || e.server == c.server) && e.scenario == r.scenario && e.official == r.official {
			return e.why
		}
	}
	return ""
}

// explanations are what was found by looking at the frames.
var explanations = []struct {
	server   string // "" is all
	scenario string
	official bool // what the official suite says
	why      string
}{}
