package clientsuite_test

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// drive asks for a task until it has ended, and returns its result.
func (c *toyClient) drive(ctx context.Context, task members) (json.RawMessage, error) {
	caps := c.capabilities()
	if c.is("forgets-extension") {
		caps = json.RawMessage("{}")
	}
	id := task["taskId"]
	for {
		var wait int
		_ = json.Unmarshal(task["pollIntervalMs"], &wait)
		if c.is("polls-hard") {
			wait = 1
		}
		select {
		case <-time.After(time.Duration(wait) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		result, err := c.once(ctx, c.newID(), "tasks/get", members{"taskId": id}, caps, step{})
		if err != nil {
			return nil, err
		}
		task = object(result)
		switch text(task["status"]) {
		case "completed":
			if c.is("asks-again") {
				_, _ = c.once(ctx, c.newID(), "tasks/get", members{"taskId": id}, caps, step{})
			}
			return task["result"], nil
		case "failed", "cancelled":
			return nil, errors.New("the task has " + text(task["status"]))
		}
	}
}
