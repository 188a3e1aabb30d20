// Package doctor checks the installation: the configuration, the folders, the database, the
// machine's clock and limits, the model, the channels, the accounts and the desktop. It also works
// with an invalid configuration.
//
// Probes lists all checks. They run in parallel, each with its own deadline, so a check that hangs
// does not block the others. If a daemon is running, it runs the checks, because permissions such
// as those of macOS belong to the requesting process. Otherwise `hob doctor` runs them itself. `hob
// setup` runs some of them by name, and `hob config check` uses Drivers.
//
// The doctor changes nothing unless requested, and then applies only fixes that lose no data. Every
// finding includes its remedy.
package doctor

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/config"
	"hob/autonomy/service"
	"hob/platform/host/osrun"
	"hob/platform/host/system"
	"hob/platform/net/release"
	"hob/platform/store"
	"hob/platform/text/textnorm"
)

// State is the result of a check.
type State string

// States of a finding.
const (
	OK   State = "ok"
	Warn State = "warn"    // works, but not optimally
	Fail State = "fail"    // something does not work
	Skip State = "skipped" // could not be checked, which never counts as "ok"
)

// Check is one finding.
type Check struct {
	Name   string `json:"name"`
	State  State  `json:"state"`
	Cause  string `json:"cause"`  // what the check found
	Remedy string `json:"remedy"` // "" if no action is needed
	// Link opens the system settings page for the fix, or is "" if there is none.
	Link string `json:"link,omitempty"`
	// Fixable is true if Run with Options.Fix can fix the problem. Fixed describes the result of
	// the fix.
	Fixable bool   `json:"fixable,omitempty"`
	Fixed   string `json:"fixed,omitempty"`
	// In is the process that ran the check: "daemon" or "command".
	In string `json:"in,omitempty"`

	fix Fix
}

// Fix applies the fix for a check and reports what it did. It never removes data that cannot be
// recreated.
type Fix func(ctx context.Context) (said string, err error)

// Env is the environment for the checks.
type Env struct {
	Paths   system.Paths
	Version string // version of this program
	// Program is the absolute path of this program, or "" if unknown.
	Program string
	Tables  []store.MigrationSet // the migrations that this program contains
	Config  *config.Config       // the defaults if ConfigErr is set
	// ConfigErr is the reason why the configuration cannot be used.
	ConfigErr error
	// Load reloads the configuration after a fix. It is optional.
	Load func() (*config.Config, error)
	// Stale is true if the running Hob uses a different configuration than the file contains.
	Stale bool
	// Daemon is the process id of the running daemon, or 0 if none is running. DaemonErr is the
	// reason why a running daemon does not respond.
	Daemon    int
	DaemonErr error
	// The following functions are set only in the running daemon. Memory returns the state of the
	// indexes, Documents the failed imports, Erasures the progress of deletions, and Channels the
	// state of the channels. Reindex rebuilds the index.
	Memory    func(context.Context) ([]Derived, error)
	Fleet     func(context.Context) (h service.FleetHealth, shared bool, err error)
	Documents func(context.Context) ([]Document, error)
	Erasures  func(context.Context) ([]Erasure, error)
	Channels  func() []Channel
	Reindex   func(context.Context) error
	// TestChannel signs in to a configured channel and sends nothing. If it is nil, the check is
	// skipped.
	TestChannel func(ctx context.Context, c *config.Config, name string) (said string, err error)
	// Browses reports whether the daemon's browser is running. It is nil outside the daemon.
	Browses func() bool
	// Tray is true in a daemon that shows the tray icon.
	Tray bool
	// Release is the address of releases and their public key that this program contains.
	Release release.Source
	// Template returns the active template and whether a template change is incomplete. If it is
	// nil, the check is skipped.
	Template func() (name string, pending bool, err error)
	// Agents lists the agents with prerequisites.
	Agents []Agent
	// Confined looks for the sandbox for commands. If it is nil, the check is skipped.
	Confined Confined
	Secrets  system.Secrets
	// Scripts runs scripts for the apps on this machine. It is nil if there is no script engine.
	Scripts osrun.Runner
	// Desktop allows the checks to use the real screen, Starts allows them to start programs. Tests
	// set neither, because they must not touch the developer's desktop.
	Desktop, Starts bool
	Getenv          func(string) string // nil means os.Getenv
	Now             time.Time
	HTTP            *http.Client // client for model servers; nil means the default client

	dates *dateRecorder
}

