package decide

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	known := map[string][]string{"Payments": {"payment", "Stripe"}, "Other": {"c++"}}
	for _, tt := range []struct {
		name string
		Request
		want bool
	}{
		{"S3-ADR-01 auth", Request{Intention: "Auth for the API"}, true},
		{"S3-ADR-01 authentication", Request{Intention: "Add authentication"}, true},
		{"S3-ADR-01 database", Request{Intention: "Set up the database"}, true},
		{"S3-ADR-01 storage", Request{Intention: "Storage for uploads"}, true},
		{"S3-ADR-01 cache", Request{Intention: "Cache the answers"}, true},
		{"S3-ADR-01 framework", Request{Intention: "Pick a framework"}, true},
		{"S3-ADR-01 runtime", Request{Intention: "Move to another runtime"}, true},
		{"S3-ADR-01 deployment", Request{Intention: "Plan the deployment"}, true},
		{"S3-ADR-01 infrastructure", Request{Intention: "Describe the infrastructure"}, true},
		{"S3-ADR-01 queue", Request{Intention: "Put orders in a queue"}, true},
		{"S3-ADR-01 messaging", Request{Intention: "Messaging between parts"}, true},
		{"S3-ADR-01 not inside a word", Request{Intention: "Greet the author"}, false},
		{"S3-ADR-02 new dependency", Request{Intention: "Show charts with a new library"}, true},
		{"S3-ADR-02 added dependency", Request{Intention: "Integrate the Stripe SDK"}, true},
		{"S3-ADR-02 SaaS in the context", Request{Intention: "Send mails", Context: "through a new SaaS"}, true},
		{"S3-ADR-02 existing category", Request{Intention: "Change the payment page", Known: known}, true},
		{"S3-ADR-02 existing value", Request{Intention: "Ask stripe for less", Known: known}, true},
		{"S3-ADR-02 no such category", Request{Intention: "Change the payment page"}, false},
		{"S3-ADR-02 ten files", Request{Intention: "Rework headers in 10 files"}, true},
		{"S3-ADR-02 ten files and more", Request{Intention: "Rework headers", Context: "touches 10+ files"}, true},
		{"S3-ADR-02 nine files", Request{Intention: "Rework headers in 9 files"}, false},
		{"S3-ADR-02 endless files", Request{Intention: "Rework 99999999999999999999 files"}, true},
		{"S3-ADR-02 migration", Request{Intention: "Migrate to ES modules"}, true},
		{"S3-ADR-02 cross-cutting", Request{Intention: "A cross-cutting change of names"}, true},
		{"S3-ADR-03 architecture", Request{Intention: "Look at the architecture"}, true},
		{"S3-ADR-03 strategy", Request{Intention: "Find a Strategy for tests"}, true},
		{"S3-ADR-03 approach", Request{Intention: "Which approach for tests"}, true},
		{"S3-ADR-04 typo", Request{Intention: "Fix typo in login button"}, false},
		{"S3-ADR-04 bug fix in a category", Request{Intention: "Fix bug in authentication"}, false},
		{"S3-ADR-04 fix of what adds", Request{Intention: "Fix the form that adds a database user"}, false},
		{"S3-ADR-04 build, then fix", Request{Intention: "Add authentication and fix the typo"}, true},
		{"S3-ADR-04 refactor", Request{Intention: "Refactor the cache module"}, false},
		{"S3-ADR-04 refactor of many files", Request{Intention: "Refactor names in 20 files"}, false},
		{"S3-ADR-04 config only", Request{Intention: "Add Google as an OAuth provider"}, false},
		{"S3-ADR-04 config", Request{Intention: "Change the database timeout setting"}, false},
		{"S3-ADR-04 plain", Request{Intention: "Make the button blue"}, false},
		{"S3-ADR-04 asked for beats a fix", Request{Intention: "Fix the bug and write an ADR"}, true},
		{"S3-ADR-04 forced beats a fix", Request{Intention: "Fix typo", ForceADR: true}, true},
		{"empty", Request{}, false},
		{"words of the architecture that are no text", Request{Intention: "Plain text", Known: map[string][]string{"\xbc": {"\xbc", "pay\xff"}}}, false},
		{"words of the architecture with signs", Request{Intention: "Plain c++ text", Known: known}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Decide(tt.Request)
			require.Equal(t, tt.want, got.ADR, got.Reason)
			require.NotEmpty(t, got.Reason)
		})
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("Add authentication", "in 12 files", "next-auth")
	f.Add("Fix", "", "(")
	f.Fuzz(func(_ *testing.T, intention, context, known string) {
		Decide(Request{Intention: intention, Context: context, Known: map[string][]string{"X": {known}}})
	})
}
