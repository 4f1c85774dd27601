package refserver

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/services"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/store"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/store/backend"
	"github.com/mainstay-mcp/mainstay/conformance/refserver/tasks"
)

// startTimeout bounds the start of what families stand on.
const startTimeout = 30 * time.Second

// ServiceOptions say where the Task Tracking and ID Management services are, or
// how those are run that the server starts itself.
type ServiceOptions struct {
	// TasksURL and IDsURL are TASK_TRACKING_API_URL and ID_MANAGEMENT_API_URL.
	// Where one is empty the server starts the services.
	TasksURL, IDsURL string
	// TasksAddr and IDsAddr are what the started services listen on; empty is a
	// free port of the loopback interface.
	TasksAddr, IDsAddr string
	// APIKey is API_KEY, asked by the services that are started and given to
	// those that are called.
	APIKey string
	// ProjectID is PROJECT_ID, the project of approvals.
	ProjectID string
	// Reservation is RESERVATION_EXPIRATION_MINUTES; 0 is 15 minutes.
	Reservation time.Duration
}

// setup is what a server offers a family that it makes. What several families
// need is started when the first of them asks for it.
type setup struct {
	*Options
	// log is never nil.
	log *slog.Logger
	// data is the data folder. A family makes a folder of its own in it.
	data string

	srv    *Server
	opened store.Store
}

// onClose has the server end something after its families have ended.
func (s *setup) onClose(name string, end func(context.Context) error) {
	s.srv.closers = append(s.srv.closers, closer{name, end})
}

// store opens the store of tasks, ids and generated artifacts: the PostgreSQL
// database of DATABASE_URL, else an SQLite file in the data folder.
func (s *setup) store() (store.Store, error) {
	if s.opened != nil {
		return s.opened, nil
	}
	ctx, cancel := context.WithTimeout(s.srv.life, startTimeout)
	defer cancel()
	opened, err := backend.Open(ctx, backend.Options{URL: s.DatabaseURL, Dir: s.data, Durable: s.Durable})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s.opened = opened
	s.onClose("store", func(context.Context) error { return opened.Close() })
	return opened, nil
}

// tasks opens the store of calls that run as tasks, in the data folder.
func (s *setup) tasks() (*tasks.Store, error) {
	if s.srv.tasks == nil {
		kept, err := tasks.Open(tasks.Options{Dir: filepath.Join(s.data, "tasks"), Logger: s.log})
		if err != nil {
			return nil, err
		}
		s.srv.tasks = kept
	}
	return s.srv.tasks, nil
}

// services returns where the two services are, and starts them if they are
// nowhere else.
func (s *setup) services() (tasksURL, idsURL string, err error) {
	o := s.Services
	if o.TasksURL != "" && o.IDsURL != "" {
		return o.TasksURL, o.IDsURL, nil
	}
	st, err := s.store()
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(s.srv.life, startTimeout)
	defer cancel()
	running, err := services.Start(ctx, services.Options{
		Store: st, TasksAddr: o.TasksAddr, IDsAddr: o.IDsAddr, APIKey: o.APIKey, Reservation: o.Reservation, Hosts: s.AllowedHosts, Logger: s.log,
	})
	if err != nil {
		return "", "", fmt.Errorf("services: %w", err)
	}
	s.onClose("services", running.Close)
	s.log.Info("services_started", "tasks_url", running.TasksURL, "ids_url", running.IDsURL)
	return cmp.Or(o.TasksURL, running.TasksURL), cmp.Or(o.IDsURL, running.IDsURL), nil
}
