package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/config"
	"hob/cmd/hob/internal/app"
	"hob/platform/failpoint"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/retry"
	"hob/platform/store"
	"hob/platform/store/upgrade"
)

func (a *cli) startCmd() *cobra.Command {
	var foreground bool
	cmd := &cobra.Command{
		Use: "start", Short: "Start Hob in the background", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			if foreground {
				return a.runDaemon(c.Context())
			}
			started, err := a.startInBackground(c.Context())
			if err != nil {
				return err
			}
			return a.printWelcome(c.Context(), started)
		}),
	}
	cmd.Flags().BoolVar(&foreground, "foreground", false, "stay in this terminal and log to it")
	return cmd
}

// runDaemon runs the daemon process and starts it again when it requests a restart or continues as
// another version. Windows cannot replace the program of a process, so there runDaemon starts a
// daemon in the background and ends when that daemon is ready.
func (a *cli) runDaemon(ctx context.Context) error {
	exe, exeErr := os.Executable() // before an update renames the file
	var again atomic.Bool
	err := a.runDaemonOnce(ctx, &again)
	if ctx.Err() != nil || errors.Is(err, system.ErrRunning) {
		return err
	}
	if !a.applyUpdate(ctx, err) && (err != nil || !again.Load()) {
		return err
	}
	if system.CanReplaceRunning() {
		return system.Reexec()
	}
	p, err := system.DefaultPaths()
	if err = errors.Join(err, exeErr); err != nil {
		return err
	}
	fmt.Fprintln(a.err, "Hob continues in the background, in another process.")
	_, err = a.startDetached(ctx, p, exe)
	return err
}

func (a *cli) runDaemonOnce(ctx context.Context, again *atomic.Bool) (err error) {
	p, cfg, err := a.loadHomeOrLast()
	if err != nil {
		return err
	}
	if err := p.Ensure(); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		return err
	}
	system.TuneCollector()
	signal.Ignore(syscall.SIGPIPE) // a closed log pipe must not end the process
	log := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
	for _, w := range cfg.Warnings {
		log.Warn("configuration", "about", w)
	}
	lock, err := system.Acquire(ctx, p.LockFile(), system.RoleDaemon)
	if err != nil {
		return err
	}
	defer func() {
		if again.Load() {
			err = errors.Join(err, lock.ReleaseToRestart())
			return
		}
		err = errors.Join(err, lock.Release())
	}()
	if err := system.WriteFile(openingFile(p), nil); err != nil {
		return err
	}
	opened := sync.OnceFunc(func() { _ = os.Remove(openingFile(p)) }) // the next start replaces a file that remains
	defer opened()
	if cfg, err = resumeRestore(ctx, p, cfg); err != nil {
		return err
	}
	kept := make(chan struct{})
	kctx, unkeep := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(kept)
		if err := system.KeepOrphans(kctx); err != nil {
			log.Warn("leftover processes of commands cannot be distinguished from the user's programs", "err", err)
		}
	}()
	defer func() { unkeep(); <-kept }()
	o := engineOptions{Paths: p, Config: cfg, Log: log, Version: a.version, Release: a.release}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o.Restart = func() { again.Store(true); stop() }
	e, err := a.openWhenReachable(ctx, o)
	if err != nil {
		return err
	}
	opened()
	closeEngine := sync.OnceValue(e.Close)
	defer func() { err = errors.Join(err, closeEngine()) }()
	ran := make(chan error, 1)
	go func() { ran <- e.Run(ctx) }()
	select {
	case err := <-ran:
		if dropCancellations(err) == nil {
			return err
		}
		return newUpgrade(o).Finish(ctx, errors.Join(err, closeEngine()))
	case <-e.Ready():
	}
	if err := failpoint.Fail("start.ready." + a.version); err != nil {
		stop()
		return errors.Join(err, dropCancellations(<-ran))
	}
	if err := newUpgrade(o).Finish(ctx, nil); err != nil {
		stop()
		return errors.Join(err, dropCancellations(<-ran))
	}
	a.confirmUpdate(p) // before `hob update` finds this daemon and stops watching it
	at := system.Endpoint{PID: os.Getpid(), Address: e.Addr(), Version: a.version}
	if d, ok := e.(interface{ Pin() string }); ok {
		at.Pin = d.Pin()
	}
	if err := system.WriteEndpoint(p.EndpointFile(), at); err != nil {
		log.Error("endpoint file not written; commands cannot find this daemon", "err", err)
	}
	log.Info("ready", "address", e.Addr(), "home", p.Home, "version", a.version)
	ended := make(chan struct{})
	var end error
	go func() {
		defer close(ended)
		end = <-ran
	}()
	if m, ok := e.(interface{ Main(ended <-chan struct{}) }); ok {
		m.Main(ended) // runs on the main thread, as macOS requires
	}
	<-ended
	err = dropCancellations(end)
	log.Info("stopped")
	return err
}