// Probe is one check in the list of Probes. It may return several findings.
type Probe struct {
	// Name is the argument of `hob doctor NAME`. The names of the probe's findings are equal to
	// Name or begin with it.
	Name string
	// Also lists names of further findings of the probe. A name that ends with a space matches as a
	// prefix.
	Also []string
	// Means describes what the probe checks.
	Means string
	// After lists the probes that must end before this one begins.
	After []string
	// Here marks a check of the command's own process. The command runs this check even if a daemon
	// runs the other checks.
	Here bool
	Run  func(context.Context, Env) []Check
}

// Probes returns all checks, ordered so that the first failure should be fixed first.
func Probes() []Probe {
	return []Probe{
		{Name: "config", Means: "errors in config.toml, which prevent Hob from starting", Run: checkConfig},
		{Name: "home", Means: "the folders with all of Hob's data", Run: checkHome},
		{Name: "files", Means: "private permissions of Hob's files", Run: checkFiles},
		{Name: "leftovers", Means: "files left over from an interrupted Hob", Run: checkLeftovers},
		{Name: "disk", Means: "free disk space", Run: checkDisk},
		{Name: "token", Means: "the token for the command line and the web page", Run: checkToken},
		{Name: "database", Means: "the database with all items and plans", Run: checkDatabase},
		{Name: "fleet", Means: "the PostgreSQL database that instances share", Run: checkFleet},
		{Name: "backup", Means: "backups of the database", Run: checkBackup},
		{Name: "restore", Means: "proof that a backup can be made, verified and restored", Run: checkRestore},
		{Name: "every file", Means: "owner and permissions of each file in the home", Run: checkEveryFile},
		{Name: "key storage", Means: "proof that secrets are stored encrypted", Run: checkKeyStorage},
		{Name: "time source", Means: "clock jumps and clock synchronization", Run: checkTime},
		{Name: "daemon", Means: "the background process for watchers, schedules and reminders", Here: true, Run: checkDaemon},
		{Name: "autostart", Means: "whether Hob starts at login", Run: checkAutostart},
		{Name: "memory", Means: "the memory's search index", Run: checkMemory},
		{Name: "documents", Means: "folders with synchronized documents", Run: checkDocuments},
		{Name: "days off", Means: "calendars of days off for schedules", Run: checkDaysOff},
		{Name: "forgetting", Means: "completion of permanent deletions", Run: checkForgetting},
		{Name: "port", Also: []string{"reach"}, Means: "the address for the web page and the command line", Run: checkPort},
		{Name: "zone", Means: "the time zone of displayed and stored times", Run: checkZone},
		{Name: "clock", Means: "the clock, which schedules, certificates and one-time codes depend on", After: []string{"model", "embeddings"}, Run: checkClock},
		{Name: "keychain", Means: "storage of passwords and keys", Run: checkKeychain},
		{Name: "secrets", Means: "readability of referenced secrets", Run: checkSecrets},
		{Name: "model", Also: []string{"fallback", "small model"}, Means: "the model that Hob uses", Run: checkModel},
		{Name: "budget", Means: "limits on model costs", Run: checkBudget},
		{Name: "embeddings", Means: "vector search in the memory", Run: checkEmbeddings},
		{Name: "policy", Means: "your policy rules; an invalid file denies every call", Run: checkPolicy},
		{Name: "hooks", Also: []string{"hook "}, Means: "your programs that check messages, calls and answers", Run: checkHooks},
		{Name: "agents", Also: []string{"agent "}, Means: "agents in separate containers", Run: checkAgents},
		{Name: "commands", Means: "the sandbox of commands", Run: checkCommands},
		{Name: "channels", Also: []string{"channel "}, Means: "messaging channels", Run: checkChannels},
		{Name: "desktop", Also: []string{"presence"}, Means: "desktop notifications and presence detection", Run: checkDesktop},
		{Name: "tray", Means: "the tray icon and its menu", Run: checkTray},
		{Name: "session", Means: "tools for the screen, windows and the clipboard", Run: checkSession},
		{Name: "permissions", Means: "macOS permissions that you grant manually", Run: checkPermissions},
		{Name: "scripts", Means: "scripting of macOS and Windows apps", Run: checkScripts},
		{Name: "accounts", Also: []string{"account "}, Means: "your email, calendars and contacts", Run: checkAccounts},
		{Name: "web", Means: "web search", Run: checkSearch},
		{Name: "browser", Means: "the automated browser", Run: checkBrowser},
		{Name: "triggers", Also: []string{"trigger "}, Means: "calls from other programs", Run: checkTriggers},
		{Name: "watches", Means: "detection of file changes", Run: checkWatches},
		{Name: "template", Means: "consistency of settings, personality and schedules", Run: checkTemplates},
		{Name: "updates", Means: "the public key that verifies releases", Here: true, Run: checkUpdates},
		{Name: "unproven", Means: "what the doctor does not prove", Here: true, Run: checkUnproven},
		{Name: "log", Means: "errors in the last day", Run: checkLog},
	}
}

