package recovery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strconv"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/store"
	"hob/platform/store/lease"
)

// StoreOptions are the parameters of OpenStore. Options without a comment are required.
type StoreOptions struct {
	Paths           system.Paths
	Config          config.Store
	Tables          []store.MigrationSet
	BeforeMigration func(context.Context, store.Migration) error // see store.Options
	// Volatile opens a temporary copy; see store.Options. The configuration is then not used.
	Volatile bool
	// InProcess is true if a command uses the database without a daemon.
	InProcess bool
	Version   string
	Resolve   func(ctx context.Context, ref string) (string, error) // resolves a reference to a secret
	Redact    func(secrets ...string)                               // removes secrets from logs and texts
	Log       *slog.Logger
}

// OpenStore opens the database of a home, or the one that its configuration shares with others. The
// returned membership has joined.
func OpenStore(ctx context.Context, o StoreOptions) (_ *store.Store, _ *lease.Member, err error) {
	s := store.Options{BackupDir: o.Paths.Backups(), BeforeMigration: o.BeforeMigration, Volatile: o.Volatile}
	if o.Config.URL != "" && !o.Volatile {
		if s.URL, err = o.Resolve(ctx, o.Config.URL); err != nil {
			return nil, nil, fmt.Errorf("read the address of the database ([store] url): %w", err)
		}
		if u, err := url.Parse(s.URL); err == nil && u.User != nil {
			password, _ := u.User.Password()
			o.Redact(s.URL, password)
		}
	}
	if s.Instance, err = instanceName(o); err != nil {
		return nil, nil, err
	}
	s.Lease = o.Config.Lease.Duration
	db, err := store.Open(ctx, o.Paths.Database(), o.Tables, s)
	if err != nil {
		return nil, nil, err
	}
	m, err := lease.Open(ctx, lease.Options{Store: db, Shared: db.IsShared(), Instance: s.Instance, Home: o.Paths.Home, Version: o.Version, Lease: s.Lease, Log: o.Log})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, m, nil
}

// instanceName returns the name of this process in the fleet. A command without a daemon gets its own
// name, because its home has none.
func instanceName(o StoreOptions) (string, error) {
	name := o.Config.Instance
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("read the name of this host: %w; set [store] instance", err)
		}
		name = host
	}
	if o.InProcess {
		name += "/" + strconv.Itoa(os.Getpid())
	}
	return name, nil
}