// openOrLast opens the engine. If the configuration contains a mistake that only the engine finds,
// it opens the engine with the last valid configuration, or else with the last one that Hob started
// with.
func (a *cli) openOrLast(ctx context.Context, o engineOptions) (engine, error) {
	r := revisionsOf(o.Paths)
	tried := o.Config
	e, err := a.open(ctx, o)
	switch {
	case err == nil && tried.Replaces == nil && !o.InProcess:
		if err := r.MarkOpened(tried); err != nil {
			o.Log.Warn("valid configuration not stored", "err", err)
		}
		return e, nil
	case err == nil || !config.IsMistake(err):
		return e, err
	}
	mistake := err
	if tried.Replaces != nil {
		mistake = tried.Replaces
	}
	for _, o.Config = range r.Substitutes(mistake) {
		if o.Config.SameText(tried) {
			continue
		}
		if e, oerr := a.open(ctx, o); oerr == nil {
			if o.InProcess {
				a.warnBroken(o.Config)
			}
			return e, nil
		}
	}
	return nil, err
}

// dropCancellations removes the cancellations caused by an orderly shutdown from a run's error.
func dropCancellations(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range many.Unwrap() {
			rest = append(rest, dropCancellations(e))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// startInBackground starts the daemon detached and waits until it is ready. It returns false if a
// daemon was already running.
func (a *cli) startInBackground(ctx context.Context) (bool, error) {
	p, err := system.DefaultPaths()
	if err != nil {
		return false, err
	}
	if c, running, err := a.dialDaemon(ctx, p); running || err != nil {
		if err == nil {
			err = c.closeEngine()
		}
		return false, err
	}
	_, cfg, err := a.loadHomeOrLast() // report an invalid configuration here and not only in a log
	if err != nil {
		return false, err
	}
	a.warnBroken(cfg)
	if err := p.Ensure(); err != nil {
		return false, err
	}
	exe, err := os.Executable()
	if err != nil {
		return false, fmt.Errorf("locate the hob program: %w", err)
	}
	return a.startDetached(ctx, p, exe)
}

// startDetached starts the program exe as a daemon and waits until it is ready. It returns false if
// another process has started a daemon in the meantime.
func (a *cli) startDetached(ctx context.Context, p system.Paths, exe string) (bool, error) {
	ctx, cancel := a.startDeadline(ctx, p)
	defer cancel()
	d := system.Detached{Path: exe, Args: []string{"start", "--foreground"}, Log: p.LogFile(), Dir: p.Home}
	if os.Getenv("HOB_HOME") != "" { // the value may be relative to the folder of this process
		d.Env = append(os.Environ(), "HOB_HOME="+p.Home)
	}
	_, err := system.Detach(ctx, d, func(ctx context.Context) error {
		h, held, err := system.Probe(p.LockFile())
		if err != nil {
			return err
		}
		if !held || h.Role != system.RoleDaemon {
			return errors.New("the daemon is not running yet")
		}
		c, err := a.clientOf(p, h.PID)
		if err != nil {
			return err
		}
		return c.checkReady(ctx)
	})
	if err == nil {
		return true, nil
	}
	if c, running, derr := a.dialDaemon(ctx, p); derr == nil && running {
		return false, c.closeEngine()
	}
	return false, err
}

// openingFile returns a file that exists while a daemon opens the home.
func openingFile(p system.Paths) string { return filepath.Join(p.Runtime, "opening") }

// openWait is the time in which a daemon opens the home. It may have to complete a restore, replace a
// damaged database with a backup, or delete data from a restored one.
const openWait = 15 * time.Minute

// startDeadline returns a context that ends if the daemon is not ready within startWait after it opened
// the home. The time of an upgrade does not count, because it depends on the size of the home. Opening
// takes at most openWait.
func (a *cli) startDeadline(ctx context.Context, p system.Paths) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		reported := false
		began := time.Now()
		for end := began.Add(startWait); time.Now().Before(end); {
			if retry.Sleep(ctx, 200*time.Millisecond) != nil {
				return
			}
			work := ""
			if _, err := os.Stat(openingFile(p)); err == nil && time.Since(began) < openWait {
				end = time.Now().Add(startWait)
				if time.Since(began) > startWait {
					work = "Opening Hob's data; this can take several minutes."
				}
			}
			if upgrade.InProgress(p) {
				end = time.Now().Add(startWait)
				work = "Upgrading Hob's data; this can take several minutes."
			}
			if work != "" && !reported {
				reported = true
				fmt.Fprintln(a.err, work)
			}
		}
		cancel(context.DeadlineExceeded)
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// printWelcome prints Hob's address.
func (a *cli) printWelcome(ctx context.Context, started bool) error {
	c, err := a.connectDaemon(ctx)
	if err != nil {
		return err
	}
	word := "Hob is ready"
	if !started {
		word = "Hob was already running"
	}
	text, next := fmt.Sprintf("%s at %s (pid %d).", word, c.Address(), c.pid), "Talk: hob chat   Stop: hob stop"
	if window := a.windowWidth(); window > 0 && len(text)+1+len(next) > window {
		text += "\n" + next
	} else {
		text += " " + next
	}
	a.printWrapped(text)
	return nil
}

func (a *cli) stopCmd() *cobra.Command {
	return &cobra.Command{
		Use: "stop", Short: "Stop Hob", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			p, err := system.DefaultPaths()
			if err != nil {
				return err
			}
			dropPendingUpdate(p) // otherwise the daemon would continue as the other version
			if err := a.stopDaemon(c.Context(), stopWait); err != nil {
				return err
			}
			fmt.Fprintln(a.out, "Hob has stopped.")
			return nil
		}),
	}
}

