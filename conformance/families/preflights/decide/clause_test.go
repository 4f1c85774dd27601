package decide

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecide_S3_ADR_04_Only: what needs no ADR must be all that is asked for,
// or the rest of the request decides.
func TestDecide_S3_ADR_04_Only(t *testing.T) {
	t.Parallel()
	for intention, want := range map[string]bool{
		// Configuration beside something else, or of something else.
		"Add authentication with an OAuth provider":                       true,
		"Set up a PostgreSQL database and its configuration":              true,
		"Set up a PostgreSQL database and configuration":                  true,
		"Change the authentication strategy and update settings":          true,
		"Migrate to Redis and adjust config":                              true,
		"Replace the database, update environment variables":              true,
		"Update the deployment to Kubernetes with new settings":           true,
		"Introduce a message queue, set timeouts":                         true,
		"Set timeouts, introduce a message queue":                         true,
		"Update settings; add authentication":                             true,
		"Update settings. The database moves to MySQL.":                   true,
		"Change the timeout and the database":                             true,
		"Update the database and its settings":                            true,
		"Change the configuration database":                               true,
		"Change the settings storage to S3":                               true,
		"Update the config to use a new database":                         true,
		"Adjust settings by introducing a message queue":                  true,
		"Enable messaging and a login provider":                           true,
		"Enable the cache through a login provider":                       true,
		"Update the settings with a new library":                          true,
		"Add GitHub as an OAuth provider and move sessions to a database": true,

		// Configuration alone.
		"Add Google as an OAuth provider":                                   false,
		"Add Google and GitHub as OAuth providers":                          false,
		"Please enable the GitHub login provider":                           false,
		"Configure an OIDC provider for the admin area":                     false,
		"Change the database timeout setting":                               false,
		"Change the timeout setting of the database":                        false,
		"Update the TLS and authentication settings":                        false,
		"Raise the log level and the database timeout":                      false,
		"We need to update the environment variables of the deployment":     false,
		"In the database layer, change the timeout":                         false,
		"Change the database timeout to 30 seconds and update the settings": false,
		"Config-only change of the database":                                false,
		"Change the database timeout setting. Requests hang.":               false,
		"Adjust the cache timeout values in production":                     false,

		// Bugs and refactorings.
		"Bug: we need a new database":                     true,
		"Fix the typo and add authentication":             true,
		"Fix the typo. We need a new database.":           true,
		"Bug: the page is slow, we want a cache":          true,
		"Refactor the module and migrate to PostgreSQL":   true,
		"Refactor the pages to use a new framework":       true,
		"Refactor towards another architecture":           true,
		"Use Redis as a cache for crash reports":          true,
		"Bug: the database loses rows":                    false,
		"Fix the crash. It happens when a queue is full.": false,
		"fix: database timeout in auth":                   false,
		"Bug: we need to fix the database":                false,
		"Fix the login, the cache and the queue":          false,
		"In the database layer, fix the crash":            false,
		"The login crashes when the database is slow":     false,
		"Refactor the cache to use generics":              false,
		"Refactor the cache to use the database's locks":  false,
		"Update the auth module to fix a bug":             false,
		"Fix the auth bug and rename the cache module":    false,
		"Fix the typo and make the button blue":           false,
		"Fix the crash in auth and update the timeout":    false,
		"Refactor the database code; fix typos in it too": false,

		// Dependencies.
		"Implement crash reporting with Sentry SDK": true,
		"Build the checkout with the Stripe SDK":    true,
		"Report errors through a third-party":       true,
		"Fix the crash in the Sentry SDK":           false,

		// Files.
		"Touch 12 source code files":                true,
		"Touch 1,000 files":                         true,
		"Touch ten files":                           true,
		"Touch twenty-five different files":         true,
		"Touch more than 9 files":                   true,
		"Touch dozens of files":                     true,
		"Touch a dozen test files":                  true,
		"Touch between 5 and 10 files":              true,
		"Touch nine files":                          false,
		"Touch 9 source code files":                 false,
		"Touch more than 8 files":                   false,
		"Add 20 lines to 2 files":                   false,
		"Wait 10 seconds for the files":             false,
		"Rename a function in twelve files":         false,
		"Fix typos in 12 source code files":         false,
		"Fix a typo and touch the headers 12 files": true,
	} {
		t.Run(intention, func(t *testing.T) {
			t.Parallel()
			got := Decide(Request{Intention: intention})
			require.Equal(t, want, got.ADR, got.Reason)
		})
	}
}

func TestClauses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                                   nil,
		"Fix a, b and c":                     {"Fix a, b and c"},
		"Add next.js and fix v1.2":           {"Add next.js", "fix v1.2"},
		"Fix a. It is b! We need c":          {"Fix a. It is b", "We need c"},
		"Fix a\nadd b - then remove c":       {"Fix a", "add b", "then remove c"},
		"Bug: please add x":                  {"Bug", "please add x"},
		"Bug: x adds y":                      {"Bug: x adds y"},
		"In a, fix b":                        {"In a, fix b"},
		"Touch 1,000 files, and then fix it": {"Touch 1,000 files", "fix it"},
	} {
		require.Equal(t, want, clauses(text), text)
	}
}
