package loopback

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOpener(t *testing.T) {
	t.Parallel()
	only := func(name string) func(string) (string, error) {
		return func(asked string) (string, error) {
			if asked == name {
				return "/bin/" + name, nil
			}
			return "", errors.New("not found")
		}
	}
	for _, row := range []struct {
		system, has string
		argv        []string
	}{
		{"darwin", "open", []string{"/bin/open"}},
		{"windows", "rundll32", []string{"/bin/rundll32", "url.dll,FileProtocolHandler"}},
		{"linux", "xdg-open", []string{"/bin/xdg-open"}},
		{"freebsd", "www-browser", []string{"/bin/www-browser"}},
	} {
		argv, err := opener(row.system, only(row.has))
		require.NoError(t, err)
		require.Equal(t, row.argv, argv)
	}
	_, err := opener("linux", only("nothing"))
	require.ErrorIs(t, err, ErrNoBrowser)
}

func TestOpenNothingElse(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "--help", "http:", "", "ms-settings:", "https://"} {
		err := Open(t.Context(), target)
		require.Error(t, err, target)
		require.NotErrorIs(t, err, ErrNoBrowser, target)
	}
}