const stopWait = 30 * time.Second

// stopDaemon asks the daemon over the API to stop, or sends it a signal if the API does not respond. It
// waits until the lock is free.
func (a *cli) stopDaemon(ctx context.Context, wait time.Duration) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	h, held, err := system.Probe(p.LockFile())
	if err != nil {
		return err
	}
	if !held || h.Role != system.RoleDaemon {
		return notRunning()
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for held && h.Restarting { // a process that replaces itself can lose a signal
		if err := retry.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
		if h, held, err = system.Probe(p.LockFile()); err != nil {
			return err
		}
	}
	if !held {
		return nil
	}
	if err := a.askToStop(ctx, p, h.PID); err != nil {
		if err := system.Terminate(h.PID); err != nil && system.ProcessExists(h.PID) {
			return fmt.Errorf("stop the daemon (pid %d): %w; stop it manually", h.PID, err)
		}
	}
	for {
		now, held, err := system.Probe(p.LockFile())
		if err != nil {
			return err
		}
		if !held || now.PID != h.PID {
			return nil
		}
		if retry.Sleep(ctx, 20*time.Millisecond) != nil {
			return &failure{code: exitFailed, cause: fmt.Sprintf("the daemon (pid %d) did not stop in %s", h.PID, wait), remedy: fmt.Sprintf("the daemon may be busy; stop it with: %s", system.KillCommand(h.PID))}
		}
	}
}

func (a *cli) askToStop(ctx context.Context, p system.Paths, pid int) error {
	c, err := a.clientOf(p, pid)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	_, err = c.Shutdown(ctx)
	return err
}

func (a *cli) statusCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "status", Short: "Show the status of Hob", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			cl, err := a.connectDaemon(c.Context())
			if err != nil {
				return err
			}
			out, err := a.callTool(c.Context(), cl, noPriorApproval, "status", struct{}{})
			if err != nil {
				return err
			}
			if !a.asJSON {
				a.printWrapped(sanitizePrintable(out.Text))
				return nil
			}
			return a.printJSON(map[string]any{"running": true, "pid": cl.pid, "address": cl.Address(), "text": out.Text, "data": out.Data})
		}),
	})
}

func (a *cli) versionCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error {
			if a.asJSON {
				return a.printJSON(release.Description{Version: a.version, Schema: store.Versions(app.Migrations())})
			}
			fmt.Fprintln(a.out, "hob "+a.version)
			return nil
		}),
	})
}

func (a *cli) initCmd() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Write a short configuration file", Args: cobra.NoArgs,
		RunE: a.runCommand(func(*cobra.Command, []string) error {
			p, err := system.DefaultPaths()
			if err != nil {
				return err
			}
			if err := p.Ensure(); err != nil {
				return err
			}
			path := p.ConfigFile()
			switch fi, err := os.Stat(path); {
			case err == nil && !fi.Mode().IsRegular():
				return fmt.Errorf("%s: not a file; move it elsewhere, then run: hob init", path)
			case err == nil:
				fmt.Fprintf(a.out, "%s already exists; nothing was changed.\n", path)
				return nil
			}
			if err := system.WriteFile(path, config.Template()); err != nil {
				return err
			}
			fmt.Fprintf(a.out, "Wrote %s. All keys are optional; start with: hob chat\n", path)
			return nil
		}),
	}
}
