package decide

import (
	"regexp"
	"strings"
)

var (
	// displaced is what a request wants to be without.
	displaced = regexp.MustCompile(`(?im)\b(?:instead of|rather than|in place of|statt|anstatt|anstelle|und nicht mehr|au lieu d|plutôt qu|en lugar de|en vez de)\b.*?(?:$|, (?:we )?(?:use|choose|take|adopt)\s)|而不是.*|の代わり`)
	// unwanted is what a request gives up: "do not use Kafka", "split the monolith".
	unwanted = regexp.MustCompile(`(?i)\b(?:(?:do not|don['’]?t|never|no longer|must not|should not|stop|avoid) (?:use|using|adopt|choose|pick|take)` +
		`|(?:drop|remove|abandon|avoid|retire|decommission)(?:ping|ing)?|(?:get|getting) rid of|(?:mov(?:e|ing)|migrat(?:e|ing)) (?:away from|off)|other than|but not|without)\s.*?` +
		`(?:[.;:!?](?:\s|$)|\n|$|\s(?:in|into|on|with|for|to|as|from|by|at|because|since|but)\s|(?:,|\sand)\s(?:use|using|adopt|choose|take|go|switch|move)\s)` +
		`|, not\s+[\w.+#-]+` +
		`|\b(?:split(?:ting)?(?: up)?|break(?:ing)? (?:up|apart|down)|decompos(?:e|ing)|merg(?:e|ing)|consolidat(?:e|ing)|combin(?:e|ing))\s(?:[\w-]+ ){0,3}?(?:monolith|micro-?services?)\b`)
)

// without returns text without what it rejects, and that part of it.
func without(text string) (kept, rejected string) {
	var parts []string
	for _, pattern := range []*regexp.Regexp{displaced, unwanted} {
		parts = append(parts, pattern.FindAllString(text, -1)...)
		text = pattern.ReplaceAllString(text, "\n")
	}
	return text, strings.Join(parts, "\n")
}