// hasName reports whether name selects the probe.
func (p Probe) hasName(name string) bool {
	return name == p.Name || slices.ContainsFunc(p.Also, func(a string) bool {
		return name == strings.TrimSpace(a) || strings.HasSuffix(a, " ") && strings.HasPrefix(name, a)
	})
}

// Failed reports whether a check failed.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.State == Fail {
			return true
		}
	}
	return false
}

func okCheck(name, cause string) []Check { return []Check{{Name: name, State: OK, Cause: cause}} }

func warnCheck(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Warn, Cause: cause, Remedy: remedy}}
}

func failCheck(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Fail, Cause: cause, Remedy: remedy}}
}

// skipCheck returns a finding for a check that could not run.
func skipCheck(name, cause, remedy string) []Check {
	return []Check{{Name: name, State: Skip, Cause: cause, Remedy: remedy}}
}

// withFix adds a fix to findings.
func withFix(fix Fix, list []Check) []Check {
	for i := range list {
		list[i].fix, list[i].Fixable = fix, true
	}
	return list
}

// checkEach runs a check for each item in parallel and returns the findings in order.
func checkEach[T any](list []T, check func(T) []Check) []Check {
	found := make([][]Check, len(list))
	var wg sync.WaitGroup
	for i, x := range list {
		wg.Go(func() { found[i] = check(x) })
	}
	wg.Wait()
	return slices.Concat(found...)
}

// fixRemedy is the remedy of findings that --fix can fix.
const fixRemedy = "hob doctor --fix"

// splitRemedy splits an error into its cause and the remedy after its last "; ". If there is no
// remedy, it returns other instead.
func splitRemedy(err error, other string) (cause, remedy string) {
	cause, remedy = textnorm.SplitRemedy(err.Error())
	return cause, cmp.Or(remedy, other)
}

// failWithError returns a failed check for an error that may contain a remedy.
func failWithError(name string, err error, other string) []Check {
	cause, remedy := splitRemedy(err, other)
	return failCheck(name, cause, remedy)
}

func (e Env) lookupEnv(name string) string {
	if e.Getenv != nil {
		return e.Getenv(name)
	}
	return os.Getenv(name)
}
