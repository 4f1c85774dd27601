package conformance

import (
	"context"
	"os"
	"strings"
	"testing"
)

func TestTry(t *testing.T) {
	cmd := os.Getenv("TRY")
	if cmd == "" {
		t.Skip("no TRY")
	}
	var s Subject
	if strings.HasPrefix(cmd, "http") {
		s = URL(cmd, nil)
	} else {
		s = Command(strings.Fields(cmd), nil)
	}
	r, err := Run(context.Background(), s, Options{SideEffects: SideEffects(os.Getenv("EFFECTS"))})
	if err != nil {
		t.Fatal(err)
	}
	_ = WriteText(os.Stdout, r, TextOptions{Summary: os.Getenv("SUM") != ""})
}
