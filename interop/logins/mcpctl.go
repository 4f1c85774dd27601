package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// mcpctl runs a command for each call. The tokens are in a folder. Without a terminal it
// waits for nobody: it prints the command to log in with, and the person types that.
type mcpctl struct {
	place  *place
	folder string
	walked int
	known  bool   // mcpctl was told of the client
	advice string // what it said when it last demanded a login
}

func openMcpctl(_ context.Context, p *place) (user, error) {
	folder, err := os.MkdirTemp(p.folder, "mcpctl")
	return &mcpctl{place: p, folder: folder}, err
}

// needsLogin is the exit code of mcpctl when somebody has to log in.
const needsLogin = 4

// proposed is the command that mcpctl proposes, alone at the end of a line.
var proposed = regexp.MustCompile(`(?m)mcpctl (auth login .*)$`)

// run runs mcpctl, and returns its exit code and all that it printed.
func (m *mcpctl) run(ctx context.Context, stdin string, args ...string) (code int, text string, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(m.place.stage.bin, "mcpctl"), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "MCPCTL_AUTH_DIR="+filepath.Join(m.folder, "tokens"), "XDG_CONFIG_HOME="+m.folder,
		"HOME="+m.folder, "CLIENT_SECRET="+m.place.client.secret)
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() == nil {
		return exit.ExitCode(), string(out), nil
	}
	return 0, string(out), err
}

// failure is a command of mcpctl that failed.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return fmt.Sprintf("exit %d: %s", f.code, f.text) }

func (m *mcpctl) must(ctx context.Context, stdin string, args ...string) error {
	code, text, err := m.run(ctx, stdin, args...)
	if err == nil && code != 0 {
		err = &failure{code, text}
	}
	return err
}

func (m *mcpctl) refused(ctx context.Context, tool string) error {
	name, arguments, _ := strings.Cut(tool, " ")
	return m.must(ctx, "", "call", m.place.url, name, "--json", arguments)
}

func (m *mcpctl) call(ctx context.Context, tool string) error {
	err := m.refused(ctx, tool)
	f := (*failure)(nil)
	if !errors.As(err, &f) || f.code != needsLogin {
		return err
	}
	m.advice = f.text
	if err := m.login(ctx, f.text); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	return m.refused(ctx, tool)
}

// login types the command that mcpctl proposed. mcpctl has to be told of the client once,
// and after a logout.
func (m *mcpctl) login(ctx context.Context, advice string) error {
	words, err := command(advice)
	if err != nil {
		return err
	}
	if c := m.place.client; !m.known {
		var more []string
		if c.id != "" {
			more = append(more, "--client-id", c.id, "--issuer", m.place.issuer)
		}
		if c.secret != "" {
			more = append(more, "--client-secret-env", "CLIENT_SECRET")
		}
		if c.document != "" {
			more = append(more, "--client-metadata", c.document, "--dpop")
		}
		words, m.known = append(words[:2:2], append(more, words[2:]...)...), true
	}
	code, text, err := m.run(ctx, "", words...)
	if err != nil || code != needsLogin {
		return errors.Join(err, &failure{code, text})
	}
	page := pageAt.FindString(text)
	if page == "" {
		return fmt.Errorf("no page is printed: %s", text)
	}
	m.walked++
	address, err := walk(ctx, page)
	if err != nil {
		return err
	}
	finish, err := command(text)
	if err != nil {
		return err
	}
	return m.must(ctx, address+"\n", finish...)
}

// command finds the words of the command that a text of mcpctl proposes.
func command(text string) ([]string, error) {
	found := proposed.FindStringSubmatch(text)
	if found == nil {
		return nil, fmt.Errorf("no command is proposed: %s", text)
	}
	return strings.Fields(found[1]), nil
}

func (m *mcpctl) logout(ctx context.Context) error {
	m.known = false
	return m.must(ctx, "", "auth", "logout", m.place.url)
}

func (m *mcpctl) pages() int { return m.walked }
func (m *mcpctl) close()     {}
