package postgres

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const killedVariable = "MAINSTAY_STORE_KILLED_CHILD"

// killedChild says that this process is the one to be killed.
func killedChild() (url string, ok bool) { return os.LookupEnv(killedVariable) }

// runKilledChild takes a range of ids and stops between UPDATE and COMMIT,
// where the test kills the process.
func runKilledChild(url string) {
	ctx := context.Background() //nolint:forbidigo // a process of its own
	st, err := Open(ctx, url)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = st.db.serializable(ctx, "k", func(tx *transaction) error {
		now := time.Now()
		last, err := advance(ctx, tx, "p", "US", 3, now)
		if err != nil {
			return err
		}
		r := store.ReserveRequest{ID: uuid.New(), Project: "p", Type: "US", Count: 3, Now: now, ExpiresAt: now.Add(time.Minute)}
		queueReservation(tx, r.Reserved(last), now)
		if err := tx.send(ctx); err != nil {
			return err
		}
		fmt.Println("written")
		select {}
	})
	fmt.Println(err)
}

func TestKilled_S0_IDAPI_10(t *testing.T) {
	t.Parallel()
	url := schemaURL(t, "pool_max_conns", "4")
	st := openAt(t, url)
	_, err := st.NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err)

	exe, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), exe)
	child.Env = append(os.Environ(), killedVariable+"="+url)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "written\n", said)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())

	// The row lock of the dead process goes when the server sees it gone.
	a, err := st.NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err)
	require.Equal(t, "US-002", a.ID, "the counter is where it was")
	var rows int
	require.NoError(t, st.db.pool.QueryRow(t.Context(), `SELECT count(*) FROM id_reservations`).Scan(&rows))
	require.Zero(t, rows)
}
