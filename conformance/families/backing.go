package families

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/backend"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// startTimeout bounds the start of the store and of the services.
const startTimeout = 30 * time.Second

// backing makes the families of one server. It starts what several of them need when
// the first of them needs it.
type backing struct {
	Options

	opened store.Store
}

// local reports whether the tools reach only the data folder: no folder of the user's,
// no database or service elsewhere, no model that costs money.
func (o *Options) local() bool {
	return o.ArtifactsDir == "" && o.DatabaseURL == "" && o.Services.TasksURL == "" && o.Services.IDsURL == "" &&
		o.COE.DataDir == "" && o.COE.Seed == nil && o.COE.Knowledge == nil && o.Assistant.Store == nil && o.Assistant.Program == "" &&
		o.Preflights.WorkDir == "" && (o.Preflights.LLM.Provider == "" || o.Preflights.LLM.Provider == "mock")
}

// store opens the store of tasks, ids and generated artifacts: the PostgreSQL
// database of DATABASE_URL, else an SQLite file in the data folder.
func (b *backing) store(s *server.Setup) (store.Store, error) {
	if b.opened != nil {
		return b.opened, nil
	}
	ctx, cancel := context.WithTimeout(s.Context(), startTimeout)
	defer cancel()
	opened, err := backend.Open(ctx, backend.Options{URL: b.DatabaseURL, Dir: s.DataDir(), Durable: b.Durable})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	b.opened = opened
	s.OnClose("store", func(context.Context) error { return opened.Close() })
	return opened, nil
}

// services returns the URLs of the two services. It starts them if one has no URL.
func (b *backing) services(s *server.Setup) (tasksURL, idsURL string, err error) {
	o := b.Services
	if o.TasksURL != "" && o.IDsURL != "" {
		return o.TasksURL, o.IDsURL, nil
	}
	st, err := b.store(s)
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(s.Context(), startTimeout)
	defer cancel()
	running, err := services.Start(ctx, services.Options{
		Store: st, TasksAddr: o.TasksAddr, IDsAddr: o.IDsAddr, APIKey: o.APIKey, Reservation: o.Reservation, Hosts: s.AllowedHosts(), Logger: s.Log(),
	})
	if err != nil {
		return "", "", fmt.Errorf("services: %w", err)
	}
	s.OnClose("services", running.Close)
	s.Log().Info("services_started", "tasks_url", running.TasksURL, "ids_url", running.IDsURL)
	return cmp.Or(o.TasksURL, running.TasksURL), cmp.Or(o.IDsURL, running.IDsURL), nil
}
