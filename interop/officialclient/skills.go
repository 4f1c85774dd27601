package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/skills"
)

// listedSkills returns the skills of the server's list, of which none is read.
func listedSkills(ctx context.Context, c *client.Client) ([]*skills.Skill, error) {
	all, err := skills.List(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("the server lists no skill")
	}
	for _, s := range all {
		if err := s.Problem(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// skillsPresented shows the skills to a user, who chooses none.
func skillsPresented(ctx context.Context, c *client.Client, _ json.RawMessage) error {
	_, err := listedSkills(ctx, c)
	return err
}

// skillsRefused loads skills whose SKILL.md is not what the entry says. The files are what
// an application would read next.
func skillsRefused(fault skills.Fault) func(ctx context.Context, c *client.Client, told json.RawMessage) error {
	return func(ctx context.Context, c *client.Client, _ json.RawMessage) error {
		all, err := listedSkills(ctx, c)
		if err != nil {
			return err
		}
		for _, s := range all {
			_, err := s.Load(ctx)
			var refused *skills.Error
			if errors.As(err, &refused) && refused.Fault == fault {
				continue
			}
			if err != nil {
				return err
			}
			for _, f := range s.Files {
				if _, err := s.ReadFile(ctx, f.URI); err != nil {
					return err
				}
			}
			return fmt.Errorf("the skill %s was loaded in spite of its %s", s.Name, fault)
		}
		return nil
	}
}
