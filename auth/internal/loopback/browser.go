package loopback

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"runtime"
)

// ErrNoBrowser reports that this machine has no browser to open.
var ErrNoBrowser = errors.New("no browser can be opened here")

// Open opens a URL in the person's browser. It opens only http and https, and does not use
// a shell.
func Open(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" {
		return errors.New("only http and https URLs are opened in a browser")
	}
	argv, err := opener(runtime.GOOS, exec.LookPath)
	if err != nil {
		return err
	}
	// The browser may live longer than the program that opened it.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), argv[0], append(argv[1:], u.String())...)
	if err := cmd.Start(); err != nil {
		return ErrNoBrowser
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// CanOpen reports whether this machine has a program that opens URLs.
func CanOpen() bool {
	_, err := opener(runtime.GOOS, exec.LookPath)
	return err == nil
}

// opener is the program that opens URLs on a system.
func opener(system string, find func(string) (string, error)) ([]string, error) {
	var choices [][]string
	switch system {
	case "darwin":
		choices = [][]string{{"open"}}
	case "windows":
		choices = [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	default:
		choices = [][]string{{"xdg-open"}, {"x-www-browser"}, {"www-browser"}, {"wslview"}}
	}
	for _, argv := range choices {
		if path, err := find(argv[0]); err == nil {
			return append([]string{path}, argv[1:]...), nil
		}
	}
	return nil, ErrNoBrowser
}
