package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// negotiate finds out the era of the server: it probes as one of the stateless
// era does, and falls back to initialize.
func (c *toyClient) negotiate(ctx context.Context) error {
	c.stateless, c.version = true, c.Newest
	if c.is("probes-old") {
		c.version = c.task.Revision
	}
	if c.is("probes-late") {
		_, _ = c.call(ctx, "tools/list", nil, step{})
	}
	probing, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	result, err := c.call(probing, "server/discover", nil, step{})
	var rpc *rpcError
	known := errors.As(err, &rpc)
	switch {
	case err == nil:
		return c.choose(ctx, object(result))
	case c.is("never-falls-back"), c.is("one-code") && !(known && rpc.code == -32601):
		return err
	case known && rpc.code <= -32020 && rpc.code >= -32022 && !c.is("always-falls-back") && !c.is("initializes-refused"):
		return err
	}
	return c.fallBack(ctx)
}

// choose takes one of the versions that a server listed.
func (c *toyClient) choose(ctx context.Context, result members) error {
	var versions []string
	_ = json.Unmarshal(result["supportedVersions"], &versions)
	c.caps = object(result["capabilities"])
	switch {
	case slices.Contains(versions, c.Newest):
		c.version = c.Newest
		return nil
	case c.is("newest-listed") && len(versions) > 0:
		c.version = slices.Max(versions)
		return nil
	case slices.Contains(versions, c.task.Revision) && !c.is("ignores-listed"):
		return c.fallBack(ctx)
	}
	for range 20 {
		if c.is("tries-forever") {
			_, _ = c.call(ctx, "server/discover", nil, step{})
		}
	}
	return errors.New("no version in common")
}

func (c *toyClient) fallBack(ctx context.Context) error {
	c.stateless, c.version = false, c.task.Revision
	return c.initialize(ctx)
}
