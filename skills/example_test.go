package skills_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/skills"
)

// approved asks the user, unless the fingerprint is the one that was approved before.
func approved(id skills.ID, fingerprint string) bool { return id.URI != "" && fingerprint != "" }

// A host shows the skills of a server, and loads the one that the user approves.
func Example() {
	ctx := context.Background()
	c, err := client.Dial(ctx, "https://example.com/mcp")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = c.Close() }()

	all, err := skills.List(ctx, c, skills.WithLabel("docs-server"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range all {
		fingerprint, ok := s.Fingerprint()
		if !ok || !approved(s.ID(), fingerprint) {
			continue
		}
		d, err := s.Load(ctx)
		var wrong *skills.Error
		if errors.As(err, &wrong) && wrong.Fault == skills.FaultDigest {
			fmt.Println("the skill has changed since it was listed")
			continue
		}
		if err == nil {
			fmt.Printf("Instructions from %s:\n%s", s.ID().Server, d.Body)
		}
	}
}
